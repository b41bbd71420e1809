"""The graph of clusters as a tree: each cluster hangs under its parent, rows lie in the finest one.

The tree has the nodes of the graph in their order, below a root where the first level has several
clusters. Its columns hold the rest of the graph, so that `graph_in` finds it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Int
from models.clusterings.graph import ClusterGraph, starts
from models.clusterings.levels import Level
from models.tree.build import from_parents
from models.tree.tree import Tree


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
