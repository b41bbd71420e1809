"""Which names a picture has, and where: one rule for every picture, and for the page's
(`app/dashboard/js/tree/draw/label_places.js`; both have the cases of `label_cases.json`).

Where the labels of all tips do not fit, the tree is divided into groups that are just wide enough
for a name each. Names get their places in turn, the largest first, where nothing else is written.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.pictures.pictured_tree import PicturedTree
from models.arrays import Float, Int

MOST_WORDS = 60
"""The most names of groups."""
_PARTS = 40
CELL = 6.0
"""The grid of `Ground`, in pixels."""


Written = tuple[int, str, float, float]
"""The row of a name, the name, the middle of what it names and half its stretch, as x of the
layout."""


def groups(parent: Int, width: Float, tip: npt.NDArray[np.bool_], least: float) -> list[int]:
    """The nodes that stand for all below them, from left to right: a node is opened if it is at
    least `least` wide, and at least a fortieth of all. Nodes are in preorder. O(n).

    width : (n,) of each node, in any unit.
    """
    opened = np.zeros(len(parent), dtype=bool)
    least = max(least, float(width[0]) / _PARTS)
    found = []
    for row, up in enumerate(parent.tolist()):
        if up >= 0 and not opened[up]:
            continue
        opened[row] = not tip[row] and width[row] >= least
        if not opened[row]:
            found.append(row)
    return found


def spaced(
    at: Sequence[float], rank: Sequence[float], apart: float, around: float | None = None
) -> list[int]:
    """The places of the positions that are at least `apart` from each other, ascending: the
    highest rank comes first, among equals the first.

    around : the length of a closed line. O(n log n), and moves within a list.
    """
    taken: list[float] = []
    kept = []
    turns = (0.0,) if around is None else (0.0, around, -around)
    for place in sorted(range(len(at)), key=lambda place: (-rank[place], place)):
        if all(_is_free(taken, at[place] + turn, apart) for turn in turns):
            insort(taken, at[place])
            kept.append(place)
    return sorted(kept)


def _is_free(taken: list[float], at: float, apart: float) -> bool:
    after = bisect_left(taken, at)
    near = taken[max(0, after - 1) : after + 1]
    return all(abs(other - at) >= apart - 1e-9 for other in near)


def written(
    pictured: PicturedTree, rows: Sequence[int], apart: float, around: float | None = None
) -> list[Written]:
    """The names of tips and groups that have room, the largest first, at most `MOST_WORDS` where
    there are groups; neighbouring groups of one name have it together.

    rows : from left to right. apart, around : as of `spaced`, in x of the layout.
    """
    place, runs = pictured.place, list[tuple[int, str, float, float, int]]()
    for row in rows:
        is_tip, n = bool(pictured.tip[row]), int(pictured.n_leaves[row])
        text = pictured.label[row] if is_tip else pictured.called[row] or f"{n:,} leaves"
        left, right = float(place.left[row]), float(place.right[row])
        if runs and runs[-1][1] == text and not is_tip and not pictured.tip[runs[-1][0]]:
            before = runs.pop()
            left, n = before[2], n + before[4]
        if text:
            runs.append((row, text, left, right, n))
    at = [
        float(place.x[row]) if pictured.tip[row] else (left + right) / 2
        for row, _, left, right, _ in runs
    ]
    kept = spaced(at, [n for *_, n in runs], apart, around)
    if not pictured.tip[list(rows)].all():
        largest = sorted(kept, key=lambda k: -runs[k][4])[:MOST_WORDS]
        kept = sorted(largest)
    return [(*runs[k][:2], at[k], (runs[k][3] - runs[k][2]) / 2) for k in kept]


class Ground:
    """The parts of a picture that are written on, in cells of a few pixels."""

    def __init__(self, wide: float, high: float) -> None:
        self._size = wide, high
        self._cells = np.zeros((math.ceil(high / CELL) + 1, math.ceil(wide / CELL) + 1), dtype=bool)

    def take(self, x: float, y: float, wide: float, high: float) -> bool:
        """Take a box; False if it is over the edge or any part of it is taken."""
        if x < 0 or y < 0 or x + wide > self._size[0] or y + high > self._size[1]:
            return False
        rows = slice(int(y // CELL), int((y + high) // CELL) + 1)
        columns = slice(int(x // CELL), int((x + wide) // CELL) + 1)
        cells = self._cells[rows, columns]
        if cells.any():
            return False
        cells[:] = True
        return True
