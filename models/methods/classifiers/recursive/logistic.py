"""The logistic loss with a recursive penalty, minimised over all nodes at once.

Newton's method; its linear systems are solved by conjugate gradients, preconditioned by elimination
along the tree. With few columns the preconditioner has the classes' Hessian matrices, computed from
the rows that matter to them, so that a few iterations do; with many columns it has their diagonals.

Source: Gopal, "Large-scale Structured Learning" (2014), §3.3.2, eq. 3.8 to 3.10, which descends
block by block; the optimum is the same, since the objective is strictly convex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from models.arrays import Array, Float, row_blocks
from models.method import Checkpoint, Run
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.coordinates import column_units, in_units
from models.methods.classifiers.classes.problem import Problem, has_constant
from models.methods.classifiers.recursive.inputs import Effort
from models.methods.classifiers.recursive.penalty import (
    BlockElimination,
    DiagonalElimination,
    Penalty,
)
from models.running.progress import Progress

MOST_BLOCK_VALUES = 1 << 25
"""The most values in the nodes' Hessian matrices (256 MiB)."""

MOST_BLOCK_COLUMNS = 700
"""The most columns with which Hessian matrices pay."""

NEGLIGIBLE = 3e-3
"""Rows with less than this share of a class's mean curvature are left out of its matrix."""

MOST_CG = 200
LEAST_STEP = 2.0**-30

ROUNDING = 1e-12
"""The share of the objective by which it may seem to rise."""


@dataclass(frozen=True)
class LogisticFit:
    """A minimum of the objective.

    weights : (n_nodes, n_columns).
    bound : the objective is at most this above its minimum.
    objectives : after each step, from the start on.
    """

    weights: Float
    objective: float
    bound: float
    objectives: list[float]
    converged: bool

    def trained(self, penalty: Penalty, warnings: tuple[str, ...] = ()) -> Trained:
        """The classifier, which warns where the steps ended before the bound was small."""
        n_steps = len(self.objectives) - 1
        if not self.converged:
            warnings = (
                *warnings,
                f"Not converged after {n_steps} steps: the objective {self.objective:.6g} may be "
                f"{self.bound:.2g} above its minimum. Raise 'max_iter' or 'tol'.",
            )
        return Trained(
            weights=self.weights[penalty.node],
            link="logistic",
            metrics={
                "objective": self.objective,
                "bound": self.bound,
                "n_iter": float(n_steps),
            },
            curves={"objective": list(enumerate(self.objectives))},
            warnings=warnings,
            converged=self.converged,
        )


class LogisticLoss:
    """C times the sum over rows and classes of log(1 + exp(-y w.x)).

    All functions cost O(N D K), or O(nnz K).
    """

    def __init__(self, problem: Problem, C: float) -> None:
        self._design = problem.design
        self._C = C
        self._row, self._code = problem.row, problem.code
        self._transposed = sp.csr_array(problem.design.T) if sp.issparse(problem.design) else None

    @property
    def dense(self) -> bool:
        return isinstance(self._design, np.ndarray)

    def scores(self, weights: Float) -> Float:
        """(n_rows, n_classes)."""
        return np.asarray(self._design @ weights.T)

    def value(self, scores: Float) -> float:
        """The loss."""
        total = 0.0
        for block in row_blocks(scores.shape[0], scores.shape[1]):
            some = scores[block]
            total += float(np.maximum(some, 0.0).sum() + np.log1p(np.exp(-np.abs(some))).sum())
        return self._C * (total - float(scores[self._row, self._code].sum()))

    def gradient(self, scores: Float) -> tuple[Float, Array]:
        """(n_classes, n_columns) the gradient, and (n_rows, n_classes) float32 the curvatures."""
        chance = expit(scores)
        curvature = (chance * (1.0 - chance)).astype(np.float32)
        curvature *= np.float32(self._C)
        chance[self._row, self._code] -= 1.0
        return self._C * self._back(chance), curvature

    def along(self, curvature: Array, direction: Float) -> Float:
        """The Hessian times (n_classes, n_columns)."""
        return self._back(curvature * self.scores(direction))

    def hessians(self, curvature: Array) -> Float:
        """(n_classes, D, D) for a dense design, without the rows of negligible curvature."""
        units, single = self._single
        n_columns = single.shape[1]
        matrices = np.empty((curvature.shape[1], n_columns, n_columns))
        least = NEGLIGIBLE * curvature.mean(axis=0)
        for number, column in enumerate(np.ascontiguousarray(curvature.T)):
            rows = np.flatnonzero(column > least[number])
            scaled = single[rows] * np.sqrt(column[rows])[:, None]
            matrices[number] = scaled.T @ scaled
        matrices *= units[:, None] * units
        return matrices

    @cached_property
    def _single(self) -> tuple[Float, Array]:
        """The units of the columns, and the dense rows in these, in single precision."""
        units = column_units(self._design)
        return units, np.asarray(in_units(self._design, units)).astype(np.float32)

    def diagonals(self, curvature: Array) -> Float:
        """(n_classes, n_columns) of the Hessian."""
        squared = self._design * self._design
        return np.asarray(squared.T @ curvature.astype(np.float64)).T

    def _back(self, values: Float) -> Float:
        """(n_classes, n_columns) the sums of rows, weighed by (n_rows, n_classes)."""
        if self._transposed is not None:
            return np.asarray(self._transposed @ values).T
        return np.asarray(values.T @ self._design)


