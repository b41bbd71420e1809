"""Upper bounds of the log partition function that fall apart into classes, and their minimisation.

log sum_k exp(s_k) <= a + offset + sum_k cell(s_k - a), for every shift a of the row. With shifts
given, each class has a separate objective; with weights given, the tightest shift of a row is
found for itself. Both bounds are convex in weights and shifts together, and neither changes if a
vector v is added to all weights and v.x_i to the shift of each row.

Log-concavity (§4.3.3): cell = exp, offset -1; tight at a = log sum_k exp(s_k), so that its minimum
is that of the objective. Double majorization (§4.3.2): cell(u) = log(1 + e^u), offset 0; the
tightest shift solves sum_k sigmoid(s_k - a) = 1, and the bound stays above the objective.

`minimize_block` has the weights of a block of classes that minimise a bound with given shifts. Each
class k minimises 1/2 r.w^2 + C [sum_i cell(w.x_i - a_i) - w.s_k] by itself, s_k being the sum
of its rows and r the ridge. All classes of a block take steps of Newton's method together, by
conjugate gradients whose products are matrix products over the block, and halve their steps until
their own objective falls; a class that is done drops out. Nothing here looks at other classes, so
that a block is a unit of work for another process: shifts in, weights and sums over its classes
out.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3.2 and §4.3.3; the shift of double
majorization, which it leaves out, is where the bound's derivative is 0. Cost of a block: about ten
products of the rows (n_rows, D) with (D, n_block) for each step of Newton's method with whole
matrices as preconditioners, up to 50 with diagonals; memory some 8 arrays (n_block, n_rows).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit

from models.arrays import Float, Int
from models.methods.classifiers.softmax.objective import SoftmaxObjective, log_sums

SHIFT_STEPS = 100
"""Most steps to a shift; Newton's method takes about five."""


@dataclass(frozen=True, slots=True, eq=False)
class CellDerivatives:
    """A cell function of an array: its value and first two derivatives."""

    value: Float
    slope: Float
    curvature: Float


@dataclass(frozen=True, slots=True, eq=False)
class Tightened:
    """The tightest bound for given weights.

    shift : (n_rows,). log_bound : its sum over the rows. log_sum : the sum of log partition
        functions.
    """

    shift: Float
    log_bound: float
    log_sum: float


class Bound(Protocol):
    """offset : constant of a row. exact : whether its minimum is that of the objective."""

    offset: float
    exact: bool

    def first_shift(self, n_classes: int) -> float:
        """The tightest shift where all weights are 0."""
        ...

    def cells(self, gaps: Float) -> CellDerivatives:
        """The cells of scores minus shifts; infinite where they overflow."""
        ...

    def tightened(
        self, objective: SoftmaxObjective, weights: Float, shift: Float, slopes: Float
    ) -> Tightened:
        """The tightest shifts.

        shift : (n_rows,) those before. slopes : (n_rows,) sums over classes of slopes of cells.
        """
        ...


class LogConcavity:
    """exp(s - a) for each class; exact at its minimum."""

    offset = -1.0
    exact = True

    def first_shift(self, n_classes: int) -> float:
        return float(np.log(n_classes))

    def cells(self, gaps: Float) -> CellDerivatives:
        with np.errstate(over="ignore"):
            value = np.exp(gaps)
        return CellDerivatives(value, value, value)

    def tightened(
        self, objective: SoftmaxObjective, weights: Float, shift: Float, slopes: Float
    ) -> Tightened:
        """O(N), since slopes are the exponentials themselves."""
        with np.errstate(divide="ignore"):
            tight = shift + np.log(slopes)
        if not np.isfinite(tight).all():
            # All classes of a row underflowed.
            blocks = [log_sums(scores) for _, scores in objective.scores_by_rows(weights)]
            tight = np.concatenate(blocks)
        total = float(tight.sum())
        return Tightened(tight, total, total)


