"""Who computes the pieces of a fit: this process alone, or other workers as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from models.arrays import Arrays
from models.running.progress import PieceProgress, Progress, silent

Piece: TypeAlias = Mapping[str, Any]
"""A part of a fit that can be computed elsewhere, as plain JSON; the method defines its content.

Where all pieces of one call take more than 8 MiB, the process computes them itself. What they have
in common and is larger goes with them as arrays, which a piece finds under `SHARED`."""

SHARED = "shared"


def with_shared(piece: Piece, shared: Arrays | None) -> Piece:
    """The piece with the arrays that it shares with the others, if there are any."""
    return piece if shared is None else {**piece, SHARED: shared}


class Crew(Protocol):
    """Computes the pieces of a fit: in this process alone, or on other workers as well.

    n_pieces : number of pieces that the data should be cut into; 1 where cutting does not pay.
    """

    n_pieces: int

    def compute(
        self, pieces: Sequence[Piece], shared: Arrays | None = None
    ) -> Iterator[tuple[int, Arrays]]:
        """Each piece's number and the result of `Method.piece` for it, in any order.

        shared : arrays that all pieces may read; elsewhere they are mapped from a file.
        """
        ...


class Alone:
    """A crew of one: this process, one piece after the other."""

    def __init__(
        self,
        piece: Callable[[Piece, Progress], Arrays],
        n_pieces: int = 1,
        progress: Progress = silent,
    ) -> None:
        self.n_pieces = n_pieces
        self._piece = piece
        self._progress = progress

    def compute(
        self, pieces: Sequence[Piece], shared: Arrays | None = None
    ) -> Iterator[tuple[int, Arrays]]:
        progress = PieceProgress(self._progress, len(pieces))
        for number, piece in enumerate(pieces):
            yield number, self._piece(with_shared(piece, shared), progress)
            progress.one_more()
