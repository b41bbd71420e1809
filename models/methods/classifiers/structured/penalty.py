"""The penalty of the weights of nodes: their squares, and products of nodes with their ancestors.

It is the sum over nodes of |w_i|^2 / 2 and over pairs of a node and a node above it of
K |w_i.w_j|, one K for all pairs, the root left out. The products are the largest of s_ij K w_i.w_j
for -1 <= s_ij <= 1, so for given signs the penalty is a quadratic form; with its best signs the
dual is that of an SVM. It is convex if the matrix with 1 on its diagonal and -K at the pairs is
positive semidefinite: K up to 1 over the largest eigenvalue of the pairs' adjacency matrix.

Source: Zhou, Xiao and Wu, "Hierarchical Classification via Orthogonal Transfer" (2011), whose K
differ by pair; one K below the bound keeps their condition for every tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.classifiers.classes.structure import ClassTree


@dataclass(frozen=True, eq=False)
class Plain:
    """Half the squares alone."""

    n_nodes: int
    coupled = False

    @property
    def signs(self) -> Float:
        return np.zeros(0)

    @property
    def dense(self) -> Float:
        """(n_nodes, n_nodes) its matrix."""
        return np.eye(self.n_nodes)

    @property
    def inverse(self) -> Float:
        """Never read."""
        return np.zeros((0, 0))

    def value(self, weights: Float) -> float:
        """weights : (n_nodes, n_columns)."""
        return 0.5 * float(np.vdot(weights, weights))

    def form(self, sums: Float) -> float:
        """What the dual subtracts: half the squares of the sums' image."""
        return self.value(sums)

    def weights(self, sums: Float) -> Float:
        """(n_nodes, n_columns) the weights of the sums of variables times rows."""
        return sums.copy()

    def with_signs(self, signs: Float) -> Plain:
        return self

    def fitted(self, sums: Float) -> Plain:
        """The penalty with its best signs for these sums."""
        return self


@dataclass(frozen=True, eq=False)
class Orthogonal:
    """Half the squares, and `factor` times the products of weights along paths.

    node, above : (n_pairs,) the pairs of a node and one above it, the root left out.
    signs : (n_pairs,) in -1 .. 1.
    """

    n_nodes: int
    node: Int
    above: Int
    factor: float
    signs: Float
    coupled = True

    @classmethod
    def over(cls, tree: ClassTree, share: float) -> Orthogonal:
        """With `share` of the largest factor for which the penalty is convex for sure."""
        node, above = ancestor_pairs(tree)
        pairs = np.zeros((tree.n_nodes, tree.n_nodes))
        pairs[node, above] = pairs[above, node] = 1.0
        largest = float(np.linalg.eigvalsh(pairs)[-1]) if node.size else 1.0
        return cls(tree.n_nodes, node, above, share / largest, np.zeros(node.size))

    def matrix(self, signs: Float) -> Float:
        """(n_nodes, n_nodes) of the quadratic form with these signs."""
        matrix = np.eye(self.n_nodes)
        matrix[self.node, self.above] = matrix[self.above, self.node] = self.factor * signs
        return matrix

    @property
    def dense(self) -> Float:
        """The matrix with the signs that it has."""
        return self.matrix(self.signs)

    @property
    def inverse(self) -> Float:
        return np.asarray(np.linalg.inv(self.dense))

    def value(self, weights: Float) -> float:
        """weights : (n_nodes, n_columns)."""
        return 0.5 * float(np.vdot(weights, weights)) + self.factor * float(
            np.abs(self._products(weights @ weights.T)).sum()
        )

    def form(self, sums: Float) -> float:
        return 0.5 * float(np.vdot(sums, self.weights(sums)))

    def weights(self, sums: Float) -> Float:
        return np.asarray(np.linalg.solve(self.dense, sums))

    def with_signs(self, signs: Float) -> Orthogonal:
        return Orthogonal(self.n_nodes, self.node, self.above, self.factor, signs)

    def fitted(self, sums: Float) -> Orthogonal:
        """With the signs of the largest dual; a concave function of them in a box."""
        if not self.node.size:
            return self
        from scipy.optimize import minimize

        gram = sums @ sums.T
        unit = max(float(np.trace(gram)), 1e-300)

        def negative(signs: Float) -> tuple[float, Float]:
            inverse = np.linalg.inv(self.matrix(signs))
            of_weights = inverse @ gram @ inverse
            value = 0.5 * float(np.vdot(inverse, gram))
            return value / unit, -self.factor * self._products(of_weights) / unit

        minimum = minimize(
            negative,
            self.signs,
            jac=True,
            bounds=[(-1.0, 1.0)] * self.node.size,
            method="L-BFGS-B",
            options={"maxiter": 200, "ftol": 1e-15, "gtol": 1e-12},
        )
        return self.with_signs(np.asarray(minimum.x))

    def _products(self, gram: Float) -> Float:
        """(n_pairs,) of a matrix of products of nodes' weights."""
        return gram[self.node, self.above]


def ancestor_pairs(tree: ClassTree) -> tuple[Int, Int]:
    """All pairs of a node and one above it, but for the root: (node, above)."""
    nodes, aboves = [], []
    node, above = np.arange(tree.n_nodes), tree.parent
    while (above > 0).any():
        node, above = node[above > 0], above[above > 0]
        nodes.append(node)
        aboves.append(above)
        above = tree.parent[above]
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *nodes]), np.concatenate([none, *aboves])
