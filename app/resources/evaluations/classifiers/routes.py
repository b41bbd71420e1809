"""Evaluations of models: what a classifier does on rows whose labels are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Response

from app.creation.creation import Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.inputs import resolve
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import JobId, ModelId, Service, ServiceDep, Tenant, is_id
from app.http.json_parts import json_object
from app.http.problems import ANYWHERE, Refused, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import model_tree_record
from app.http.streaming import Turn, streamed
from app.resources.evaluations.classifiers.schemas import (
    EXAMPLE,
    EvaluationTables,
    ModelEvaluation,
    ModelEvaluationRequest,
)
from models.errors import UsageError
from models.registry import known, methods
from workers.artifacts import results
from workers.kinds.evaluate import EvaluationOptions
from workers.model import Record, sibling

router = APIRouter(tags=["models"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

_BYTES = 1 << 20
_OPTIONS = {"metrics", "by", "top_k", "threshold", "bootstrap", "seed", "against"}


@mount_create(
    router,
    "/v1/models/{model_id}/evaluations",
    "evaluate",
    operation_id="evaluate_model",
    summary="Evaluate a classifier",
    status_code=200,
    ended={
        "model": ModelEvaluation,
        "description": "What the model does on the rows.",
        "content": {"application/json": {"example": EXAMPLE}},
    },
)
async def evaluate_model(
    submission: SubmissionDep,
    model_id: ModelId,
    body: ModelEvaluationRequest,
) -> Work:
    """Metrics of a classifier on rows whose true labels are given, with standard errors, and tables
    by level, by size of class and by class; `against` says whether it differs from another one by
    more than chance. Labels are names of nodes or paths of names. An
    evaluation that takes longer becomes a job whose `result.evaluation` has the metrics and whose
    `result.tables` is the address of the tables.
    """
    service, tenant = submission.service, submission.tenant
    record = await model_tree_record(service, tenant, model_id)
    _require_classifier(model_id, record.method)
    if body.against is not None:
        await _require_rival(service, tenant, body.against)
    if "labels" in body.inputs:
        raise refused_at("wrong-input", "Give the labels beside `inputs`.", "inputs", "labels")

    def draft() -> Draft:
        inputs = resolve(service, tenant, {**body.inputs, "labels": body.labels})
        given = body.model_dump(include=_OPTIONS, exclude_none=True)
        options = EvaluationOptions(tree=record.id, model=model_id, **given)
        return Draft(options, record.method, inputs.refs, inputs.inline)

    async def result(done: Record, headers: Headers) -> Response:
        return await _evaluated(service, done, headers)

    return Work(draft, result)


@router.get(
    "/v1/jobs/{job_id}/tables",
    operation_id="get_evaluation_tables",
    summary="Tables of a classifier's evaluation",
    response_class=Response,
    responses={
        200: {
            "model": EvaluationTables,
            "description": "The requested tables.",
            "content": {"application/json": {"example": EXAMPLE["tables"]}},
        },
        **responses(*ANYWHERE, "not-found", "conflict"),
    },
)
async def get_evaluation_tables(service: ServiceDep, tenant: Tenant, job_id: JobId) -> Response:
    """The tables of the evaluation of a model, once that has succeeded."""
    record = await threads.run_sync(service.ledger.get, tenant, job_id)
    if record is None or record.kind != "evaluate":
        raise not_found("job of an evaluation", job_id)
    if record.status != "succeeded":
        raise Refused("conflict", f"Job {job_id!r} is {record.status}; it has no tables.")
    return await streamed(_tables(service, record), Turn("export", waits=False))


async def _require_rival(service: Service, tenant: str, model_id: str) -> None:
    """Raises Refused `unknown-input` without such a model, UsageError as `_require_classifier`."""
    try:
        if not is_id(model_id, "md"):
            raise not_found("model", model_id)
        other = await model_tree_record(service, tenant, model_id)
    except Refused as refused:
        raise refused_at("unknown-input", refused.detail, "against") from refused
    _require_classifier(model_id, other.method)


def _require_classifier(model_id: str, method_id: str) -> None:
    used = known(method_id)
    if used is None or not used.classifies:
        classifiers = ", ".join(name for name, method in methods().items() if method.classifies)
        raise UsageError(
            f"Model {model_id!r} of method {method_id!r} gives no labels, so there is nothing to "
            f"compare with labels; methods that do are {classifiers}. Its tree can be evaluated: "
            f"POST /v1/trees/{sibling(model_id, 'tr')}/evaluations.",
            code="cannot-classify",
        )


async def _evaluated(service: Service, done: Record, headers: Headers) -> Response:
    assert done.result is not None
    evaluation: dict[str, Any] = {**done.result["evaluation"], "warnings": done.warnings}
    chunks = json_object({"id": done.id, **evaluation, "tables": _tables(service, done)})
    response = await streamed(chunks, Turn("export", waits=False))
    response.headers.update(headers)
    return response


def _tables(service: Service, done: Record) -> Iterator[bytes]:
    """The file of tables, chunk by chunk. Raises Refused `not-found` if there is none."""
    path = service.trees.file(done.tenant, sibling(done.id, "tr"), results.TABLES)
    if path is None:
        raise not_found("tables of job", done.id)
    with path.open("rb") as file:
        while chunk := file.read(_BYTES):
            yield chunk
