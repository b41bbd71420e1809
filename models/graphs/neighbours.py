"""The nearest neighbours of each point, and the connected graph of them.

Neighbours are of points that are all distinct. Up to `EXACT_POINTS` points, and for metrics that
are not a function of a Euclidean distance, all pairs are compared (scikit-learn, or SciPy for
metrics that count columns). Beyond that they come from cells of points in half precision
(`models.graphs.cells`): the result is approximate, with a known recall. Nothing is random: the same
points give the same neighbours.

Cost: O(N^2 D) for all pairs; else as of `cells`. Memory: the points once more, and 24 bytes for
each neighbour.

The graph says which clusters may merge along it. Points that coincide are one node. An edge joins
two nodes where one is among the nearest neighbours of the other. Separate parts are then joined:
each part is represented by its mean, and the graph of neighbours of these means shows which parts
are adjacent, and an edge goes from the point of one part that is nearest to the other's mean to
that point's nearest in the other part; this repeats until the graph is connected. So edges between
parts are short, but not always the shortest.

Cost: that of the neighbours, and O(N D) for each part that is joined to a large one. Memory besides
them: 12 bytes for each of up to N k edges, 16 where points are held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Arrays, Float, Int, Int32, Single, row_blocks
from models.errors import UsageError
from models.graphs import cells
from models.graphs.cells import Sharing, nearest_by_rows
from models.graphs.lengths import Neighbours, between, nearest_of_all, others
from models.inputs.checks import blocks, distinct, scattered
from models.inputs.rows import ArrayRows, ChosenRows, Rows
from models.numerics.distances import COUNTED, FLAT, DistanceMetric, FlatRows, flat
from models.running.progress import SHARED, Crew, Piece, Progress, silent, subprogress
from models.running.threads import limited

EXACT_POINTS = 10_000
MOST_POINTS_EXACT = 50_000
"""Number of points at which all pairs of a metric without an index take minutes."""


def nearest(
    points: Array,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    sharing: Sharing | None = None,
) -> Neighbours:
    """Neighbours of distinct points; `n_neighbors` is below their number.

    sharing : who searches cells; None: this process alone.

    Raises UsageError for a metric without an index on more than `MOST_POINTS_EXACT` points, and
    where a distance is not defined.
    """
    if metric not in FLAT:
        require_index(len(points), metric)
        values = points.astype(np.float64, copy=False)
        if metric in COUNTED:
            index = _by_counts(values, n_neighbors, metric, progress)
        else:
            index = _by_all_pairs(values, n_neighbors, metric, threads, progress)
        return _measured(points, index, metric, None)
    if len(points) <= EXACT_POINTS:
        rows = flat(points, metric)
        index = _by_all_pairs(rows, n_neighbors, "euclidean", threads, progress)
        return _measured(rows, index, metric, None)
    return nearest_by_rows(
        FlatRows(ArrayRows(points), metric),
        n_neighbors,
        metric,
        threads,
        progress,
        np.float64,
        sharing,
    )


def require_index(n_points: int, metric: DistanceMetric) -> None:
    """Raises UsageError if neighbours by `metric` cannot be found among that number of points."""
    if metric not in FLAT and n_points > MOST_POINTS_EXACT:
        raise UsageError(
            f"Neighbours by the metric {metric!r} are sought among all pairs of points, of at most "
            f"{MOST_POINTS_EXACT:,} points; there are {n_points:,}. The metrics "
            f"{', '.join(map(repr, FLAT))} have an index.",
            code="too-large",
            parameter="metric",
        )


def _by_all_pairs(
    rows: Array, n_neighbors: int, metric: str, threads: int, progress: Progress
) -> Int:
    from sklearn.neighbors import NearestNeighbors

    # OpenMP runs Euclidean distances on several threads; processes cannot be started here.
    jobs = None if metric == "euclidean" else threads
    search = NearestNeighbors(
        n_neighbors=n_neighbors + 1, metric=metric, algorithm="brute", n_jobs=jobs
    )
    if metric == "euclidean":
        rows = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
    with limited(threads):
        search.fit(rows)
        index = np.empty((len(rows), n_neighbors), dtype=np.int64)
        for block in row_blocks(len(rows), len(rows), 1 << 26):
            progress(block.start / len(rows), "neighbours", f"{block.start:,} of {len(rows):,}")
            near = search.kneighbors(rows[block], return_distance=False)
            index[block] = others(near, block.start)
    return index


def _by_counts(rows: Array, n_neighbors: int, metric: DistanceMetric, progress: Progress) -> Int:
    index = np.empty((len(rows), n_neighbors), dtype=np.int64)
    for block in row_blocks(len(rows), len(rows), 1 << 24):
        progress(block.start / len(rows), "neighbours", f"{block.start:,} of {len(rows):,}")
        near = nearest_of_all(rows[block], rows, n_neighbors + 1, metric)
        index[block] = others(near, block.start)
    return index


def _measured(rows: Array, index: Int, metric: DistanceMetric, recall: float | None) -> Neighbours:
    """Neighbours with their distances in float64, nearest first, equally near ones by number."""
    distance = np.empty(index.shape)
    out = np.empty(index.shape, dtype=np.int32)
    for block in row_blocks(len(rows), index.shape[1] * rows.shape[1], 1 << 20):
        near = np.sort(index[block], axis=1)
        own = np.repeat(np.arange(block.start, block.stop), index.shape[1])
        lengths = between(rows, own, near.ravel(), metric).reshape(near.shape)
        order = np.argsort(lengths, axis=1, kind="stable")
        distance[block] = np.take_along_axis(lengths, order, axis=1)
        out[block] = np.take_along_axis(near, order, axis=1)
    return Neighbours(out, distance, recall)


MOST_COMPARED = 2 * 10**9

EDGES_AT_ONCE = 1 << 24
"""Edges of which the connected parts are found together."""


@dataclass(frozen=True, slots=True)
class Graph:
    """An undirected graph over distinct points.

    first : (U,) row of the first point at each node.
    place : (n_points,) node of each point.
    ends : (E, 2) int32, the lower node first, each pair once; sorted where points are held.
    length : (E,) distance by the metric; float32 for points that are read by rows.
    n_neighbors : as used. scale : mean distance from a node to its neighbours.
    part : (U,) the part of each node before parts were joined.
    recall : as in `Neighbours`. by_rows : whether points were read by rows.
    """

    first: Int
    place: Int
    ends: Int32
    length: Float | Single
    n_neighbors: int
    scale: float
    part: Int
    recall: float | None
    by_rows: bool = False

    @property
    def n_nodes(self) -> int:
        return int(self.first.size)

    @property
    def n_parts(self) -> int:
        return int(self.part.max()) + 1

    def facts(self) -> dict[str, float]:
        """What a fit along it counts."""
        facts = {"n_edges": float(self.length.size), "n_parts": float(self.n_parts)}
        return facts if self.recall is None else {**facts, "neighbor_recall": self.recall}

    def edges_of_rows(self) -> Int:
        """(E, 2) the edges by the first rows of nodes, and from each row to the first that
        coincides with it."""
        ends = self.first[self.ends]
        first = self.first[self.place]
        repeated = np.flatnonzero(first != np.arange(first.size))
        own = np.stack([first[repeated], repeated], axis=1)
        return np.concatenate([np.sort(ends, axis=1), own])

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
                "Neighbours were sought by an approximate index that keeps points in half "
                f"precision, which found {self.recall:.1%} of the neighbours of a sample of points."
            )
        if self.n_parts > 1:
            sentences.append(
                f"The graph of nearest neighbours fell into {self.n_parts} parts, which were "
                "joined by edges between points of parts that lie next to each other."
            )
        return tuple(sentences)


@dataclass(frozen=True, slots=True)
class Nodes:
    """The distinct points.

    first, place : as of `Graph`. points : (U, D), rows that are read by `flat` already.
    """

    first: Int
    place: Int
    points: Array | Rows
    metric: DistanceMetric

    @classmethod
    def of(cls, points: Array | Rows, metric: DistanceMetric) -> Nodes:
        first, place = distinct(points)
        alike = first.size < points.shape[0]
        if isinstance(points, Rows):
            rows: Rows = FlatRows(points, metric)
            rows = ChosenRows(rows, first) if alike else rows
            return cls(first, place, rows, metric)
        return cls(first, place, points[first] if alike else points, metric)

    def flat(self) -> Array | Rows:
        """(U, D) the points by `flat`, for metrics of `FLAT`."""
        if isinstance(self.points, Rows) or self.metric not in FLAT:
            return self.points
        return flat(self.points, self.metric)

    def neighbours(
        self,
        n_neighbors: int,
        threads: int,
        progress: Progress,
        crew: Crew | None = None,
        flat_by: DistanceMetric | None = None,
    ) -> Neighbours:
        """The neighbours of several distinct points, as `neighbour_graph` has them; `n_neighbors`
        is below their number."""
        sharing = None
        if crew is not None and crew.n_pieces > 1:
            chosen = {} if self.first.size == self.place.size else {"chosen": self.first}
            sharing = Sharing(crew, {"flat_by": flat_by or self.metric}, chosen)
        if isinstance(self.points, Rows):
            within = subprogress(progress, 0.0, 0.99)
            return nearest_by_rows(
                self.points, n_neighbors, self.metric, threads, within, sharing=sharing
            )
        return nearest(self.points, n_neighbors, self.metric, threads, progress, sharing)


def neighbour_graph(
    points: Array | Rows,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    crew: Crew | None = None,
    flat_by: DistanceMetric | None = None,
) -> Graph:
    """The connected graph of `n_neighbors` nearest neighbours.

    points : (N, D); `Rows`, for metrics of `FLAT`, are read block by block.
    crew : its pieces are answered by `graph_piece`; None: this process alone.
    flat_by : the metric by which `points` were made flat; None: they are the rows as given.
    """
    progress(0.0, "neighbours", "looking for equal points")
    nodes = Nodes.of(points, metric)
    first, place, by_rows = nodes.first, nodes.place, isinstance(points, Rows)
    if first.size == 1:
        none = np.empty((0, 2), dtype=np.int32)
        part = np.zeros(1, np.int64)
        return Graph(first, place, none, np.empty(0), 0, 0.0, part, None, by_rows)
    n_near = min(n_neighbors, first.size - 1)
    near = nodes.neighbours(n_near, threads, progress, crew, flat_by)
    scale, recall = float(near.distance.mean(dtype=np.float64)), near.recall
    ends, length = undirected(near.index, near.distance)
    del near
    part = alone = _parts(first.size, ends)
    rows = nodes.flat()
    while (count := int(part.max()) + 1) > 1:
        progress(0.99, "neighbours", f"joining {count:,} parts")
        within = subprogress(progress, 0.99, 1.0)
        new, part = between_parts(rows, part, count, n_near, threads, within)
        ends = np.concatenate([ends, new])
        far = between(rows, new[:, 0], new[:, 1], metric).astype(length.dtype)
        length = np.concatenate([length, far])
    if not by_rows:
        key = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, length = ends[key], length[key]
    return Graph(first, place, ends, length, n_near, scale, alone, recall, by_rows)


def graph_piece(rows: Rows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `neighbour_graph` computes. rows : (N, D) the features as they are."""
    part: Rows = FlatRows(rows, given["flat_by"])
    if "chosen" in given[SHARED]:
        part = ChosenRows(part, np.asarray(given[SHARED]["chosen"]))
    return cells.piece(part, given, threads, progress)