class DoubleMajorization:
    """log(1 + exp(s - a)) for each class; loose."""

    offset = 0.0
    exact = False

    def first_shift(self, n_classes: int) -> float:
        return float(np.log(n_classes - 1))

    def cells(self, gaps: Float) -> CellDerivatives:
        slope = expit(gaps)
        return CellDerivatives(np.logaddexp(0.0, gaps), slope, slope * (1.0 - slope))

    def tightened(
        self, objective: SoftmaxObjective, weights: Float, shift: Float, slopes: Float
    ) -> Tightened:
        """O(N D K)."""
        tight = np.empty_like(shift)
        log_bound = log_sum = 0.0
        for rows, scores in objective.scores_by_rows(weights):
            tight[rows] = majorizing_shift(scores)
            gaps = scores - tight[rows][:, None]
            log_bound += float(tight[rows].sum() + np.logaddexp(0.0, gaps).sum())
            log_sum += float(log_sums(scores).sum())
        return Tightened(tight, log_bound, log_sum)


def majorizing_shift(scores: Float) -> Float:
    """(n,) a with sum_k sigmoid(scores[:, k] - a) = 1, for two classes or more.

    The largest term is compared with the sum of the others, in logs: sum_others sigmoid(s - a) =
    sigmoid(a - s_max), which holds its digits where one class is almost certain. Newton's method
    within a bracket. O(n K) a step.
    """
    n_rows, n_classes = scores.shape
    best = scores.argmax(axis=1)
    most = scores[np.arange(n_rows), best]
    others = scores[np.arange(n_classes) != best[:, None]].reshape(n_rows, n_classes - 1)
    # At these shifts every sigmoid is at least, or at most, 1 / n_classes.
    low, high = (end + np.log(n_classes - 1) for end in (scores.min(axis=1), most))
    shift = 0.5 * (most + others.max(axis=1))
    for _ in range(SHIFT_STEPS):
        gaps = others - shift[:, None]
        log_terms = log_expit(gaps)
        log_rest = log_sums(log_terms)
        error = log_rest - log_expit(shift - most)
        low, high = np.where(error >= 0, shift, low), np.where(error <= 0, shift, high)
        share = np.exp(log_terms - log_rest[:, None])
        slope = -(share * expit(-gaps)).sum(axis=1) - expit(most - shift)
        after = shift - error / slope
        after = np.where((after >= low) & (after <= high), after, 0.5 * (low + high))
        moved = np.abs(after - shift)
        shift = after
        if (moved <= 1e-13 * (1.0 + np.abs(shift))).all():
            break
    return np.asarray(shift)


BOUNDS: dict[str, Bound] = {
    "log-concavity": LogConcavity(),
    "double-majorization": DoubleMajorization(),
}


MOST_STEPS = 50
MOST_PRODUCTS = 100
MOST_HALVINGS = 40

REDUCTION = 1e-3
"""A class is done when its gradient has shrunk to this share. Where steps are less exact, sweeps
follow no smooth path that they could be extrapolated along: to within 1e-6 on ImCLEF07A it takes 39
of them, with 1e-2 over 60."""

FORCING = 0.1
"""Share of the gradient that a step of Newton's method leaves."""

WIDEST_FACTORED = 512
"""Columns up to which preconditioners are whole matrices."""

MOST_FACTORS = 1 << 25
"""Entries of the preconditioners of a fit up to which they are whole matrices (256 MiB)."""

MOST_CURVATURE = 1e20
"""Larger ones, of exponentials that are about to overflow, are taken as this in preconditioners."""

