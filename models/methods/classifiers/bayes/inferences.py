"""The two inferences: partial MAP, and full variational inference; their sweeps, with checkpoints.

`PartialMap` (§2.4.2) has the mode of the weights and the posterior of the precisions. A sweep takes
Newton's steps for the weights at the expected precisions, gives each weight the variance of
Laplace's approximation with independent weights, and updates the precisions. These have no
objective in common, so there is no bound: the curve has the log posterior of the weights (without
constants) for the precisions that they were found with, a value for each sweep. Variances, equation
2.12 with what its print lacks: 1 / Psi_ii is the precision around the parent, plus the children's
precisions around the node, plus at a leaf sum x_i^2 p (1 - p).

`Variational` (appendix A) has normal posteriors of weights, gamma of precisions. The posterior is a
product over nodes. A sweep has three half-steps, and the evidence lower bound never falls in any;
the curve has its value after each.
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
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.linalg import lapack

from models.arrays import Array, Arrays, Float
from models.method import Checkpoint
from models.methods.classifiers.bayes.likelihood import (
    BoundedLikelihood,
    Likelihood,
    QuadraticBound,
    slope,
)
from models.methods.classifiers.bayes.newton import Design, Elimination, Levels, Mode, climbed
from models.methods.classifiers.bayes.precisions import Precisions, information_of, spread_of
from models.methods.classifiers.classes.structure import ClassTree
from models.running.progress import Progress, held_progress

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Sweep(Generic[S]):
    """The outcome of one sweep.

    state : what the next one starts from. values : of the curve, one for each half-step.
    change : how far the sweep moved; 0 at a fixed point.
    """

    state: S
    values: tuple[float, ...]
    change: float


class Inference(Protocol[S]):
    """What is repeated."""

    def first(self) -> S:
        """The state before the first sweep."""
        ...

    def sweep(self, state: S, progress: Progress) -> Sweep[S]: ...

    def arrays(self, state: S) -> Arrays:
        """All of the state, for a checkpoint."""
        ...

    def restored(self, arrays: Arrays) -> S: ...


@dataclass(frozen=True, slots=True)
class Alternation(Generic[S]):
    """Sweeps that were made.

    curve : all their values. changes : of each sweep.
    """

    state: S
    curve: tuple[float, ...] = ()
    changes: tuple[float, ...] = ()

    @property
    def n_sweeps(self) -> int:
        return len(self.changes)

    def settled(self, tol: float) -> bool:
        return bool(self.changes) and self.changes[-1] <= tol


def alternated(
    inference: Inference[S], tol: float, max_iter: int, progress: Progress, checkpoint: Checkpoint
) -> Alternation[S]:
    """Sweeps until one changes at most `tol`, or `max_iter` in all.

    Goes on from the checkpoint, which is saved after each sweep.
    """
    done = _restored(inference, checkpoint.load())
    whole, within = held_progress(progress)
    reached = 0.0
    while done.n_sweeps < max_iter and not done.settled(tol):
        reached = max(reached, _share_done(done, tol, max_iter))
        whole(reached, "sweeps", f"sweep {done.n_sweeps + 1}")
        sweep = inference.sweep(done.state, within)
        done = replace(
            done,
            state=sweep.state,
            curve=(*done.curve, *sweep.values),
            changes=(*done.changes, sweep.change),
        )
        checkpoint.save(
            {
                **inference.arrays(done.state),
                "curve": np.array(done.curve),
                "changes": np.array(done.changes),
            }
        )
    return done


def _restored(inference: Inference[S], arrays: Arrays | None) -> Alternation[S]:
    if arrays is None:
        return Alternation(inference.first())
    curve, changes = (tuple(arrays[name].tolist()) for name in ("curve", "changes"))
    return Alternation(inference.restored(arrays), curve, changes)


def _share_done(done: Alternation[S], tol: float, max_iter: int) -> float:
    """By the number of sweeps, or as if changes shrank by a constant factor to `tol`."""
    by_number = done.n_sweeps / max_iter
    if not done.changes or done.changes[0] <= tol:
        return by_number
    shrunk = np.log(done.changes[0] / max(done.changes[-1], tol)) / np.log(done.changes[0] / tol)
    return max(by_number, float(shrunk))


@dataclass(frozen=True, slots=True, eq=False)
class MapState:
    """The mode of the leaves' weights and the precisions after it.

    variance : (n_nodes, n_columns) of Laplace's approximation; None before the first sweep.
    move, stride : (n_groups, width) the last change of the precisions' logarithms that was aimed
        at, and the share of it that was made.
    """

    mode: Mode
    precisions: Precisions
    move: Float
    stride: Float
    variance: Float | None = None


class PartialMap:
    """Partial MAP inference of a problem.

    design : whose weights are found, maybe turned. given : in the columns as they came, to which
        variances belong; None where these are the same. precisions : before the first sweep.

    A sweep takes some tens of products with the Hessian, O(N D K) each, sparse O(nnz K).
    """

    def __init__(
        self,
        design: Design,
        likelihood: Likelihood,
        tree: ClassTree,
        precisions: Precisions,
        given: Design | None = None,
    ) -> None:
        self._design, self._given = design, design if given is None else given
        self._likelihood, self._tree = likelihood, tree
        self._levels, self._precisions = Levels.of(tree), precisions

    def first(self) -> MapState:
        shape = (self._tree.n_classes, self._precisions.n_features)
        still = np.zeros_like(self._precisions.nu)
        return MapState(self._mode(np.zeros(shape)), self._precisions, still, still + 1.0)

    def sweep(self, state: MapState, progress: Progress) -> Sweep[MapState]:
        before = state.precisions
        penalty = Elimination(self._tree, self._levels, before.of_nodes)
        of_leaves = before.of_nodes[self._tree.node]
        mode, distance = climbed(
            state.mode, self._design, self._likelihood, penalty, of_leaves, progress
        )
        progress(0.0, "precisions")
        variance = self.variance(mode, before)
        spread = spread_of(self._tree, penalty.nodes(mode.weights), variance)
        move = np.log(before.nu / before.balanced(spread, variance).nu)
        turned = move * state.move < 0
        stride = np.where(turned, 0.5 * state.stride, np.minimum(1.0, 1.25 * state.stride))
        after = before.with_rates(before.nu * np.exp(-stride * move))
        change = max(float(np.abs(move).max()), float(np.sqrt(distance / mode.weights.size)))
        state = MapState(mode, after, move, stride, variance)
        return Sweep(state, (-mode.objective(penalty),), change)

    def variance(self, mode: Mode, precisions: Precisions) -> Float:
        """(n_nodes, n_columns) of Laplace's approximation with independent weights."""
        information = information_of(self._tree, precisions)
        information[self._tree.node] += self._given.information(mode.expansion.curvature)
        return np.asarray(1.0 / information)

    def arrays(self, state: MapState) -> Arrays:
        assert state.variance is not None
        return {
            "weights": state.mode.weights,
            "variance": state.variance,
            "nu": state.precisions.nu,
            "move": state.move,
            "stride": state.stride,
        }

    def restored(self, arrays: Arrays) -> MapState:
        precisions = self._precisions.with_rates(arrays["nu"])
        mode = self._mode(arrays["weights"])
        return MapState(mode, precisions, arrays["move"], arrays["stride"], arrays["variance"])

    def _mode(self, weights: Float) -> Mode:
        return Mode.at(weights, self._design, self._likelihood)


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
