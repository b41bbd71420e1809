"""Linear regressors of tasks: weights on scaled features and an intercept, and their predictions.

Weights are (T, O, Q): for T tasks, O outputs (1, or one for each of more than two classes), and Q
columns, which are the standardised features and a column of ones. Targets of a regression are
scaled likewise. Classes have probabilities softmax(scores); two classes have one score, that of the
second.

Cost: O(N O D) for the scores of N rows.

Fitted separately (`SeparateFit`), they are ridge regression, or logistic regression with squared
penalty.

    regression      |y - X w - b|^2 + penalty |w|^2
    classification  sum of -log p(y | x) + penalty / 2 |w|^2

For classes the intercept is penalised as well, so that a class without rows in a task has a finite
score. The penalty is given, or minimises the error: for a regression on rows left out one by one,
in closed form (scikit-learn's RidgeCV); for classes on folds of rows.

It is chosen for each task, or for all together. The regressor of a task with one row is the value
of that row.

Cost: O(n D min(n, D)) for a task of n rows and any number of penalties; for classes O(n O D)
a step, tens of steps for each penalty and fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.methods.tasks.regression.table import Problem, Table
from models.running.progress import Progress


@dataclass(frozen=True, slots=True)
class Standardization:
    """Means and deviations over the rows of all tasks.

    mean, scale : (D,) of the features. center, spread : of the targets, 0 and 1 for classes.
    """

    mean: Float
    scale: Float
    center: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, table: Table) -> Standardization:
        mean, scale = table.features.mean(axis=0), table.features.std(axis=0)
        # The deviation of a constant column is rounding.
        varies = scale > 1e-12 * np.abs(table.features).max(axis=0, initial=0.0)
        scale = np.where(varies, scale, 1.0)
        if table.classes:
            return cls(mean, scale)
        spread = float(table.targets.std())
        return cls(mean, scale, float(table.targets.mean()), spread or 1.0)

    def columns(self, table: Table) -> Float:
        """(N, Q) scaled features, and ones."""
        moved = (table.features - self.mean) / self.scale
        return np.hstack([moved, np.ones((len(moved), 1))])

    def targets(self, table: Table) -> Float:
        return (table.targets - self.center) / self.spread

    def plain(self, weights: Float) -> tuple[Float, Float]:
        """(T, O, D) coefficients of the unscaled features, and (T, O) intercepts."""
        coefficients = weights[:, :, :-1] * (self.spread / self.scale)
        intercept = self.center + self.spread * weights[:, :, -1]
        return coefficients, intercept - coefficients @ self.mean


def n_outputs(classes: list[int | str]) -> int:
    return len(classes) if len(classes) > 2 else 1


def scores(columns: Float, task: Int, weights: Float) -> Float:
    """(N, O) scores of rows in any order of tasks.

    columns : (N, Q). task : (N,) of each row. weights : (T, O, Q).
    """
    out = np.empty((len(columns), weights.shape[1]))
    order = np.argsort(task, kind="stable")
    ends = np.searchsorted(task[order], np.arange(len(weights) + 1))
    for number in np.flatnonzero(np.diff(ends)):
        rows = order[ends[number] : ends[number + 1]]
        out[rows] = columns[rows] @ weights[number].T
    return out


def log_probabilities(scores: Float) -> Float:
    """(N, K) logarithms of the classes' probabilities, from scores (N, O)."""
    if scores.shape[1] == 1:
        return -np.logaddexp(0.0, scores * [[1.0, -1.0]])
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def loss(scores: Float, targets: Float, problem: Problem) -> Float:
    """(N,) squared errors of scaled targets, or negative log-likelihoods of classes in nats."""
    if problem == "regression":
        squares: Float = (scores[:, 0] - targets) ** 2
        return squares
    number = targets.astype(np.int64)
    losses: Float = -log_probabilities(scores)[np.arange(len(scores)), number]
    return losses


