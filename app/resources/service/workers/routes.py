"""Workers: which are alive, and what each does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from app.http import threads
from app.http.dependencies import Operator, Service, ServiceDep
from app.http.late import LateModel, LateRoute
from app.http.paging import Page, Paging, example_page, paging
from app.http.problems import responses
from app.http.queries import ONLY_KNOWN

router = APIRouter(
    prefix="/v1/workers", tags=["operators"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

EXAMPLE: dict[str, Any] = {
    "id": "host-4711-0f3a9c",
    "status": "active",
    "queues": ["cpu"],
    "running": ["job_01kamjx5w0n5zr4v8cqe2t7h3f"],
    "seen_at": "2026-11-21T17:00:00.000000Z",
}


Standing = Literal["active", "draining", "drained"]


class WorkerBody(LateModel):
    """A worker, as it reported last."""

    model_config = ConfigDict(title="Worker", json_schema_extra={"examples": [EXAMPLE]})

    id: str
    status: Standing = Field(
        description="`draining` while it is paused and still at a job; then `drained`."
    )
    queues: list[str]
    running: list[str] = Field(description="The jobs at which it is.")
    seen_at: str = Field(description="As RFC 3339 in UTC.")


@router.get(
    "",
    operation_id="list_workers",
    summary="The workers",
    response_model=Page[WorkerBody],
    responses={
        200: example_page(EXAMPLE),
        **responses("unauthenticated", "forbidden", "invalid-request", "unavailable"),
    },
)
async def list_workers(
    response: Response,
    service: ServiceDep,
    caller: Operator,
    paging: Annotated[Paging, paging("name")],
    status: Annotated[Standing | None, Query(description="Only workers with this status.")] = None,
) -> Page[WorkerBody]:
    """The workers that have reported within 15 s, by id. A worker drains while it is paused
    (`PUT /v1/pauses/worker/{name}`); once it is `drained` it can be stopped and nothing is lost.
    """
    workers = await threads.run_sync(_workers, service)
    return paging.cut(
        response,
        (worker for worker in workers if status in (None, worker.status)),
        lambda worker: worker,
        own=lambda worker: worker.id,
        name=lambda worker: worker.id,
    )


def _workers(service: Service) -> list[WorkerBody]:
    paused = {pause.name for pause in service.ledger.pauses.all() if pause.scope == "worker"}
    return [
        WorkerBody(
            id=worker.id,
            status="active"
            if worker.id not in paused
            else "draining"
            if worker.running
            else "drained",
            queues=list(worker.queues),
            running=list(worker.running),
            seen_at=worker.seen_at,
        )
        for worker in service.ledger.workers.all()
    ]
