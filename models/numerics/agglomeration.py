"""Agglomerative clustering by the distances of all pairs, exact: the linkages of SciPy.

`merged` takes distances; `merged_points` takes points, for the linkages by centres, which need no
distances between all pairs. Single linkage follows a spanning tree (`models.graphs.spanning`).

Among equal distances, that to the cluster with the smallest number comes first, where a union has
the larger number of its two parts; the order in which equal merges are listed is that in which they
were found.

Source: Müllner, "Modern hierarchical, agglomerative clustering algorithms" (2011).

Cost: O(N^2) time, for points O(N^2 D), usually; for 'centroid' and 'median', and for points, more
where many clusters have the same neighbour. Memory: none beyond the distances, or the points once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.running.progress import Progress, silent, subprogress

ByCentre = Literal["ward", "centroid", "median"]
Rule = Literal["complete", "average", "weighted", "ward", "centroid", "median"]

RULES: tuple[Rule, ...] = ("complete", "average", "weighted", "ward", "centroid", "median")
"""In the order of their numbers in the loops."""

BY_CENTRE: tuple[ByCentre, ...] = ("ward", "centroid", "median")
"""They follow from squared distances."""

AT_ONCE = 1 << 22
"""Distances that are looked at, at least, between two reports of progress."""


def merged(
    distances: Float, linkage: Rule, progress: Progress = silent, size: Float | None = None
) -> Float:
    """(N - 1, 4) merges as SciPy's: two clusters, height, size.

    distances : (N (N - 1) / 2,) condensed, float64, N > 1; overwritten. Heights are not finite
        where distances overflow. 'ward', 'centroid' and 'median'
        take them for Euclidean.
    size : (N,) the rows of each, where they are groups; None: 1.
    """
    from models.numerics.loops import agglomeration as loops

    n_points = (1 + round(np.sqrt(8 * distances.size + 1))) // 2
    squares, may_fall = linkage in BY_CENTRE, linkage in ("centroid", "median")
    if squares:
        with np.errstate(over="ignore"):
            np.multiply(distances, distances, out=distances)
    ends, height = np.empty((n_points - 1, 2), dtype=np.int64), np.empty(n_points - 1)
    active, weight = np.arange(n_points), np.ones(n_points) if size is None else size.copy()
    state = distances, RULES.index(linkage), weight, active
    near, least, length = np.empty(n_points, dtype=np.int64), np.empty(n_points), 0
    if may_fall:
        loops.nearest_rows(distances, active, near, least)
        winner = loops.start(least, n_points - 1)
    for first, last in _steps(n_points - 1, AT_ONCE // n_points, progress):
        if may_fall:
            loops.closest(*state, near, least, winner, ends, height, first, last)
        else:
            length = loops.chain(*state, near, length, ends, height, first, last)
    if squares:
        with np.errstate(invalid="ignore"):
            np.sqrt(height, out=height)
    order = np.arange(n_points - 1) if may_fall else np.argsort(height, kind="stable")
    return listed(ends[order], height[order])


def merged_points(
    points: Array, linkage: ByCentre, progress: Progress = silent, size: Float | None = None
) -> Float:
    """(N - 1, 4) merges as SciPy's by Euclidean distances.

    points : (N, D), N > 1, with squares that do not overflow; not changed.
    size : (N,) the weight of each, where they are centres of groups; None: 1.
    """
    from models.numerics.loops import agglomeration as loops

    n_points, rule = len(points), RULES.index(linkage)
    ends, height = np.empty((n_points - 1, 2), dtype=np.int64), np.empty(n_points - 1)
    weight = np.ones(n_points) if size is None else size.copy()
    places, number = _Places.of(points, weight), np.arange(n_points)
    at_once = AT_ONCE // n_points
    for first, last in _steps(n_points, at_once, subprogress(progress, 0.0, 0.3)):
        loops.nearest_points(*places.for_loops(rule), first, last)
    # The last place has nothing after it, and so it stays until the last merge.
    winner = loops.start(places.least, n_points - 1)
    for first, last in _steps(n_points - 1, at_once, subprogress(progress, 0.3, 1.0)):
        if 2 * (n_points - first) <= number.size:
            places, number = places.left(), number[places.alive]
            winner = loops.start(places.least, number.size - 1)
        loops.closest_points(*places.for_loops(rule), winner, ends, height, first, last)
        ends[first:last] = number[ends[first:last]]
    if linkage == "ward":
        # Rounding of equal distances may not make a merge lower than one before it.
        height = np.maximum.accumulate(2.0 * height)
    return listed(ends, np.sqrt(height))


def _steps(n: int, at_once: int, progress: Progress) -> Iterator[tuple[int, int]]:
    """Parts of 0 .. n, each the numbers first .. last - 1."""
    for first in range(0, n, max(1, at_once)):
        progress(first / n, "merging")
        yield first, min(first + max(1, at_once), n)


@dataclass(frozen=True, slots=True)
class _Places:
    """Clusters by their places in tiles; see `loops.agglomeration.closest_points`."""

    tiles: Float
    size: Float
    alive: Mask
    near: Int
    least: Float

    @classmethod
    def of(cls, points: Array, size: Float) -> _Places:
        n_points = len(points)
        near, least = np.empty(n_points, dtype=np.int64), np.empty(n_points)
        return cls(tiled(points), size, np.ones(n_points, dtype=bool), near, least)

    def left(self) -> _Places:
        """The clusters that are alive, moved together."""
        from models.numerics.loops.agglomeration import GONE
        from models.numerics.loops.tiles import LANES

        alive, kept = self.alive, np.flatnonzero(self.alive)
        tiles = np.zeros((-(-kept.size // LANES), *self.tiles.shape[1:]))
        for tile, first in enumerate(range(0, kept.size, LANES)):
            place = kept[first : first + LANES]
            tiles[tile, :, : place.size] = self.tiles[place // LANES, :, place % LANES].T
        moved = np.where(alive, np.cumsum(alive) - 1, GONE)
        near = np.where(self.near >= 0, moved[self.near], self.near)[alive]
        everyone = np.ones(kept.size, dtype=bool)
        return _Places(tiles, self.size[alive], everyone, near, self.least[alive])

    def for_loops(self, rule: int) -> tuple[Float, int, Float, Mask, Int, Float]:
        return self.tiles, rule, self.size, self.alive, self.near, self.least


def tiled(points: Array) -> Float:
    """(n, D, LANES) the rows in tiles, zeros after the last."""
    from models.numerics.loops.tiles import LANES

    n_points, n_columns = points.shape
    tiles = np.zeros((-(-n_points // LANES), n_columns, LANES))
    for tile, row in enumerate(range(0, n_points, LANES)):
        part = points[row : row + LANES]
        tiles[tile, :, : len(part)] = part.T
    return tiles


def listed(ends: Int, height: Float) -> Float:
    """(N - 1, 4) merges as SciPy's, from two points of the clusters that each joins, in order."""
    from models.numerics.loops.agglomeration import merge

    n_merges = len(ends)
    link = np.arange(n_merges + 1)
    merges, size = np.empty((n_merges, 2), dtype=np.int64), np.empty(n_merges, dtype=np.int64)
    merge(ends, link, link.copy(), size, merges)
    return np.column_stack([merges, height, size]).astype(np.float64)
