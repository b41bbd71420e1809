"""Health over the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.creation.waiting import WaitingValue


class Health(BaseModel):
    """The process or the service is healthy."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})

    status: Literal["ok"] = "ok"
    warnings: list[str] | None = Field(
        None, description="What the settings of Redis may lose, a sentence each; `/readyz` only."
    )
    workers: int | None = Field(
        None, description="How many workers are alive; only of `/readyz?workers=false`."
    )


class Version(BaseModel):
    """Which version of the service answers."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"api": "1", "service": "1.0.0", "python": "3.11.7", "waiting": []}]
        }
    )

    api: str = Field(description="The version of this contract.")
    service: str = Field(description="The version of the software.")
    python: str
    waiting: list[WaitingValue] = Field(
        default=[],
        description="Maps (`by`) and forms of pictures (`form`) that are not accepted: a package "
        "that they need is not installed. What of methods waits is in `GET /v1/methods`.",
    )
