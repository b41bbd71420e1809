"""The secret that signs webhooks, and the requests that their receivers get."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from app.http import threads
from app.http.dependencies import Caller, ServiceDep
from app.http.late import LateModel, LateRoute
from app.http.problems import Refused, responses
from app.http.queries import ONLY_KNOWN
from workers.jobs.webhook_keys import encoded

router = APIRouter(
    prefix="/v1/webhook-secret", tags=["jobs"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

EXAMPLE: dict[str, Any] = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
    "former": None,
}


class SecretBody(LateModel):
    """The key that signs a tenant's webhooks, in the notation of Standard Webhooks."""

    model_config = ConfigDict(title="WebhookSecret", json_schema_extra={"examples": [EXAMPLE]})

    secret: str = Field(
        description="`whsec_` and 32 bytes in base64, as the receiver's library takes it."
    )
    former: str | None = Field(
        description="The previous secret, which also signs while the service changes its secret."
    )


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
    webhooks = service.ledger.webhooks
    keys = await threads.run_sync(webhooks.keys.of, caller.tenant)
    await threads.run_sync(webhooks.compare_keys)
    response.headers["Cache-Control"] = "no-store"
    return SecretBody(secret=encoded(keys[0]), former=encoded(keys[1]) if keys[1:] else None)
