"""The messages between a child and its supervisor, one JSON object each."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workers.errors import StoreFull, StoreUnavailable, TransientError
from workers.model import MOST_PIECES, Advance
from workers.work.crew import Assignment
from workers.work.job import Outcome, Spec


class SupervisorMessage(BaseModel):
    """A job, or the answer to a `PieceRequest`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: Spec | None = None
    assignment: Assignment | None = None


class PieceRequest(BaseModel):
    """A request for the next piece of the fit; `finished` is the piece just computed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    finished: int | None = None


class ChildMessage(BaseModel):
    """Progress, the pieces of a fit, a request for one of them, the number of a checkpoint, or the
    last message: the outcome, or a transient failure.

    shared : whether the arrays that the pieces share lie in their file.
    peak_bytes : with the last message, the most memory that the job has used (resident).
    stays : with the last message, whether the process waits for another job of the same tenant.
    transient : the message of a transient failure; `transient_kind` says whether there was no room
        left, a store did not answer, or neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    advance: Advance | None = None
    pieces: tuple[dict[str, Any], ...] | None = Field(None, max_length=MOST_PIECES)
    shared: bool = False
    piece_request: PieceRequest | None = None
    checkpoint: int | None = None
    outcome: Outcome | None = None
    peak_bytes: int | None = Field(None, ge=0, le=1 << 50)
    stays: bool = False
    transient: str | None = None
    transient_kind: Literal["full", "away", "other"] = "other"

    def transient_error(self) -> TransientError:
        """`transient` as the error to raise."""
        kinds = {"full": StoreFull, "away": StoreUnavailable, "other": TransientError}
        return kinds[self.transient_kind](self.transient)