def undirected(index: Int32, distance: Float | Single) -> tuple[Int32, Float | Single]:
    """Each pair of neighbours once, the lower first, with its distance."""
    n_points, n_near = index.shape
    ends = np.empty((n_points * n_near, 2), dtype=np.int32)
    length = np.empty(len(ends), dtype=distance.dtype)
    n_edges = 0
    for block in row_blocks(n_points, n_near * n_near, 1 << 22):
        other = index[block]
        own = np.arange(block.start, block.stop, dtype=np.int32)[:, None]
        # A pair of which each is the other's neighbour is counted at its lower point.
        counted = (other > own) | (index[other] != own[:, :, None]).all(axis=2)
        there = other[counted]
        here = np.broadcast_to(own, other.shape)[counted]
        stop = n_edges + there.size
        ends[n_edges:stop, 0] = np.minimum(here, there)
        ends[n_edges:stop, 1] = np.maximum(here, there)
        length[n_edges:stop] = distance[block][counted]
        n_edges = stop
    return ends[:n_edges], length[:n_edges]


def _parts(n_nodes: int, ends: Int32) -> Int:
    """(n_nodes,) number of the connected part of each node."""
    part, n_parts = np.arange(n_nodes), n_nodes
    for block in row_blocks(len(ends), 1, EDGES_AT_ONCE):
        pairs = part[ends[block]]
        ones = np.ones(len(pairs), dtype=np.int8)
        edges = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_parts, n_parts))
        n_parts, joined = connected_components(edges, directed=False)
        part = joined.astype(np.int64)[part]
    return part