def minimize(
    problem: Problem,
    penalty: Penalty,
    effort: Effort,
    progress: Progress,
    checkpoint: Checkpoint,
) -> LogisticFit:
    """The weights of all nodes.

    Steps end when the bound is at most `tol` times the objective: it follows from the gradient g
    and the penalty's matrix R, g' R^-1 g / 2. A step that the rounding of the objective hides is
    taken if it lowers the bound.

    Cost: O(N D K) each conjugate gradient and O(N D^2 K) each step for the matrices, at most; tens
    of the former, about ten of the latter. Memory: `fit_bytes`.
    """
    loss = LogisticLoss(problem, effort.C)
    saved = checkpoint.load()
    if saved is None:
        weights = _start(problem, penalty, loss)
        objectives = [penalty.value(weights) + loss.value(loss.scores(weights[penalty.node]))]
    else:
        weights, objectives = np.array(saved["weights"]), saved["objectives"].tolist()
    converged = False
    scores = loss.scores(weights[penalty.node])
    gradient, curvature, bound = _slope(penalty, loss, weights, scores)
    while True:
        objective, n_steps = objectives[-1], len(objectives) - 1
        enough = effort.tol * objective
        progress(1.0 - 1.0 / (1.0 + 0.25 * n_steps), "fitting", f"objective {objective:.6g}")
        converged = bound <= enough
        if converged or n_steps >= effort.max_iter:
            break
        direction = _direction(penalty, loss, gradient, curvature, enough)
        along = loss.scores(direction[penalty.node])
        step = 1.0
        while step >= LEAST_STEP:
            moved = weights + step * direction
            lower = penalty.value(moved) + loss.value(scores + step * along)
            if lower < objective:
                break
            step /= 2.0
        else:
            moved = weights + direction
            lower = penalty.value(moved) + loss.value(scores + along)
        before = bound
        following = loss.scores(moved[penalty.node])
        gradient, curvature, bound = _slope(penalty, loss, moved, following)
        if not lower < objective and not (bound < before and lower <= objective * (1.0 + ROUNDING)):
            # No step is better by as much as rounding leaves to see.
            bound = before
            break
        weights, scores = moved, following
        objectives.append(lower)
        checkpoint.save({"weights": weights, "objectives": np.array(objectives)})
    return LogisticFit(weights, objectives[-1], bound, objectives, converged)


def _slope(
    penalty: Penalty, loss: LogisticLoss, weights: Float, scores: Float
) -> tuple[Float, Array, float]:
    """The gradient, the curvatures of the loss, and the bound."""
    gradient = penalty.matrix @ weights
    own, curvature = loss.gradient(scores)
    gradient[penalty.node] += own
    return gradient, curvature, 0.5 * float(np.vdot(gradient, penalty.solve(gradient)))


def train(
    problem: Problem, penalty: Penalty, effort: Effort, run: Run, warnings: tuple[str, ...] = ()
) -> Trained:
    """The classifier of `minimize`."""
    fit = minimize(problem, penalty, effort, run.progress, run.checkpoint)
    return fit.trained(penalty, warnings)


def _start(problem: Problem, penalty: Penalty, loss: LogisticLoss) -> Float:
    """Weights of 0 but for the constant column, whose weights are log odds if that is better."""
    zero = np.zeros((penalty.n_nodes, problem.n_columns))
    if not has_constant(problem.design):
        return zero
    odds = np.zeros((problem.n_classes, problem.n_columns))
    odds[:, -1] = log_odds(problem)
    some = penalty.extended(odds)
    values = [
        penalty.value(weights) + loss.value(loss.scores(weights[penalty.node]))
        for weights in (zero, some)
    ]
    return some if values[1] < values[0] else zero


def log_odds(problem: Problem) -> Float:
    """(n_classes,) of the classes' shares of rows, a little towards one half."""
    share = (np.bincount(problem.code, minlength=problem.n_classes) + 0.5) / (problem.n_rows + 1.0)
    return np.asarray(np.log(share / (1.0 - share)))


def _direction(
    penalty: Penalty, loss: LogisticLoss, gradient: Float, curvature: Array, enough: float
) -> Float:
    """Newton's direction by conjugate gradients.

    They end when the residual's part of the decrease that the direction promises is a tenth of the
    whole, or `enough` / 10.
    """
    precondition = _preconditioner(penalty, loss, gradient.shape[1], curvature)
    direction = np.zeros_like(gradient)
    residual = -gradient
    conditioned = precondition(residual)
    search = conditioned.copy()
    product = float(np.vdot(residual, conditioned))
    decrease = 0.0
    for _ in range(MOST_CG):
        image = penalty.matrix @ search
        image[penalty.node] += loss.along(curvature, search[penalty.node])
        length = product / float(np.vdot(search, image))
        direction += length * search
        residual -= length * image
        decrease += 0.5 * length * product
        conditioned = precondition(residual)
        following = float(np.vdot(residual, conditioned))
        if following <= max(0.01 * decrease, 0.1 * enough):
            break
        search = conditioned + (following / product) * search
        product = following
    return direction


def _preconditioner(
    penalty: Penalty, loss: LogisticLoss, n_columns: int, curvature: Array
) -> Callable[[Float], Float]:
    if _with_matrices(penalty, n_columns, loss.dense):
        return BlockElimination(penalty, loss.hessians(curvature))
    return DiagonalElimination(penalty, loss.diagonals(curvature))


def _with_matrices(penalty: Penalty, n_columns: int, dense: bool) -> bool:
    small = penalty.n_nodes * n_columns**2 <= MOST_BLOCK_VALUES
    return small and n_columns <= MOST_BLOCK_COLUMNS and dense


def fit_bytes(problem: Problem, penalty: Penalty) -> int:
    """About how many bytes `minimize` takes besides the design."""
    own = 40 * problem.n_rows * problem.n_classes + 104 * penalty.n_nodes * problem.n_columns
    if _with_matrices(penalty, problem.n_columns, isinstance(problem.design, np.ndarray)):
        return own + 24 * penalty.n_nodes * problem.n_columns**2
    return own
