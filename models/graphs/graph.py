"""The connected graph of nearest neighbours over points: which clusters may merge along it.

Points that coincide are one node. An edge joins two nodes where one is among the nearest neighbours
of the other. Separate parts are then joined: each part is represented by its mean, and the graph of
neighbours of these means shows which parts are adjacent, and an edge goes from the point of one
part that is nearest to the other's mean to that point's nearest in the other part; this repeats
until the graph is connected. So edges between parts are short, but not always the shortest.

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
from models.numerics.distances import FLAT, DistanceMetric, flat
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
        """Warnings of what was changed or approximated; `wanted` is the parameter `n_neighbors`."""
        sentences = []
        if self.n_neighbors < wanted:
            sentences.append(
                f"There are {self.n_nodes} distinct points, so n_neighbors = {wanted} became "
                f"{self.n_neighbors}."
            )
        if self.recall is not None:
            sentences.append(
                f"Neighbours were sought by an approximate index, which found {self.recall:.1%} of "
                "those of a sample of points."
            )
        if self.n_parts > 1:
            sentences.append(
                f"The graph of nearest neighbours fell into {self.n_parts} parts, which were "
                "joined by edges between points of parts that lie next to each other."
            )
        return tuple(sentences)


def neighbour_graph(
    points: Array, n_neighbors: int, metric: DistanceMetric, threads: int, progress: Progress
) -> Graph:
    """The connected graph of `n_neighbors` nearest neighbours."""
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
        # Parts with the same mean, such as shells: each is joined to the first of them.
        repeated = np.flatnonzero(first[place] != np.arange(n_parts))
        pairs.append(np.stack([first[place[repeated]], repeated], axis=1))
    if first.size > 1:
        near = nearest(mean[first], min(n_neighbors, first.size - 1), "euclidean", threads, silent)
        ends, _ = _undirected(near.index, near.distance)
        pairs.append(first[ends])
    adjacent = np.concatenate(pairs)
    # The point of one part nearest to the other's mean, the other's point nearest to it, and back.
    members = [order[start[number] : start[number + 1]] for number in range(n_parts)]
    left = _nearest_members(rows, members, adjacent[:, 0], mean[adjacent[:, 1]])
    right = _nearest_members(rows, members, adjacent[:, 1], rows[left].astype(np.float64))
    left = _nearest_members(rows, members, adjacent[:, 0], rows[right].astype(np.float64))
    return np.stack([np.minimum(left, right), np.maximum(left, right)], axis=1).astype(np.int32)


def _nearest_members(rows: Array, members: list[Int], part: Int, target: Float) -> Int:
    """For each pair, the point of a part that is nearest to a target.

    A part that occurs in many pairs is searched in a sample: O(`MOST_COMPARED` D) a part at most.
    """
    nearest_point = np.empty(part.size, dtype=np.int64)
    for number in np.unique(part):
        pairs = np.flatnonzero(part == number)
        best = np.full(pairs.size, np.inf)
        candidates = members[number][:: -(-members[number].size * pairs.size // MOST_COMPARED)]
        for block in row_blocks(candidates.size, max(rows.shape[1], pairs.size), 1 << 20):
            own = rows[candidates[block]].astype(np.float64)
            centre = own.mean(axis=0)
            own, to = own - centre, target[pairs] - centre
            squared = np.einsum("nd,nd->n", own, own) - 2.0 * (to @ own.T)
            squared += np.einsum("nd,nd->n", to, to)[:, None]
            at = squared.argmin(axis=1)
            nearer = squared[np.arange(pairs.size), at] < best
            best[nearer] = squared[np.arange(pairs.size), at][nearer]
            nearest_point[pairs[nearer]] = candidates[block][at[nearer]]
    return nearest_point
