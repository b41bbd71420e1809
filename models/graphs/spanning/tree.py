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
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, Int
from models.graphs.spanning.groups import joining_edges
from models.graphs.spanning.rows import SpanningTree, tile_rows, tree_by_rows
from models.inputs.checks import for_loops
from models.running.progress import Progress, subprogress

N_KNOWN = 8
"""Neighbours that are kept for each point."""

FEW_COLUMNS, MOST_GROUPS, MOST_IN_ONE = 8, 1_000, 0.9
"""With more columns, boxes no longer tell groups apart: so few groups, none of them with a larger
share of the points, are joined by pairs."""

MOST_IN_BOXES = 10
"""With more columns a tree by another metric than 'euclidean' grows along rows of distances."""

TOP = float(np.finfo(np.float64).max)

AT_ONCE = 64
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
        from models.graphs.spanning.loops import boxes
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
        from models.graphs.spanning.loops.neighbours import nearest

        n_points = len(self._points)
        n_known = min(N_KNOWN, n_points - 1)
        n_nearest = max(rank, n_known)
        self._core = np.zeros(n_points)
        self._squared = np.empty((n_points, n_known))
        self._number = np.empty((n_points, n_known), dtype=np.int64)

        def find(first: int) -> None:
            last = min(first + AT_ONCE, self._n_leaves)
            nearest(
                *self._tree, first, last, n_nearest, rank, self._core, self._squared, self._number
            )

        starts = range(0, self._n_leaves, AT_ONCE)
        for number, _ in enumerate(pool.map(find, starts)):
            progress(0.6 * number / len(starts), "finding neighbours")

    def cores(self) -> Float:
        """(N,) core distances of the points in their own order; squared if Euclidean."""
        core = np.empty(self._order.size)
        core[self._order] = self._core
        return core

    def grown(self, progress: Progress) -> SpanningTree:
        from models.graphs.spanning.loops import joins

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
                for first in range(0, self._n_leaves, AT_ONCE):
                    progress(0.9 - 0.3 * n_groups / n_points, "joining", f"{n_groups:,} groups")
                    joins.search(
                        *self._tree, first, min(first + AT_ONCE, self._n_leaves), core, node_core,
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
