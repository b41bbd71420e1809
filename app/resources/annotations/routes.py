"""Names, descriptions and tags of datasets, jobs, trees and models, changed afterwards."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app.creation.annotation_schemas import EXAMPLE, Changes
from app.creation.annotations import annotated
from app.creation.job_schemas import EXAMPLE as JOB
from app.creation.job_schemas import JobBody
from app.http.bodies import StrictRoute
from app.http.dependencies import DatasetId, JobId, ModelId, ServiceDep, Tenant, TreeId
from app.http.etags import IfMatch, answer, body_etag
from app.http.problems import not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.datasets.schemas import EXAMPLE as DATASET
from app.resources.datasets.schemas import DatasetBody
from app.resources.models.routes import body_of
from app.resources.models.schemas import EXAMPLE as MODEL
from app.resources.models.schemas import ModelBody
from app.resources.trees.forms import FORMS, form_etag
from app.resources.trees.schemas import TREE_EXAMPLE, TreeSummary
from workers.artifacts.trees import TreeRecord

router = APIRouter(route_class=StrictRoute, dependencies=ONLY_KNOWN)

_BODY: dict[str, Any] = {
    "requestBody": {
        "content": {
            "application/merge-patch+json": {
                "schema": {"$ref": "#/components/schemas/Changes"},
                "example": EXAMPLE,
            }
        }
    }
}


def _documented(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {
        200: {
            "description": "As it is now.",
            "headers": {"ETag": {"description": "Its ETag now.", "schema": {"type": "string"}}},
            "content": {"application/json": {"example": {**example, **EXAMPLE}}},
        },
        **responses(
            "malformed",
            "unauthenticated",
            "forbidden",
            "not-found",
            "precondition-failed",
            "too-large",
            "unsupported-format",
            "invalid-request",
            "unavailable",
            "full",
        ),
    }


@router.patch(
    "/v1/datasets/{dataset_id}",
    tags=["datasets"],
    operation_id="update_dataset",
    summary="Change a dataset's name, description or tags",
    response_model=DatasetBody,
    openapi_extra=_BODY,
    responses=_documented(DATASET),
)
async def update_dataset(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    dataset_id: DatasetId,
    body: Changes,
    if_match: IfMatch = None,
) -> Response:
    """A JSON merge patch: what is left out stays, null removes. With `If-Match` only if nobody has
    changed the dataset since its ETag was read.
    """

    def look() -> DatasetBody:
        dataset = service.datasets.get(tenant, dataset_id)
        if dataset is None:
            raise not_found("dataset", dataset_id)
        return DatasetBody.of(dataset)

    def change() -> DatasetBody:
        return annotated(
            service, tenant, dataset_id, body, look, lambda shown: [body_etag(shown)], if_match
        )

    return answer(request, await to_thread.run_sync(change))


@router.patch(
    "/v1/jobs/{job_id}",
    tags=["jobs"],
    operation_id="update_job",
    summary="Change a job's name, description or tags",
    response_model=JobBody,
    openapi_extra=_BODY,
    responses=_documented(JOB),
)
async def update_job(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    job_id: JobId,
    body: Changes,
    if_match: IfMatch = None,
) -> Response:
    """A JSON merge patch: what is left out stays, null removes. A job may be changed in any state;
    its tree and model keep their names. The ETag of a job that runs changes with its progress.
    """

    def look() -> JobBody:
        record = service.ledger.get(tenant, job_id)
        if record is None:
            raise not_found("job", job_id)
        return JobBody.of(record)

    def change() -> JobBody:
        return annotated(
            service, tenant, job_id, body, look, lambda shown: [body_etag(shown)], if_match
        )

    return answer(request, await to_thread.run_sync(change))


@router.patch(
    "/v1/trees/{tree_id:stem}",
    tags=["trees"],
    operation_id="update_tree",
    summary="Change a tree's name, description or tags",
    response_model=TreeSummary,
    openapi_extra=_BODY,
    responses=_documented(TREE_EXAMPLE),
)
async def update_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    body: Changes,
    if_match: IfMatch = None,
) -> Response:
    """A JSON merge patch: what is left out stays, null removes. Answers without the nodes; the ETag
    is that of the whole tree as JSON, and `If-Match` takes that of any form of the whole tree.
    """

    def look() -> TreeRecord:
        record = service.trees.record(tenant, tree_id)
        if record is None:
            raise not_found("tree", tree_id)
        return record

    def etags_of(record: TreeRecord) -> list[str]:
        return [form_etag(record, form) for form in FORMS]

    def change() -> TreeRecord:
        return annotated(service, tenant, tree_id, body, look, etags_of, if_match)

    record = await to_thread.run_sync(change)
    return answer(request, TreeSummary.of(record), etag=form_etag(record, FORMS[0]))


@router.patch(
    "/v1/models/{model_id}",
    tags=["models"],
    operation_id="update_model",
    summary="Change a model's name, description or tags",
    response_model=ModelBody,
    openapi_extra=_BODY,
    responses=_documented(MODEL),
)
async def update_model(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    body: Changes,
    if_match: IfMatch = None,
) -> Response:
    """A JSON merge patch: what is left out stays, null removes. The fitted arrays stay as they
    are.
    """

    def change() -> ModelBody:
        return annotated(
            service,
            tenant,
            model_id,
            body,
            lambda: body_of(service, tenant, model_id),
            lambda shown: [body_etag(shown)],
            if_match,
        )

    return answer(request, await to_thread.run_sync(change))