def between_parts(
    rows: Array | Rows,
    part: Int,
    n_parts: int,
    n_neighbors: int,
    threads: int,
    progress: Progress = silent,
) -> tuple[Int32, Int]:
    """Edges between points of parts that are neighbours by their means, and the part of each point
    with them.

    rows : (n, D), for metrics of `FLAT` as by `flat`. part : (n,) of several.
    """
    order = np.argsort(part, kind="stable")
    start = np.searchsorted(part[order], np.arange(n_parts + 1))
    mean = np.empty((n_parts, rows.shape[1]))
    if isinstance(rows, Rows):
        mean = _means(rows, part, n_parts)
    else:
        for number in range(n_parts):
            own = rows[order[start[number] : start[number + 1]]]
            mean[number] = own.mean(axis=0, dtype=np.float64)
    first, place = distinct(mean)
    pairs = []
    if first.size < n_parts:
        # Parts with the same mean, such as shells: each is joined to the first of them.
        repeated = np.flatnonzero(first[place] != np.arange(n_parts))
        pairs.append(np.stack([first[place[repeated]], repeated], axis=1))
    if first.size > 1:
        n_near = min(n_neighbors, first.size - 1)
        within = subprogress(progress, 0.0, 0.2)
        near = nearest(mean[first], n_near, "euclidean", threads, within)
        ends, _ = undirected(near.index, near.distance)
        pairs.append(first[ends])
    adjacent = np.concatenate(pairs)
    # The point of one part nearest to the other's mean, the other's point nearest to it, and back.
    members = [order[start[number] : start[number + 1]] for number in range(n_parts)]
    target, found = mean[adjacent[:, 1]], list[Int]()
    for side, done in ((0, 0.2), (1, 0.5), (0, 0.8)):
        within = subprogress(progress, done, min(done + 0.3, 1.0))
        found.append(nearest_members(rows, members, adjacent[:, side], target, within))
        target = scattered(rows, found[-1]).astype(np.float64)
    right, left = found[1:]
    ends = np.stack([np.minimum(left, right), np.maximum(left, right)], axis=1).astype(np.int32)
    return ends, _parts(n_parts, part[ends].astype(np.int32))[part]


