"""Jobs that have an id, a list and an address of their own: what all of their bodies say."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from app.creation.annotation_schemas import Description, Tags
from app.creation.job_schemas import AdvanceBody
from app.creation.result_schemas import ProblemDict
from app.http.late import LateModel
from workers.kinds.registry import kind_of
from workers.model import Record, Status

_SHARED = {
    *("name", "description", "tags", "status", "progress", "error"),
    *("expires_at", "created_at", "finished_at"),
}

EXAMPLE: dict[str, Any] = {
    "name": None,
    "description": None,
    "tags": [],
    "status": "succeeded",
    "progress": {"fraction": 1.0, "stage": "done", "message": "", "eta_s": 0.0},
    "error": None,
    "expires_at": None,
    "created_at": "2026-11-21T17:00:00.000000Z",
    "finished_at": "2026-11-21T17:00:01.000000Z",
}
"""The members of every example but the ids."""


class NamedJobBody(LateModel):
    """The state of such a job; a subclass adds what it leaves."""

    id: str
    job: str = Field(description="The job that makes it: follow or cancel that job.")
    name: str | None
    description: Description
    tags: Tags
    status: Status
    progress: AdvanceBody
    error: ProblemDict | None
    expires_at: str | None = Field(
        description="When it is removed, as RFC 3339 in UTC; null if that was not requested."
    )
    created_at: str
    finished_at: str | None

    @classmethod
    def of(cls, record: Record) -> Self:
        state = record.model_dump(include=_SHARED)
        ids = {"id": kind_of(record.kind).id_of(record.id), "job": record.id}
        return cls.model_validate({**state, **ids, **cls.left(record)})

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        """The members that the subclass adds."""
        raise NotImplementedError
