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
CELL = 2.0
"""The grid of `Ground`, in pixels."""
_TALL, _SPARE = 1.0, 0.15
"""The height of a name and the room at its ends, in its size."""
_LED = (2.0, 3.0, 4.0, 5.0, 6.0)
"""How far from its node a name that is led out by a line may be, in its size."""
_WAYS = 16
_TURNS = [
    # Upwards first, then by turns to both sides.
    (math.sin(turn), -math.cos(turn))
    for turn in (
        (way + 1) // 2 * (1 if way % 2 else -1) * 2 * math.pi / _WAYS for way in range(_WAYS)
    )
]
_PROBES = 9
"""The points of each line of a box that are looked at before the whole box is."""
_MOST_CELLS = 1 << 18
"""The cells of lines that are found at once, which bounds the memory."""
FAN = 9
"""The lines that stand for a folded tip."""


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


Spot = tuple[float, float, tuple[float, float] | None]
"""The left end of a name, its middle line, and where a line from its node ends, if one leads to it;
from the node."""


def spots(wide: float, size: float, *, is_round: bool, is_led: bool) -> list[Spot]:
    """Where the name of a node may stand, the best place first: beside the node, in its fork, and
    where it is led out by a line farther off."""
    gap, half = 0.35 * size, 0.5 * size
    corners: list[Spot] = [
        (left, down, None) for left in (-wide - gap, gap) for down in (-0.75 * size, 0.75 * size)
    ]
    middle = [(-wide / 2, -0.9 * size, None), (-wide / 2, 0.9 * size, None)]
    sides = [(half, 0.0, None), (-wide - half, 0.0, None)]
    order: list[Spot] = [*middle, *sides, *corners] if is_round else [*corners, *sides, *middle]
    for far in _LED if is_led else ():
        for right, down in _TURNS:
            x, y = far * size * right, far * size * down
            if abs(x) > 0.3 * far * size:
                left = x + _SPARE * size if x > 0 else x - wide - _SPARE * size
                order.append((left, y, (x, y)))
            else:
                order.append((-wide / 2, y, (0.0, y - math.copysign(half, y))))
    return order


class Ground:
    """The parts of a picture that are written on or have lines, in cells of a few pixels."""

    def __init__(self, wide: float, high: float, corner: tuple[float, float] = (0.0, 0.0)) -> None:
        """corner : its upper left, in the picture."""
        self._size, self._corner = (wide, high), corner
        shape = (math.ceil(high / CELL) + 1, math.ceil(wide / CELL) + 1)
        self._cells = np.zeros(shape, dtype=bool)
        self._lines = np.zeros(shape, dtype=bool)

    def draw(self, x0: Float, y0: Float, x1: Float, y1: Float) -> None:
        """Lines between points, which may be over the edge. O(their length)."""
        x0, x1 = x0 - self._corner[0], x1 - self._corner[0]
        y0, y1 = y0 - self._corner[1], y1 - self._corner[1]
        counts = np.ceil(np.hypot(x1 - x0, y1 - y0) / CELL).astype(np.int64) + 1
        block = np.cumsum(counts) // _MOST_CELLS
        for part in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(block)) + 1):
            self._mark(x0[part], y0[part], x1[part], y1[part], counts[part])

    def _mark(self, x0: Float, y0: Float, x1: Float, y1: Float, counts: Int) -> None:
        line = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
        share = place / np.maximum(counts - 1, 1)[line]
        x = np.floor((x0[line] + share * (x1 - x0)[line]) / CELL)
        y = np.floor((y0[line] + share * (y1 - y0)[line]) / CELL)
        high, wide = self._lines.shape
        inside = (x >= 0) & (y >= 0) & (x < wide) & (y < high)
        self._lines[y[inside].astype(np.int64), x[inside].astype(np.int64)] = True

    def take(self, x: float, y: float, wide: float, high: float, *, clear: bool = False) -> bool:
        """Take a box; False if it is over the edge or any part of it is taken.

        clear : also if a line runs through it.
        """
        x, y = x - self._corner[0], y - self._corner[1]
        if x < 0 or y < 0 or x + wide > self._size[0] or y + high > self._size[1]:
            return False
        rows = slice(int(y // CELL), int((y + high) // CELL) + 1)
        columns = slice(int(x // CELL), int((x + wide) // CELL) + 1)
        cells = self._cells[rows, columns]
        if cells.any() or (clear and self._lines[rows, columns].any()):
            return False
        cells[:] = True
        return True

    def name(
        self,
        at: tuple[float, float],
        wide: float,
        size: float,
        *,
        is_round: bool,
        radius: float | None = None,
        clear: bool = True,
    ) -> Spot | None:
        """Take the first of the `spots` of the node at `at` where its name lies on no line and no
        other name, with the line that leads to it; None: there is none. Not from the node, but in
        the picture.

        radius : of the circle around the middle that the name stays within. clear : False: the
        first of those beside the node where it lies on no other name.
        """
        places = spots(wide, size, is_round=is_round, is_led=clear)
        left = at[0] + np.array([dx for dx, _, _ in places])
        middle = at[1] + np.array([dy for _, dy, _ in places])
        long, tall = wide + 2 * _SPARE * size, _TALL * size
        x, y = left - _SPARE * size, middle - _TALL / 2 * size
        likely = self._likely(x, y, long, tall, clear=clear)
        if radius is not None:
            across = left - self._corner[0] - self._size[0] / 2
            down = np.abs(middle - self._corner[1] - self._size[1] / 2) + 0.5 * size
            far = np.hypot(np.maximum(np.abs(across), np.abs(across + wide)), down)
            likely &= far <= radius
        for place in np.flatnonzero(likely).tolist():
            end = places[place][2]
            led = None if end is None else (at[0] + end[0], at[1] + end[1])
            if led is not None and self._is_over_names(at, led):
                continue
            if self.take(float(x[place]), float(y[place]), long, tall, clear=clear):
                if led is not None:
                    self.draw(*(np.array([value]) for value in (*at, *led)))
                return float(left[place]), float(middle[place]), led
        return None

    def _likely(
        self, x: Float, y: Float, wide: float, high: float, *, clear: bool
    ) -> npt.NDArray[np.bool_]:
        """Which boxes are within the ground and free at some of their points, which most that are
        taken are not: for `take` each, only these."""
        x, y = x - self._corner[0], y - self._corner[1]
        likely = (x >= 0) & (y >= 0) & (x + wide <= self._size[0]) & (y + high <= self._size[1])
        within = np.flatnonzero(likely)
        rows, columns = (
            ((start[within, None] + share * length) // CELL).astype(np.int64)
            for start, share, length in (
                (y, np.array([0, 0.5, 1]), high),
                (x, np.linspace(0, 1, _PROBES), wide),
            )
        )
        points = rows[:, :, None], columns[:, None, :]
        taken = self._cells[points] | self._lines[points] if clear else self._cells[points]
        likely[within] = ~taken.any(axis=(1, 2))
        return likely

    def _is_over_names(self, start: tuple[float, float], end: tuple[float, float]) -> bool:
        steps = math.ceil(math.dist(start, end) / CELL)
        share = np.arange(steps) / max(steps, 1)
        x, y = (
            ((a + share * (b - a) - zero) // CELL).astype(np.int64)
            for a, b, zero in zip(start, end, self._corner, strict=True)
        )
        high, wide = self._cells.shape
        inside = (x >= 0) & (x < wide) & (y >= 0) & (y < high)
        return not bool(inside.all()) or bool(self._cells[y, x].any())
