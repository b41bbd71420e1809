"""What may merge in rounds of many merges, under constraints (`constraints`), for `scc`.

Cost: O(N log depth + E) a round, and O(E log E) for components that would break a constraint.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Float, Int, Int32, Mask, Single
from models.graphs.lengths import between
from models.graphs.neighbours import Graph
from models.inputs.rows import Rows
from models.methods.features.linkage.clades import FREE
from models.methods.features.linkage.constraints import Constraints
from models.numerics.distances import FLAT, DistanceMetric, FlatRows, flat

EDGE_BYTES = 150
"""Memory for each edge between rows."""


def n_row_edges(graph: Graph) -> int:
    """The number of edges between rows, with those between rows that coincide."""
    size = np.bincount(graph.place, minlength=graph.n_nodes).astype(np.float64)
    along = size[graph.ends[:, 0]] @ size[graph.ends[:, 1]]
    return int(along + (size * (size - 1)).sum() / 2)


def row_edges(graph: Graph) -> tuple[Int, Float | Single]:
    """(E, 2) edges between rows and their lengths: as between their places, 0 at one place."""
    size = np.bincount(graph.place, minlength=graph.n_nodes)
    order = np.argsort(graph.place, kind="stable")
    start = np.cumsum(size) - size
    same = np.repeat(np.flatnonzero(size > 1)[:, None], 2, axis=1)
    ends = np.concatenate([graph.ends.astype(np.int64), same])
    length = np.concatenate([graph.length, np.zeros(len(same), dtype=graph.length.dtype)])
    count = size[ends[:, 0]] * size[ends[:, 1]]
    edge = np.repeat(np.arange(len(ends)), count)
    place = np.arange(edge.size) - np.repeat(np.cumsum(count) - count, count)
    low, high = np.divmod(place, size[ends[edge, 1]])
    low, high = order[start[ends[edge, 0]] + low], order[start[ends[edge, 1]] + high]
    kept = (ends[edge, 0] != ends[edge, 1]) | (low < high)
    pairs = np.stack([np.minimum(low, high), np.maximum(low, high)], axis=1)
    return pairs[kept], length[edge[kept]]


def lengths_along(edges: Int, points: Array | Rows, metric: DistanceMetric) -> Float | Single:
    """(E,) the lengths of given edges. Raises UsageError naming the rows of an edge for which the
    metric is not defined."""
    rows: Array | Rows
    if isinstance(points, Rows):
        rows = FlatRows(points, metric)
    else:
        rows = flat(points, metric) if metric in FLAT else points
    return between(rows, edges[:, 0], edges[:, 1], metric)


class Permits:
    """Which clusters may merge in a round.

    cluster : (N,) the cluster of each row. n : the number of clusters.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.first = np.unique(constraints.group, return_index=True)[1]
        self.linked = np.stack(
            [self.first[constraints.group], np.arange(constraints.group.size)], axis=1
        )
        """(N, 2) pairs that join the rows of each group."""
        self._constraints = constraints
        self._apart_rows = self.first[constraints.apart]
        self.regroup(np.arange(constraints.group.size))

    def regroup(self, cluster: Int) -> None:
        """Take these clusters of rows."""
        self.cluster, self.n = cluster, int(cluster.max()) + 1
        apart = cluster[self._apart_rows]
        self._apart = apart[apart[:, 0] != apart[:, 1]]
        low, high = self._apart.min(axis=1), self._apart.max(axis=1)
        self._apart_keys = np.unique(low * self.n + high)
        clades = self._constraints.clades
        self._open = np.full(self.n, FREE, dtype=np.int64)
        self._held = np.zeros(self.n, dtype=np.int64)
        if clades is not None:
            self._open, self._held = clades.open_nodes(cluster, self.n)

    def allowed(self, ends: Int | Int32) -> Mask:
        """(E,) whether two clusters, the lower first, may merge."""
        low, high = ends.astype(np.int64).T
        one, other = self._open[low], self._open[high]
        inside = (one == other) | (one == FREE) | (other == FREE)
        return np.asarray(inside & ~np.isin(low * self.n + high, self._apart_keys))

    def kept(self, pairs: Int32, similarity: Float | Single) -> Int:
        """The pairs, permitted each by itself, of which every component is permitted: all pairs of
        a component that is, the most similar first of another."""
        part = _components(pairs, self.n)
        crossed = np.zeros(self.n, dtype=bool)
        low, high = self._apart.T
        crossed[part[low[part[low] == part[high]]]] = True
        bound = np.flatnonzero(self._open != FREE)
        least, most = np.full(self.n, np.iinfo(np.int64).max), np.full(self.n, -1)
        np.minimum.at(least, part[bound], self._open[bound])
        np.maximum.at(most, part[bound], self._open[bound])
        crossed |= (most >= 0) & (least < most)
        wrong = crossed[part[pairs[:, 0]]]
        if not wrong.any():
            return pairs.astype(np.int64)
        tried, similar = pairs[wrong].astype(np.int64), similarity[wrong]
        tried = tried[np.lexsort((tried[:, 1], tried[:, 0], -similar))]
        return np.concatenate([pairs[~wrong].astype(np.int64), self._greedy(tried)])

    def _greedy(self, pairs: Int) -> Int:
        member = set(pairs.ravel().tolist())
        above = {cluster: cluster for cluster in member}
        open_node = {cluster: int(self._open[cluster]) for cluster in member}
        foes: dict[int, set[int]] = {cluster: set() for cluster in member}
        for one, other in self._apart.tolist():
            if one in member and other in member:
                foes[one].add(other)
                foes[other].add(one)

        def top(cluster: int) -> int:
            while above[cluster] != cluster:
                above[cluster] = above[above[cluster]]
                cluster = above[cluster]
            return cluster

        taken = []
        for pair in pairs.tolist():
            one, other = top(pair[0]), top(pair[1])
            if one == other or other in foes[one]:
                continue
            nodes = {open_node[one], open_node[other]} - {FREE}
            if len(nodes) > 1:
                continue
            if len(foes[one]) < len(foes[other]):
                one, other = other, one
            above[other] = one
            open_node[one] = nodes.pop() if nodes else FREE
            for foe in foes.pop(other):
                foes[foe].remove(other)
                foes[foe].add(one)
                foes[one].add(foe)
            taken.append(pair)
        return np.array(taken, dtype=np.int64).reshape(-1, 2)

    def forced(self) -> tuple[Int, bool]:
        """Pairs that join what is left where nothing may merge, and whether all becomes one: the
        clusters of each open node that have all its rows, but all clusters where that is none
        but the known tree's root."""
        clades = self._constraints.clades
        if clades is not None:
            inner = np.flatnonzero((self._open > 0) & (self._open < clades.n_nodes))
            held = np.bincount(self._open[inner], self._held[inner], minlength=clades.n_nodes)
            inner = inner[held[self._open[inner]] == clades.n_rows[self._open[inner]]]
            if inner.size:
                _, first, at = np.unique(self._open[inner], return_index=True, return_inverse=True)
                return np.stack([inner[first[at]], inner], axis=1), False
        every = np.arange(self.n)
        return np.stack([np.zeros_like(every), every], axis=1), True


def _components(pairs: Int | Int32, n: int) -> Int:
    ones = np.ones(len(pairs), dtype=np.int8)
    graph = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
