"""The secret that signs webhooks, and the requests that their receivers get."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Header, Response
from starlette.routing import BaseRoute

from app.http.dependencies import Caller, ServiceDep
from app.http.problems import Refused, responses
from app.http.queries import ONLY_KNOWN
from app.schemas.jobs import EndedBody
from app.schemas.webhooks import SecretBody
from workers.jobs.webhook_keys import encoded

router = APIRouter(prefix="/v1/webhook-secret", tags=["jobs"], dependencies=ONLY_KNOWN)


@router.get(
    "",
    operation_id="get_webhook_secret",
    summary="The secret that signs webhooks",
    response_model=SecretBody,
    responses=responses("unauthenticated", "forbidden", "unavailable"),
)
async def get_webhook_secret(response: Response, service: ServiceDep, caller: Caller) -> SecretBody:
    """The caller's own secret, the same for all its webhooks until the service changes it.

    A key that may only read does not get it: with it webhooks can be forged.
    """
    if caller.role == "read":
        raise Refused(
            "forbidden",
            "This key may only read, and the secret signs; use a key with the role `write`.",
        )
    keys = await to_thread.run_sync(service.ledger.webhooks.keys.of, caller.tenant)
    response.headers["Cache-Control"] = "no-store"
    return SecretBody(secret=encoded(keys[0]), former=encoded(keys[1]) if keys[1:] else None)


def callbacks(operation_id: str) -> list[BaseRoute]:
    """The request that the webhook of an operation receives, for the document; it is not served."""
    router = APIRouter()
    router.post(
        "{$request.body#/webhook}",
        operation_id=operation_id,
        name="job_ended",
        summary="A job has ended",
        status_code=204,
        responses={
            204: {"description": "Any 2xx: the request has arrived."},
            410: {"description": "The receiver does not want it; it is not sent again."},
            "default": {
                "description": "Any other answer, or none within 15 s: the request is sent again "
                "after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, or later if `Retry-After` "
                "says so. Redirects are not followed."
            },
        },
    )(_job_ended)
    return router.routes


async def _job_ended(
    body: EndedBody,
    webhook_id: Annotated[
        str, Header(description="The same at every attempt: requests with the same id are repeats.")
    ],
    webhook_timestamp: Annotated[int, Header(description="When it was sent, in Unix seconds.")],
    webhook_signature: Annotated[
        str,
        Header(
            description="As in Standard Webhooks: `v1,` and the HMAC-SHA256 of "
            "`<id>.<timestamp>.<body>` in base64; several are separated by spaces."
        ),
    ],
) -> None:
    """Standard Webhooks 1.0.0, signed with the secret from `GET /v1/webhook-secret`."""
