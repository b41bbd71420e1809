"""The alternating direction method of multipliers on scores.

min 1/2 |W|^2 - C sum_i w_{y_i}.x_i + C sum_i log sum_k exp(z_ik), where Z = X W^T. A sweep solves
for the weights, which is ridge regression on Z - U for all classes at once; for the scores of each
row, by Newton's method; and adds X W^T - Z to U. Residuals are kept in balance by the factor `rho`,
as Boyd et al. (2011, §3.4.1) have it, for `BALANCING` sweeps.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.4, whose objective there has no penalty.
Cost: O(N D K) a sweep, and once O(N D M + M^3) with M the smaller of N and D; memory 18 arrays
(N, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float
from models.method import Checkpoint
from models.methods.classifiers.softmax.objective import (
    Curve,
    Effort,
    Minimum,
    SoftmaxObjective,
    gap,
    log_sums,
)
from models.numerics.rows import log_softmax
from models.running.progress import Progress

BALANCING = 200
"""Sweeps in which `rho` may change; it converges for any that stays."""

OUT_OF_BALANCE = 3.0
"""Residuals that differ by this factor are brought together."""

MOST_STEPS = 50
EXACT = 1e-9
"""Norm of a row's gradient, relative to its weight, at which its scores are found."""


class Ridge:
    """Solves (I + rho X^T X) W^T = B for any rho, from one eigendecomposition."""

    def __init__(self, design: Float | sp.csr_array) -> None:
        self.design = design
        self.tall = design.shape[0] >= design.shape[1]
        gram: Any = design.T @ design if self.tall else design @ design.T
        dense: Float = gram.toarray() if isinstance(design, sp.csr_array) else gram
        values, self.vectors = np.linalg.eigh(dense)
        self.values = np.maximum(values, 0.0)

    def solved(self, right: Float, rho: float) -> Float:
        """(n_classes, n_columns) weights. right : (n_columns, n_classes)."""
        scale = 1.0 / (1.0 + rho * self.values)[:, None]
        if self.tall:
            return np.asarray((self.vectors @ (scale * (self.vectors.T @ right))).T)
        inner = self.vectors @ (scale * (self.vectors.T @ (self.design @ right)))
        return np.asarray((right - rho * (self.design.T @ inner)).T)


@dataclass(slots=True)
class _State:
    """weights : (n_classes, n_columns). scores, dual : (n_rows, n_classes)."""

    weights: Float
    scores: Float
    dual: Float
    rho: float
    curves: dict[str, Curve]

    @property
    def n_sweeps(self) -> int:
        return len(self.curves["objective"])


def minimize_by_splitting(
    objective: SoftmaxObjective, effort: Effort, progress: Progress, checkpoint: Checkpoint
) -> Minimum:
    """The minimum of J.

    Curves: `objective`, J at the weights; `primal_residual`, |X W^T - Z|; `dual_residual`, rho
    |X^T (Z - Z before)|.
    """
    ridge = Ridge(objective.design)
    saved = checkpoint.load()
    state = _start(objective) if saved is None else _restored(saved)
    while True:
        _sweep(state, objective, ridge)
        n_sweeps = state.n_sweeps
        value, gradient = objective.value_and_gradient(state.weights)
        norm = float(np.linalg.norm(gradient))
        state.curves["objective"].append((n_sweeps + 1, value))
        progress((n_sweeps + 1) / effort.max_iter, "sweeps", f"sweep {n_sweeps + 1}")
        converged = gap(norm) <= effort.tol * abs(value)
        if converged or n_sweeps + 1 >= effort.max_iter:
            return Minimum(state.weights, value, value, norm, n_sweeps + 1, converged, state.curves)
        checkpoint.save(_saved(state))


def _start(objective: SoftmaxObjective) -> _State:
    zeros = np.zeros((objective.n_rows, objective.n_classes))
    curves: dict[str, Curve] = {"objective": [], "primal_residual": [], "dual_residual": []}
    return _State(objective.zeros(), zeros, zeros, objective.C, curves)


def _saved(state: _State) -> Arrays:
    curves = {f"curve.{name}": np.array(curve) for name, curve in state.curves.items()}
    arrays = {"weights": state.weights, "scores": state.scores, "dual": state.dual}
    return {**arrays, "rho": np.array([state.rho]), **curves}


def _restored(arrays: Arrays) -> _State:
    curves = {
        name.removeprefix("curve."): [(int(step), value) for step, value in array.tolist()]
        for name, array in arrays.items()
        if name.startswith("curve.")
    }
    weights, scores, dual = (np.array(arrays[name]) for name in ("weights", "scores", "dual"))
    return _State(weights, scores, dual, float(arrays["rho"][0]), curves)


def _sweep(state: _State, objective: SoftmaxObjective, ridge: Ridge) -> None:
    design, C, rho = objective.design, objective.C, state.rho
    right = C * objective.class_sums.T + rho * np.asarray(design.T @ (state.scores - state.dual))
    state.weights = ridge.solved(right, rho)
    fitted = np.asarray(design @ state.weights.T)
    before = state.scores
    state.scores = softened(fitted + state.dual, C / rho, before)
    state.dual = state.dual + fitted - state.scores
    primal = float(np.linalg.norm(fitted - state.scores))
    dual = rho * float(np.linalg.norm(design.T @ (state.scores - before)))
    number = state.n_sweeps + 1
    state.curves["primal_residual"].append((number, primal))
    state.curves["dual_residual"].append((number, dual))
    if number <= BALANCING:
        factor = 1.0
        if primal > OUT_OF_BALANCE * dual:
            factor = 2.0
        elif dual > OUT_OF_BALANCE * primal:
            factor = 0.5
        state.rho *= factor
        state.dual = state.dual / factor


def softened(values: Float, weight: float, start: Float) -> Float:
    """(n, k) rows z that minimise weight log sum_k exp(z_k) + 1/2 |z - v|^2, v a row of `values`.

    start : where the search begins. Newton's method, by the formula of Sherman and Morrison;
    O(n k) a step.
    """
    z = start.copy()
    unfinished = np.arange(len(z))
    for _ in range(MOST_STEPS):
        probability = np.exp(log_softmax(z[unfinished]))
        away = z[unfinished] - values[unfinished]
        gradient = weight * probability + away
        far = np.linalg.norm(gradient, axis=1) > EXACT * (1.0 + weight)
        if not far.any():
            break
        unfinished, probability, gradient = unfinished[far], probability[far], gradient[far]
        diagonal = 1.0 + weight * probability
        scaled, spread = gradient / diagonal, probability / diagonal
        # 1 - weight sum p^2 / (1 + weight p), without cancellation.
        share = weight * (probability * scaled).sum(axis=1) / spread.sum(axis=1)
        direction = -(scaled + share[:, None] * spread)
        slope = (gradient * direction).sum(axis=1)
        value = _softened_value(z[unfinished], values[unfinished], weight)
        rounding = 1e-14 * np.abs(value)
        length = np.ones(len(unfinished))
        for _ in range(MOST_STEPS):
            moved = z[unfinished] + length[:, None] * direction
            after = _softened_value(moved, values[unfinished], weight)
            high = after > value + 1e-4 * length * slope + rounding
            if not high.any():
                break
            length[high] /= 2.0
        z[unfinished] = moved
    return z


def _softened_value(z: Float, values: Float, weight: float) -> Float:
    return np.asarray(weight * log_sums(z) + 0.5 * ((z - values) ** 2).sum(axis=1))
