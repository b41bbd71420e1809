"""Upper bounds of the log partition function that fall apart into classes.

log sum_k exp(s_k) <= a + offset + sum_k cell(s_k - a), for every shift a of the row. With shifts
given, each class has a separate objective; with weights given, the tightest shift of a row is
found for itself. Both bounds are convex in weights and shifts together, and neither changes if a
vector v is added to all weights and v.x_i to the shift of each row.

Log-concavity (§4.3.3): cell = exp, offset -1; tight at a = log sum_k exp(s_k), so that its minimum
is that of the objective. Double majorization (§4.3.2): cell(u) = log(1 + e^u), offset 0; the
tightest shift solves sum_k sigmoid(s_k - a) = 1, and the bound stays above the objective.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3.2 and §4.3.3; the shift of double
majorization, which it leaves out, is where the bound's derivative is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit

from models.arrays import Float
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
