"""Datasets: upload, list, read, download, remove."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.responses import StreamingResponse

from app.creation.allowances import Allowance
from app.creation.annotation_schemas import DescriptionQuery, TagsQuery
from app.creation.annotations import mount_patch
from app.creation.expiry import ExpiresAt
from app.creation.lists import Filters, mount_list
from app.http import threads
from app.http.addresses import address
from app.http.bodies import content_length
from app.http.contents import REFUSALS as CONTENT_REFUSALS
from app.http.contents import serve
from app.http.dependencies import (
    Caller,
    DatasetId,
    OnceDep,
    RequestId,
    Service,
    ServiceDep,
    Tenant,
    checked,
)
from app.http.etags import IfMatch, answer, body_etag, require_match
from app.http.idempotency import Once
from app.http.keyring import Access
from app.http.late import LateRoute
from app.http.problems import not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.datasets import duplicates
from app.resources.datasets.schemas import (
    EXAMPLE,
    ColumnChoice,
    DatasetBody,
    From,
    Hint,
    Member,
    Name,
    NFeatures,
    Role,
)
from app.resources.datasets.submission import NewDataset, create, read_anew, receive
from workers.artifacts.datasets import Dataset
from workers.formats.column_roles import UNCHOSEN
from workers.model import new_id

router = APIRouter(
    prefix="/v1/datasets", tags=["datasets"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

MEDIA_TYPES = (
    "application/octet-stream",
    "application/x-npy",
    "application/x-npz",
    "application/safetensors",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
    "application/x-hdf5",
    "application/zip",
    "text/csv",
    "text/x-libsvm",
    "text/x-arff",
    "application/x-ndjson",
)
_CONTENT: dict[str, Any] = {
    media: {"schema": {"type": "string", "format": "binary"}} for media in MEDIA_TYPES
}
_CONTENT["text/csv"]["example"] = "x,y\n0.5,1.5\n2.5,3.5\n"

_ETAG = {"ETag": {"description": "ETag of this response.", "schema": {"type": "string"}}}
LOCATION = {"Location": {"description": "Address of the dataset.", "schema": {"type": "string"}}}

CONTENT_ENCODING: dict[str, Any] = {
    "name": "Content-Encoding",
    "in": "header",
    "required": False,
    "description": "What the body is packed by; it is unpacked on the way in.",
    "schema": {"type": "string", "enum": ["gzip", "zstd", "identity"]},
}

REPEATED: dict[str, Any] = {
    "description": "An earlier dataset with the same content, as `Prefer: dedupe` allows.",
    "model": DatasetBody,
    "headers": {
        **LOCATION,
        "Preference-Applied": {"description": "`dedupe`.", "schema": {"type": "string"}},
    },
    "content": {"application/json": {"example": EXAMPLE}},
}


@router.post(
    "",
    operation_id="create_dataset",
    summary="Upload a dataset",
    status_code=201,
    response_model=DatasetBody,
    openapi_extra={
        "requestBody": {"required": False, "content": _CONTENT},
        "parameters": [CONTENT_ENCODING],
    },
    responses={
        200: REPEATED,
        201: {"headers": LOCATION, "content": {"application/json": {"example": EXAMPLE}}},
        **responses(
            "malformed",
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "too-large",
            "unsupported-format",
            "invalid-request",
            "unusable-input",
            "empty",
            "idempotency-mismatch",
            "quota-exceeded",
            "unavailable",
            "full",
        ),
    },
)
async def create_dataset(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    request_id: RequestId,
    once: OnceDep,
    name: Name = None,
    role: Hint = None,
    member: Member = None,
    n_features: NFeatures = None,
    choice: ColumnChoice = UNCHOSEN,
    expires_at: ExpiresAt = None,
    description: DescriptionQuery = None,
    tags: TagsQuery = (),
    prefer: duplicates.Prefer = None,
    from_: From = None,
) -> Response:
    """The body is the file itself, or empty where `from` names a dataset whose file is read anew: a
    copy, which is kept for as long as the new dataset is. It is streamed to the store, so it may be
    large; a file that is too large for one request is uploaded in parts (`/v1/uploads`).

    npy (not of long text) and small JSON are `ready` at once; other files are `inspecting` until a
    worker has opened them, then `ready`, or `invalid` with the problem.

    What is read as features, labels, documents, items, a hierarchy or a graph, and how files and
    bodies are packed: `docs/formats.md`.
    """
    tenant, dataset_id = caller.tenant, new_id("ds")
    media_type = request.headers.get("content-type")
    new = NewDataset(
        tenant,
        dataset_id,
        name,
        role,
        member,
        media_type,
        n_features,
        choice,
        key=caller.key_id,
        expires_at=expires_at,
        description=description,
        tags=caller.tagged(tags),
    )
    allowance = Allowance(
        service,
        caller,
        datasets=1,
        stated=content_length(request),
        lenient=await once.begun(),
        made=dataset_id,
    )
    async with allowance:
        dedupe = duplicates.wanted(prefer)
        return await _received(
            request, service, caller, request_id, once, new, allowance, dedupe, from_
        )


async def _received(
    request: Request,
    service: Service,
    caller: Access,
    request_id: str,
    once: Once,
    new: NewDataset,
    allowance: Allowance,
    dedupe: bool,
    from_: str | None,
) -> Response:
    """The response to an upload, which is stored once for its idempotency key.

    dedupe : whether a dataset that the tenant has already will do. from_ : the dataset whose file
    is read anew.
    """
    tenant, dataset_id, media_type = new.tenant, new.dataset_id, new.media_type
    if from_ is None:
        dataset = await receive(service, request, new, allowance)
    else:
        source = await _find(service, tenant, from_)
        dataset = await read_anew(service, request, source, new, allowance)

    async def make() -> Response:
        if dedupe:
            same = await threads.run_sync(duplicates.earlier, service, dataset, caller)
            if same is not None:
                return repeated(request, same)
        await threads.run_sync(create, service, dataset, request_id)
        return created(request, dataset)

    async def again(earlier_id: str) -> Response | None:
        earlier = await threads.run_sync(service.datasets.get, tenant, earlier_id)
        return None if earlier is None else created(request, earlier)

    fingerprint = f"{request.url.query}\n{media_type}\n{dataset.sha256}".encode()
    kept = False
    try:
        response = await once.answer(dataset_id, fingerprint, make, again)
        kept = response.status_code == 201 and "idempotent-replayed" not in response.headers
        return response
    finally:
        if not kept:
            await threads.run_sync(service.datasets.discard, tenant, dataset_id)


async def _of_role(
    role: Annotated[
        Role | None, Query(description="Only datasets uploaded with this hint.")
    ] = None,
) -> Filters:
    return {"role": role}


mount_list(
    router,
    "",
    "dataset",
    DatasetBody,
    DatasetBody.of,
    EXAMPLE,
    lambda service: service.datasets.listing,
    description="One page of the caller's datasets.",
    only=_of_role,
)


@router.get(
    "/{dataset_id}",
    operation_id="get_dataset",
    summary="One dataset",
    response_model=DatasetBody,
    responses={
        200: {"headers": _ETAG, "content": {"application/json": {"example": EXAMPLE}}},
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def get_dataset(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    dataset_id: DatasetId,
    if_none_match: Annotated[
        str | None, Header(description="The ETag of the version that the client has.")
    ] = None,
) -> Response:
    """The dataset's status, shape, dtype, length and sha256."""
    return answer(request, DatasetBody.of(await _find(service, tenant, dataset_id)))


