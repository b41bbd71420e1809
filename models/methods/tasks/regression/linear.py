"""Linear regressors of tasks: weights on scaled features and an intercept, and their predictions.

Weights are (T, O, Q): for T tasks, O outputs (1, or one for each of more than two classes), and Q
columns, which are the standardised features and a column of ones. Targets of a regression are
scaled likewise. Classes have probabilities softmax(scores); two classes have one score, that of the
second.

Cost: O(N O D) for the scores of N rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.methods.tasks.regression.table import Problem, Table


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