def _means(rows: Rows, part: Int, n_parts: int) -> Float:
    """(n_parts, D) the mean of the rows of each part."""
    total = np.zeros((n_parts, rows.shape[1]))
    for block, values in blocks(rows):
        used, own = np.unique(part[block], return_inverse=True)
        where = own, np.arange(own.size)
        member = csr_array((np.ones(own.size), where), shape=(used.size, own.size))
        total[used] += member @ np.asarray(values, dtype=np.float64)
    return total / np.bincount(part, minlength=n_parts)[:, None]


def nearest_members(
    rows: Array | Rows, members: list[Int], part: Int, target: Float, progress: Progress = silent
) -> Int:
    """For each pair, the point of a part that is nearest to a target.

    A part that occurs in many pairs is searched in a sample: O(`MOST_COMPARED` D) a part at most.
    """
    nearest_point = np.empty(part.size, dtype=np.int64)
    order = np.argsort(part, kind="stable")
    used, start = np.unique(part[order], return_index=True)
    for rank, pairs in enumerate(np.split(order, start[1:])):
        number, done = used[rank], start[rank] / part.size
        best = np.full(pairs.size, np.inf)
        candidates = members[number][:: -(-members[number].size * pairs.size // MOST_COMPARED)]
        for block in row_blocks(candidates.size, max(rows.shape[1], pairs.size), 1 << 20):
            progress(done, "joining", f"{rank:,} of {used.size:,} parts")
            own = scattered(rows, candidates[block]).astype(np.float64)
            centre = own.mean(axis=0)
            own, to = own - centre, target[pairs] - centre
            squared = np.einsum("nd,nd->n", own, own) - 2.0 * (to @ own.T)
            squared += np.einsum("nd,nd->n", to, to)[:, None]
            at = squared.argmin(axis=1)
            nearer = squared[np.arange(pairs.size), at] < best
            best[nearer] = squared[np.arange(pairs.size), at][nearer]
            nearest_point[pairs[nearer]] = candidates[block][at[nearer]]
    return nearest_point
