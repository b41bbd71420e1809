"""The correlated multinomial logit: weights of classes are sums of weights of branches.

Each branch, the edge above a node, has normal weights around 0; branches below the same node share
a precision, which has a gamma prior. Rows have softmax probabilities of the classes' scores.

Features are rotated to the axes of their second moments. The priors are the same in any rotation,
and the posterior of a branch's weights is less correlated there.

Source: Shahbaba and Neal, "Improving Classification When a Class Hierarchy is Available Using a
Hierarchy-based Prior" (2007), §2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.methods.classifiers.classes.coordinates import column_units
from models.methods.classifiers.classes.structure import ClassTree

LARGEST_UNIT = 2.0**80
"""Columns below this size have weights that fit into single precision."""

FEW_PATHS = 1 << 14
"""Values of a path matrix that are multiplied dense, in less time than a sparse product begins."""

SCALES = (np.log(0.03), np.log(3.0))
"""Logarithms of the least and largest deviation of moves of a precision's logarithm."""


@dataclass(frozen=True, eq=False)
class Point:
    """Weights of branches, and the logarithm of their posterior density given the precisions.

    weights : (n_nodes, n_columns) rotated; the root's are 0.
    likelihood, gradient : the logarithm of the likelihood, and its gradient.
    """

    weights: Float
    likelihood: float
    gradient: Float


