"""The spanning tree by mutual reachability along the graph of nearest neighbours: many points.

Beyond the sizes of `models.graphs.spanning`, whose tree is exact, edges come from each point's
nearest neighbours (`models.graphs.cells`), of which a stated share is found. Core distances follow
from the same neighbours, points that coincide counted. Groups of points grow along the first edge
that leaves each, in rounds; edges within a group are dropped after each. Parts without an edge
between them are then joined by edges between points of parts that lie next to each other
(`neighbours.between_parts`).

Clusters that only chains of noise join in the graph would split too high. Once the condensed tree
is known, short edges between its clusters that lie next to each other are added, more across the
highest splits, and the tree is made again (`Reached.between`).

Edges are ordered by length, then by the distance of their ends, then by their numbers, so there is
one tree of a graph: blocks of edges may be looked at in any order and on any number of threads. The
neighbours are pieces of a crew and the same bits for any crew, and so is the tree.

An edge of the exact tree is missing where neither end is among the other's neighbours; a longer one
is then taken, so a split lies too high or right, and never too low but for the neighbours that the
search missed. Measured: docs/decisions/spanning-trees.md.

Source: as `models.graphs.spanning`; McInnes and Healy, "Accelerated Hierarchical Density Based
Clustering" (2017), for the tree along a graph of neighbours.

Cost: that of the neighbours; O(N k) for each of O(log N) rounds, of which fewer edges are left each
time; O(N D) for each of the highest splits, and for each cluster's neighbours. Memory: 28 bytes for
each of N k neighbours, and about 60 N.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Int32, Single, row_blocks
from models.graphs.cells import bytes_to_find
from models.graphs.lengths import Neighbours, between
from models.graphs.neighbours import Nodes, between_parts, nearest_members, undirected
from models.graphs.spanning import SpanningTree
from models.inputs.checks import scattered
from models.inputs.rows import Rows
from models.method import Checkpoint
from models.numerics.distances import DistanceMetric
from models.running.progress import Crew, Progress, subprogress

N_NEAR = 15
"""Neighbours of each point, or as many as the rank of the core distances, if that is more."""

PAIRS, LEAST_TRIED = 1 << 24, 16
"""Pairs of nodes that are compared across a high split, and nodes that are compared at least."""

SAMPLE = 10_000
"""Nodes of a group that give its mean there, at most."""

LEAST_EDGES = 1 << 16
"""Edges that one thread looks at, at least."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The tree of N points, and what it was made of.

    core : (N,) core distances, as precise as lengths were compared. n_near : neighbours of each
        point. recall : the share of a sample's neighbours that was found; None where all points
        coincide. n_parts : parts that were joined.
    """

    nodes: Nodes
    forest: _Forest
    tree: SpanningTree
    core: Float | Single
    n_near: int
    recall: float | None
    n_parts: int

    def facts(self) -> dict[str, float]:
        facts = {"n_parts": float(self.n_parts)}
        return facts if self.recall is None else {**facts, "neighbor_recall": self.recall}

    def between(
        self, label: Int, sides: Sequence[Int], threads: int, progress: Progress
    ) -> Reached:
        """The tree with shorter edges between clusters, where the graph has no short ones: between
        points of clusters that lie next to each other, as between parts.

        label : (N,) the cluster of each point. sides : the highest splits, of each (n_clusters,)
            the side of a cluster, 1 or 2, 0 for none: these are searched more widely.
        """
        nodes = self.nodes
        own = label[nodes.first]
        used, part = np.unique(own, return_inverse=True)
        if used.size < 2:
            return self
        progress(0.0, "joining", f"{used.size:,} clusters")
        rows, part = nodes.points, part.astype(np.int64)
        within = subprogress(progress, 0.0, 0.5)
        ends, _ = between_parts(rows, part, used.size, self.n_near, threads, within)
        found = [ends]
        for number, side in enumerate(sides):
            done = 0.5 + 0.4 * number / len(sides)
            progress(done, "joining", "the highest splits")
            of = side[own]
            one, other = np.flatnonzero(of == 1), np.flatnonzero(of == 2)
            if one.size and other.size:
                found.append(_across(rows, one, other, subprogress(progress, done, done)))
        ends = np.concatenate(found)
        apart = self.forest.between(nodes, ends)
        within = subprogress(progress, 0.9, 1.0)
        forest = self.forest.with_edges(ends, apart, threads, within)
        return replace(self, forest=forest, tree=_over_rows(nodes, forest))

    def warnings(self, most: int) -> tuple[str, ...]:
        """What was approximated. most : up to how many points the tree is exact."""
        if self.recall is None:
            return ()
        sentences = [
            f"With more than {most:,} points the tree follows the graph of the {self.n_near} "
            "nearest neighbours of each, which were sought by an approximate index that found "
            f"{self.recall:.1%} of the neighbours of a sample. A split may lie higher than in the "
            "exact tree, so that 'eom' may choose other clusters; 'leaf' hardly differs."
        ]
        if self.n_parts > 1:
            sentences.append(
                f"The graph of nearest neighbours fell into {self.n_parts:,} parts, which were "
                "joined by short edges between parts that lie next to each other, not always the "
                "shortest: where they split is approximate."
            )
        return tuple(sentences)


def bytes_to_reach(n_points: int, n_columns: int, rank: int) -> int:
    """Bytes that `tree_along_neighbours` takes at most beyond the points."""
    n_near = _n_near(n_points, rank)
    search = bytes_to_find(n_points, n_columns, n_near)
    return max(search, n_points * (28 * n_near + 60))


def tree_along_neighbours(
    points: Rows,
    rank: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    crew: Crew | None = None,
    checkpoint: Checkpoint | None = None,
) -> Reached:
    """The tree of two points or more by a metric of `FLAT`.

    rank : which neighbour gives the core distance, from 1 to N - 1. crew : its pieces are answered
        by `neighbours.graph_piece`; None: this process alone. checkpoint : has the edges between
        neighbours, once these are chosen, and then those that join parts.
    """
    progress(0.0, "neighbours", "looking for equal points")
    nodes = Nodes.of(points, metric)
    n_nodes, n_near = nodes.first.size, _n_near(nodes.first.size, rank)
    if n_nodes == 1:
        none = _Forest.of(1)
        return Reached(nodes, none, _over_rows(nodes, none), np.zeros(nodes.place.size), 0, None, 1)
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None and "reached_ends" in saved:
        forest = _Forest.kept(n_nodes, saved)
    else:
        near = nodes.neighbours(n_near, threads, subprogress(progress, 0.0, 0.9), crew)
        progress(0.9, "joining")
        forest = _Forest.along(nodes, near, rank, threads, subprogress(progress, 0.9, 0.97))
        del near
    while (part := forest.parts()) is not None:
        if checkpoint is not None:
            checkpoint.save(forest.arrays())
        n_parts = int(part.max()) + 1
        progress(0.97, "joining", f"{n_parts:,} parts")
        within = subprogress(progress, 0.97, 1.0)
        ends, _ = between_parts(nodes.points, part, n_parts, n_near, threads, within)
        forest.join(ends, forest.between(nodes, ends), threads, within)
    if checkpoint is not None:
        checkpoint.save(forest.arrays())
    tree = _over_rows(nodes, forest)
    return Reached(
        nodes, forest, tree, forest.core[nodes.place], n_near, forest.recall, forest.n_parts
    )


def _n_near(n_nodes: int, rank: int) -> int:
    return min(max(N_NEAR, rank), n_nodes - 1)


def _across(rows: Array | Rows, one: Int, other: Int, progress: Progress) -> Int32:
    """(n, 2) short edges between two groups of nodes: from nodes of the smaller that are nearest to
    the mean of the larger, as many as `PAIRS` allows, to the nearest in the larger, and back."""
    one, other = sorted((one, other), key=len)
    sample = other[:: -(-other.size // SAMPLE)]
    mean = scattered(rows, sample).mean(axis=0, dtype=np.float64)
    far = np.empty(one.size)
    for block in row_blocks(one.size, rows.shape[1], 1 << 20):
        off = scattered(rows, one[block]).astype(np.float64) - mean
        far[block] = np.einsum("nd,nd->n", off, off)
    n_tried = max(LEAST_TRIED, PAIRS // other.size)
    tried = one[np.argsort(far, kind="stable")[:n_tried]]
    there = _nearest_to(rows, other, tried, progress)
    back = np.unique(there)
    here = _nearest_to(rows, one, back, progress)
    pairs = np.concatenate([np.stack([tried, there], axis=1), np.stack([here, back], axis=1)])
    return np.sort(pairs, axis=1).astype(np.int32)


def _nearest_to(rows: Array | Rows, members: Int, nodes: Int, progress: Progress) -> Int:
    """The member that is nearest to each of these nodes."""
    target = scattered(rows, nodes).astype(np.float64)
    return nearest_members(rows, [members], np.zeros(nodes.size, dtype=np.int64), target, progress)


def _over_rows(nodes: Nodes, forest: _Forest) -> SpanningTree:
    """The tree of all rows: those that coincide are joined at their core distance."""
    first = nodes.first[nodes.place]
    repeated = np.flatnonzero(first != np.arange(first.size))
    n_edges = forest.n_edges
    ends = np.concatenate(
        [nodes.first[forest.ends[:n_edges]], np.stack([first[repeated], repeated], axis=1)]
    )
    own = forest.core[nodes.place[repeated]]
    length = np.concatenate([forest.length[:n_edges], own]).astype(np.float64)
    order = np.argsort(length, kind="stable")
    return SpanningTree(ends[order], length[order])


@dataclass(slots=True, eq=False)
class _Forest:
    """Edges chosen among N nodes.

    ends, length : (N - 1, 2) and (N - 1,) of which `n_edges` are filled. group : (N,) the group of
    each node, the lowest of its nodes. core : (N,). n_parts, recall : as of `Reached`.
    """

    ends: Int32
    length: Float
    group: Int32
    core: Float | Single
    recall: float | None = None
    n_parts: int = 1
    n_edges: int = 0

    @classmethod
    def of(cls, n_nodes: int) -> _Forest:
        ends, length = np.empty((n_nodes - 1, 2), dtype=np.int32), np.empty(n_nodes - 1)
        return cls(ends, length, np.arange(n_nodes, dtype=np.int32), np.zeros(n_nodes))

    @classmethod
    def along(
        cls, nodes: Nodes, near: Neighbours, rank: int, threads: int, progress: Progress
    ) -> _Forest:
        """The forest of all edges between neighbours."""
        from models.graphs.loops import reach

        forest = cls.of(nodes.first.size)
        size = np.bincount(nodes.place).astype(np.int32)
        forest.recall = near.recall
        core: Float | Single = np.empty(size.size, dtype=near.distance.dtype)
        reach.cores(near.index, near.distance, size, rank, core)
        forest.core = core
        ends, apart = undirected(near.index, near.distance)
        forest.join(ends, apart, threads, progress)
        part = forest.parts()
        forest.n_parts = 1 if part is None else int(part.max()) + 1
        return forest

    @classmethod
    def kept(cls, n_nodes: int, saved: Arrays) -> _Forest:
        """The forest of an earlier attempt."""
        from models.graphs.loops import reach

        forest = cls.of(n_nodes)
        forest.core = np.array(saved["reached_core"])
        forest.n_edges = len(saved["reached_ends"])
        forest.ends[: forest.n_edges] = saved["reached_ends"]
        forest.length[: forest.n_edges] = saved["reached_length"]
        reach.regroup(forest.ends[: forest.n_edges], forest.group)
        recall, n_parts = saved["reached_facts"].tolist()
        forest.recall, forest.n_parts = recall, int(n_parts)
        return forest

    def between(self, nodes: Nodes, ends: Int32) -> Float | Single:
        """(E,) distances of ends, rounded as distances to neighbours: equal ones stay equal."""
        apart: Float | Single = between(nodes.points, ends[:, 0], ends[:, 1], nodes.metric)
        return apart.astype(np.float32) if self.core.dtype == np.float32 else apart

    def with_edges(
        self, ends: Int32, apart: Float | Single, threads: int, progress: Progress
    ) -> _Forest:
        """The tree of the edges of this one, which joins all, and these."""
        found = _Forest.of(self.group.size)
        found.core, found.recall, found.n_parts = self.core, self.recall, self.n_parts
        # Their distances are no longer known: of equal lengths those between neighbours come first.
        known = np.zeros(len(self.length))
        found.join(
            np.concatenate([self.ends, ends]), np.concatenate([known, apart]), threads, progress,
            np.concatenate([self.length, np.maximum(apart, self.core[ends].max(axis=1))]),
        )  # fmt: skip
        return found

    def arrays(self) -> dict[str, Array]:
        """What an attempt that goes on needs."""
        assert self.recall is not None
        return {
            "reached_ends": self.ends[: self.n_edges],
            "reached_length": self.length[: self.n_edges],
            "reached_core": self.core,
            "reached_facts": np.array([self.recall, self.n_parts]),
        }

    def parts(self) -> Int | None:
        """(N,) the number of each node's part; None where there is one."""
        if self.n_edges == len(self.length):
            return None
        _, part = np.unique(self.group, return_inverse=True)
        return part.astype(np.int64)

    def join(
        self,
        ends: Int32,
        apart: Float | Single,
        threads: int,
        progress: Progress,
        length: Float | Single | None = None,
    ) -> None:
        """Join groups along these edges, as far as they lead; the edges are moved and dropped.

        apart : (E,) distances of the ends. length : (E,) of the edges; None: by core distances.
        """
        from models.graphs.loops import reach

        if length is None:
            length = np.empty_like(apart)
            for block in row_blocks(apart.size, 4):
                core = self.core[ends[block]]
                np.maximum(apart[block], core.max(axis=1), out=length[block])
        edges = (ends, length, apart)
        n_nodes, n_blocks = self.group.size, max(1, min(threads, apart.size // LEAST_EDGES))
        cuts = [apart.size * number // n_blocks for number in range(n_blocks + 1)]
        spans = list(pairwise(cuts))
        best = [np.empty(n_nodes, dtype=np.int64) for _ in spans]

        def look(number: int) -> tuple[int, int]:
            first, last = spans[number]
            return first, reach.leaving(*edges, self.group, first, last, best[number])

        with ThreadPoolExecutor(n_blocks, "joining") as pool:
            while self.n_edges < len(self.length):
                progress(self.n_edges / n_nodes, "joining", f"{n_nodes - self.n_edges:,} groups")
                spans = list(pool.map(look, range(n_blocks)))
                if not sum(last - first for first, last in spans):
                    return
                for found in best[1:]:
                    reach.first_of(best[0], found, *edges)
                self.n_edges = reach.join(
                    best[0], ends, length, self.group, self.ends, self.length, self.n_edges
                )
