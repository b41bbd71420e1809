"""The most probable weights of the leaves for given precisions, by Newton's method.

The negative log-likelihood and the penalty of the tree, its inner nodes eliminated, are a convex
function of the leaves' weights. Each step solves Newton's equations by conjugate gradients; their
preconditioner has a block for each class, the class's own curvature and precision, or only the
diagonal where the blocks would be large. Steps are halved until they lower the objective. `Design`
has the products with dense or sparse rows.

The penalty (`Elimination`) is 1/2 sum_n e_n |w_n - w_parent|^2, with 1/2 e_0 |w_0|^2 at the root
and a precision e_n for each node, or for each node and feature. For given weights of the leaves the
best ones of the inner nodes follow by one pass up and one down: the penalty of what is under a node
is a quadratic of the node's weights, r_n (w_n - m_n)^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.methods.classifiers.bayes.likelihood import Expansion, Likelihood
from models.methods.classifiers.classes.coordinates import inverted
from models.methods.classifiers.classes.structure import ClassTree
from models.running.progress import Progress


class Design:
    """The rows of a problem.

    values : (n_rows, n_columns).
    """

    def __init__(self, values: Float | sp.csr_array) -> None:
        self.values = values
        self._across = sp.csr_array(values.T) if isinstance(values, sp.csr_array) else None

    @property
    def rows(self) -> Float:
        """The rows, which are dense."""
        assert isinstance(self.values, np.ndarray)
        return self.values

    @property
    def dense(self) -> bool:
        """Whether the rows are dense."""
        return isinstance(self.values, np.ndarray)

    @cached_property
    def _squares_across(self) -> Float | sp.csr_array:
        if self._across is None:
            return np.asarray((self.values * self.values).T)
        return self._across * self._across

    def scores(self, weights: Float) -> Float:
        """(n_rows, n_classes) for weights (n_classes, n_columns)."""
        return np.asarray(self.values @ np.ascontiguousarray(weights.T))

    def sums(self, by_row: Float) -> Float:
        """(n_classes, n_columns) sum of the rows, each with its weight in each class.

        by_row : (n_rows, n_classes).
        """
        if self._across is None:
            return np.asarray(by_row.T @ self.values)
        return np.ascontiguousarray((self._across @ by_row).T)

    def information(self, curvature: Float) -> Float:
        """(n_classes, n_columns) sum of the rows' squares, weighted as in `sums`."""
        return np.ascontiguousarray((self._squares_across @ curvature).T)


@dataclass(frozen=True, eq=False)
class Levels:
    """The nodes of a tree by depth.

    nodes : for each depth from 1 on, the nodes there in the order of their parents. parents, first
        : their distinct parents, and where the children of each begin in `nodes`.
    """

    nodes: tuple[Int, ...]
    parents: tuple[Int, ...]
    first: tuple[Int, ...]

    @classmethod
    def of(cls, tree: ClassTree) -> Levels:
        order = np.lexsort((tree.parent, tree.depth))
        ends = np.flatnonzero(np.diff(tree.depth[order])) + 1
        nodes = np.split(order, ends)[1:]
        parents, first = [], []
        for level in nodes:
            distinct, begins = np.unique(tree.parent[level], return_index=True)
            parents.append(distinct)
            first.append(begins)
        return cls(tuple(nodes), tuple(parents), tuple(first))


class Elimination:
    """The penalty as a function of the leaves' weights, for given precisions.

    precision : (n_nodes, 1) or (n_nodes, n_features), positive.
    """

    def __init__(self, tree: ClassTree, levels: Levels, precision: Float) -> None:
        self._tree, self._levels, self._precision = tree, levels, precision
        below = np.zeros_like(precision)
        pull = precision.copy()
        inner = tree.n_children > 0
        for nodes, parents, first in _upwards(levels):
            within = nodes[inner[nodes]]
            joint = below[within] + precision[within]
            pull[within] = precision[within] * (below[within] / joint)
            below[parents] += np.add.reduceat(pull[nodes], first, axis=0)
        self._inner, self._below, self._pull = inner, below, pull

    def nodes(self, leaves: Float) -> Float:
        """(n_nodes, n_features) the weights of all nodes, the inner ones' being the best.

        leaves : (n_classes, n_features). O(n_nodes n_features).
        """
        tree, below, precision = self._tree, self._below, self._precision
        weights = np.zeros((tree.n_nodes, leaves.shape[1]))
        weights[tree.node] = leaves
        for nodes, parents, first in _upwards(self._levels):
            pulled = np.add.reduceat(self._pull[nodes] * weights[nodes], first, axis=0)
            weights[parents] += pulled / below[parents]
        weights[0] *= below[0] / (below[0] + precision[0])
        for nodes in self._levels.nodes:
            within = nodes[self._inner[nodes]]
            above = weights[tree.parent[within]]
            pulled = below[within] * weights[within] + precision[within] * above
            weights[within] = pulled / (below[within] + precision[within])
        return weights

    def gradient(self, leaves: Float) -> Float:
        """(n_classes, n_features) of the penalty at its least over the inner nodes.

        It is linear in the leaves, and half its product with them is the penalty.
        """
        weights, node = self.nodes(leaves), self._tree.node
        return np.asarray(self._precision[node] * (leaves - weights[self._tree.parent[node]]))


def _upwards(levels: Levels) -> zip[tuple[Int, Int, Int]]:
    return zip(levels.nodes[::-1], levels.parents[::-1], levels.first[::-1], strict=True)


