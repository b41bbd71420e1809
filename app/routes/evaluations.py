"""Evaluations: a tree measured against labels, features or another tree, and node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Request, Response

from app.forms.form import Chunks, Form, by_accept, respond
from app.forms.parts import json_object
from app.forms.stored import record_of
from app.http import etags
from app.http.bodies import StrictRoute
from app.http.dependencies import JobId, OnceDep, RequestId, Service, ServiceDep, Tenant, TreeId
from app.http.problems import ANYWHERE, Refused, not_found, responses
from app.http.streaming import Turn
from app.http.waiting import Prefer
from app.schemas.evaluations import Evaluation, EvaluationRequest, NodeReport
from app.schemas.jobs import JobBody
from app.submission import tree_jobs
from app.submission.inputs import resolve
from workers import model
from workers.artifacts.results import NODES
from workers.formats.table_writers import arrow_chunks, csv_chunks, json_rows, pieces_of_arrow
from workers.model import Record

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(tags=["trees"], route_class=StrictRoute)

ROLES = ("labels", "features", "distances", "similarity", "hierarchy")


@router.post(
    "/v1/trees/{tree_id}/evaluations",
    operation_id="evaluate_tree",
    summary="Evaluate a tree",
    response_model=Evaluation,
    responses={
        202: {"model": JobBody, "description": "It takes longer; follow the job."},
        **responses(*tree_jobs.REFUSALS),
    },
)
async def evaluate_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    request_id: RequestId,
    tree_id: TreeId,
    body: EvaluationRequest,
    once: OnceDep,
    prefer: Prefer = None,
) -> Response:
    """Flat metrics look at the clusters of `cut`; without one at the leaves, or, where leaves are
    single points, at as many clusters as there are distinct labels. The answer says which.
    With `per_node` it also says where a report on every node lies.
    """
    record = await record_of(service, tenant, tree_id)
    inputs = {role: getattr(body, role) for role in ROLES if getattr(body, role) is not None}
    job_id = model.new_id("job")
    content = await request.body()

    async def make() -> Response:
        given = await to_thread.run_sync(resolve, service, tenant, inputs)
        options: dict[str, Any] = {"tree": tree_id, **body.model_dump(include=_OPTIONS)}
        if body.cut is not None:
            options["cut"] = body.cut.model_dump(exclude_none=True)
        options["measured"] = await to_thread.run_sync(_measured, service, tenant, record.job)
        asked_for = tree_jobs.asked(
            "evaluate",
            job_id,
            tenant,
            request_id,
            once=once,
            mark=content,
            method=record.method,
            inputs=given.refs,
            options=options,
        )
        done, answer, headers = await tree_jobs.outcome(
            request, service, asked_for, given.inline, prefer
        )
        return _evaluated(request, done, headers) if answer is None else answer

    async def again(made_id: str) -> Response | None:
        earlier = await to_thread.run_sync(service.ledger.get, tenant, made_id)
        if earlier is None:
            return None
        done, answer = tree_jobs.settled(request, service, earlier)
        return _evaluated(request, done, {}) if answer is None else answer

    return await once.answer(job_id, content, make, again)


_OPTIONS = {"metrics", "kernel", "sample", "per_node", "n_exemplars", "seed"}


def _measured(service: Service, tenant: str, job_id: str | None) -> dict[str, float]:
    """What the tree's method measured of itself; nothing of an imported tree."""
    fitted = None if job_id is None else service.ledger.get(tenant, job_id)
    return dict((fitted.result or {}).get("metrics") or {}) if fitted is not None else {}


def _evaluated(request: Request, done: Record | None, headers: dict[str, str]) -> Response:
    assert done is not None
    assert done.result is not None
    found = Evaluation.model_validate(done.result["evaluation"])
    if "nodes" in done.result:
        found.nodes = f"/v1/jobs/{done.id}/nodes"
    return etags.answer(request, found, headers=headers)


def _json(table: pa.Table) -> Chunks:
    yield from json_object({"items": json_rows(table.column_names, pieces_of_arrow(table))})
    yield b"\n"


def _csv(table: pa.Table) -> Chunks:
    return csv_chunks(table.column_names, pieces_of_arrow(table))


FORMS: tuple[Form[pa.Table], ...] = (
    Form("json", "application/json", _json),
    Form("arrow", "application/vnd.apache.arrow.file", arrow_chunks),
    Form("csv", "text/csv", _csv),
)


@router.get(
    "/v1/jobs/{job_id}/nodes",
    operation_id="get_evaluated_nodes",
    summary="Nodes of an evaluation",
    response_class=Response,
    responses={
        200: {
            "model": NodeReport,
            "description": "Every node of the tree.",
            "content": {
                "text/csv": {
                    "schema": {"type": "string"},
                    "example": "node,size,purity,entropy,n_classes,majority,exemplars\r\n"
                    "0,3,0.6666666666666666,0.6365141682948128,2,rose,1 0 2\r\n",
                },
                "application/vnd.apache.arrow.file": {
                    "schema": {"type": "string", "format": "binary"}
                },
            },
        },
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_evaluated_nodes(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    job_id: JobId,
    accept: Annotated[str | None, Header(description="JSON, Arrow or CSV.")] = None,
) -> Response:
    """What an evaluation with `per_node` found of every node, once it has succeeded: purity,
    entropy, most frequent class, exemplars.
    """
    form = by_accept(accept, FORMS)
    record = await to_thread.run_sync(service.ledger.get, tenant, job_id)
    if record is None or record.kind != "evaluate":
        raise not_found("job of an evaluation", job_id)
    if record.status != "succeeded":
        raise Refused("conflict", f"Job {job_id!r} is {record.status}; it has no report on nodes.")

    def load() -> tuple[pa.Table, dict[str, str]]:
        return _opened(service, tenant, job_id), {}

    return await respond(request, form, load, Turn("export", waits=False))


def _opened(service: Service, tenant: str, job_id: str) -> pa.Table:
    """The table, mapped and not read; 404 for an evaluation that was not asked for one."""
    import pyarrow as pa

    path = service.trees.file(tenant, model.sibling(job_id, "tr"), NODES)
    if path is None:
        raise not_found("report on nodes of job", job_id)
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
