"""The graph of the clusters of several levels, and the same as a tree.

A node for each cluster, an edge where rows flow from a cluster to one of the next level. Source:
Zappia and Oshlack, "Clustering trees: a visualization for evaluating clusterings at multiple
resolutions" (2018), and the package clustree. The in-proportion of an edge is its share of the rows
of the cluster that it goes to, the out-proportion that of the cluster it comes from. The stability
of a cluster is SC3's index (Kiselev et al., "SC3: consensus clustering of single-cell RNA-seq
data", 2017) as clustree 0.5 computes it: summed over the other levels, the mean share of the
clusters that it meets there which lies in it, divided by their number, then divided by the number
of levels. SC3 itself divides by one less; so does not clustree.

The tree (`hang`) has the nodes of the graph in their order, each under its parent, below a root
where the first level has several clusters; rows lie in the finest clusters. Its columns hold the
rest of the graph, so that `graph_in` finds it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.clusterings.levels import Level
from models.errors import UsageError
from models.running.progress import Progress
from models.tree.build import from_parents
from models.tree.tree import Tree

MOST_EDGES = 2_000_000
_CELLS = 1 << 22
"""Pairs of clusters that are counted in a table; more are sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterGraph:
    """Nodes by level, then in the order of their labels; edges by target, then by source.

    levels : their names, the coarsest first. level, label, size, noise, stability : (n_nodes,) each
    node's level, label, rows, whether it is the bucket of rows without one, and its index from 0
    to 1. source, target, rows : (n_edges,) how many rows of a cluster are in one of the next level.
    parent : (n_nodes,) the source of most rows; -1 in the first level. n_tied : nodes that have two
    such sources.
    """

    levels: list[str]
    level: Int
    label: list[str]
    size: Int
    noise: Mask
    stability: Float
    source: Int
    target: Int
    rows: Int
    parent: Int
    n_tied: int = 0

    @property
    def in_proportion(self) -> Float:
        return np.asarray(self.rows / self.size[self.target])

    @property
    def out_proportion(self) -> Float:
        return np.asarray(self.rows / self.size[self.source])

    @property
    def core(self) -> Mask:
        """(n_edges,) whether the edge comes from the target's parent."""
        return np.asarray(self.parent[self.target] == self.source)


def starts(levels: Sequence[Level]) -> Int:
    """(n_levels + 1,) the first node of each level."""
    return np.concatenate([[0], np.cumsum([len(level.labels) for level in levels])]).astype(
        np.int64
    )


def graph_of(levels: Sequence[Level], progress: Progress) -> ClusterGraph:
    """The graph of at least one level.

    The parent of a cluster is the one that most of its rows come from; of equal ones that of which
    they are the larger share, then the first by label. O(n_rows n_levels^2).

    Raises UsageError `too-large` for more than `MOST_EDGES` edges.
    """
    first = starts(levels)
    counts = [np.bincount(level.code, minlength=len(level.labels)) for level in levels]
    size = np.concatenate(counts).astype(np.int64)
    stability = np.zeros(size.size)
    edges: list[tuple[Int, Int, Int]] = []
    n_pairs, done, n_edges = len(levels) * (len(levels) - 1) // 2, 0, 0
    for coarse in range(len(levels)):
        for fine in range(coarse + 1, len(levels)):
            progress(0.9 * done / n_pairs, "flows", f"{done} of {n_pairs} pairs of levels")
            done += 1
            own, other, rows = _shared(levels[coarse], levels[fine])
            own, other = own + first[coarse], other + first[fine]
            for cluster, met in ((own, other), (other, own)):
                share = np.bincount(cluster, rows / size[met], size.size)
                n_met = np.bincount(cluster, minlength=size.size)
                stability += np.divide(share, n_met**2, out=np.zeros(size.size), where=n_met > 0)
            if fine == coarse + 1:
                edges.append((own, other, rows))
                n_edges += rows.size
                _require_few(n_edges)
    none = np.empty(0, dtype=np.int64)
    source, target, rows = (
        np.concatenate([none, *(edge[part] for edge in edges)]) for part in range(3)
    )
    order = np.lexsort((source, target))
    source, target, rows = source[order], target[order], rows[order]
    parent, n_tied = _parents(source, target, rows, size)
    noise = np.zeros(size.size, dtype=bool)
    noise[[last - 1 for last, level in zip(first[1:], levels, strict=True) if level.noise]] = True
    return ClusterGraph(
        levels=[level.name for level in levels],
        level=np.repeat(np.arange(len(levels)), np.diff(first)),
        label=[label for level in levels for label in level.labels],
        size=size,
        noise=noise,
        stability=stability / len(levels),
        source=source,
        target=target,
        rows=rows,
        parent=parent,
        n_tied=n_tied,
    )


def _require_few(n_edges: int) -> None:
    if n_edges > MOST_EDGES:
        raise UsageError(
            f"The levels have more than {MOST_EDGES:,} pairs of clusters with rows in common; take "
            "fewer or coarser ones.",
            code="too-large",
            limit=MOST_EDGES,
        )


