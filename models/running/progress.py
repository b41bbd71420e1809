"""The progress of a long computation, and who computes its pieces.

A method calls its `Progress` regularly; each call may raise `Cancelled`. A function that computes a
part of the work gets a part of the progress and need not know of the whole. Pieces of a fit are
computed by a `Crew`: this process alone, or other workers as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from models.arrays import Arrays


class Progress(Protocol):
    """Called by a method now and then; raises `Cancelled` when the job was cancelled."""

    def __call__(self, fraction: float, stage: str, message: str = "") -> None: ...


def silent(fraction: float, stage: str, message: str = "") -> None:
    """A `Progress` that does nothing."""


def subprogress(progress: Progress, start: float, stop: float, prefix: str = "") -> Progress:
    """The progress of a part of the work, whose 0 to 1 is `start` to `stop` of the whole.

    prefix : stands before the part's messages.
    """

    def report(fraction: float, stage: str, message: str = "") -> None:
        text = ", ".join(filter(None, (prefix, message)))
        progress(start + (stop - start) * fraction, stage, text)

    return report


def progress_parts(
    progress: Progress, stop: float, numbers: Sequence[int]
) -> Iterator[tuple[Progress, int]]:
    """Each number of clusters with the progress of its fit; all fits are `stop` of the whole."""
    for done, number in enumerate(numbers):
        start, end = (stop * part / len(numbers) for part in (done, done + 1))
        yield subprogress(progress, start, end, f"{number} clusters"), number


def held_progress(progress: Progress) -> tuple[Progress, Progress]:
    """The progress of the whole, and one for what happens within a step of it.

    Calls of the second repeat the last fraction of the first, so that they can be cancelled and
    show a stage, but do not move the whole.
    """
    fraction_held = 0.0

    def whole(fraction: float, stage: str, message: str = "") -> None:
        nonlocal fraction_held
        fraction_held = fraction
        progress(fraction, stage, message)

    def within(fraction: float, stage: str, message: str = "") -> None:
        progress(fraction_held, stage, message)

    return whole, within


def never_back(progress: Progress) -> tuple[Progress, Progress]:
    """The progress of the whole, and that of its pieces: an estimate, which must not go back behind
    the whole."""
    reached = 0.0

    def whole(fraction: float, stage: str, message: str = "") -> None:
        nonlocal reached
        reached = max(reached, fraction)
        progress(fraction, stage, message)

    def pieces(fraction: float, stage: str, message: str = "") -> None:
        whole(max(fraction, reached), stage, message)

    return whole, pieces


class PieceProgress:
    """The progress of one piece as part of all, scaled by the fraction at which a piece ends."""

    def __init__(self, progress: Progress, n_pieces: int) -> None:
        self._progress = progress
        self._n_pieces = n_pieces
        self._n_done = 0
        self._highest: tuple[float, str] | None = None

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        highest = fraction if self._highest is None else max(fraction, self._highest[0])
        self._highest = highest, stage
        self._progress((self._n_done * highest + fraction) / self._n_pieces, stage, message)

    def one_more(self) -> None:
        """Record that one more piece is done, whoever computed it."""
        self._n_done += 1
        if self._highest is not None:
            highest, stage = self._highest
            message = f"{self._n_done} of {self._n_pieces} pieces"
            self._progress(highest * self._n_done / self._n_pieces, stage, message)


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
