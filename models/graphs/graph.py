"""The graph of nearest neighbours over points, in one piece: what clusters along it may merge.

Points that coincide are one node. An edge joins two nodes where one is among the nearest neighbours
of the other. What falls apart is joined: parts become points at their means, their own graph of
neighbours says which lie next to each other, and an edge goes from the point of one part that is
nearest to the other's mean to that point's nearest in the other part; again until all hangs
together. So the edges between parts are short ones, but maybe not the shortest.

Cost: that of the neighbours, and O(N D) for each part that is joined to a large one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Float, Int, row_blocks
from models.checks import distinct
from models.graphs.neighbours import between, nearest
from models.numerics.distances import FLAT, Metric, flat
from models.progress import Progress, silent

MOST_COMPARED = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Graph:
    """An undirected graph over distinct points.

    first : (U,) row of the first point at each node.
    place : (n_points,) node of each point.
    ends : (E, 2) int32, the lower node first, each pair once, sorted.
    length : (E,) distance by the metric.
    n_neighbors : as used. scale : mean distance from a node to its neighbours.
    part : (U,) the part of each node before parts were joined.
    recall : as in `Neighbours`.
    """

    first: Int
    place: Int
    ends: npt.NDArray[np.int32]
    length: Float
    n_neighbors: int
    scale: float
    part: Int
    recall: float | None

    @property
    def n_nodes(self) -> int:
        return int(self.first.size)

    @property
    def n_parts(self) -> int:
        return int(self.part.max()) + 1

    def warnings(self, wanted: int) -> tuple[str, ...]:
        """What was changed or approximated; `wanted` is the parameter `n_neighbors`."""
        found = []
        if self.n_neighbors < wanted:
            found.append(
                f"There are {self.n_nodes} distinct points, so n_neighbors = {wanted} became "
                f"{self.n_neighbors}."
            )
        if self.recall is not None:
            found.append(
                f"Neighbours were sought by an approximate index, which found {self.recall:.1%} of "
                "those of a sample of points."
            )
        if self.n_parts > 1:
            found.append(
                f"The graph of nearest neighbours fell into {self.n_parts} parts, which were "
                "joined by edges between points of parts that lie next to each other."
            )
        return tuple(found)


def neighbour_graph(
    points: Array, n_neighbors: int, metric: Metric, threads: int, progress: Progress
) -> Graph:
    """The graph of `n_neighbors` nearest neighbours, in one piece."""
    progress(0.0, "neighbours", "looking for equal points")
    first, place = distinct(points)
    nodes = points if first.size == len(points) else points[first]
    if first.size == 1:
        none = np.empty((0, 2), dtype=np.int32)
        return Graph(first, place, none, np.empty(0), 0, 0.0, np.zeros(1, np.int64), None)
    n_near = min(n_neighbors, first.size - 1)
    near = nearest(nodes, n_near, metric, threads, progress)
    ends, length = _undirected(near.index, near.distance)
    rows = flat(nodes, metric) if metric in FLAT else nodes
    part = alone = _parts(first.size, ends)
    while (count := int(part.max()) + 1) > 1:
        progress(0.99, "neighbours", f"joining {count:,} parts")
        new = _between_parts(rows, part, count, n_near, threads)
        ends = np.concatenate([ends, new])
        length = np.concatenate([length, between(rows, new[:, 0], new[:, 1], metric)])
        part = _parts(first.size, ends)
    if alone.any():
        key = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, length = ends[key], length[key]
    scale = float(near.distance.mean())
    return Graph(first, place, ends, length, n_near, scale, alone, near.recall)


def _undirected(
    index: npt.NDArray[np.int32], distance: Float
) -> tuple[npt.NDArray[np.int32], Float]:
    """Each pair of neighbours once, sorted, with its distance."""
    n_points, n_near = index.shape
    own = np.repeat(np.arange(n_points, dtype=np.int64), n_near)
    other = index.ravel().astype(np.int64)
    key = np.minimum(own, other) * n_points + np.maximum(own, other)
    key, at = np.unique(key, return_index=True)
    ends = np.stack([key // n_points, key % n_points], axis=1).astype(np.int32)
    return ends, distance.ravel()[at]


def _parts(n_nodes: int, ends: npt.NDArray[np.int32]) -> Int:
    """(n_nodes,) number of the connected part of each node."""
    ones = np.ones(len(ends), dtype=np.int8)
    pairs = coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    _, part = connected_components(pairs, directed=False)
    number: Int = part.astype(np.int64)
    return number


def _between_parts(
    rows: Array, part: Int, n_parts: int, n_neighbors: int, threads: int
) -> npt.NDArray[np.int32]:
    """Edges between points of parts that are neighbours by their means."""
    order = np.argsort(part, kind="stable")
    start = np.searchsorted(part[order], np.arange(n_parts + 1))
    mean = np.empty((n_parts, rows.shape[1]))
    for number in range(n_parts):
        mean[number] = rows[order[start[number] : start[number + 1]]].mean(axis=0, dtype=np.float64)
    first, place = distinct(mean)
    pairs = []
    if first.size < n_parts:
        # Parts about one mean, such as shells: each to the first of them.
        there = np.flatnonzero(first[place] != np.arange(n_parts))
        pairs.append(np.stack([first[place[there]], there], axis=1))
    if first.size > 1:
        near = nearest(mean[first], min(n_neighbors, first.size - 1), "euclidean", threads, silent)
        ends, _ = _undirected(near.index, near.distance)
        pairs.append(first[ends])
    wanted = np.concatenate(pairs)
    # From each part of a pair the point nearest to the other's mean, then to that point.
    members = [order[start[number] : start[number + 1]] for number in range(n_parts)]
    one = _nearest_members(rows, members, wanted[:, 0], mean[wanted[:, 1]])
    other = _nearest_members(rows, members, wanted[:, 1], rows[one].astype(np.float64))
    one = _nearest_members(rows, members, wanted[:, 0], rows[other].astype(np.float64))
    return np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1).astype(np.int32)


def _nearest_members(rows: Array, members: list[Int], part: Int, target: Float) -> Int:
    """For each pair, the point of a part that is nearest to a target.

    Of a part that many others ask for a sample is looked at: O(`MOST_COMPARED` D) a part at most.
    """
    found = np.empty(part.size, dtype=np.int64)
    for number in np.unique(part):
        asked = np.flatnonzero(part == number)
        best = np.full(asked.size, np.inf)
        here = members[number][:: -(-members[number].size * asked.size // MOST_COMPARED)]
        for block in row_blocks(here.size, max(rows.shape[1], asked.size), 1 << 20):
            own = rows[here[block]].astype(np.float64)
            centre = own.mean(axis=0)
            own, to = own - centre, target[asked] - centre
            squared = np.einsum("nd,nd->n", own, own) - 2.0 * (to @ own.T)
            squared += np.einsum("nd,nd->n", to, to)[:, None]
            at = squared.argmin(axis=1)
            nearer = squared[np.arange(asked.size), at] < best
            best[nearer] = squared[np.arange(asked.size), at][nearer]
            found[asked[nearer]] = here[block][at[nearer]]
    return found