def _shared(one: Level, other: Level) -> tuple[Int, Int, Int]:
    """The pairs of clusters that share rows, and how many; by the first, then by the second."""
    wide = len(other.labels)
    pair = one.code * wide + other.code
    if len(one.labels) * wide <= _CELLS:
        table = np.bincount(pair, minlength=len(one.labels) * wide)
        met = np.flatnonzero(table)
        return met // wide, met % wide, table[met].astype(np.int64)
    met, rows = np.unique(pair, return_counts=True)
    return met // wide, met % wide, rows.astype(np.int64)


def _parents(source: Int, target: Int, rows: Int, size: Int) -> tuple[Int, int]:
    """(n_nodes,) the parents, and the number of nodes with several sources of most rows."""
    order = np.lexsort((source, size[source], -rows, target))
    ends, first, n_sources = np.unique(target[order], return_index=True, return_counts=True)
    parent = np.full(size.size, -1, dtype=np.int64)
    parent[ends] = source[order[first]]
    several = first[n_sources > 1]
    tied = rows[order[several]] == rows[order[several + 1]]
    return parent, int(tied.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Hanging:
    """The tree, and what it could not keep of the graph.

    n_apart : rows that at some level are in another cluster than the one above their leaf.
    n_bare : clusters above the last level that no cluster hangs under.
    n_under_noise : clusters of labels that hang under noise.
    """

    tree: Tree
    n_apart: int
    n_bare: int
    n_under_noise: int


def hang(levels: Sequence[Level], graph: ClusterGraph) -> Hanging:
    """Heights are levels above the last one. O(n_rows n_levels + n_nodes + n_edges)."""
    first, n_nodes, n_levels = starts(levels), graph.size.size, len(levels)
    last = n_levels - 1
    apart = np.zeros(len(levels[0].code), dtype=bool)
    above = np.arange(first[last], n_nodes)
    for number in range(last - 1, -1, -1):
        above = graph.parent[above]
        apart |= above[levels[last].code] != levels[number].code + first[number]
    has_children = np.zeros(n_nodes, dtype=bool)
    has_children[graph.parent[graph.parent >= 0]] = True
    shift = int(first[1] > 1)
    parent = np.where(graph.parent < 0, 0 if shift else -1, graph.parent + shift)
    parent = np.concatenate([np.full(shift, -1, dtype=np.int64), parent])
    height = np.concatenate([np.full(shift, float(n_levels)), (last - graph.level).astype(float)])
    names = [
        f"{graph.levels[level]} {label}"
        for level, label in zip(graph.level.tolist(), graph.label, strict=True)
    ]
    rows_of_all = np.full(shift, len(apart), dtype=np.int64)
    below_noise = graph.noise[graph.parent] & (graph.parent >= 0) & ~graph.noise
    tree = from_parents(
        parent,
        height,
        [*([None] * shift), *names],
        levels[last].code + first[last] + shift,
        extra={
            "level": _texts([graph.levels[level] for level in graph.level.tolist()], shift),
            "cluster": _texts(graph.label, shift),
            "noise": np.concatenate([np.zeros(shift, dtype=bool), graph.noise]),
            "rows": np.concatenate([rows_of_all, graph.size]),
            "stability": np.concatenate([np.full(shift, np.nan), graph.stability]),
            "flows": _flows(graph, shift),
        },
    )
    return Hanging(
        tree,
        int(apart.sum()),
        int((~has_children[: first[last]]).sum()),
        int(below_noise.sum()),
    )


def graph_in(tree: Tree) -> ClusterGraph:
    """The graph that `hang` put into a tree. O(n_nodes + n_edges)."""
    extra = tree.extra
    shift = int(extra["level"][0] is None)
    names = extra["level"][shift:].tolist()
    levels = list(dict.fromkeys(names))
    number = {name: place for place, name in enumerate(levels)}
    edges = [
        (flow["from"] - shift, node, flow["rows"])
        for node, flows in enumerate(extra["flows"][shift:].tolist())
        for flow in flows
    ]
    source, target, rows = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    return ClusterGraph(
        levels=levels,
        level=np.array([number[name] for name in names], dtype=np.int64),
        label=extra["cluster"][shift:].tolist(),
        size=np.asarray(extra["rows"][shift:], dtype=np.int64),
        noise=np.asarray(extra["noise"][shift:], dtype=bool),
        stability=np.asarray(extra["stability"][shift:], dtype=np.float64),
        source=source,
        target=target,
        rows=rows,
        parent=np.where(tree.parent[shift:] < shift, -1, tree.parent[shift:] - shift)
        if shift
        else tree.parent.astype(np.int64),
    )


def _texts(texts: Sequence[str], shift: int) -> Array:
    column = np.empty(len(texts) + shift, dtype=object)
    column[shift:] = texts
    return column


def _flows(graph: ClusterGraph, shift: int) -> Array:
    """(n_nodes,) for each node the list of its edges from the level before, the largest first."""
    column = np.empty(graph.size.size + shift, dtype=object)
    lists: list[list[dict[str, int | float]]] = [[] for _ in range(len(column))]
    order: Int = np.lexsort((graph.source, -graph.rows, graph.target))
    for source, target, rows, into, out in zip(
        (graph.source[order] + shift).tolist(),
        (graph.target[order] + shift).tolist(),
        graph.rows[order].tolist(),
        graph.in_proportion[order].tolist(),
        graph.out_proportion[order].tolist(),
        strict=True,
    ):
        lists[target].append(
            {"from": source, "rows": rows, "in_proportion": into, "out_proportion": out}
        )
    column[:] = lists
    return column
