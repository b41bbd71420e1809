"""Workers: which are alive, and what each does."""

from __future__ import annotations

from typing import Any, Literal

from anyio import to_thread
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.http.dependencies import Operator, Service, ServiceDep
from app.http.problems import responses
from app.http.queries import ONLY_KNOWN

router = APIRouter(prefix="/v1/workers", tags=["health"], dependencies=ONLY_KNOWN)

EXAMPLE: dict[str, Any] = {
    "id": "host-4711-0f3a9c",
    "status": "active",
    "queues": ["cpu"],
    "running": ["job_01kamjx5w0n5zr4v8cqe2t7h3f"],
    "seen_at": "2026-11-21T17:00:00.000000Z",
}


class WorkerBody(BaseModel):
    """A worker, as it reported last."""

    model_config = ConfigDict(title="Worker", json_schema_extra={"examples": [EXAMPLE]})

    id: str
    status: Literal["active", "draining", "drained"] = Field(
        description="`draining` while it is paused and still at a job; then `drained`."
    )
    queues: list[str]
    running: list[str] = Field(description="The jobs at which it is.")
    seen_at: str = Field(description="As RFC 3339 in UTC.")


class WorkerList(BaseModel):
    """The workers that are alive."""

    model_config = ConfigDict(
        title="Workers", json_schema_extra={"examples": [{"items": [EXAMPLE]}]}
    )

    items: list[WorkerBody]


@router.get(
    "",
    operation_id="list_workers",
    summary="The workers",
    responses={
        200: {"content": {"application/json": {"example": {"items": [EXAMPLE]}}}},
        **responses("unauthenticated", "forbidden", "invalid-request", "unavailable"),
    },
)
async def list_workers(service: ServiceDep, caller: Operator) -> WorkerList:
    """The workers that have reported within 15 s, by id. A worker drains while it is paused
    (`PUT /v1/pauses/worker/{name}`); once it is `drained` it can be stopped and nothing is lost.
    """
    return WorkerList(items=await to_thread.run_sync(_workers, service))


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
