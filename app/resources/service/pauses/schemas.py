"""Pauses over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from app.http.late import LateModel

EXAMPLE: dict[str, Any] = {
    "scope": "lane",
    "name": "cpu:fit",
    "reason": "The store moves tonight.",
    "since": "2026-11-21T17:00:00.000000Z",
}


class NewPause(LateModel):
    """Why it is paused."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "..."}]})

    reason: str | None = Field(
        None, max_length=1000, description="Shown to whoever reads a job that waits for it."
    )
