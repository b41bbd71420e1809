"""A fit that is cut into pieces, from the child's side: which to compute, which to read.

The child has access to neither Redis nor the store; a `Coordinator` tells it what others have
computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays
from models.running.progress import SHARED, Alone, Piece, PieceProgress, Progress, with_shared
from workers.artifacts.results import load_arrays, mapped_arrays, save_named
from workers.model import MOST_PIECES

LARGEST_POST = 8 << 20
"""The limit on the JSON of all pieces in Redis, in bytes; beyond it the child computes them all."""


class Assignment(BaseModel):
    """A piece, by its number: to be computed or, if there is a `path`, to be read from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    path: Path | None = None


class Coordinator(Protocol):
    """Hands a child the pieces of its fit, and stores its checkpoints."""

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        """Announce the pieces, and the file with the arrays that they share, if there is one."""
        ...

    def next(self, finished: int | None) -> Assignment:
        """Wait for the next piece, each number once; `finished` is the one just computed."""
        ...

    def keep(self, checkpoint: int) -> None:
        """Announce that the checkpoint of this number lies in its folder."""
        ...


class Crew:
    """A `models.running.progress.Crew`: this process and, with a coordinator, its helpers.

    piece : computes one, and reports progress from 0 to 1.
    progress : the progress of the fit.
    folder : where arrays that pieces share are written.
    """

    def __init__(
        self,
        piece: Callable[[Piece, Progress], Arrays],
        progress: Progress,
        n_pieces: int = 1,
        coordinator: Coordinator | None = None,
        folder: Path | None = None,
    ) -> None:
        self.n_pieces = n_pieces
        self._piece = piece
        self._progress = progress
        self._coordinator = coordinator
        self._folder = folder

    def compute(
        self, pieces: Sequence[Piece], shared: Arrays | None = None
    ) -> Iterator[tuple[int, Arrays]]:
        if self._coordinator is not None and 1 < len(pieces) <= MOST_PIECES:
            text = json.dumps(list(pieces), allow_nan=False)
            if len(text) <= LARGEST_POST:
                # In the form a helper receives, so that it does not matter who computes.
                yield from self._divided(json.loads(text), shared, self._coordinator)
                return
        yield from Alone(self._piece, progress=self._progress).compute(pieces, shared)

    def _divided(
        self, pieces: Sequence[Piece], shared: Arrays | None, coordinator: Coordinator
    ) -> Iterator[tuple[int, Arrays]]:
        progress = PieceProgress(self._progress, len(pieces))
        path = None
        if shared is not None:
            assert self._folder is not None
            path = self._folder / SHARED
            save_named(shared, path)
            shared = mapped_arrays(path)
        coordinator.post(pieces, path)
        finished: int | None = None
        for _ in pieces:
            assignment = coordinator.next(finished)
            if assignment.path is None:
                finished = assignment.number
                yield finished, self._piece(with_shared(pieces[finished], shared), progress)
            else:
                finished = None
                yield assignment.number, load_arrays(assignment.path)
            progress.one_more()
