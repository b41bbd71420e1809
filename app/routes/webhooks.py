"""What webhooks are signed with, and what they look like to who gets them."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Header, Response

from app.http.dependencies import ServiceDep, Tenant
from app.http.problems import responses
from app.schemas.jobs import EndedBody
from app.schemas.webhooks import SecretBody
from workers.jobs.webhook_keys import encoded

router = APIRouter(prefix="/v1/webhook-secret", tags=["jobs"])

callbacks = APIRouter()
"""Not served: what the document says of the request that a job's webhook gets."""


@router.get(
    "",
    operation_id="get_webhook_secret",
    summary="What webhooks are signed with",
    response_model=SecretBody,
    responses=responses("unauthenticated", "forbidden", "unavailable"),
)
async def get_webhook_secret(response: Response, service: ServiceDep, tenant: Tenant) -> SecretBody:
    """The caller's own secret, the same for all of its webhooks; it stays until the service's
    setting changes."""
    keys = await to_thread.run_sync(service.ledger.webhooks.keys.of, tenant)
    response.headers["Cache-Control"] = "no-store"
    return SecretBody(secret=encoded(keys[0]), former=encoded(keys[1]) if keys[1:] else None)


@callbacks.post(
    "{$request.body#/webhook}",
    operation_id="job_ended",
    summary="A job has ended",
    status_code=204,
    responses={
        204: {"description": "Any 2xx: it has arrived."},
        410: {"description": "It is not wanted, and not sent again."},
        "default": {
            "description": "Any other answer, or none within 15 s: it is sent again after 5 s, "
            "5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, or as late as `Retry-After` says. Redirects "
            "are not followed."
        },
    },
)
async def job_ended(
    body: EndedBody,
    webhook_id: Annotated[
        str, Header(description="The same at every try: two with one id are one.")
    ],
    webhook_timestamp: Annotated[int, Header(description="When it was sent, in Unix seconds.")],
    webhook_signature: Annotated[
        str,
        Header(
            description="As Standard Webhooks says: `v1,` and the HMAC-SHA256 of "
            "`<id>.<timestamp>.<body>` in base64; several have spaces between."
        ),
    ],
) -> None:
    """Standard Webhooks 1.0.0, signed with what `GET /v1/webhook-secret` gives."""