NEGLIGIBLE = 1e-3
"""Rows with less than this share of a class's largest curvature are left out of its matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockProblem:
    """What a block of classes minimises.

    design : (n_rows, n_columns). sums : (n_block, n_columns) sums of the rows of each class.
    shift : (n_rows,). ridge : (n_columns,) or (1,), as in `SoftmaxObjective`.
    """

    design: Float | sp.csr_array
    sums: Float
    shift: Float
    bound: Bound
    C: float
    ridge: Float = field(default_factory=lambda: np.ones(1))

    def scores(self, weights: Float) -> Float:
        """(n, n_rows), a class after the other."""
        if isinstance(self.design, sp.csr_array):
            return np.ascontiguousarray((self.design @ weights.T).T)
        return weights @ self.design.T

    def gaps(self, weights: Float) -> Float:
        """(n, n_rows) scores minus shifts."""
        return self.scores(weights) - self.shift

    def summed(self, factors: Float) -> Float:
        """(n, n_columns) sums of the rows times their factors (n, n_rows)."""
        if isinstance(self.design, sp.csr_array):
            return np.asarray((self.design.T @ factors.T).T)
        return factors @ self.design

    def values(self, weights: Float, cells: Float, classes: Int) -> Float:
        """(n,) objectives of classes. weights, cells : (n, n_columns), (n, n_rows) theirs."""
        ridge = 0.5 * self.ridge * weights
        linear = (weights * (ridge - self.C * self.sums[classes])).sum(axis=1)
        return np.asarray(linear + self.C * cells.sum(axis=1))

    def gradient(self, weights: Float, slopes: Float, classes: Int) -> Float:
        """(n, n_columns) gradients of classes. weights, slopes : as in `values`."""
        return self.ridge * weights + self.C * (self.summed(slopes) - self.sums[classes])


@dataclass(frozen=True, slots=True, eq=False)
class BlockStep:
    """The weights of a block of classes, and sums over them.

    weights : (n_block, n_columns). value : sum of the classes' objectives. slopes : (n_rows,) sums
        of the cells' slopes.
    """

    weights: Float
    value: float
    slopes: Float


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """Approximate inverses of Hessians, to speed up conjugate gradients.

    inverse : (n_block, n_columns, n_columns), or (n_block, n_columns) of diagonals alone.
    """

    inverse: Float

    @staticmethod
    def at(problem: BlockProblem, weights: Float, n_classes: int) -> Preconditioner:
        """That of the Hessians at `weights`. n_classes : of all blocks, which share memory."""
        curvature = problem.bound.cells(problem.gaps(weights)).curvature
        curvature = np.minimum(curvature, MOST_CURVATURE)
        n_columns = weights.shape[1]
        if not factored_values(problem.design, n_classes):
            squares = problem.design**2
            diagonal: Float = np.asarray((squares.T @ curvature.T).T, dtype=np.float64)
            return Preconditioner(1.0 / (problem.ridge + problem.C * diagonal))
        hessians = np.tile(np.eye(n_columns) * problem.ridge, (len(weights), 1, 1))
        for hessian, weight in zip(hessians, curvature, strict=True):
            rows = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
            near = problem.design[rows]
            hessian += problem.C * ((near.T * weight[rows]) @ near)
            # So that it can be inverted where the curvature of few rows outweighs all.
            hessian[np.diag_indices(n_columns)] += 1e-13 * np.trace(hessian)
        return Preconditioner(np.asarray(np.linalg.inv(hessians), dtype=np.float64))

    def times(self, vectors: Float, classes: Int) -> Float:
        """(n, n_columns) each class's inverse with its vector."""
        if self.inverse.ndim == 2:
            return vectors * self.inverse[classes]
        return np.asarray((self.inverse[classes] @ vectors[:, :, None])[:, :, 0])


def factored_values(design: Float | sp.csr_array, n_classes: int) -> int:
    """Values of the preconditioners that are whole matrices; 0 where they are diagonals."""
    n_columns = int(design.shape[1])
    values = n_classes * n_columns**2
    small = n_columns <= WIDEST_FACTORED and values <= MOST_FACTORS
    return values if small and not sp.issparse(design) else 0


