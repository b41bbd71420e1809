"""The progress of a long computation: `Progress`, and its parts.

A method calls its `Progress` regularly; each call may raise `Cancelled`. A function that computes a
part of the work gets a part of the progress and need not know of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


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
