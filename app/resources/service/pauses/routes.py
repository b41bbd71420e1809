"""Pauses: what takes no jobs for now."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from app.creation.job_schemas import PauseBody
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import Operator, Service, ServiceDep
from app.http.paging import ByName, Page, example_page
from app.http.problems import Refused, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.service.pauses.schemas import EXAMPLE, NewPause
from models import registry
from workers.jobs.hints import QUEUES
from workers.kinds.kind import LANES
from workers.kinds.registry import kinds
from workers.model import Pause, Scope, now
from workers.settings import TENANT

router = APIRouter(
    prefix="/v1/pauses", tags=["operators"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)

ScopePath = Annotated[Scope, Path(description="What is paused.", examples=["lane"])]
NamePath = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9_.:-]{1,200}$",
        description="A lane `<queue>:<kind>` or a whole queue; a tenant; the id of a method or a "
        "worker.",
        examples=["cpu:fit"],
    ),
]


@router.get(
    "",
    operation_id="list_pauses",
    summary="What is paused",
    response_model=Page[PauseBody],
    responses={
        200: example_page(EXAMPLE),
        **responses("unauthenticated", "forbidden", "invalid-request", "unavailable"),
    },
)
async def list_pauses(
    response: Response,
    service: ServiceDep,
    caller: Operator,
    paging: ByName,
    scope: Annotated[Scope | None, Query(description="Only pauses of this scope.")] = None,
) -> Page[PauseBody]:
    """Everything that takes no jobs for now; by name: by scope and name."""

    def read() -> list[Pause]:
        service.ledger.ensure_built()
        return [each for each in service.ledger.pauses.all() if scope in (None, each.scope)]

    return paging.cut(
        response,
        await threads.run_sync(read),
        lambda pause: PauseBody.model_validate(pause.model_dump()),
        own=lambda pause: f"{pause.scope}/{pause.name}",
        when=lambda pause: pause.since,
        name=lambda pause: pause.scope,
    )


@router.put(
    "/{scope}/{name}",
    operation_id="pause",
    summary="Pause a lane, a tenant, a method or a worker",
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        **responses(
            "unauthenticated", "forbidden", "not-found", "invalid-request", "unavailable", "full"
        ),
    },
)
async def pause(
    service: ServiceDep, caller: Operator, scope: ScopePath, name: NamePath, body: NewPause
) -> PauseBody:
    """Its jobs are accepted and stay queued, with the pause as their `paused`; those that run go
    on. A worker that is paused drains: it takes no more jobs, gives back those that have saved a
    checkpoint, and finishes the others. Pausing again changes the reason.
    """

    def put() -> Pause:
        service.ledger.ensure_built()
        _check(service, scope, name)
        made = Pause(scope=scope, name=name, reason=body.reason, since=now())
        service.ledger.pauses.put(made)
        return made

    return PauseBody.model_validate((await threads.run_sync(put)).model_dump())


@router.delete(
    "/{scope}/{name}",
    operation_id="resume",
    summary="Resume what is paused",
    status_code=204,
    responses={
        204: {"description": "Its jobs are taken again."},
        **responses("unauthenticated", "forbidden", "not-found", "invalid-request", "unavailable"),
    },
)
async def resume(
    service: ServiceDep, caller: Operator, scope: ScopePath, name: NamePath
) -> Response:
    """What waited is taken in its turn."""
    if not await threads.run_sync(service.ledger.pauses.remove, scope, name):
        raise not_found("pause", f"{scope}/{name}")
    return Response(status_code=204)


def _check(service: Service, scope: Scope, name: str) -> None:
    """Raises Refused for what cannot be paused, `not-found` for a worker that is not alive."""
    if scope == "worker":
        if all(worker.id != name for worker in service.ledger.workers.all()):
            raise not_found("worker", name)
        return
    lanes = [*QUEUES, *(f"{queue}:{kind}" for queue in QUEUES for kind in LANES)]
    methods = {*registry.methods(), *(kind.name for kind in kinds())}
    right = {
        "lane": name in lanes,
        "tenant": re.fullmatch(TENANT, name) is not None,
        "method": name in methods,
    }
    if not right[scope]:
        among = f"; there are {', '.join(lanes)}" if scope == "lane" else ""
        raise Refused("invalid-request", f"{name!r} is no {scope}{among}.")
