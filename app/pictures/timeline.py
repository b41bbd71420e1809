"""Labels of periods along an axis: as short as possible, and as many as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from app.pictures.lettering import clip, width

_NOUGHT = "0000-01-01T00:00:00Z"
_PLACES = (4, 7, 10, 16, 19)
"""The positions where an RFC 3339 time may end: after the year, month, day, minute, second."""
_DAY = 10


@dataclass(frozen=True, slots=True)
class Tick:
    """A label for position x, centred at `at`, which differs from x if it would leave the
    picture."""

    x: float
    at: float
    text: str


def shortened(labels: Sequence[str], dated: bool) -> list[str]:
    """Times without their common end: the beginning of a year, month, day or minute.

    From the day on, parts not needed to distinguish them are dropped, too. Other labels are kept.
    """
    if not dated:
        return list(labels)
    for place in _PLACES:
        cut = [label[:place] for label in labels]
        begins = all(label[place:] == _NOUGHT[place:] for label in labels)
        if begins or (place >= _DAY and len(set(cut)) == len(cut) > 1):
            return [label.replace("T", " ") for label in cut]
    return [label.rstrip("Z").replace("T", " ") for label in labels]


def ticks(labels: Sequence[str], x: Sequence[float], size: float, px: float) -> list[Tick]:
    """The first label and every n-th after it, for the smallest n of 1, 2, 5, 10, ... at which
    they are at least the font's `size` apart; all inside a picture of `px` pixels.

    x : ascending. A label wider than half the picture is cut.
    """
    labels = [clip(label, size, 0.5 * px) for label in labels]
    wide = [width(label, size) for label in labels]
    at = [
        min(max(place, own / 2 + size / 4), px - own / 2 - size / 4)
        for place, own in zip(x, wide, strict=True)
    ]
    every = next(step for step in _steps() if _apart(at[::step], wide[::step], size))
    return [Tick(*tick) for tick in zip(x[::every], at[::every], labels[::every], strict=True)]


def _steps() -> Iterator[int]:
    for power in count():
        for step in (1, 2, 5):
            yield step * 10**power


def _apart(at: Sequence[float], wide: Sequence[float], gap: float) -> bool:
    middles, sizes = pairwise(at), pairwise(wide)
    return all(b - a >= (u + v) / 2 + gap for (a, b), (u, v) in zip(middles, sizes, strict=True))
