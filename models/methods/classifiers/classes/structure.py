"""The hierarchy or the graph over the classes, as solvers use it, and weights as sums along paths.

`PathSums` are the weights of very many classes, each node's own part compressed. What a node adds
to its parent is large at few words, where its whole weights are not: a class whose bias is far
below 0 has weights at nearly all words, which it shares with its family.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Arrays, Float, Int, Mask, Matrix
from models.errors import UsageError, shown
from models.methods.classifiers.classes.compressed import CompressedRows
from models.tree.parents import children, under


@dataclass(frozen=True, eq=False)
class PathSums:
    """Rows of a matrix.

    own : what each node adds to the row of its parent. parent : (n_nodes,) -1 for none; parents
        come first. node : (n_rows,) the node of each row.
    """

    own: CompressedRows
    parent: Int
    node: Int

    @classmethod
    def alone(cls, rows: CompressedRows) -> PathSums:
        """Rows that share nothing."""
        return cls(rows, np.full(rows.n_rows, -1, dtype=np.int64), np.arange(rows.n_rows))

    @property
    def n_rows(self) -> int:
        return int(self.node.size)

    @property
    def n_columns(self) -> int:
        return self.own.n_columns

    def row(self, number: int) -> Float:
        """(n_columns,) one row, dense. O(D depth)."""
        node = int(self.node[number])
        row = self.own.row(node)
        while self.parent[node] >= 0:
            node = int(self.parent[node])
            row += self.own.row(node)
        return row

    def columns(self, some: slice) -> Float:
        """(n_rows, n_some) some columns, dense."""
        values = self.own.columns(some)
        for nodes in self._levels:
            values[nodes] += values[self.parent[nodes]]
        return np.asarray(values[self.node])

    def scores(self, features: Matrix) -> Float:
        """(n_points, n_rows) products with features, as `CompressedRows.scores`."""
        values = self.own.scores(features)
        for nodes in self._levels:
            values[:, nodes] += values[:, self.parent[nodes]]
        return np.asarray(values[:, self.node])

    @cached_property
    def _levels(self) -> list[Int]:
        """The nodes that have a parent, level by level from the top."""
        depth = np.zeros(self.parent.size, dtype=np.int64)
        for node in np.flatnonzero(self.parent >= 0).tolist():
            depth[node] = depth[self.parent[node]] + 1
        order = np.argsort(depth, kind="stable")
        ends = np.cumsum(np.bincount(depth, minlength=1))
        return np.split(order, ends[:-1])[1:]

    def arrays(self, prefix: str = "") -> Arrays:
        own = self.own.arrays(prefix)
        return {**own, f"{prefix}parent": self.parent, f"{prefix}node": self.node}

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_columns: int, prefix: str = "") -> PathSums:
        """The sums in `arrays`, not copied."""
        own = CompressedRows.of_arrays(arrays, n_columns, prefix)
        parent, node = (np.asarray(arrays[f"{prefix}{name}"]) for name in ("parent", "node"))
        return cls(own, parent, node)


@dataclass(frozen=True, eq=False)
class ClassTree:
    """A tree whose leaves are the classes.

    parent : (n_nodes,) -1 for the root, node 0; parents come before children.
    node : (n_classes,) the leaf of each class; every leaf is a class.
    """

    parent: Int
    node: Int

    @property
    def n_nodes(self) -> int:
        return int(self.parent.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.node.shape[0])

    @cached_property
    def children(self) -> tuple[Int, Int]:
        """The children of node v are `child[start[v]:start[v + 1]]`: (start, child)."""
        return children(self.parent.astype(np.int32))

    @cached_property
    def n_children(self) -> Int:
        return np.bincount(self.parent[1:], minlength=self.n_nodes)

    @cached_property
    def depth(self) -> Int:
        """(n_nodes,) number of nodes above each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node in range(1, self.n_nodes):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def below(self) -> tuple[Int, Int, Int]:
        """For each node the classes below it, and the child of the node that leads to each.

        Node v has `start[v]:start[v + 1]`, classes ascending: (start, class, child). O(K x depth).
        """
        nodes, classes, children = [], [], []
        class_, child = np.arange(self.n_classes), self.node
        while child.size:
            node = self.parent[child]
            class_, child, node = class_[node >= 0], child[node >= 0], node[node >= 0]
            nodes.append(node)
            classes.append(class_)
            children.append(child)
            child = node
        above = np.concatenate(nodes)
        order = np.lexsort((np.concatenate(classes), above))
        start = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(above, minlength=self.n_nodes), out=start[1:])
        return start, np.concatenate(classes)[order], np.concatenate(children)[order]

    @classmethod
    def over(cls, parent: Int, node: Int) -> ClassTree:
        """The part of a tree that leads to classes; other nodes are left out.

        parent : (n_nodes,) of the whole tree. node : (n_classes,) leaves in it. O(n_nodes).
        """
        times = np.bincount(node, minlength=parent.shape[0])
        return _kept(parent, node, under(parent.astype(np.int32), times) > 0)

    @classmethod
    def flat(cls, n_classes: int) -> ClassTree:
        """All classes below the root."""
        parent = np.zeros(n_classes + 1, dtype=np.int64)
        parent[0] = -1
        return cls(parent, np.arange(1, n_classes + 1))

    def contracted(self) -> ClassTree:
        """The tree without inner nodes that have one child; a root with one child goes as well.

        O(n_nodes).
        """
        return _kept(self.parent, self.node, self.n_children != 1)


