"""Health of the process and of the service, and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, NamedTuple

from anyio.lowlevel import RunVar
from fastapi import APIRouter, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from redis.exceptions import RedisError

from app.http import threads
from app.http.dependencies import Service, ServiceDep
from app.http.late import LateRoute
from app.http.problems import Refused, responses
from app.resources.service.health.schemas import Health
from workers.child.compiling import COMPILING
from workers.errors import COMPARING, StoreFull, TransientError
from workers.stores.redis.client import translated
from workers.stores.redis.durability import risks

_LEAST_ROOM = 1 << 20
"""Bytes: with less, a store is full; a request and a small result need about that much."""

_GLANCE_S = 1.0
"""How long to wait for a comparison of Redis with the store that may be over soon."""


class State(NamedTuple):
    """away, full : the parts that cannot be reached, and those that can be read and not written.
    n_workers : how many are alive. warnings : what the settings of Redis may lose."""

    away: list[str]
    full: list[str]
    n_workers: int
    warnings: tuple[str, ...]


_Check = asyncio.Task[State]
_checks_of_loop: RunVar[dict[str, _Check]] = RunVar("checks of readiness")

router = APIRouter(tags=["health"], route_class=LateRoute)


@router.get(
    "/livez",
    response_model_exclude_none=True,
    operation_id="get_livez",
    summary="Whether the process is up",
    responses={200: {"content": {"application/json": {"example": {"status": "ok"}}}}},
)
async def get_livez() -> Health:
    """Answers as long as the process runs, whatever the state of Redis and the store."""
    return Health()


@router.get(
    "/readyz",
    response_model_exclude_none=True,
    operation_id="get_readyz",
    summary="Whether the service is ready",
    responses={
        200: {
            "content": {
                "application/json": {"example": {"status": "ok", "instance": "5f0c2b9e4d1a7c36"}}
            }
        },
        **responses("unavailable", "full"),
    },
)
async def get_readyz(
    service: ServiceDep,
    workers: Annotated[
        bool,
        Query(
            description="Whether a worker must be alive, too. `false` is for what decides whether "
            "requests are sent to this process: without workers it accepts jobs, and serves what "
            "is stored. The answer has the number of workers then."
        ),
    ] = True,
) -> Health:
    """Succeeds if Redis, the object store and a worker can be reached and written.

    `warnings` names settings of Redis that may lose data. 503 names what cannot be reached, or says
    that the workers still compile what they need, or, after a start of Redis, how far its records
    are compared with the store, until which lists answer 503 (with `workers=false` a warning, since
    all else is served). 507 names what has no room left: what is stored
    can still be read. `instance` says which service answers, also beside a problem.
    """
    away, full, n_workers, risky = await _checked(service)
    away = list(away)
    if workers and n_workers == 0 and "redis" not in full:
        # Where Redis is full, workers cannot report that they are alive.
        away.append("workers")
    if away:
        why = f"{', '.join(away)} cannot be reached"
        if away == ["workers"] and await threads.run_sync(_compiling, service):
            why = COMPILING
        raise Refused(
            "unavailable",
            f"Not ready: {why}.",
            headers={"Retry-After": "2"},
            away=away,
            instance=service.settings.instance_id,
        )
    if full:
        raise Refused(
            "full",
            f"No room left in: {', '.join(full)}. What is stored can be read.",
            headers={"Retry-After": "2"},
            full=full,
            instance=service.settings.instance_id,
        )
    warnings = list(risky)
    course = await threads.run_sync(_course, service, _GLANCE_S if workers else 0.0)
    if course is not None and workers:
        raise Refused(
            "unavailable",
            f"Not ready: {course}.",
            headers={"Retry-After": "2"},
            away=["records"],
            instance=service.settings.instance_id,
        )
    if course is not None:
        warnings.append(f"Lists answer 503 for now: {course}.")
    return Health(
        warnings=warnings or None,
        workers=None if workers else n_workers,
        instance=service.settings.instance_id,
    )


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
    openapi_extra={"security": [{"key": []}]},
)
async def get_metrics(request: Request) -> Response:
    """Requests, jobs, queues, workers, tenants and the store. Where there are keys, it needs
    `Authorization: Bearer <UMBEL_METRICS_TOKEN>`, or a key of the role `admin`.
    """
    text = await threads.run_sync(request.app.state.metrics.text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _checked(service: Service) -> State:
    """As `_state`; requests that come while a check is under way share the next one, so that any
    number of them writes to the store no more than once at a time."""
    checks = _checks()
    running = checks.get("running")
    following = checks.get("following")
    if following is None:
        following = checks["following"] = asyncio.create_task(_check(service, checks, running))
    return await asyncio.shield(following)


async def _check(service: Service, checks: dict[str, _Check], running: _Check | None) -> State:
    if running is not None:
        await asyncio.wait([running])
    checks["running"] = checks.pop("following")
    return await threads.run_sync(_state, service)


def _checks() -> dict[str, _Check]:
    """The checks of this event loop: the one that is `running` or was last, and `following`."""
    try:
        return _checks_of_loop.get()
    except LookupError:
        checks: dict[str, _Check] = {}
        _checks_of_loop.set(checks)
        return checks


def _warnings(service: Service) -> tuple[str, ...]:
    try:
        return risks(service.redis)
    except TransientError:
        return ()


def _course(service: Service, wait_s: float) -> str | None:
    """How far Redis is compared with the store, where lists wait for that; begins it."""
    try:
        return service.ledger.rebuild_course(wait_s)
    except TransientError:
        return COMPARING


def _state(service: Service) -> State:
    parts: dict[str, Callable[[], object]] = {
        "redis": partial(_write_to_redis, service),
        "store": partial(_write_to_store, service),
    }
    states = {name: _state_of(write) for name, write in parts.items()}
    away = [name for name, state in states.items() if state == "away"]
    full = [name for name, state in states.items() if state == "full"]
    n_workers = _n_workers(service) if states["redis"] == "ok" else 0
    return State(away, full, n_workers, _warnings(service))


def _state_of(write: Callable[[], object]) -> Literal["ok", "full", "away"]:
    try:
        with translated():
            write()
    except StoreFull:
        return "full"
    except (TransientError, RedisError):
        return "away"
    return "ok"


def _write_to_redis(service: Service) -> None:
    service.redis.set(f"{service.settings.key_prefix}ready", 1, px=1000)


def _write_to_store(service: Service) -> None:
    service.blobs.ping()
    free = service.blobs.free_bytes()
    if free is not None and free < _LEAST_ROOM:
        raise StoreFull("the object store's disk is full")


def _n_workers(service: Service) -> int:
    try:
        return service.ledger.workers.n_alive()
    except TransientError:
        return 0


def _compiling(service: Service) -> bool:
    try:
        return service.ledger.workers.any_compiles()
    except TransientError:
        return False
