"""Signing keys of webhooks over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE: dict[str, Any] = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
    "former": None,
}


class SecretBody(BaseModel):
    """The key that signs a tenant's webhooks, in the notation of Standard Webhooks."""

    model_config = ConfigDict(title="WebhookSecret", json_schema_extra={"examples": [EXAMPLE]})

    secret: str = Field(
        description="`whsec_` and 32 bytes in base64, as the receiver's library takes it."
    )
    former: str | None = Field(
        description="The previous secret, which also signs while the service changes its secret."
    )