LARGEST_BLOCK = 512
"""Number of columns up to which the preconditioner has blocks."""
BLOCK_VALUES = 1 << 25
"""Values that all blocks may hold (256 MiB)."""
LEAST_CURVATURE = 3e-3
"""Rows of less curvature count in the diagonal of a block only."""
ROUNDING = 1e-10
"""The share of the curvature of all classes that products leave in directions without any."""
STEPS = 5
"""Newton's steps at given precisions, at most."""
NEAR = 0.01
"""Steps end after one of at most this squared distance per weight."""
ACCURACY = 0.25
"""The residual of Newton's equations against that at the start; precisions change soon after."""
MAX_PRODUCTS = 200
"""Products with the Hessian in a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """Weights and what the rows say of them.

    weights : (n_classes, n_columns) of the leaves.
    """

    weights: Float
    expansion: Expansion

    @classmethod
    def at(cls, weights: Float, design: Design, likelihood: Likelihood) -> Mode:
        """O(N D K)."""
        return cls(weights, likelihood.at(design.scores(weights)))

    def objective(self, penalty: Elimination) -> float:
        pull = penalty.gradient(self.weights)
        return self.expansion.loss + 0.5 * float((self.weights * pull).sum())


def block_values(n_classes: int, n_columns: int) -> int:
    """Values of the blocks of the preconditioner for dense rows; 0 where it has none."""
    values = n_classes * n_columns**2
    return values if n_columns <= LARGEST_BLOCK and values <= BLOCK_VALUES else 0


def climbed(
    mode: Mode,
    design: Design,
    likelihood: Likelihood,
    penalty: Elimination,
    precision: Float,
    progress: Progress,
) -> tuple[Mode, float]:
    """Weights nearer to the optimum, and about the squared distance of `mode` to it.

    precision : (n_classes, 1) or (n_classes, n_columns) of the leaves.

    The objective never rises. The distance is in posterior standard deviations. O(N D K) for each
    product with the Hessian, of which a step takes some tens.
    """
    distance = 0.0
    for step in range(STEPS):
        progress(0.0, "weights")
        # In the call, so that the one of the step before is gone when it is made.
        mode, decrement = _step(
            mode,
            design,
            likelihood,
            penalty,
            Preconditioner(mode, design, penalty, precision),
            progress,
        )
        distance = distance if step else decrement
        if decrement <= NEAR * mode.weights.size:
            break
    return mode, distance


def _step(
    mode: Mode,
    design: Design,
    likelihood: Likelihood,
    penalty: Elimination,
    precondition: Preconditioner,
    progress: Progress,
) -> tuple[Mode, float]:
    """The weights after one step, and about twice what it could lower the objective by."""
    value = mode.objective(penalty)
    gradient = design.sums(mode.expansion.residual) + penalty.gradient(mode.weights)
    direction, decrement = _solved(
        mode.expansion, -gradient, design, penalty, precondition, progress
    )
    if decrement <= 0.0:
        # Nothing but rounding is left.
        return mode, 0.0
    length = 1.0
    while length > 1e-10:
        moved = Mode.at(mode.weights + length * direction, design, likelihood)
        if moved.objective(penalty) <= value - 1e-4 * length * decrement:
            return moved, decrement
        length /= 2.0
    return mode, decrement


class Preconditioner:
    """An approximate inverse of the Hessian.

    precision : (n_classes, 1) or (n_classes, n_columns) of the leaves.

    What all classes share is added where their scores are coupled: a softmax does not see it, so
    that the penalty alone counts, which is far less than the blocks have.

    With blocks O(K D^3 + n D^2), n being the rows of noticeable curvature of all classes.
    """

    def __init__(self, mode: Mode, design: Design, penalty: Elimination, precision: Float) -> None:
        curvature = mode.expansion.curvature
        self._diagonal = design.information(curvature) + precision
        self._common: Float | None = None
        if mode.expansion.coupled:
            self._common = penalty.gradient(np.ones_like(mode.weights)).sum(axis=0)
            self._common += ROUNDING * self._diagonal.sum(axis=0)
        self._inverse: Float | None = None
        n_classes, n_columns = mode.weights.shape
        if not design.dense or not block_values(n_classes, n_columns):
            return
        rows = design.rows
        self._inverse = np.empty((n_classes, n_columns, n_columns))
        for class_ in range(n_classes):
            own = np.flatnonzero(curvature[:, class_] > LEAST_CURVATURE)
            scaled = rows[own] * np.sqrt(curvature[own, class_])[:, None]
            block = scaled.T @ scaled
            np.fill_diagonal(block, self._diagonal[class_])
            self._inverse[class_] = inverted(block)

    def __call__(self, gradient: Float) -> Float:
        if self._inverse is None:
            solved = gradient / self._diagonal
        else:
            solved = np.matmul(self._inverse, gradient[:, :, None])[:, :, 0]
        if self._common is not None:
            solved += gradient.sum(axis=0) / self._common
        return np.asarray(solved)


def _solved(
    expansion: Expansion,
    target: Float,
    design: Design,
    penalty: Elimination,
    precondition: Preconditioner,
    progress: Progress,
) -> tuple[Float, float]:
    """The solution of Newton's equations for a target, and their product."""
    solution = np.zeros_like(target)
    residual = target.copy()
    preconditioned = precondition(residual)
    product = float((residual * preconditioned).sum())
    goal = ACCURACY**2 * product
    direction = preconditioned
    for _ in range(MAX_PRODUCTS):
        if product <= goal or product == 0.0:
            break
        progress(0.0, "weights")
        curved = expansion.curved(design.scores(direction))
        bent = design.sums(curved) + penalty.gradient(direction)
        length = product / float((direction * bent).sum())
        solution += length * direction
        residual -= length * bent
        preconditioned = precondition(residual)
        former, product = product, float((residual * preconditioned).sum())
        direction = preconditioned + (product / former) * direction
    return solution, float((target * solution).sum())
