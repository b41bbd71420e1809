"""The minimum spanning tree of all points by distance or mutual reachability distance, exact.

The mutual reachability distance of two points is their distance, but at least that of either to its
`rank`-th neighbour, its core distance. Edges are ordered by this length, edges of one length by the
distance of their ends, so that the tree does not depend on the order of the points unless two edges
agree in both.

A search tree of boxes gives each point's nearest neighbours. Groups of points then grow by their
shortest edges; a point is searched from again only where its known neighbours are all in its own
group and it may have the group's next edge. The largest group waits for the others to join it.

Source: Boruvka (1926), as in March, Ram and Gray, "Fast Euclidean Minimum Spanning Tree" (2010),
with Campello, Moulavi, Zimek and Sander (2015), definition 3.2, for the lengths.

Cost: O(N^2 D) time at most, about O(N log N) with few columns; memory 8 N D for the tiles, twice
that where leaves are half full, as much where groups are joined by pairs, and about 400 N. All
distances are measured from differences in double precision; the number of threads changes no digit.
Only Euclidean groups are joined by pairs: by other metrics, trees of points with many columns grow
point by point.

`tree_by_rows` takes any distances, from one row of them at a time (Prim): from the points reached
so far the first edge leads to the next one. Cost: each row once, O(N^2) time besides; O(N) memory.

`joining_edges` joins groups where search trees do not tell them apart. With many columns boxes
overlap though groups are far from each other. Along the line through the centres of two groups,
however, each reaches only some way towards the other, which bounds their distance from below. Pairs
of groups are looked at in the order of these bounds, as in Kruskal's algorithm: a pair that is
joined already needs no look. Cost: O(N D) for each of the G groups, O(G^2) numbers, and for a pair
that is looked at O(n m D) at most for n and m points, of which few remain where the groups are
apart.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.inputs.checks import for_loops
from models.numerics.agglomeration import listed, tiled
from models.running.progress import Progress, subprogress

RowOf: TypeAlias = Callable[[int], Float]
"""The distances of a point to all points, (N,), until the next row."""

AT_ONCE = 1 << 20
"""Distances between two reports of progress."""


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """The N - 1 edges, shortest first. ends : (N - 1, 2) points. length : (N - 1,)."""

    ends: Int
    length: Float

    def linkage(self) -> Float:
        """(N - 1, 4) merges of single linkage as SciPy's: two clusters, height, size."""
        return listed(self.ends, self.length)


def tile_rows(points: Array, metric: int) -> RowOf:
    """Rows of distances of points, measured as needed. metric : its number in `tree.METRICS`."""
    from models.graphs.loops.joins import measure

    tiles = tiled(points)
    row = np.empty((len(tiles), tiles.shape[2]))

    def row_of(point: int) -> Float:
        measure(tiles, metric, point, row)
        return row.ravel()[: len(points)]

    return row_of


def condensed_rows(distances: Float, n_points: int) -> RowOf:
    """Rows of condensed distances; the distance of a point to itself is 0."""
    number = np.arange(n_points)
    # The pair i < j is at start[i] + j.
    start = number * (2 * n_points - 3 - number) // 2 - 1

    def row_of(point: int) -> Float:
        row = np.empty(n_points)
        row[:point] = distances[start[:point] + point]
        row[point] = 0.0
        begin = start[point] + point + 1
        row[point + 1 :] = distances[begin : begin + n_points - point - 1]
        return row

    return row_of


