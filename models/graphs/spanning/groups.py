"""The shortest edges that join groups of points, where search trees do not tell groups apart.

With many columns boxes overlap though groups are far from each other. Along the line through the
centres of two groups, however, each reaches only some way towards the other, which bounds their
distance from below. Pairs of groups are looked at in the order of these bounds, as in Kruskal's
algorithm: a pair that is joined already needs no look.

Cost: O(N D) for each of the G groups, O(G^2) numbers, and for a pair that is looked at O(n m D) at
most for n and m points, of which few remain where the groups are apart.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.running.progress import Progress

EPSILON = float(np.finfo(np.float64).eps)

N_TRIED = 8
"""Points of each group, those with the farthest reach, that give a first bound."""


@dataclass(frozen=True, slots=True)
class Edge:
    """length, squared : squared length and squared distance. ends : two points."""

    length: float
    squared: float
    ends: tuple[int, int]


def joining_edges(
    points: Array, core: Float, groups: list[Int], progress: Progress
) -> Iterator[Edge]:
    """The edges that join all groups to one, shortest first.

    points : (N, D) floats. core : (N,) squared core distances. groups : the points of each, two
        groups or more.
    """
    between = _Between(points, core, groups)
    pair, bound = between.bounds(progress)
    link = list(range(len(groups)))

    def root(at: int) -> int:
        while link[at] != at:
            link[at] = at = link[link[at]]
        return at

    waiting: list[tuple[float, float, int, int, Edge]] = []
    n_left, at = len(groups) - 1, 0
    while n_left:
        if waiting and (at == len(bound) or waiting[0][0] <= bound[at]):
            _, _, one, other, edge = heapq.heappop(waiting)
            if root(one) != root(other):
                link[root(one)] = root(other)
                n_left -= 1
                yield edge
            continue
        one, other = pair[at].tolist()
        at += 1
        if root(one) != root(other):
            progress(1.0 - n_left / len(groups), "joining", f"{n_left + 1:,} groups")
            edge = between.shortest(one, other)
            heapq.heappush(waiting, (edge.length, edge.squared, one, other, edge))


class _Between:
    """Groups of points, and their centres."""

    def __init__(self, points: Array, core: Float, groups: list[Int]) -> None:
        self._points, self._core, self._groups = points, core, groups
        self._origin = points.mean(axis=0, dtype=np.float64)
        n_columns = points.shape[1]
        self._centre = np.zeros((len(groups), n_columns))
        largest = 0.0
        for group, members in enumerate(groups):
            for block in row_blocks(len(members), n_columns):
                rows = self._moved(members[block])
                self._centre[group] += rows.sum(axis=0)
                largest = max(largest, float(np.einsum("nd,nd->n", rows, rows).max()))
            self._centre[group] /= len(members)
        self._largest = largest
        self._rounding = 8.0 * EPSILON * (n_columns + 8)

    def bounds(self, progress: Progress) -> tuple[Int, Float]:
        """All pairs of groups, (n, 2), by lower bounds of their edges' squared lengths, (n,)."""
        n_groups, n_columns = self._centre.shape
        apart = np.zeros((n_groups, n_groups))
        reach = np.full((n_groups, n_groups), -np.inf)
        least = np.empty(n_groups)
        for group, members in enumerate(self._groups):
            progress(0.0, "comparing groups", f"{group + 1:,} of {n_groups:,}")
            way = self._centre - self._centre[group]
            apart[group] = np.sqrt(np.einsum("gd,gd->g", way, way))
            for block in row_blocks(len(members), max(n_groups, n_columns)):
                rows = self._moved(members[block]) - self._centre[group]
                np.maximum(reach[group], (rows @ way.T).max(axis=0), out=reach[group])
            least[group] = self._core[members].min()
        one, other = np.triu_indices(n_groups, 1)
        across = np.maximum(apart[one, other], np.finfo(np.float64).tiny)
        slack = self._rounding * np.sqrt(self._largest)
        gap = across - (reach[one, other] + reach[other, one]) / across - slack
        bound = np.maximum(gap, 0.0) ** 2
        np.maximum(bound, np.maximum(least[one], least[other]), out=bound)
        order = np.argsort(bound, kind="stable")
        return np.stack([one, other], axis=1)[order], bound[order]

    def shortest(self, one: int, other: int) -> Edge:
        """The first edge between two groups."""
        from models.graphs.spanning.loops import pairs
        from models.numerics.loops.tiles import LANES

        way = self._centre[other] - self._centre[one]
        apart = float(np.sqrt(way @ way))
        way /= apart or 1.0
        sides = [self._side(one, way), self._side(other, -way)]
        sides.sort(key=len)
        slack = self._rounding * np.sqrt(self._largest)
        enough = self._tried(*sides)
        few, many = (
            side.within(apart - slack - np.sqrt(enough) - facing.reach[0])
            for side, facing in (sides, sides[::-1])
        )
        rows = self._points[few.members].astype(np.float64)
        n_tiles = -(-len(many) // LANES)
        padded = np.zeros((n_tiles * LANES, rows.shape[1]))
        padded[: len(many)] = self._points[many.members]
        tiles = np.ascontiguousarray(padded.reshape(n_tiles, LANES, -1).transpose(0, 2, 1))
        length, squared, row, point = pairs.shortest(
            rows,
            few.reach,
            self._core[few.members],
            tiles,
            many.reach,
            self._core[many.members],
            apart - slack,
            enough,
        )
        return Edge(length, squared, (int(few.members[row]), int(many.members[point])))

    def _side(self, group: int, way: Float) -> _Side:
        members = self._groups[group]
        reach = np.empty(len(members))
        for block in row_blocks(len(members), self._centre.shape[1]):
            reach[block] = (self._moved(members[block]) - self._centre[group]) @ way
        order = np.argsort(-reach, kind="stable")
        return _Side(members[order], reach[order])

    def _tried(self, one: _Side, other: _Side) -> float:
        """The squared length of the shortest edge among the points that reach farthest."""
        here, there = one.members[:N_TRIED], other.members[:N_TRIED]
        apart = self._moved(here)[:, None] - self._moved(there)
        length = np.einsum("nmd,nmd->nm", apart, apart)
        np.maximum(length, self._core[here][:, None], out=length)
        np.maximum(length, self._core[there], out=length)
        # Rounded otherwise than in the loop.
        return float(length.min() * (1.0 + self._rounding))

    def _moved(self, members: Int) -> Float:
        moved: Float = self._points[members].astype(np.float64) - self._origin
        return moved


@dataclass(frozen=True, slots=True)
class _Side:
    """Points of a group, those first that reach farthest towards the other one."""

    members: Int
    reach: Float

    def __len__(self) -> int:
        return len(self.members)

    def within(self, least: float) -> _Side:
        """The points that reach at least so far."""
        n_points = int(np.searchsorted(-self.reach, -least, side="right"))
        return _Side(self.members[:n_points], self.reach[:n_points])
