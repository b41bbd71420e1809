"""The pieces of one attempt, from the supervisor's side: it hands them to the child one by one.

The child computes whatever is free and receives pieces computed by helpers as files. It does not
depend on helpers: if the board is unreachable, or a helper takes too long, the child computes the
piece itself, and the helper's result is ignored. A piece is a pure function, so it does not matter
who is first.
"""

from __future__ import annotations

import logging
import stat
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from models.running.progress import Piece
from workers.errors import FatalError, TransientError
from workers.jobs.pieces import NextPiece, Pieces, piece_lease_s
from workers.model import Claim
from workers.settings import WorkerSettings
from workers.work.crew import Assignment

_PATIENCE = 2.0
"""A helper may take this many times the child's longest time for a piece, plus a lease."""

_log = logging.getLogger(__name__)

Meanwhile = Callable[[Callable[[], Path | None]], Path | None]


class AttemptPieces:
    """The pieces of one attempt. Used by one thread."""

    def __init__(self, pieces: Pieces, claim: Claim, settings: WorkerSettings) -> None:
        self._pieces = pieces
        self._claim = claim
        self._settings = settings
        self._first = self._end = 0
        # Pieces not yet handed to the child, and pieces it has finished that the board does not
        # know of.
        self._left: set[int] = set()
        self._finished: list[int] = []
        self._n_seen = 0
        self._requested_at: float | None = None
        self._begun: tuple[int, float] | None = None
        self._longest_s = 0.0
        self._invited_at = 0.0

    @property
    def requested(self) -> bool:
        """Whether the child has requested a piece and got no answer yet."""
        return self._requested_at is not None

    def post(self, pieces: Sequence[Piece], shared: Path | None = None) -> None:
        """Called when the child has cut its fit, for the first time or again.

        shared : the file with the arrays that the pieces share.

        Raises FatalError if that is no plain file.
        """
        if shared is not None and not stat.S_ISREG(shared.lstat().st_mode):
            raise FatalError("what the pieces share is no plain file")
        self._first = self._end
        self._end += len(pieces)
        self._left = set(range(self._first, self._end))
        self._finished = []
        self._begun, self._requested_at = None, None
        self._invited_at = time.monotonic()
        try:
            self._pieces.post(self._claim, self._first, pieces, shared)
            if self._first:
                self._pieces.clear(self._claim, self._first)
        except TransientError as error:
            _log.warning("job %s: its pieces are computed here: %s", self._claim.request.id, error)

    def request(self, finished: int | None) -> None:
        """Called when the child requests a piece, having `finished` the one it computed.

        Raises FatalError for a piece that was not handed to it, and if none is left.
        """
        now = time.monotonic()
        if finished is not None:
            if self._begun is None or self._begun[0] != self._first + finished:
                raise FatalError("the job's process finished a piece that was not handed to it")
            self._finished.append(self._begun[0])
            self._longest_s = max(self._longest_s, now - self._begun[1])
        if not self._left or self._requested_at is not None:
            raise FatalError("the job's process requested a piece that does not exist")
        self._begun, self._requested_at = None, now

    def assignment(self, meanwhile: Meanwhile) -> Assignment | None:
        """The answer to the child's request; None if there is no request, or if it must wait.

        meanwhile : runs work that may take long.
        """
        if self._requested_at is None:
            return None
        while True:
            piece = self._next()
            if piece.kind == "done":
                self._n_seen += 1
                if piece.number in self._left:
                    path = meanwhile(partial(self._pieces.fetch, self._claim, piece))
                    return self._assign(piece.number, path)
            elif piece.kind == "take":
                if piece.number in self._left:
                    return self._assign(piece.number)
                self._finished.append(piece.number)
            elif piece.kind == "lost" or self._out_of_patience():
                # Helpers start with the first one.
                return self._assign(max(self._left))
            else:
                return None

    def invite(self) -> None:
        """Request help again from time to time: hints get lost, and workers arrive."""
        if not self._left or time.monotonic() - self._invited_at < self._settings.resend_s:
            return
        self._invited_at = time.monotonic()
        try:
            self._pieces.invite_again(self._claim)
        except TransientError as error:
            _log.warning("job %s: cannot request help: %s", self._claim.request.id, error)

    def close(self) -> None:
        """Called when the attempt is over."""
        if not self._end:
            return
        try:
            self._pieces.close(self._claim)
        except TransientError as error:
            _log.warning("job %s: its pieces are removed later: %s", self._claim.request.id, error)

    def _next(self) -> NextPiece:
        try:
            piece = self._pieces.next(self._claim, self._n_seen, self._finished)
        except TransientError:
            return NextPiece("lost")
        if piece.kind != "lost":
            self._finished = []
        return piece

    def _assign(self, number: int, path: Path | None = None) -> Assignment:
        self._left.discard(number)
        self._requested_at = None
        self._begun = (number, time.monotonic()) if path is None else None
        return Assignment(number=number - self._first, path=path)

    def _out_of_patience(self) -> bool:
        assert self._requested_at is not None
        waited = time.monotonic() - self._requested_at
        return waited > piece_lease_s(self._settings) + _PATIENCE * self._longest_s