def core_distances(row_of: RowOf, n_points: int, rank: int, progress: Progress) -> Float:
    """(N,) distance of each point to its `rank`-th neighbour, at most N - 1."""
    core = np.empty(n_points)
    for point in range(n_points):
        if point % max(1, AT_ONCE // n_points) == 0:
            progress(point / n_points, "finding neighbours")
        core[point] = np.partition(row_of(point), rank)[rank]
    return core


def tree_by_rows(row_of: RowOf, core: Float, progress: Progress) -> SpanningTree:
    """The tree of two points or more. core : (N,) core distances, 0 for distances as they are."""
    from models.graphs.loops.joins import reach

    n_points = core.size
    ends, lengths = np.empty((n_points - 1, 2), dtype=np.int64), np.empty((n_points - 1, 2))
    left = np.arange(n_points)
    best, source = np.full((n_points, 2), np.inf), np.zeros(n_points, dtype=np.int64)
    point = 0
    for edge in range(n_points - 1):
        if edge % max(1, AT_ONCE // n_points) == 0:
            progress(edge / n_points, "joining")
        point = reach(row_of(point), core, point, left, n_points - edge, best, source)
        ends[edge], lengths[edge] = (source[point], point), best[point]
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    return SpanningTree(ends[order], lengths[order, 0])


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
        from models.graphs.loops import joins
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
        length, squared, row, point = joins.shortest(
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


N_KNOWN = 8
"""Neighbours that are kept for each point."""

FEW_COLUMNS, MOST_GROUPS, MOST_IN_ONE = 8, 1_000, 0.9
"""With more columns, boxes no longer tell groups apart: so few groups, none of them with a larger
share of the points, are joined by pairs."""

MOST_IN_BOXES = 10
"""With more columns a tree by another metric than 'euclidean' grows along rows of distances."""

TOP = float(np.finfo(np.float64).max)

AT_A_TIME = 64
"""Leaves between two reports of progress."""

Loop: TypeAlias = Callable[..., Any]

SpanningMetric = Literal["euclidean", "cityblock", "chebyshev", "canberra"]
METRICS: tuple[SpanningMetric, ...] = ("euclidean", "cityblock", "chebyshev", "canberra")
"""In the order of their numbers in the loops, where the first is squared."""


def bytes_to_span(n_points: int, n_columns: int, rank: int = 0) -> int:
    """Bytes that `spanning_tree` takes at most beyond the points."""
    per_column = 20 if n_columns <= FEW_COLUMNS else 56
    return n_points * (per_column * n_columns + 380) + 600 * rank


def spanning_tree(
    points: Array,
    rank: int,
    threads: int,
    progress: Progress,
    metric: SpanningMetric = "euclidean",
) -> SpanningTree:
    """The tree of two points or more.

    points : (N, D) finite, with squares that do not overflow.
    rank : which neighbour gives the core distance, at most N - 1; 0 for distances as they are.
    """
    by_rows = metric != "euclidean" and points.shape[1] > MOST_IN_BOXES
    core, joining = np.zeros(len(points)), progress
    if rank or not by_rows:
        search = _Search(points, metric)
        with ThreadPoolExecutor(threads, "spanning") as pool:
            search.find_neighbours(rank, pool, threads, progress)
        if not by_rows:
            return search.grown(progress)
        core, joining = search.cores(), subprogress(progress, 0.6, 1.0)
        del search
    return tree_by_rows(tile_rows(points, METRICS.index(metric)), core, joining)


class _Search:
    """Points in a search tree, then their known neighbours; numbered by their places in it."""

    def __init__(self, points: Array, metric: SpanningMetric) -> None:
        from models.graphs.loops import boxes
        from models.numerics.loops.tiles import LANES

        self._points = for_loops(points)
        n_points, n_columns = points.shape
        self._n_leaves = n_leaves = 1 << max(0, -(-n_points // LANES) - 1).bit_length()
        n_nodes = 2 * n_leaves - 1
        self._order = np.arange(n_points)
        self._span = np.empty((n_nodes, 2), dtype=np.int64)
        self._box = np.empty((n_nodes, 2, n_columns))
        self._tiles = np.zeros((n_leaves, n_columns, LANES))
        boxes.build(self._points, self._order, self._span, self._box)
        boxes.fill(self._points, self._order, self._span, self._tiles)
        self._euclidean = metric == "euclidean"
        number = METRICS.index(metric)
        self._tree = self._points, self._order, self._span, self._box, self._tiles, number

    def find_neighbours(
        self, rank: int, pool: ThreadPoolExecutor, threads: int, progress: Progress
    ) -> None:
        from models.graphs.loops.boxes import nearest

        n_points = len(self._points)
        n_known = min(N_KNOWN, n_points - 1)
        n_nearest = max(rank, n_known)
        self._core = np.zeros(n_points)
        self._squared = np.empty((n_points, n_known))
        self._number = np.empty((n_points, n_known), dtype=np.int64)

        def find(first: int) -> None:
            last = min(first + AT_A_TIME, self._n_leaves)
            nearest(
                *self._tree, first, last, n_nearest, rank, self._core, self._squared, self._number
            )

        starts = range(0, self._n_leaves, AT_A_TIME)
        for number, _ in enumerate(pool.map(find, starts)):
            progress(0.6 * number / len(starts), "finding neighbours")

    def cores(self) -> Float:
        """(N,) core distances of the points in their own order; squared if Euclidean."""
        core = np.empty(self._order.size)
        core[self._order] = self._core
        return core

    def grown(self, progress: Progress) -> SpanningTree:
        from models.graphs.loops import joins

        n_points, n_nodes = len(self._points), len(self._span)
        core, lists = self._core, (self._squared, self._number)
        # Where all other points are known there is nothing beyond them.
        bound = np.inf if lists[0].shape[1] == n_points - 1 else lists[0][:, -1]
        floor = np.column_stack([np.maximum(core, bound), np.broadcast_to(bound, n_points)])
        seen = np.full(n_points, -1)
        link, group, size = np.arange(n_points), np.empty(n_points, int), np.empty(n_points, int)
        node_group, node_core = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes)
        best, ends = np.empty((n_points, 2)), np.empty((n_points, 2), dtype=np.int64)
        edges, lengths = np.empty((n_points - 1, 2), dtype=np.int64), np.empty((n_points - 1, 2))
        n_edges = 0
        joins.least_cores(core, self._span, node_core)
        while n_edges < n_points - 1:
            largest, n_groups = joins.regroup(link, size, group, self._span, node_group)
            progress(0.9 - 0.3 * n_groups / n_points, "joining", f"{n_groups:,} groups")
            joins.known(group, largest, core, *lists, seen, floor, best, ends)
            if not joins.drop_unsure(group, largest, floor, best):
                n_known = joins.known(group, largest, core, *lists, seen, floor, best, ends)
                if not n_known and self._by_pairs(n_groups, int(size[largest])):
                    rest = subprogress(progress, 0.9, 1.0)
                    for edge in joining_edges(self._placed(), core, _members(group), rest):
                        edges[n_edges], lengths[n_edges] = edge.ends, (edge.length, edge.squared)
                        n_edges += 1
                    break
                below = TOP if n_known else np.inf
                for first in range(0, self._n_leaves, AT_A_TIME):
                    progress(0.9 - 0.3 * n_groups / n_points, "joining", f"{n_groups:,} groups")
                    joins.search(
                        *self._tree, first, min(first + AT_A_TIME, self._n_leaves), core, node_core,
                        group, node_group, largest, seen, floor, best, ends, below,
                    )  # fmt: skip
            n_edges = joins.join(group, largest, best, ends, link, edges, lengths, n_edges)
        order = np.lexsort((lengths[:, 1], lengths[:, 0]))
        length = lengths[order, 0]
        if self._euclidean:
            length = np.sqrt(length)
        return SpanningTree(self._order[edges[order]], length)

    def _by_pairs(self, n_groups: int, largest: int) -> bool:
        n_points, n_columns = self._points.shape
        even = n_groups <= MOST_GROUPS and largest <= MOST_IN_ONE * n_points
        return self._euclidean and even and n_columns > FEW_COLUMNS

    def _placed(self) -> Array:
        """The points in the order of their places."""
        return self._points[self._order]


def _members(group: Int) -> list[Int]:
    """The places in each group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
