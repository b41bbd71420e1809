"""A fit that is cut into pieces, as its child sees it: which to compute, which to read.

The child has neither Redis nor the store; what it knows of others comes through a `Board`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays
from models.method import Piece
from models.progress import Progress
from workers.artifacts.results import load_arrays
from workers.model import MOST_PIECES

LARGEST_POST = 8 << 20
"""Bytes of JSON of all pieces; more is not worth keeping in Redis, and computed by the child."""


class Reply(BaseModel):
    """A piece, by its number: to be computed, or to be read from `path` if there is one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    path: Path | None = None


class Board(Protocol):
    """The child's way to whoever hands its pieces out."""

    def post(self, pieces: Sequence[Piece]) -> None:
        """Say which pieces there are."""
        ...

    def next(self, finished: int | None) -> Reply:
        """Wait for the next piece, each number once; `finished`: the one computed just now."""
        ...

    def keep(self, checkpoint: int) -> None:
        """Say that the checkpoint of this number lies in its folder."""
        ...


class Crew:
    """A `models.method.Crew`: this process and, where there is a board, whoever helps it.

    piece : computes one, and tells its progress as if it were all there is.
    progress : of the fit.
    """

    def __init__(
        self,
        piece: Callable[[Piece, Progress], Arrays],
        progress: Progress,
        n_pieces: int = 1,
        board: Board | None = None,
    ) -> None:
        self.n_pieces = n_pieces
        self._piece = piece
        self._progress = progress
        self._board = board

    def compute(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, Arrays]]:
        if self._board is not None and 1 < len(pieces) <= MOST_PIECES:
            text = json.dumps(list(pieces), allow_nan=False)
            if len(text) <= LARGEST_POST:
                # As a helper gets them, so that it does not matter who computes.
                yield from self._shared(json.loads(text), self._board)
                return
        told = _Told(self._progress, len(pieces))
        for number, piece in enumerate(pieces):
            yield number, self._piece(piece, told)
            told.one_more()

    def _shared(self, pieces: Sequence[Piece], board: Board) -> Iterator[tuple[int, Arrays]]:
        told = _Told(self._progress, len(pieces))
        board.post(pieces)
        finished: int | None = None
        for _ in pieces:
            reply = board.next(finished)
            if reply.path is None:
                finished = reply.number
                yield reply.number, self._piece(pieces[reply.number], told)
            else:
                finished = None
                yield reply.number, load_arrays(reply.path)
            told.one_more()


class _Told:
    """Progress of a piece as its share of that of all pieces: by what it says at its end."""

    def __init__(self, progress: Progress, n_pieces: int) -> None:
        self._progress = progress
        self._n_pieces = n_pieces
        self._done = 0
        self._last: tuple[float, str] | None = None

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        highest = fraction if self._last is None else max(fraction, self._last[0])
        self._last = highest, stage
        self._progress((self._done * highest + fraction) / self._n_pieces, stage, message)

    def one_more(self) -> None:
        self._done += 1
        if self._last is not None:
            highest, stage = self._last
            message = f"{self._done} of {self._n_pieces} pieces"
            self._progress(highest * self._done / self._n_pieces, stage, message)