def accuracy(
    scores: Float, targets: Float, problem: Problem, *, fitted: bool
) -> Mapping[str, float]:
    """How well rows are predicted, by metric.

    For numbers this is 1 minus the mean squared error over the variance of the targets, or nothing
    if all targets are equal. For classes it is the share of correct classes, and the mean
    log-likelihood.
    fitted : whether these are the fitted rows, which is shown in the names.
    """
    error = float(loss(scores, targets, problem).mean())
    if problem == "classification":
        right = float((log_probabilities(scores).argmax(axis=1) == targets).mean())
        if fitted:
            return {"classification_accuracy_fitted": right, "log_likelihood_fitted": -error}
        return {"classification_accuracy": right, "held_out_log_likelihood": -error}
    spread = float(targets.var())
    if spread == 0.0:
        return {}
    return {f"explained_variance{'_fitted' if fitted else ''}": 1.0 - error / spread}


def values_of(scores: Float, classes: list[int | str]) -> dict[str, npt.NDArray[Any]]:
    """The columns of predictions: `value`, and for classes `value_probability`."""
    if not classes:
        return {"value": scores[:, 0]}
    log_probability = log_probabilities(scores)
    best = log_probability.argmax(axis=1)
    names = np.array(classes, dtype=object if isinstance(classes[0], str) else np.int64)
    return {
        "value": names[best],
        "value_probability": np.exp(log_probability[np.arange(len(best)), best]),
    }


PENALTIES = np.logspace(-2, 4, 13)
"""Penalties to choose from."""

Tuning = Literal["each", "together"]


@dataclass(frozen=True, slots=True)
class SeparateFit:
    """The separate regressors of tasks.

    weights : (T, O, Q). penalty : (T,). losses : (T, P) losses of each task and penalty, summed
        over rows left out; (T, 0) if the penalty was given.
    """

    weights: Float
    penalty: Float
    losses: Float


def ridges(
    columns: Float,
    targets: Float,
    start: Int,
    penalty: float | None,
    tuning: Tuning,
    progress: Progress,
    *,
    intercept: bool = True,
) -> SeparateFit:
    """Ridge regressions.

    columns : (N, Q), the last of ones. start : (T + 1,) the first row of each task, and N.
    intercept : whether it is free of the penalty.
    """
    n_tasks = len(start) - 1
    tried = PENALTIES if penalty is None else np.array([penalty])
    losses = np.zeros((n_tasks, len(tried)))
    if penalty is None:
        for task in range(n_tasks):
            rows = slice(start[task], start[task + 1])
            progress(0.6 * task / n_tasks, "choosing penalties")
            losses[task] = left_out(columns[rows], targets[rows], tried, intercept)
    chosen = _chosen(losses, tried, tuning)
    weights = np.zeros((n_tasks, 1, columns.shape[1]))
    for task in range(n_tasks):
        rows = slice(start[task], start[task + 1])
        progress(0.6 + 0.4 * task / n_tasks, "fitting tasks")
        weights[task, 0] = ridge(columns[rows], targets[rows], chosen[task], intercept)
    return SeparateFit(weights, chosen, losses if penalty is None else np.empty((n_tasks, 0)))


def left_out(columns: Float, targets: Float, penalties: Float, intercept: bool) -> Float:
    """(P,) squared errors of rows left out one by one, summed; zeros for fewer than two rows."""
    from sklearn.linear_model import RidgeCV

    if len(targets) < 2:
        return np.zeros(len(penalties))
    values = columns[:, :-1] if intercept else columns
    ridge_cv = RidgeCV(penalties, fit_intercept=intercept, store_cv_results=True)
    errors: Float = ridge_cv.fit(values, targets).cv_results_.sum(axis=0)
    return errors


def ridge(columns: Float, targets: Float, penalty: float, intercept: bool) -> Float:
    """(Q,) weights; zeros without rows."""
    n_columns = columns.shape[1]
    if not len(targets):
        return np.zeros(n_columns)
    if not intercept:
        return _solved(columns, targets, penalty)
    mean, level = columns[:, :-1].mean(axis=0), targets.mean()
    weights = _solved(columns[:, :-1] - mean, targets - level, penalty)
    return np.append(weights, level - weights @ mean)