class BranchModel:
    """shape, rate : of the gamma priors of precisions. units : (n_columns,) of the sizes of rotated
    columns, 1 where all are moderate."""

    def __init__(
        self, design: Float, code: Int, tree: ClassTree, shape: float, rate: float
    ) -> None:
        """design : (n_rows, n_columns). code : (n_rows,) the class of each row.

        O(N D^2 + D^3).
        """
        self._rotation = _axes(design)
        self._design = design @ self._rotation
        self.units = column_units(self._design)
        self._squares = self._design**2
        self._code = code
        self._own = np.arange(code.size), code
        self.tree, self._shape, self._rate = tree, shape, rate
        paths = path_matrix(tree)
        self._paths, self._below = paths, sp.csr_array(paths.T)
        if np.prod(paths.shape, dtype=float) <= FEW_PATHS:
            self._paths, self._below = paths.toarray(), paths.toarray().T
        self._times = self._design.T @ sp.csr_array(
            (np.ones(code.size), self._own), shape=(code.size, tree.n_classes)
        )
        self._inner = np.flatnonzero(tree.n_children)

    @property
    def precision(self) -> type[np.floating]:
        """The type of weights that are kept: single precision, where it has room for them."""
        return np.float32 if self.units.max(initial=1.0) < LARGEST_UNIT else np.float64

    @property
    def shape(self) -> tuple[int, int]:
        """(n_nodes, n_columns)."""
        return self.tree.n_nodes, self._design.shape[1]

    def at(self, weights: Float) -> Point:
        """O(N K D)."""
        chance, likelihood = self._chances(weights)
        of_classes = self._times.T - chance.T @ self._design
        return Point(weights, likelihood, np.asarray(self._below @ of_classes))

    def information(self, weights: Float) -> Float:
        """(n_nodes, n_columns) the diagonal of the Fisher information of branches' weights."""
        chance, _ = self._chances(weights)
        below = np.asarray(chance @ self._paths)
        return np.asarray((below * (1.0 - below)).T @ self._squares)

    def precisions(self, weights: Float, rng: np.random.Generator) -> Float:
        """(n_nodes,) a draw given the weights, that of the node above a branch by its node."""
        squares = (weights[1:] ** 2).sum(axis=1)
        total = np.bincount(self.tree.parent[1:], weights=squares, minlength=self.tree.n_nodes)
        n_weights = self.tree.n_children * weights.shape[1]
        family = np.ones(self.tree.n_nodes)
        family[self._inner] = rng.gamma(
            self._shape + 0.5 * n_weights[self._inner],
            1.0 / (self._rate + 0.5 * total[self._inner]),
        )
        return self.of_branches(family)

    def rescaled(
        self, weights: Float, precision: Float, rng: np.random.Generator
    ) -> tuple[Float, Float]:
        """Draws in which a family's precision and the lengths of its weights change together.

        Given the weights in units of their prior deviations the precision decides how long they
        are. A move of it is accepted by what the likelihood makes of that (Yu and Meng, "To Center
        or Not to Center", 2011): where data tell little of a family's weights, its precision
        hardly moves given the weights. O(N K) for each inner node, and O(N D) for each branch.
        """
        weights, precision = weights.copy(), precision.copy()
        scores = self._design @ np.asarray(self._paths @ weights).T
        start, class_, child = self.tree.below
        for node in self._inner.tolist():
            below = slice(start[node], start[node + 1])
            classes, branches = class_[below], child[below]
            old = float(precision[branches[0]])
            move = float(np.exp(rng.uniform(*SCALES)) * rng.normal())
            new = old * np.exp(move)
            factor = np.exp(-0.5 * move)
            children, place = np.unique(branches, return_inverse=True)
            added = (factor - 1.0) * (self._design @ weights[children].T)[:, place]
            largest = scores.max(axis=1)
            some = np.exp(scores - largest[:, None])
            others = np.ones(self.tree.n_classes)
            others[classes] = 0.0
            # The sum over classes falls apart into those below the node and others.
            with np.errstate(over="ignore", divide="ignore"):
                own = np.exp(scores[:, classes] + added - largest[:, None]).sum(axis=1)
                total = np.log(some @ others + own)
            for row in np.flatnonzero(np.isneginf(total)).tolist():
                moved = scores[row] - largest[row]
                moved[classes] += added[row]
                total[row] = moved.max() + np.log(np.exp(moved - moved.max()).sum())
            change = float(np.log(some.sum(axis=1)).sum() - total.sum())
            column = np.full(self.tree.n_classes, -1)
            column[classes] = np.arange(classes.size)
            rows = np.flatnonzero(column[self._code] >= 0)
            change += float(added[rows, column[self._code[rows]]].sum())
            change += self._shape * move - self._rate * (new - old)
            if np.log(rng.random()) < change:
                scores[:, classes] += added
                weights[children] *= factor
                precision[children] = new
        return weights, precision

    def of_branches(self, family: Float) -> Float:
        """(n_nodes,) the precision of each branch; the root's, which is not used, is 1."""
        precision = np.ones(self.tree.n_nodes)
        precision[1:] = family[self.tree.parent[1:]]
        return precision

    def families(self, precision: Float) -> Float:
        """(n_inner,) the precisions below each inner node."""
        first = np.full(self.tree.n_nodes, -1, dtype=np.int64)
        first[self.tree.parent[1:]] = np.arange(1, self.tree.n_nodes)
        return precision[first[self._inner]]

    def of_classes(self, weights: Float) -> Float:
        """(n_classes, n_columns) the weights of classes for the features as they came."""
        return np.asarray(self._paths @ weights @ self._rotation.T)

    def _chances(self, weights: Float) -> tuple[Float, float]:
        scores = self._design @ np.asarray(self._paths @ weights).T
        scores -= scores.max(axis=1, keepdims=True)
        own = float(scores[self._own].sum())
        chance = np.exp(scores, out=scores)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        return chance, own - float(np.log(total).sum())


def _axes(design: Float) -> Float:
    """(n_columns, n_columns) the axes of the second moments.

    Singular vectors keep what squares of very unequal columns would lose.
    """
    if (column_units(design) == 1.0).all():
        return np.asarray(np.linalg.eigh(design.T @ design)[1])
    return np.asarray(np.linalg.svd(design, full_matrices=design.shape[0] < design.shape[1])[2].T)


def path_matrix(tree: ClassTree) -> sp.csr_array:
    """(n_classes, n_nodes) 1 for the nodes on a class's path, the root left out."""
    start, class_, _ = tree.below
    node = np.repeat(np.arange(tree.n_nodes), np.diff(start))
    some = node > 0
    rows = np.concatenate([class_[some], np.arange(tree.n_classes)])
    columns = np.concatenate([node[some], tree.node])
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(tree.n_classes, tree.n_nodes))
