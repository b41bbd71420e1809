"""What a child sends its supervisor: one JSON object a message, answered by `crew.Assignment`s."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workers.child.run import Outcome
from workers.errors import StoreFull, StoreUnavailable, TransientError
from workers.model import MOST_PIECES, Advance


class PieceRequest(BaseModel):
    """The child wants the next piece of its fit; `finished` is the piece it has just computed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    finished: int | None = None


class ChildMessage(BaseModel):
    """Progress, the pieces of a fit, a request for one of them, the number of a checkpoint, or the
    last message: the outcome, or a failure that may pass.

    transient : what kept the job from being done and may pass; `transient_kind` says whether there
        was no room left, a store did not answer, or neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    advance: Advance | None = None
    pieces: tuple[dict[str, Any], ...] | None = Field(None, max_length=MOST_PIECES)
    piece_request: PieceRequest | None = None
    checkpoint: int | None = None
    outcome: Outcome | None = None
    transient: str | None = None
    transient_kind: Literal["full", "away", "other"] = "other"

    def transient_error(self) -> TransientError:
        """`transient` as the error to raise."""
        kinds = {"full": StoreFull, "away": StoreUnavailable, "other": TransientError}
        return kinds[self.transient_kind](self.transient)
