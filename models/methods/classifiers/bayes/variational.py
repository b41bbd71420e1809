"""Full variational inference (appendix A): normal posteriors of weights, gamma of precisions.

The posterior is a product over nodes. A sweep has three half-steps, and the evidence lower bound
never falls in any; the curve has its value after each.
1. The covariances of all weights: 1 / Psi_n is the expected precision around the parent, plus the
   children's around the node, plus at a leaf sum 2 lambda x x^T.
2. The means of all weights, together with beta and xi of the bound of the likelihood, which are the
   best ones for any means. The bound is then a concave function of the means, and Newton's method
   raises it: updates A.9, A.13 and A.14 in turn approach the same point very slowly, since lambda
   is far above the curvature where scores are large.
3. The precisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from models.arrays import Array, Arrays, Float
from models.methods.classifiers.bayes.alternation import Sweep
from models.methods.classifiers.bayes.design import Design
from models.methods.classifiers.bayes.elimination import Elimination, Levels
from models.methods.classifiers.bayes.newton import Mode, climbed
from models.methods.classifiers.bayes.precisions import Precisions, information_of, spread_of
from models.methods.classifiers.bayes.quadratic_bound import (
    BoundedLikelihood,
    QuadraticBound,
    slope,
)
from models.methods.classifiers.classes.class_tree import ClassTree
from models.running.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """Covariances of the posteriors of weights.

    variance : (n_nodes, n_columns) of single weights.
    of_scores : (n_rows, n_classes) x^T Psi x.
    entropy : the sum over nodes.
    """

    variance: Float
    of_scores: Float
    entropy: float


@dataclass(frozen=True, slots=True, eq=False)
class VariationalState:
    """What a sweep starts from.

    mean : (n_classes, n_columns) of the leaves' weights.
    """

    mean: Float
    bound: QuadraticBound
    precisions: Precisions


class Variational:
    """Full variational inference of a problem.

    design : dense. bound, precisions : before the first sweep.

    A sweep is O(K (N D^2 + D^3)), two thirds of it products of matrices; memory some N K, n_nodes D
    and, for the steps of Newton's method, K D^2 values.
    """

    def __init__(
        self, design: Design, tree: ClassTree, bound: QuadraticBound, precisions: Precisions
    ) -> None:
        self._design, self._tree, self._levels = design, tree, Levels.of(tree)
        self._bound, self._precisions = bound, precisions

    def first(self) -> VariationalState:
        mean = np.zeros((self._tree.n_classes, self._precisions.n_features))
        return VariationalState(mean, self._bound, self._precisions)

    def sweep(self, state: VariationalState, progress: Progress) -> Sweep[VariationalState]:
        bound, before, tree = state.bound, state.precisions, self._tree
        penalty = Elimination(tree, self._levels, before.of_nodes)
        scores = self._design.scores(state.mean)
        covariances = self.covariances(bound, before, progress)
        own, variance = covariances.of_scores, covariances.variance
        spread = spread_of(tree, penalty.nodes(state.mean), variance)
        values = [bound.value(scores, own) + covariances.entropy + before.bound(spread)]

        likelihood = BoundedLikelihood(bound.tightened(scores, own), own)
        mode = Mode(state.mean, likelihood.at(scores))
        of_leaves = before.of_nodes[tree.node]
        mode, distance = climbed(mode, self._design, likelihood, penalty, of_leaves, progress)
        spread = spread_of(tree, penalty.nodes(mode.weights), variance)
        fit = covariances.entropy - mode.expansion.loss
        values.append(fit + before.bound(spread))

        progress(0.0, "precisions")
        after = before.updated(spread)
        values.append(fit + after.bound(spread))
        bound = bound.tightened(self._design.scores(mode.weights), own)
        moved = float(np.abs(np.log(after.mean / before.mean)).max())
        change = max(moved, float(np.sqrt(distance / mode.weights.size)))
        after_sweep = VariationalState(mode.weights, bound, after)
        return Sweep(after_sweep, tuple(map(float, values)), change)

    def arrays(self, state: VariationalState) -> Arrays:
        bound = state.bound
        return {
            "mean": state.mean,
            "beta": bound.beta,
            "xi": bound.xi,
            "nu": state.precisions.nu,
        }

    def restored(self, arrays: Arrays) -> VariationalState:
        bound = replace(self._bound, beta=arrays["beta"], xi=arrays["xi"])
        return VariationalState(arrays["mean"], bound, self._precisions.with_rates(arrays["nu"]))

    def covariances(
        self, bound: QuadraticBound, precisions: Precisions, progress: Progress
    ) -> Covariances:
        """The best ones for a bound and precisions."""
        tree, rows = self._tree, self._design.rows
        information = information_of(tree, precisions)
        inner = np.ones(tree.n_nodes, dtype=bool)
        inner[tree.node] = False
        variance = 1.0 / information
        log_determinant = float(np.log(variance[inner]).sum())
        of_scores = np.empty_like(bound.xi)
        for class_ in range(tree.n_classes):
            covariance, log = self.covariance(class_, bound, precisions)
            log_determinant += log
            variance[tree.node[class_]] = np.diagonal(covariance)
            of_scores[:, class_] = np.einsum("ij,ij->i", rows @ covariance, rows)
            progress(0.0, "covariances")
        entropy = 0.5 * (log_determinant + variance.size * (1.0 + np.log(2.0 * np.pi)))
        return Covariances(variance, of_scores, entropy)

    def covariances_of_leaves(
        self, state: VariationalState, dtype: type[np.floating[Any]], progress: Progress
    ) -> Array:
        """(n_classes, n_columns, n_columns) the best ones after a sweep."""
        n_classes, n_columns = state.mean.shape
        covariances = np.empty((n_classes, n_columns, n_columns), dtype=dtype)
        for class_ in range(n_classes):
            progress(class_ / n_classes, "covariances")
            covariances[class_] = self.covariance(class_, state.bound, state.precisions)[0]
        return covariances

    def covariance(
        self, class_: int, bound: QuadraticBound, precisions: Precisions
    ) -> tuple[Float, float]:
        """(n_columns, n_columns) of a leaf's weights, and the log determinant. O(N D^2 + D^3)."""
        curvature = 2.0 * slope(bound.xi[:, class_])
        scaled = self._design.rows * np.sqrt(curvature)[:, None]
        information = scaled.T @ scaled
        information[np.diag_indices_from(information)] += precisions.of_nodes[
            self._tree.node[class_]
        ]
        return inverse_of(information)


def inverse_of(matrix: Float) -> tuple[Float, float]:
    """The inverse of a positive definite matrix, and the inverse's log determinant. O(D^3)."""
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=True)
    assert not failed, "each matrix is a sum of squares and positive precisions"
    inverse, _ = lapack.dpotri(factor, lower=True)
    below = np.tril(inverse, -1)
    log_determinant = -2.0 * float(np.log(np.diagonal(factor)).sum())
    return below + below.T + np.diag(np.diagonal(inverse)), log_determinant
