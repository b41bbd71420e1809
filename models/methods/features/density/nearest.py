"""The cluster that is nearest to a row of noise.

It is the cluster of the point, among all points in chosen clusters, with the smallest mutual
reachability distance max(core(x), core(y), d(x, y)) to the row x; of several the one with the
smallest d(x, y), then the larger cluster. A core distance is what the fit, or the placing of new
rows, takes for it.

Cost: for M rows the search of their few nearest points; again with twice as many for the rows to
which a further point may be nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.graphs.nearest_points import PointSearch
from models.numerics.distances import DistanceMetric

FIRST = 16
"""The nearest points that are looked at first."""

Found = Callable[[Int], tuple[Int, Float]]
"""For some rows, by number, the nearest of the points in clusters, by their place among these,
nearest first; and their distances. Both (n, width)."""

Search = Callable[[int], Found]
"""The search for so many nearest points, the width."""

Cores = Callable[[Int], Float]
"""The core distances of points, by number."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """label : (n_rows,) the nearest cluster. reach : (n_rows,) the distance to it."""

    label: Int
    reach: Float

    def within(self, most: float | None) -> Int:
        """(n_rows,) the nearest cluster, -1 where it is further than `most`; None: no limit."""
        return self.label if most is None else np.where(self.reach <= most, self.label, -1)


def nearest_clusters(core: Float, search: Search, points: Int, cores: Cores, label: Int) -> Nearest:
    """core : (n_rows,) of the rows. points : the numbers of the points in clusters, one or more.
    label : (n_points,) the cluster of each point of the fit.
    """
    found = Nearest(np.full(core.size, -1, dtype=np.int64), np.full(core.size, np.inf))
    left, width = np.arange(core.size), min(FIRST, points.size)
    while left.size:
        find, further = search(width), []
        for block in row_blocks(left.size, width, 1 << 20):
            rows = left[block]
            near, far = find(rows)
            point = points[near]
            used, place = np.unique(point, return_inverse=True)
            reach = np.maximum(cores(used)[place.reshape(point.shape)], far)
            reach = np.maximum(reach, core[rows, None])
            least = reach.min(axis=1, keepdims=True)
            apart = np.where(reach == least, far, np.inf)
            closest = apart.min(axis=1, keepdims=True)
            of_nearest = np.where(apart == closest, label[point], label.max() + 1)
            found.label[rows], found.reach[rows] = of_nearest.min(axis=1), least[:, 0]
            # A point further away than this can be no nearer.
            bound = np.where(least <= core[rows, None], closest, least)
            further.append(rows[far[:, -1] <= bound[:, 0]])
        left = np.concatenate(further) if width < points.size else left[:0]
        width = min(2 * width, points.size)
    return found


def of_features(rows: Array, points: Array, inside: Int, metric: DistanceMetric) -> Search:
    """The search among features. inside : the points in clusters."""
    clustered = points[inside]

    def search(width: int) -> Found:
        nearby = PointSearch(clustered, width, metric)
        return lambda some: nearby.nearest(rows[some])

    return search


def of_pairs(pairs: Array, rows: Int, inside: Int) -> Search:
    """The search among given distances. pairs : (n, n_points). rows : (n_rows,) the rows of it that
    are searched from."""

    def search(width: int) -> Found:
        def find(some: Int) -> tuple[Int, Float]:
            near = np.empty((some.size, width), dtype=np.int64)
            far = np.empty(near.shape)
            for block in row_blocks(some.size, inside.size, 1 << 20):
                part = pairs[np.ix_(rows[some[block]], inside)].astype(np.float64)
                near[block] = np.argsort(part, axis=1, kind="stable")[:, :width]
                far[block] = np.take_along_axis(part, near[block], axis=1)
            return near, far

        return find

    return search


def cores_of_features(points: Array, rank: int, metric: DistanceMetric) -> Cores:
    """The distance of points to the `rank`-th of all nearest, they themselves being the first."""
    search = PointSearch(points, min(rank, len(points)), metric)

    def cores(some: Int) -> Float:
        return search.nearest(points[some])[1][:, -1]

    return cores


def given_cores(core: Float) -> Cores:
    """Those that are known. core : (n_points,)."""
    return lambda some: core[some]


def core_of_pairs(distances: Array, rank: int) -> Float:
    """(n,) the same by given distances, (n, n_points)."""
    core = np.empty(len(distances))
    for block in row_blocks(len(distances), distances.shape[1], 1 << 20):
        part = distances[block].astype(np.float64)
        core[block] = np.partition(part, rank - 1, axis=1)[:, rank - 1]
    return core
