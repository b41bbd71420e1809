"""Evaluations: a tree against labels, features or another tree, as a whole and node by node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from app.creation.creation import Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.inputs import ResolvedInputs, resolve
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import JobId, Service, ServiceDep, Tenant, TreeId
from app.http.etags import answer
from app.http.forms import by_accept, respond
from app.http.problems import ANYWHERE, Refused, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import Turn
from app.http.tables import TABLE, mapped
from app.resources.evaluations.schemas import Evaluation, EvaluationRequest, NodeReport
from models.errors import UsageError
from workers import model
from workers.artifacts.results import NODES
from workers.kinds.evaluate import EvaluationOptions
from workers.model import Record

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

ROLES = ("labels", "features", "distances", "similarity", "hierarchy")


@mount_create(
    router,
    "/v1/trees/{tree_id}/evaluations",
    "evaluate",
    operation_id="evaluate_tree",
    summary="Evaluate a tree",
    status_code=200,
    response_model=Evaluation,
    ended={},
)
async def evaluate_tree(
    submission: SubmissionDep, tree_id: TreeId, body: EvaluationRequest
) -> Work:
    """Flat metrics are computed for the clusters of `cut`. Without a cut they are computed for the
    leaves or, if leaves are single points, for as many clusters as there are distinct labels; the
    answer says which. With `per_node` it also has the address of a report on every node.

    With `inputs` the tree is evaluated on rows that were not in its fit, placed as by a prediction:
    a tree from training rows is measured on test rows. `placed` says how many they are, and the
    rule.
    """
    service, tenant = submission.service, submission.tenant
    record = await record_of(service, tenant, tree_id)
    values = {role: getattr(body, role) for role in ROLES if getattr(body, role) is not None}
    _require_once(body, values)

    def draft() -> Draft:
        inputs = resolve(service, tenant, {**values, **body.inputs}, images={"features"})
        _require_lengths(inputs, record.n_points, list(body.inputs))
        options: dict[str, Any] = {"tree": tree_id, **body.model_dump(include=_OPTIONS)}
        if body.cut is not None:
            options["cut"] = body.cut.model_dump(exclude_none=True)
        if body.inputs:
            options["inputs"] = sorted(body.inputs)
        else:
            options["measured"] = _measured(service, tenant, record.job)
        return Draft(
            EvaluationOptions.model_validate(options), record.method, inputs.refs, inputs.inline
        )

    async def result(done: Record, headers: Headers) -> Response:
        return _evaluated(submission.request, done, headers)

    return Work(draft, result)


_OPTIONS = {"metrics", "kernel", "sample", "per_node", "n_exemplars", "seed"}


def _require_once(body: EvaluationRequest, values: Mapping[str, Any]) -> None:
    """Refuse inputs that are given both to be placed and to evaluate against, and labels to place.

    Raises Refused `wrong-input`.
    """
    for role in body.inputs:
        if role in ("labels", "hierarchy"):
            detail = f"Give {role!r} beside `inputs`, which are the rows to place."
        elif role in values:
            detail = (
                f"Input {role!r} is given twice, in `inputs` and beside them; the rows to place "
                "belong in `inputs`, and metrics use 'features' from there."
            )
        else:
            continue
        raise refused_at("wrong-input", detail, "inputs", role)


def _require_lengths(inputs: ResolvedInputs, n_points: int, placed: list[str]) -> None:
    """Refuse labels and features that are not as many as the rows, as far as shapes are known. Rows
    with ids are compared where they are read, which names the first that is missing or too many.

    placed : the inputs that give the rows; empty for the fit's rows.

    Raises UsageError `wrong-length` with both numbers.
    """
    shapes = inputs.shapes
    given = next((role for role in placed if len(shapes.get(role, ())) >= 2), None)
    if placed and given is None:
        return
    n_rows = n_points if given is None else shapes[given][0]
    what = "the tree has" if given is None else f"input {given!r} has"
    for role in ("labels", "features"):
        if role in shapes and role not in inputs.ided and shapes[role][0] != n_rows:
            raise UsageError(
                f"Input {role!r} has {shapes[role][0]} rows; {what} {n_rows}, and each needs one.",
                code="wrong-length",
                role=role,
            )


def _measured(service: Service, tenant: str, job_id: str | None) -> dict[str, float]:
    """The metrics that the tree's method reported; none for an imported tree."""
    fitted = None if job_id is None else service.ledger.get(tenant, job_id)
    return dict((fitted.result or {}).get("metrics") or {}) if fitted is not None else {}


def _evaluated(request: Request, done: Record, headers: Headers) -> Response:
    assert done.result is not None
    # Also what was read in a way that the measuring does not know of.
    own = {**done.result["evaluation"], "id": done.id, "warnings": done.warnings}
    evaluation = Evaluation.model_validate(own)
    if "nodes" in done.result:
        evaluation.nodes = f"/v1/jobs/{done.id}/nodes"
    return answer(request, evaluation, headers=headers)


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
    """The report on every node from an evaluation with `per_node`, once that has succeeded: purity,
    entropy, most frequent class, exemplars.
    """
    form = by_accept(accept, TABLE)
    record = await threads.run_sync(service.ledger.get, tenant, job_id)
    if record is None or record.kind != "evaluate":
        raise not_found("job of an evaluation", job_id)
    if record.status != "succeeded":
        raise Refused("conflict", f"Job {job_id!r} is {record.status}; it has no report on nodes.")

    def load() -> tuple[pa.Table, dict[str, str]]:
        return _opened(service, tenant, job_id), {}

    return await respond(request, form, load, Turn("export", waits=False))


def _opened(service: Service, tenant: str, job_id: str) -> pa.Table:
    """The table, mapped and not read. Raises Refused `not-found` for an evaluation without one."""
    path = service.trees.file(tenant, model.sibling(job_id, "tr"), NODES)
    if path is None:
        raise not_found("report on nodes of job", job_id)
    return mapped(path)
