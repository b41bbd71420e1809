"""Health of the process and of the service, and its metrics."""

from __future__ import annotations

from collections.abc import Callable

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.http.dependencies import Service, ServiceDep
from app.http.problems import Refused, responses
from app.schemas.health import Health
from workers.errors import TransientError

router = APIRouter(tags=["health"])


@router.get(
    "/livez",
    operation_id="get_livez",
    summary="Whether the process is up",
    responses={200: {"content": {"application/json": {"example": {"status": "ok"}}}}},
)
async def get_livez() -> Health:
    """Answers as long as the process runs, whatever the state of Redis and the store."""
    return Health()


@router.get(
    "/readyz",
    operation_id="get_readyz",
    summary="Whether the service is ready",
    responses={
        200: {"content": {"application/json": {"example": {"status": "ok"}}}},
        **responses("unavailable"),
    },
)
async def get_readyz(service: ServiceDep) -> Health:
    """Succeeds if Redis, the object store and a worker can be reached; 503 names what cannot."""
    away = await to_thread.run_sync(_away, service)
    if away:
        raise Refused(
            "unavailable",
            f"Not ready: {', '.join(away)} cannot be reached.",
            headers={"Retry-After": "2"},
            away=away,
        )
    return Health()


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={
        200: {
            "description": "Prometheus text.",
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "example": 'umbel_jobs{status="queued"} 3.0\n',
                }
            },
        },
        **responses("unauthenticated", "forbidden"),
    },
)
async def get_metrics(request: Request) -> Response:
    """Requests, jobs by status, queue lengths. Other machines need a key."""
    text = await to_thread.run_sync(generate_latest, request.app.state.metrics.registry)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _away(service: Service) -> list[str]:
    parts: dict[str, Callable[[], object]] = {
        "redis": service.redis.ping,
        "store": service.blobs.ping,
    }
    away = [name for name, ask in parts.items() if not _answers(ask)]
    if "redis" not in away and not _has_workers(service):
        away.append("workers")
    return away


def _answers(ask: Callable[[], object]) -> bool:
    from redis.exceptions import RedisError

    try:
        ask()
    except (TransientError, RedisError):
        return False
    return True


def _has_workers(service: Service) -> bool:
    try:
        return bool(service.ledger.workers_alive())
    except TransientError:
        return False
