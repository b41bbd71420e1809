"""Evaluations: a tree measured against labels, features or another tree."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app import asking, etags
from app.bodies import StrictRoute
from app.deps import OnceDep, RequestId, ServiceDep, Tenant, TreeId
from app.inputs import resolve
from app.problems import responses
from app.schemas.evaluations import Evaluation, EvaluationRequest
from app.schemas.jobs import JobBody
from app.waiting import Prefer
from workers import jobs
from workers.jobs import Record

router = APIRouter(prefix="/v1/trees", tags=["trees"], route_class=StrictRoute)

ROLES = ("labels", "features", "distances", "similarity", "hierarchy")


@router.post(
    "/{tree_id}/evaluations",
    operation_id="evaluate_tree",
    summary="Evaluate a tree",
    response_model=Evaluation,
    responses={
        202: {"model": JobBody, "description": "It takes longer; follow the job."},
        **responses(*asking.REFUSALS),
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
    """
    record = await asking.tree_of(service, tenant, tree_id)
    inputs = {role: getattr(body, role) for role in ROLES if getattr(body, role) is not None}
    job_id = jobs.new_id("job")
    content = await request.body()

    async def make() -> Response:
        given = await to_thread.run_sync(resolve, service, tenant, inputs)
        options: dict[str, Any] = {"tree": tree_id, "metrics": body.metrics, "seed": body.seed}
        if body.cut is not None:
            options["cut"] = body.cut.model_dump(exclude_none=True)
        asked_for = asking.asked(
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
        done, answer, headers = await asking.outcome(
            request, service, asked_for, given.inline, prefer
        )
        return _evaluated(request, done, headers) if answer is None else answer

    async def again(made_id: str) -> Response | None:
        earlier = await to_thread.run_sync(service.ledger.get, tenant, made_id)
        if earlier is None:
            return None
        done, answer = asking.settled(request, service, earlier)
        return _evaluated(request, done, {}) if answer is None else answer

    return await once.answer(job_id, content, make, again)


def _evaluated(request: Request, done: Record | None, headers: dict[str, str]) -> Response:
    assert done is not None
    assert done.result is not None
    found = Evaluation.model_validate(done.result["evaluation"])
    return etags.answer(request, found, headers=headers)
