"""What a caller uses, beside the most that it may."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.creation.allowances import limits_of_tenant
from app.http import threads
from app.http.dependencies import Caller, Service, ServiceDep
from app.http.keyring import Access
from app.http.late import LateRoute
from app.http.problems import responses
from app.http.queries import ONLY_KNOWN
from app.http.rates import BucketState
from app.resources.service.usage.schemas import (
    EXAMPLE,
    AmountBody,
    RequestsBody,
    UsageBody,
    UseBody,
)
from workers.kinds.embed import embedding_models
from workers.settings import Limits

router = APIRouter(
    prefix="/v1/usage", tags=["service"], dependencies=ONLY_KNOWN, route_class=LateRoute
)


@router.get(
    "",
    operation_id="get_usage",
    summary="What the caller uses",
    response_model=UsageBody,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        **responses("unauthenticated", "forbidden", "invalid-request", "unavailable"),
    },
)
async def get_usage(response: Response, service: ServiceDep, caller: Caller) -> UsageBody:
    """What the caller's tenant, and the key that was sent, use of what they may: bytes, datasets,
    trees, jobs, and requests. This request counts. `phrases` says whether they may have names of
    nodes phrased by a language model.
    """
    states = await _bucket_states(service, caller)
    tenant = await threads.run_sync(
        lambda: _use(
            service,
            caller.tenant,
            None,
            limits_of_tenant(service.settings, caller.tenant),
            states.get("tenant"),
        )
    )
    key = caller.key
    of_key = None
    if key is not None:
        of_key = await threads.run_sync(
            lambda: _use(service, caller.tenant, key.id, key.limits, states.get("key"))
        )
    response.headers["Cache-Control"] = "no-store"
    return UsageBody(
        tenant=tenant,
        key=of_key,
        role=caller.role,
        phrases=bool(service.settings.naming_url),
        embeds=[role for role, model in embedding_models(service.settings).items() if model],
    )


async def _bucket_states(service: Service, caller: Access) -> dict[str, BucketState]:
    """By name the states of the caller's buckets of requests, which are only looked at."""
    buckets = service.rates.buckets(caller)
    states = await service.rates.take(buckets, 0) if buckets else None
    return {state.bucket.name: state for state in states or ()}


def _use(
    service: Service, tenant: str, key_id: str | None, limits: Limits, state: BucketState | None
) -> UseBody:
    service.ledger.ensure_built()
    used = service.usage.of(tenant, key_id)
    most = limits.stated()
    amounts = {
        what: AmountBody(used=number, limit=None if what not in most else int(most[what]))
        for what, number in used.items()
    }
    requests = RequestsBody(used=None, limit=None, window_s=None)
    if state is not None:
        size = state.bucket.size
        requests = RequestsBody(used=size - state.left, limit=size, window_s=state.bucket.window_s)
    return UseBody(id=key_id or tenant, requests=requests, **amounts)
