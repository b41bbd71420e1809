"""Models: the fitted arrays as a file, and their use on new rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from app.creation.annotations import mount_patch
from app.http import threads
from app.http.aliased import removed_unnamed
from app.http.bodies import StrictRoute
from app.http.contents import REFUSALS as CONTENT_REFUSALS
from app.http.contents import serve
from app.http.dependencies import ModelId, Service, ServiceDep, Tenant, checked
from app.http.etags import IfMatch, answer, body_etag, require_match
from app.http.problems import not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import model_file
from app.resources.models.schemas import EXAMPLE, ModelBody
from workers.artifacts import results
from workers.artifacts.annotations import newest
from workers.model import sibling

router = APIRouter(
    prefix="/v1/models", tags=["models"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)

_MODEL = {"application/json": {"example": EXAMPLE}}


@router.get(
    "/{model_id}",
    operation_id="get_model",
    summary="One model",
    response_model=ModelBody,
    responses={
        200: {"content": _MODEL},
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def get_model(
    request: Request, service: ServiceDep, tenant: Tenant, model_id: ModelId
) -> Response:
    """The fitted model: how it was fitted, and the inputs that predictions need."""
    return answer(request, await threads.run_sync(body_of, service, tenant, model_id))


@router.get(
    "/{model_id}/content",
    operation_id="get_model_content",
    summary="The file of a model",
    response_class=Response,
    responses={
        200: {
            "description": "A safetensors file: the arrays, and their description as JSON in the "
            "metadata's entry `umbel`.",
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "...",
                }
            },
        },
        206: {
            "description": "The part that Range requests.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        },
        304: {"description": "The client has the file: its ETag is in If-None-Match."},
        **responses(*CONTENT_REFUSALS),
    },
)
async def get_model_content(
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    range_: Annotated[
        str | None,
        Header(alias="Range", description="A single range of bytes.", examples=["bytes=0-9"]),
    ] = None,
    if_range: Annotated[
        str | None, Header(description="Apply Range only if the ETag is this one.")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="The ETag of the version that the client has.")
    ] = None,
    if_match: IfMatch = None,
) -> Response:
    """The arrays as safetensors, whole or in part; the file contains no code."""
    await threads.run_sync(model_file, service, tenant, model_id)
    stored = await threads.run_sync(service.trees.stored, tenant, model_id, results.MODEL)
    if stored is None:
        raise not_found("model", model_id)
    return await threads.run_sync(
        lambda: serve(
            service,
            stored.key,
            length=stored.size,
            sha256=stored.sha256,
            name=f"{model_id}.safetensors",
            range_=range_,
            if_range=if_range,
            if_none_match=if_none_match,
            if_match=if_match,
        )
    )


@router.delete(
    "/{model_id}",
    operation_id="delete_model",
    summary="Remove a model",
    status_code=204,
    responses={
        204: {"description": "The model was removed; its tree stays."},
        **responses(
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "precondition-failed",
            "unavailable",
        ),
    },
)
async def delete_model(
    service: ServiceDep, tenant: Tenant, model_id: ModelId, if_match: IfMatch = None
) -> Response:
    """Removes the fitted arrays. The tree stays but can no longer place new rows. 409 while an
    alias names the tree."""
    if if_match is not None:
        body = await threads.run_sync(body_of, service, tenant, model_id)
        require_match(if_match, body_etag(body))
    remove = service.trees.delete_model
    if not await threads.run_sync(removed_unnamed, service.aliases, tenant, model_id, remove):
        raise not_found("model", model_id)
    return Response(status_code=204)


def body_of(service: Service, tenant: str, model_id: str) -> ModelBody:
    """A model as clients see it; blocks. Raises Refused `not-found`."""
    path = model_file(service, tenant, model_id)
    stored = service.trees.stored(tenant, model_id, results.MODEL)
    job = service.ledger.get(tenant, sibling(model_id, "job"))
    if stored is None or job is None:
        raise not_found("model", model_id)
    facts, arrays = results.model_header(path)
    annotation = newest(service.blobs, tenant, model_id) or job.submitted
    return ModelBody.model_validate(
        {
            "id": model_id,
            "job": job.id,
            "tree": sibling(model_id, "tr"),
            "name": annotation.name,
            "description": annotation.description,
            "tags": list(annotation.tags),
            "method": job.method,
            "params": job.params,
            "preprocess": list(job.preprocess),
            "then": None if job.then is None else job.then.model_dump(),
            "inputs": facts["inputs"],
            "stages": facts["stages"],
            "arrays": arrays,
            "bytes": stored.size,
            "sha256": stored.sha256,
            "created_at": stored.made_at,
        }
    )


mount_patch(
    router,
    "model",
    checked("model", "md"),
    ModelBody,
    EXAMPLE,
    body_of,
    more="The fitted arrays stay as they are.",
)