def _solved(columns: Float, targets: Float, penalty: float) -> Float:
    left, singular, right = np.linalg.svd(columns, full_matrices=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = singular / (singular**2 + penalty)
    # Without a penalty, directions that no row determines stay 0.
    least = 1e-12 * singular.max(initial=0.0)
    factor = np.where(singular > least, factor, 0.0)
    weights: Float = right.T @ (factor * (left.T @ targets))
    return weights


def logistics(
    columns: Float,
    table: Table,
    penalty: float | None,
    tuning: Tuning,
    fold: Int,
    progress: Progress,
    *,
    offset: Float | None = None,
) -> SeparateFit:
    """Logistic regressions.

    columns : (N, Q). fold : (N,) fold of each row, for choosing the penalty. offset : (N, O) added
        to the scores.
    """
    n_tasks = table.n_tasks
    outputs = n_outputs(table.classes)
    tried = PENALTIES if penalty is None else np.array([penalty])
    losses = np.zeros((n_tasks, len(tried)))
    weights = np.zeros((n_tasks, outputs, columns.shape[1]))
    known = np.zeros((len(columns), outputs)) if offset is None else offset
    if penalty is None:
        for task in range(n_tasks):
            rows = slice(table.start[task], table.start[task + 1])
            progress(0.8 * task / n_tasks, "choosing penalties")
            losses[task] = _losses_on_folds(
                columns[rows], table.targets[rows], known[rows], tried, fold[rows]
            )
    chosen = _chosen(losses, tried, tuning)
    for task in range(n_tasks):
        rows = slice(table.start[task], table.start[task + 1])
        progress(0.8 + 0.2 * task / n_tasks, "fitting tasks")
        weights[task] = logistic(
            columns[rows], table.targets[rows], chosen[task], weights[task], known[rows]
        )
    return SeparateFit(weights, chosen, losses if penalty is None else np.empty((n_tasks, 0)))


def _losses_on_folds(
    columns: Float, targets: Float, offset: Float, penalties: Float, fold: Int
) -> Float:
    """(P,) losses of rows while their fold is left out, summed."""
    total = np.zeros(len(penalties))
    for number in np.unique(fold[fold >= 0]):
        out = fold == number
        weights = np.zeros((offset.shape[1], columns.shape[1]))
        # From the largest penalty down: each solution is a start near the next.
        for at in range(len(penalties) - 1, -1, -1):
            weights = logistic(columns[~out], targets[~out], penalties[at], weights, offset[~out])
            scores = offset[out] + columns[out] @ weights.T
            total[at] += loss(scores, targets[out], "classification").sum()
    return total


def logistic(
    columns: Float, targets: Float, penalty: float, start: Float, offset: Float | None = None
) -> Float:
    """(O, Q) weights of least loss, sought from `start`. offset : (N, O) added to the scores."""
    from scipy.optimize import minimize

    number = targets.astype(np.int64)
    rows = np.arange(len(number))
    known = 0.0 if offset is None else offset

    def objective(flat: Float) -> tuple[float, Float]:
        weights = flat.reshape(start.shape)
        scores = known + columns @ weights.T
        if start.shape[0] == 1:
            signed = np.where(number == 1, -scores[:, 0], scores[:, 0])
            value = np.logaddexp(0.0, signed).sum()
            slope = (np.exp(-np.logaddexp(0.0, -scores[:, 0])) - number)[:, None]
        else:
            log_total = np.logaddexp.reduce(scores, axis=1, keepdims=True)
            value = (log_total[:, 0] - scores[rows, number]).sum()
            slope = np.exp(scores - log_total)
            slope -= np.equal.outer(number, np.arange(start.shape[0]))
        value += 0.5 * penalty * (flat @ flat)
        return float(value), (slope.T @ columns).ravel() + penalty * flat

    optimum = minimize(
        objective,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "gtol": 1e-6},
    )
    weights: Float = optimum.x.reshape(start.shape)
    return weights


def _chosen(losses: Float, tried: Float, tuning: Tuning) -> Float:
    """(T,) the penalty with the least loss for each task, the largest of equals."""
    last = len(tried) - 1
    if tuning == "together":
        total = losses.sum(axis=0)
        return np.full(len(losses), tried[last - total[::-1].argmin()])
    best: Float = tried[last - losses[:, ::-1].argmin(axis=1)]
    return best
