"""What a caller uses, over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from workers.artifacts.keys import Role

EXAMPLE: dict[str, Any] = {
    "tenant": {
        "id": "acme",
        "bytes": {"used": 20000128, "limit": 10000000000},
        "datasets": {"used": 1, "limit": None},
        "trees": {"used": 3, "limit": None},
        "jobs": {"used": 4, "limit": None},
        "queued": {"used": 1, "limit": 100},
        "running": {"used": 0, "limit": 2},
        "requests": {"used": 3, "limit": 100, "window_s": 10},
    },
    "key": None,
    "role": "admin",
    "phrases": False,
    "embeds": [],
}


class AmountBody(LateModel):
    """How much of something is used."""

    model_config = ConfigDict(title="Amount")

    used: int
    limit: int | None = Field(description="The most that may be used; null: there is no limit.")


class RequestsBody(LateModel):
    """How many requests were sent lately. All are null where requests are not limited."""

    model_config = ConfigDict(title="Requests")

    used: int | None = Field(description="How many of `limit` are used up at present.")
    limit: int | None = Field(description="How many may be sent at once.")
    window_s: int | None = Field(description="After how many seconds without any all are back.")


class UseBody(LateModel):
    """What a tenant, or one key, uses, and the most that it may."""

    model_config = ConfigDict(title="Use")

    id: str = Field(description="The tenant, or the id of the key.")
    bytes: AmountBody = Field(
        description="In datasets, parts of uploads, inline inputs, and results of jobs."
    )
    datasets: AmountBody
    trees: AmountBody
    jobs: AmountBody = Field(description="All that are listed, whatever their status.")
    queued: AmountBody
    running: AmountBody
    requests: RequestsBody


class UsageBody(LateModel):
    """What the caller uses."""

    model_config = ConfigDict(title="Usage", json_schema_extra={"examples": [EXAMPLE]})

    tenant: UseBody
    key: UseBody | None = Field(
        description="The part that was made with the caller's key; null for a key that the service "
        "does not keep in its store."
    )
    role: Role = Field(description="What the caller may do: `read`, `write` or `admin`.")
    phrases: bool = Field(
        description="Whether the service has a language model that phrases names of nodes (`by` "
        "`model` of a naming)."
    )
    embeds: list[Literal["documents", "items"]] = Field(
        description="What `POST /v1/embeddings` takes: texts, images; nothing without an embedder."
    )
