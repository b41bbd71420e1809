"""The penalty of recursive regularization, a quadratic form over the nodes of a tree or a graph.

On a tree it is the sum over all nodes of |w_n - w_parent|^2 / 2, where the root's parent is 0; on a
graph the sum over edges of |w_i - w_j|^2 / 2 and, for each node, `ANCHOR` |w|^2. Without the anchor
a shift of all weights of a component would be free. Where each class is alone it is |w|^2 / 2.

Source: Gopal, "Large-scale Structured Learning" (2014), §3.2. The anchor is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from models.arrays import Float, Int
from models.methods.classifiers.classes.coordinates import inverted
from models.methods.classifiers.classes.structure import ClassGraph, ClassTree

ANCHOR = 1e-3
"""Factor of |w|^2 for each node of a graph."""


@dataclass(frozen=True, eq=False)
class Penalty:
    """The form w' R w / 2 over the weights of nodes, (n_nodes, n_columns).

    matrix : R, (n_nodes, n_nodes), positive definite.
    node : (n_classes,) the node of each class.
    parent : (n_nodes,) of a tree, -1 for the root, parents first; None for a graph.
    """

    matrix: sp.csr_array
    node: Int
    parent: Int | None = None

    @property
    def n_nodes(self) -> int:
        return int(self.matrix.shape[0])

    @classmethod
    def of_classes(cls, n_classes: int) -> Penalty:
        """Half the squared weights of each class, none of which knows of the others."""
        diagonal = sp.csr_array(sp.eye_array(n_classes, format="csr"))
        return cls(diagonal, np.arange(n_classes, dtype=np.int64))

    @classmethod
    def of_tree(cls, tree: ClassTree) -> Penalty:
        child = np.arange(1, tree.n_nodes)
        parent = tree.parent[1:]
        diagonal = 1.0 + tree.n_children
        edges = np.full(child.size, -1.0)
        matrix = sp.csr_array(
            (
                np.concatenate([diagonal, edges, edges]),
                (
                    np.concatenate([np.arange(tree.n_nodes), child, parent]),
                    np.concatenate([np.arange(tree.n_nodes), parent, child]),
                ),
            ),
            shape=(tree.n_nodes, tree.n_nodes),
        )
        return cls(matrix, tree.node, tree.parent)

    @classmethod
    def of_graph(cls, graph: ClassGraph) -> Penalty:
        diagonal = sp.dia_array(
            (graph.n_neighbors[None, :] + 2.0 * ANCHOR, [0]), shape=(graph.n_nodes,) * 2
        )
        return cls(
            sp.csr_array(diagonal - graph.adjacency), np.arange(graph.n_classes, dtype=np.int64)
        )

    def value(self, weights: Float) -> float:
        return 0.5 * float(np.vdot(weights, self.matrix @ weights))

    def form(self, sums: Float) -> float:
        """What the dual subtracts, of (n_nodes, n_columns) sums of variables times rows."""
        return 0.5 * float(np.vdot(sums, self.solve(sums)))

    def fitted(self, sums: Float) -> Penalty:
        """Itself: it has no signs."""
        return self

    @property
    def dense(self) -> Float:
        """R."""
        return np.asarray(self.matrix.toarray())

    @property
    def parts(self) -> list[Penalty] | None:
        """The penalty of each class where none knows of another; else None."""
        if self.matrix.nnz > self.n_nodes or self.node.size < self.n_nodes:
            return None
        alone = np.zeros(1, dtype=np.int64)
        return [Penalty(sp.csr_array([[own]]), alone) for own in self.matrix.diagonal()[self.node]]

    def solve(self, values: Float) -> Float:
        """R^-1 applied to (n_nodes, n_columns)."""
        return np.asarray(self._factor.solve(values))

    @cached_property
    def _factor(self) -> Any:
        return _factored(self.matrix)

    @cached_property
    def inner(self) -> Int:
        """The nodes that are no class."""
        return np.setdiff1d(np.arange(self.n_nodes), self.node)

    def extended(self, weights: Float) -> Float:
        """(n_nodes, n_columns) the weights of all nodes that, given the classes' weights, have the
        least penalty.

        weights : (n_classes, n_columns).
        """
        whole = np.zeros((self.n_nodes, weights.shape[1]))
        whole[self.node] = weights
        if self.inner.size:
            pull = -(self.matrix[self.inner][:, self.node] @ weights)
            whole[self.inner] = self.solve_inner(np.asarray(pull))
        return whole

    def solve_inner(self, pull: Float) -> Float:
        """(n_inner, n_columns) the weights of the inner nodes of least penalty.

        pull : (n_inner, n_columns) minus the product of R with the weights of the classes.
        """
        return np.asarray(self._solve_inner(pull))

    @cached_property
    def _solve_inner(self) -> Callable[[Float], Float]:
        matrix = sp.csr_array(self.matrix[self.inner][:, self.inner])
        if self.parent is None:
            factor: Callable[[Float], Float] = _factored(matrix).solve
            return factor
        above = self.parent[self.inner]
        parent = np.where(above < 0, -1, np.searchsorted(self.inner, above))
        tree = Penalty(matrix, np.zeros(0, dtype=np.int64), parent)
        return DiagonalElimination(tree, np.zeros((0, 1)))


def _factored(matrix: sp.csr_array) -> Any:
    """The factors of a symmetric matrix; for a tree they have no fill."""
    return splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})


class BlockElimination:
    """Solves (R + H) x = r where H adds a matrix to the block of each class.

    On a tree this is exact: nodes are eliminated from the leaves to the root. On a graph it leaves
    out what couples different nodes, for use as a preconditioner.

    hessians : (n_classes, D, D) symmetric, positive semidefinite.

    O(n_nodes D^3) once, O(n_nodes D^2) each.
    """

    def __init__(self, penalty: Penalty, hessians: Float) -> None:
        n_columns = hessians.shape[1]
        diagonal = penalty.matrix.diagonal()
        self._parent = penalty.parent
        if penalty.parent is None:
            blocks = np.zeros((penalty.n_nodes, n_columns, n_columns))
            blocks[penalty.node] = hessians
            blocks += diagonal[:, None, None] * np.eye(n_columns)
            self._inverse = np.stack([inverted(block) for block in blocks])
            return
        self._inverse = np.zeros((penalty.n_nodes, n_columns, n_columns))
        self._inverse[penalty.node] = hessians
        for node in range(penalty.n_nodes - 1, -1, -1):
            block = self._inverse[node]
            block.flat[:: n_columns + 1] += diagonal[node]
            self._inverse[node] = inverted(block)
            if node:
                self._inverse[penalty.parent[node]] -= self._inverse[node]

    def __call__(self, right: Float) -> Float:
        """(n_nodes, n_columns) the solution for this right side."""
        if self._parent is None:
            return np.asarray(np.matmul(self._inverse, right[:, :, None])[:, :, 0])
        carried = right.copy()
        for node in range(len(carried) - 1, 0, -1):
            carried[self._parent[node]] += self._inverse[node] @ carried[node]
        solution = np.empty_like(carried)
        solution[0] = self._inverse[0] @ carried[0]
        for node in range(1, len(carried)):
            solution[node] = self._inverse[node] @ (carried[node] + solution[self._parent[node]])
        return solution


class DiagonalElimination:
    """As `BlockElimination` for a diagonal H: each column is a separate system.

    diagonals : (n_classes, n_columns), not negative. O(n_nodes D).
    """

    def __init__(self, penalty: Penalty, diagonals: Float) -> None:
        self._parent = penalty.parent
        pivot = np.tile(penalty.matrix.diagonal()[:, None], diagonals.shape[1])
        pivot[penalty.node] += diagonals
        self._inverse = pivot
        if penalty.parent is not None:
            for node in range(penalty.n_nodes - 1, 0, -1):
                pivot[node] = 1.0 / pivot[node]
                pivot[penalty.parent[node]] -= pivot[node]
            pivot[0] = 1.0 / pivot[0]
        else:
            np.divide(1.0, pivot, out=pivot)

    def __call__(self, right: Float) -> Float:
        """(n_nodes, n_columns) the solution for this right side."""
        if self._parent is None:
            return self._inverse * right
        carried = right.copy()
        for node in range(len(carried) - 1, 0, -1):
            carried[self._parent[node]] += self._inverse[node] * carried[node]
        carried[0] *= self._inverse[0]
        for node in range(1, len(carried)):
            carried[node] = self._inverse[node] * (carried[node] + carried[self._parent[node]])
        return carried
