"""The graph over the classes, as the solvers use it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Int
from models.errors import UsageError, shown


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
