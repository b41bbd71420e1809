"""Signing keys of webhooks over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE: dict[str, Any] = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
    "former": None,
}


class SecretBody(BaseModel):
    """What a tenant's webhooks are signed with, as Standard Webhooks writes it."""

    model_config = ConfigDict(title="WebhookSecret", json_schema_extra={"examples": [EXAMPLE]})

    secret: str = Field(description="`whsec_` and 32 bytes in base64; for the receiver's library.")
    former: str | None = Field(
        description="While the service changes its secret: the one before, which signs as well."
    )
