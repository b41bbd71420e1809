"""Separate regressors of tasks: ridge regression, or logistic regression with squared penalty.

    regression      |y - X w - b|^2 + penalty |w|^2 classification  sum of -log p(y | x) + penalty /
    2 |w|^2, the intercept penalised as well, so that a class without rows in a task has a finite
    score

The penalty is given, or minimises the error: for a regression on rows left out one by one, in
closed form (scikit-learn's RidgeCV); for classes on folds of rows.

It is chosen for each task, or for all together. The regressor of a task with one row is the value
of that row.

Cost: O(n D min(n, D)) for a task of n rows and any number of penalties; for classes O(n O D)
a step, tens of steps for each penalty and fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.methods.tasks.regression.linear import loss, n_outputs
from models.methods.tasks.regression.table import Table
from models.running.progress import Progress

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