def minimize_block(
    problem: BlockProblem, weights: Float, preconditioner: Preconditioner, floor: float
) -> BlockStep:
    """The minimum of each class of the block, from `weights`; no class's objective rises.

    floor : gradients of this norm need not shrink.
    """
    weights, gaps = weights.copy(), problem.gaps(weights)
    unfinished, goal = np.arange(len(weights)), np.full(len(weights), floor)
    for step in range(MOST_STEPS):
        cells = problem.bound.cells(gaps[unfinished])
        gradient = problem.gradient(weights[unfinished], cells.slope, unfinished)
        norm = np.linalg.norm(gradient, axis=1)
        if step == 0:
            goal = np.maximum(goal, REDUCTION * norm)
        far = np.flatnonzero(norm > goal[unfinished])
        unfinished, gradient = unfinished[far], gradient[far]
        if not unfinished.size:
            break
        value = problem.values(weights[unfinished], cells.value[far], unfinished)
        direction = _newton(problem, gradient, cells.curvature[far], preconditioner, unfinished)
        unfinished = _descend(problem, weights, gaps, unfinished, value, gradient, direction)
    cells = problem.bound.cells(gaps)
    every = np.arange(len(weights))
    total = float(problem.values(weights, cells.value, every).sum())
    return BlockStep(weights, total, cells.slope.sum(axis=0))


def _newton(
    problem: BlockProblem,
    gradient: Float,
    curvature: Float,
    preconditioner: Preconditioner,
    classes: Int,
) -> Float:
    """(n, n_columns) steps of Newton's method, to `FORCING`, by conjugate gradients."""
    goal = FORCING * np.linalg.norm(gradient, axis=1)
    result, direction, residual = np.zeros_like(gradient), np.zeros_like(gradient), -gradient
    towards = preconditioner.times(residual, classes)
    inner = (residual * towards).sum(axis=1)
    place = np.arange(len(classes))
    for _ in range(MOST_PRODUCTS):
        product = problem.ridge * towards
        product += problem.C * problem.summed(curvature * problem.scores(towards))
        bend = (towards * product).sum(axis=1)
        # A class that is done, or whose digits are spent, stays where it is.
        going = (np.linalg.norm(residual, axis=1) > goal[place]) & (inner > 0) & (bend > 0)
        if not going.any():
            break
        length = np.divide(inner, bend, out=np.zeros_like(inner), where=going)[:, None]
        direction = direction + length * towards
        residual = residual - length * product
        if 4 * going.sum() <= 3 * len(place):
            result[place] = direction
            place, curvature = place[going], curvature[going]
            direction, residual, towards = direction[going], residual[going], towards[going]
            inner = inner[going]
        scaled = preconditioner.times(residual, classes[place])
        before, inner = inner, (residual * scaled).sum(axis=1)
        share = np.divide(inner, before, out=np.zeros_like(inner), where=before > 0)
        towards = scaled + share[:, None] * towards
    result[place] = direction
    return result


def _descend(
    problem: BlockProblem,
    weights: Float,
    gaps: Float,
    classes: Int,
    value: Float,
    gradient: Float,
    direction: Float,
) -> Int:
    """Move weights and gaps of the classes, halving each one's step until its objective falls.

    Returns the classes that moved.
    """
    slope = (gradient * direction).sum(axis=1)
    along = problem.scores(direction)
    length, trying = np.ones(len(classes)), np.flatnonzero(slope < 0)
    moved = []
    for _ in range(MOST_HALVINGS):
        if not trying.size:
            break
        those, step = classes[trying], length[trying]
        new_weights = weights[those] + step[:, None] * direction[trying]
        new_gaps = gaps[those] + step[:, None] * along[trying]
        after = problem.values(new_weights, problem.bound.cells(new_gaps).value, those)
        falls = after < value[trying] + 1e-4 * step * slope[trying]
        weights[those[falls]], gaps[those[falls]] = new_weights[falls], new_gaps[falls]
        moved.append(those[falls])
        trying = trying[~falls]
        length[trying] /= 2.0
    return np.sort(np.concatenate(moved)) if moved else np.empty(0, dtype=np.int64)
