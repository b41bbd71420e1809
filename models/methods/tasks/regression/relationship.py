"""Multi-task relationship learning: weights of regressions and covariance of tasks, alternately.

    minimise   sum_t |y_t - X_t w_t - b_t|^2 / n_t + penalty / 2 |W|^2 + sharing / 2 tr(W O^-1 W')
    over W = (w_1 .. w_T), b and O, positive semidefinite of trace 1

The problem is jointly convex in all of them. O given W is (W'W)^(1/2) over its trace. W given O
solves a linear system: with M = O (penalty O + sharing)^-1 and W = V M^(1/2) the two penalties are
|V|^2 / 2, even where O is singular. Conjugate gradients solve the system in V; the preconditioner
replaces each task's covariance of features by their mean, which makes it diagonal.

Source: Zhang and Yeung, "A Convex Formulation for Learning Task Relationships in Multi-Task
Learning" (2010), §2.2 and §2.3, where the system is solved in the rows' dual variables.

Cost: O(N D^2) once, O(T D^2 + T^2 D) for each of the tens of steps of each system, O(T^3 + T D^2)
for each O; memory 8 T (D^2 + T) bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Float, Int
from models.running.progress import Progress

_STEPS_TOL = 1e-7
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class TaskMoments:
    """Moments of each task's n rows about their means; 0 for a task without rows.

    gram : (T, D, D) X'X / n. cross : (T, D) X'y / n. square : (T,) y'y / n. mean : (T, D).
    level : (T,) mean of y.
    """

    gram: Float
    cross: Float
    square: Float
    mean: Float
    level: Float

    @classmethod
    def of(cls, columns: Float, targets: Float, start: Int) -> TaskMoments:
        """The moments of columns (N, D), without ones.

        start : (T + 1,) the first row of each task, and N.
        """
        n_tasks, n_columns = len(start) - 1, columns.shape[1]
        moments = cls(
            np.zeros((n_tasks, n_columns, n_columns)),
            np.zeros((n_tasks, n_columns)),
            np.zeros(n_tasks),
            np.zeros((n_tasks, n_columns)),
            np.zeros(n_tasks),
        )
        for task in np.flatnonzero(np.diff(start)):
            rows = slice(start[task], start[task + 1])
            n_rows = start[task + 1] - start[task]
            moments.mean[task], moments.level[task] = (
                columns[rows].mean(axis=0),
                targets[rows].mean(),
            )
            moved, rest = columns[rows] - moments.mean[task], targets[rows] - moments.level[task]
            moments.gram[task] = moved.T @ moved / n_rows
            moments.cross[task] = moved.T @ rest / n_rows
            moments.square[task] = rest @ rest / n_rows
        return moments


@dataclass(frozen=True, slots=True)
class TaskRelationship:
    """Weights of tasks and their covariance.

    weights : (D, T) W. covariance : (T, T) O. objectives : after each half of an iteration.
    converged : whether the objective has settled.
    """

    weights: Float
    covariance: Float
    objectives: list[float]
    converged: bool

    def with_intercepts(self, moments: TaskMoments) -> Float:
        """(T, 1, D + 1) weights, the intercepts last."""
        weights = self.weights.T
        level = moments.level - np.einsum("td,td->t", weights, moments.mean)
        return np.hstack([weights, level[:, None]])[:, None, :]


def relate(
    moments: TaskMoments,
    penalty: float,
    sharing: float,
    max_iter: int,
    tol: float,
    progress: Progress,
) -> TaskRelationship:
    """The weights and the covariance of least objective.

    The start is unrelated tasks, the identity over T: weights could not leave the range of a
    singular covariance.
    """
    n_tasks = len(moments.level)
    current = np.eye(n_tasks) / n_tasks
    objectives: list[float] = []
    mean_gram = _MeanGram.of(moments)
    converged = False
    weights = moments.cross.T * 0.0
    for number in range(max_iter):
        message = f"objective {objectives[-1]:.6g}" if objectives else ""
        progress(number / max_iter, "relating tasks", message)
        weights, objective = weights_for(moments, mean_gram, current, penalty, sharing)
        objectives.append(objective)
        current, trace = covariance_of(weights, current)
        plain = squared_error(moments, weights) + 0.5 * penalty * float((weights**2).sum())
        objectives.append(plain + 0.5 * sharing * trace**2)
        if number and objectives[-3] - objectives[-1] <= tol * objectives[-1]:
            converged = True
            break
    return TaskRelationship(weights, current, objectives, converged)


def squared_error(moments: TaskMoments, weights: Float) -> float:
    """sum_t |y_t - X_t w_t - b_t|^2 / n_t for the best b."""
    w = weights.T
    quadratic = np.einsum("td,tde,te->", w, moments.gram, w, optimize=True)
    return float(moments.square.sum() - 2 * (moments.cross * w).sum() + quadratic)


def covariance_of(weights: Float, before: Float) -> tuple[Float, float]:
    """(W'W)^(1/2) over its trace, and the trace; `before` and 0 if all weights are 0."""
    _, singular, right = np.linalg.svd(weights, full_matrices=False)
    trace = float(singular.sum())
    if trace == 0.0:
        return before, 0.0
    return (right.T * (singular / trace)) @ right, trace


def correlation(covariance: Float) -> Float:
    """(T, T) correlation of tasks; 0 with all others for a task whose weights are all 0."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    positive = deviation > 0
    inverse = np.where(positive, 1.0 / np.where(positive, deviation, 1.0), 0.0)
    correlations = np.clip(covariance * inverse * inverse[:, None], -1.0, 1.0)
    np.fill_diagonal(correlations, 1.0)
    return correlations


@dataclass(frozen=True, slots=True)
class _MeanGram:
    """The mean of the tasks' Gram matrices: its eigenvalues (D,) and eigenvectors (D, D)."""

    value: Float
    vector: Float

    @classmethod
    def of(cls, moments: TaskMoments) -> _MeanGram:
        value, vector = np.linalg.eigh(moments.gram.mean(axis=0))
        return cls(np.maximum(value, 0.0), vector)


def weights_for(
    moments: TaskMoments, mean_gram: _MeanGram, covariance: Float, penalty: float, sharing: float
) -> tuple[Float, float]:
    """(D, T) weights that minimise the objective for a covariance O, and the objective."""
    value, vector = np.linalg.eigh(covariance)
    value = np.maximum(value, 0.0)
    root = np.sqrt(value / (penalty * value + sharing))
    half = (vector * root) @ vector.T
    # The preconditioner is diagonal in the eigenvectors of both matrices.
    scale = 1.0 + 2.0 * mean_gram.value[:, None] * root**2

    def times(inner: Float) -> Any:
        weights = (inner @ half).T
        slope = np.matmul(moments.gram, weights[:, :, None])[:, :, 0]
        return inner + 2.0 * (slope.T @ half)

    def preconditioned(rest: Float) -> Any:
        return mean_gram.vector @ ((mean_gram.vector.T @ rest @ vector) / scale) @ vector.T

    target = 2.0 * (moments.cross.T @ half)
    inner = np.zeros_like(target)
    residual = target.copy()
    tolerance = _STEPS_TOL * float(np.sqrt((target**2).sum()))
    direction = preconditioned(residual)
    size = float((residual * direction).sum())
    for _ in range(_MOST_STEPS):
        if np.sqrt((residual**2).sum()) <= tolerance:
            break
        image = times(direction)
        length = size / float((direction * image).sum())
        inner += length * direction
        residual -= length * image
        eased = preconditioned(residual)
        new_size = float((residual * eased).sum())
        direction = eased + new_size / size * direction
        size = new_size
    weights = inner @ half
    return weights, squared_error(moments, weights) + 0.5 * float((inner**2).sum())