@router.get(
    "/{dataset_id}/content",
    operation_id="get_dataset_content",
    summary="The bytes of a dataset",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The file as it was uploaded.",
            "headers": _ETAG,
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "x,y\n0.5,1.5\n2.5,3.5\n",
                }
            },
        },
        206: {
            "description": "The part that Range requests.",
            "headers": {
                "Content-Range": {"schema": {"type": "string"}, "example": "bytes 0-9/128"}
            },
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        },
        304: {"description": "The client has the content: its ETag is in If-None-Match."},
        **responses(*CONTENT_REFUSALS),
    },
)
async def get_dataset_content(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    dataset_id: DatasetId,
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
    """The bytes as uploaded, whole or in part."""
    dataset = await _find(service, tenant, dataset_id)
    return await threads.run_sync(
        lambda: serve(
            service,
            service.datasets.content_key(tenant, dataset_id),
            length=dataset.bytes,
            sha256=dataset.sha256,
            name=dataset.id,
            range_=range_,
            if_range=if_range,
            if_none_match=if_none_match,
            if_match=if_match,
        )
    )


@router.delete(
    "/{dataset_id}",
    operation_id="delete_dataset",
    summary="Remove a dataset",
    status_code=204,
    responses={
        204: {"description": "The dataset was removed."},
        **responses(
            "unauthenticated", "forbidden", "not-found", "precondition-failed", "unavailable"
        ),
    },
)
async def delete_dataset(
    service: ServiceDep, tenant: Tenant, dataset_id: DatasetId, if_match: IfMatch = None
) -> Response:
    """Jobs that are still waiting for it will fail with `/problems/input-deleted`."""
    if if_match is not None:
        dataset = await _find(service, tenant, dataset_id)
        require_match(if_match, body_etag(DatasetBody.of(dataset)))
    if not await threads.run_sync(service.datasets.delete, tenant, dataset_id):
        raise not_found("dataset", dataset_id)
    return Response(status_code=204)


async def _find(service: Service, tenant: str, dataset_id: str) -> Dataset:
    dataset = await threads.run_sync(service.datasets.get, tenant, dataset_id)
    if dataset is None:
        raise not_found("dataset", dataset_id)
    return dataset


def created(request: Request, dataset: Dataset) -> Response:
    """201 with its address."""
    return answer(
        request,
        DatasetBody.of(dataset),
        status=201,
        headers={"Location": address(request, f"/v1/datasets/{dataset.id}")},
    )


def repeated(request: Request, dataset: Dataset) -> Response:
    """200 with the address of a dataset that an upload repeats."""
    location = {"Location": address(request, f"/v1/datasets/{dataset.id}")}
    headers = {**location, **duplicates.APPLIED}
    return answer(request, DatasetBody.of(dataset), headers=headers)


def _look(service: Service, tenant: str, dataset_id: str) -> DatasetBody:
    dataset = service.datasets.get(tenant, dataset_id)
    if dataset is None:
        raise not_found("dataset", dataset_id)
    return DatasetBody.of(dataset)


mount_patch(
    router,
    "dataset",
    checked("dataset", "ds"),
    DatasetBody,
    EXAMPLE,
    _look,
    more="With `If-Match` only if nobody has changed the dataset since its ETag was read.",
)