def _kept(parent: Int, node: Int, keep: Mask) -> ClassTree:
    """The tree of the nodes to keep; each hangs below the nearest kept node above it."""
    above = np.full(parent.shape[0], -1, dtype=np.int64)
    for child in range(1, parent.shape[0]):
        over = parent[child]
        above[child] = over if keep[over] else above[over]
    number = np.cumsum(keep) - 1
    kept_above = above[keep]
    return ClassTree(np.where(kept_above < 0, -1, number[kept_above]), number[node])


@dataclass(frozen=True, eq=False)
class ClassGraph:
    """An undirected graph without loops whose first nodes are the classes.

    n_classes : nodes 0 .. n_classes - 1 are classes with examples; those after have none, they only
        pass on weights.
    start, neighbor : the neighbours of node v are `neighbor[start[v]:start[v + 1]]`, ascending.
    """

    n_classes: int
    start: Int
    neighbor: Int

    @property
    def n_nodes(self) -> int:
        return int(self.start.shape[0]) - 1

    @property
    def n_neighbors(self) -> Int:
        """(n_nodes,) number of neighbours of each node."""
        return np.diff(self.start)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """(n_nodes, n_nodes) 1 for neighbours."""
        ones = np.ones(self.neighbor.shape[0])
        return sp.csr_array((ones, self.neighbor, self.start), shape=(self.n_nodes, self.n_nodes))

    @cached_property
    def n_components(self) -> int:
        return int(connected_components(self.adjacency, directed=False)[0])

    @cached_property
    def colors(self) -> Int:
        """(n_nodes,) a colour for each node, 0, 1, ...; neighbours have different ones.

        Greedy, nodes with more neighbours first: at most one more colour than the most neighbours.
        O(n_nodes log n_nodes + n_edges).
        """
        colors = np.full(self.n_nodes, -1, dtype=np.int64)
        for node in np.argsort(-self.n_neighbors, kind="stable"):
            taken = set(colors[self.neighbor[self.start[node] : self.start[node + 1]]].tolist())
            color = 0
            while color in taken:
                color += 1
            colors[node] = color
        return colors

    @classmethod
    def of_edges(cls, edges: Array, names: list[str]) -> tuple[ClassGraph, int]:
        """The graph of pairs of labels, and the number of its nodes that are no class.

        edges : (n_edges, 2) labels; an edge given twice or in both directions counts once.
        names : the labels of the classes, in their order.

        Raises UsageError for a self-loop, naming its row, and for an input that is no list of
        pairs. O(n_edges log n_edges).
        """
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise UsageError(
                "Input 'graph' must have two labels a row, the ends of an edge; it has the shape "
                f"{edges.shape}.",
                code="wrong-shape",
                role="graph",
            )
        ends = np.array([[_label(end) for end in pair] for pair in edges.tolist()], dtype=object)
        ends = ends.reshape(-1, 2)
        loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
        if loops.size:
            row = int(loops[0])
            raise UsageError(
                f"Input 'graph' joins {shown(ends[row, 0])} to itself at row {row} (counted from "
                "0); an edge has two different ends.",
                code="wrong-input",
                role="graph",
                row=row,
            )
        number = {name: place for place, name in enumerate(names)}
        for name in ends.ravel().tolist():
            number.setdefault(name, len(number))
        tails, heads = (
            np.array([number[name] for name in side], dtype=np.int64) for side in ends.T.tolist()
        )
        n_nodes = len(number)
        both = sp.csr_array(
            (
                np.ones(2 * tails.size),
                (np.concatenate([tails, heads]), np.concatenate([heads, tails])),
            ),
            shape=(n_nodes, n_nodes),
        )
        both.sum_duplicates()
        both.sort_indices()
        graph = cls(len(names), both.indptr.astype(np.int64), both.indices.astype(np.int64))
        return graph, n_nodes - len(names)


def _label(end: object) -> str:
    """The text of a label; a whole number has no decimal point."""
    return str(int(end)) if isinstance(end, float) and end.is_integer() else str(end)
