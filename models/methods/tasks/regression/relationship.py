"""Multi-task relationship learning: weights of regressions and the covariance of tasks in turn.

    minimise   sum_t |y_t - X_t w_t - b_t|^2 / n_t + penalty / 2 |W|^2 + sharing / 2 tr(W O^-1 W')
    over W = (w_1 .. w_T), b and O, positive semidefinite of trace 1

It is convex in all together. O given W is (W'W)^(1/2) over its trace. W given O solves a linear
system: with M = O (penalty O + sharing)^-1 and W = V M^(1/2) the two penalties are |V|^2 / 2, which
holds where O is singular too; the system in V is solved by conjugate gradients, preconditioned as
if all tasks had the mean of their covariances of features, and there it is diagonal.

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
from models.progress import Progress

_STEPS_TOL = 1e-7
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Moments:
    """Of tasks about their own means, over their n rows: 0 for a task without rows.

    gram : (T, D, D) X'X / n. cross : (T, D) X'y / n. square : (T,) y'y / n. mean : (T, D).
    level : (T,) mean of y.
    """

    gram: Float
    cross: Float
    square: Float
    mean: Float
    level: Float

    @classmethod
    def of(cls, columns: Float, targets: Float, start: Int) -> Moments:
        """columns : (N, D), without ones."""
        n_tasks, n_columns = len(start) - 1, columns.shape[1]
        found = cls(
            np.zeros((n_tasks, n_columns, n_columns)),
            np.zeros((n_tasks, n_columns)),
            np.zeros(n_tasks),
            np.zeros((n_tasks, n_columns)),
            np.zeros(n_tasks),
        )
        for task in np.flatnonzero(np.diff(start)):
            rows = slice(start[task], start[task + 1])
            n_rows = start[task + 1] - start[task]
            found.mean[task], found.level[task] = columns[rows].mean(axis=0), targets[rows].mean()
            moved, rest = columns[rows] - found.mean[task], targets[rows] - found.level[task]
            found.gram[task] = moved.T @ moved / n_rows
            found.cross[task] = moved.T @ rest / n_rows
            found.square[task] = rest @ rest / n_rows
        return found


@dataclass(frozen=True, slots=True)
class Related:
    """weights : (D, T). covariance : (T, T), O. objectives : after each half-step. ended : whether
    it came to rest."""

    weights: Float
    covariance: Float
    objectives: list[float]
    ended: bool

    def with_intercepts(self, moments: Moments) -> Float:
        """(T, 1, D + 1)."""
        weights = self.weights.T
        level = moments.level - np.einsum("td,td->t", weights, moments.mean)
        return np.hstack([weights, level[:, None]])[:, None, :]


def related(
    moments: Moments,
    penalty: float,
    sharing: float,
    max_iter: int,
    tol: float,
    progress: Progress,
) -> Related:
    """Alternate from unrelated tasks, the identity over T: from a singular covariance weights would
    not leave its range."""
    n_tasks = len(moments.level)
    current = np.eye(n_tasks) / n_tasks
    objectives: list[float] = []
    rotated = _Rotated.of(moments)
    ended = False
    weights = moments.cross.T * 0.0
    for number in range(max_iter):
        said = f"objective {objectives[-1]:.6g}" if objectives else ""
        progress(number / max_iter, "relating tasks", said)
        weights, fitted = weights_given(moments, rotated, current, penalty, sharing)
        objectives.append(fitted)
        current, trace = covariance_of(weights, current)
        plain = fit_of(moments, weights) + 0.5 * penalty * float((weights**2).sum())
        objectives.append(plain + 0.5 * sharing * trace**2)
        if number and objectives[-3] - objectives[-1] <= tol * objectives[-1]:
            ended = True
            break
    return Related(weights, current, objectives, ended)


def fit_of(moments: Moments, weights: Float) -> float:
    """sum_t |y_t - X_t w_t - b_t|^2 / n_t with the best b."""
    w = weights.T
    quadratic = np.einsum("td,tde,te->", w, moments.gram, w, optimize=True)
    return float(moments.square.sum() - 2 * (moments.cross * w).sum() + quadratic)


def covariance_of(weights: Float, before: Float) -> tuple[Float, float]:
    """(W'W)^(1/2) over its trace, and the trace; what was before where all weights are 0."""
    _, singular, right = np.linalg.svd(weights, full_matrices=False)
    trace = float(singular.sum())
    if trace == 0.0:
        return before, 0.0
    return (right.T * (singular / trace)) @ right, trace


def correlation(covariance: Float) -> Float:
    """(T, T) of tasks; a task whose weights are all 0 has none with others."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    some = deviation > 0
    inverse = np.where(some, 1.0 / np.where(some, deviation, 1.0), 0.0)
    found = np.clip(covariance * inverse * inverse[:, None], -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


@dataclass(frozen=True, slots=True)
class _Rotated:
    """The mean over tasks of their grams: its eigenvalues (D,) and eigenvectors (D, D)."""

    value: Float
    vector: Float

    @classmethod
    def of(cls, moments: Moments) -> _Rotated:
        value, vector = np.linalg.eigh(moments.gram.mean(axis=0))
        return cls(np.maximum(value, 0.0), vector)


def weights_given(
    moments: Moments, rotated: _Rotated, covariance: Float, penalty: float, sharing: float
) -> tuple[Float, float]:
    """(D, T) weights of least objective for O, and the objective."""
    value, vector = np.linalg.eigh(covariance)
    value = np.maximum(value, 0.0)
    root = np.sqrt(value / (penalty * value + sharing))
    half = (vector * root) @ vector.T
    # In the eigenvectors of both: what all tasks share is then diagonal.
    scale = 1.0 + 2.0 * rotated.value[:, None] * root**2

    def times(inner: Float) -> Any:
        weights = (inner @ half).T
        slope = np.matmul(moments.gram, weights[:, :, None])[:, :, 0]
        return inner + 2.0 * (slope.T @ half)

    def eased(rest: Float) -> Any:
        return rotated.vector @ ((rotated.vector.T @ rest @ vector) / scale) @ vector.T

    target = 2.0 * (moments.cross.T @ half)
    inner = np.zeros_like(target)
    rest = target.copy()
    least = _STEPS_TOL * float(np.sqrt((target**2).sum()))
    ahead = eased(rest)
    size = float((rest * ahead).sum())
    for _ in range(_MOST_STEPS):
        if np.sqrt((rest**2).sum()) <= least:
            break
        image = times(ahead)
        length = size / float((ahead * image).sum())
        inner += length * ahead
        rest -= length * image
        next_ = eased(rest)
        grown = float((rest * next_).sum())
        ahead = next_ + grown / size * ahead
        size = grown
    weights = inner @ half
    return weights, fit_of(moments, weights) + 0.5 * float((inner**2).sum())
