"""Where an attempt's child asks for the next piece of its fit and is told who has computed it.

The child computes whatever is free; what helpers have computed it is given as a file. It needs no
helper: where the board is out of reach, or a helper takes too long, the child computes the piece
itself, and what the helper brings later is passed over. A piece is a pure function, so it does not
matter who was first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from models.method import Piece
from workers.child.crew import Reply
from workers.errors import FatalError, TransientError
from workers.jobs.pieces import Pieces
from workers.model import Claim
from workers.settings import WorkerSettings
from workers.stores.redis.boards import Step, lease_s

_PATIENCE = 2.0
"""A helper may take so many times as long as this child took for its longest piece, and a lease."""

_log = logging.getLogger(__name__)

Meanwhile = Callable[[Callable[[], Path | None]], Path | None]


class Desk:
    """The pieces of one attempt. Used by one thread."""

    def __init__(self, pieces: Pieces, claim: Claim, settings: WorkerSettings) -> None:
        self._pieces = pieces
        self._claim = claim
        self._settings = settings
        self._first = self._end = 0
        # What the child has not got; what it has finished and the board does not know of.
        self._left: set[int] = set()
        self._finished: list[int] = []
        self._seen = 0
        self._asked_at: float | None = None
        self._begun: tuple[int, float] | None = None
        self._longest_s = 0.0
        self._invited_at = 0.0

    def post(self, pieces: Sequence[Piece]) -> None:
        """The child has cut its fit, maybe once more."""
        self._first = self._end
        self._end += len(pieces)
        self._left = set(range(self._first, self._end))
        self._finished = []
        self._begun, self._asked_at = None, None
        self._invited_at = time.monotonic()
        try:
            self._pieces.post(self._claim, self._first, pieces)
        except TransientError as error:
            _log.warning("job %s: its pieces are computed here: %s", self._claim.request.id, error)

    def ask(self, finished: int | None) -> None:
        """The child wants a piece, having `finished` the one that it was given to compute."""
        now = time.monotonic()
        if finished is not None:
            if self._begun is None or self._begun[0] != self._first + finished:
                raise FatalError("the job's process finished a piece that it was not given")
            self._finished.append(self._begun[0])
            self._longest_s = max(self._longest_s, now - self._begun[1])
        if not self._left or self._asked_at is not None:
            raise FatalError("the job's process asked for a piece that is not there")
        self._begun, self._asked_at = None, now

    def answer(self, meanwhile: Meanwhile) -> Reply | None:
        """What the child is to do next; None while it asks for nothing or must wait.

        meanwhile : does what may take long.
        """
        if self._asked_at is None:
            return None
        while True:
            step = self._step()
            if step.kind == "done":
                self._seen += 1
                if step.number in self._left:
                    path = meanwhile(partial(self._pieces.fetch, self._claim, step))
                    return self._give(step.number, path)
            elif step.kind == "take":
                if step.number in self._left:
                    return self._give(step.number)
                self._finished.append(step.number)
            elif step.kind == "lost" or self._impatient():
                # Helpers begin with the first.
                return self._give(max(self._left))
            else:
                return None

    def invite(self) -> None:
        """Ask for help again, now and then: hints are lost, and workers come."""
        if not self._left or time.monotonic() - self._invited_at < self._settings.resend_s:
            return
        self._invited_at = time.monotonic()
        try:
            self._pieces.invite_again(self._claim)
        except TransientError as error:
            _log.warning("job %s: no help asked for: %s", self._claim.request.id, error)

    def close(self) -> None:
        """The attempt is over."""
        if not self._end:
            return
        try:
            self._pieces.close(self._claim)
        except TransientError as error:
            _log.warning("job %s: its pieces are removed later: %s", self._claim.request.id, error)

    def _step(self) -> Step:
        try:
            step = self._pieces.next(self._claim, self._seen, self._finished)
        except TransientError:
            return Step("lost")
        if step.kind != "lost":
            self._finished = []
        return step

    def _give(self, number: int, path: Path | None = None) -> Reply:
        self._left.discard(number)
        self._asked_at = None
        self._begun = (number, time.monotonic()) if path is None else None
        return Reply(number=number - self._first, path=path)

    def _impatient(self) -> bool:
        assert self._asked_at is not None
        waited = time.monotonic() - self._asked_at
        return waited > lease_s(self._settings) + _PATIENCE * self._longest_s
