"""The metric of least loss and penalty, by accelerated proximal gradients on the cone.

Source: Beck and Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm" (2009), with momentum
that starts anew when the objective rises (O'Donoghue and Candes 2015); Gopal (2014), algorithm 3,
whose momentum is misprinted and whose projection is a proximal step here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Float
from models.method import Checkpoint
from models.methods.labelled.metric.regularizers import Regularizer
from models.progress import Progress

SHRINK = 0.9
"""The curvature assumed falls by this factor a step, and doubles where it was too small."""

Loss = Callable[[Float], tuple[float, Float]]
"""From a matrix to a convex value and its gradient."""


@dataclass(frozen=True)
class MetricFit:
    """matrix : (D, D) A. residual : the objective is at most about this above its minimum.
    objectives : after each step, from the start on."""

    matrix: Float
    residual: float
    objectives: list[float]
    converged: bool


def minimize(
    loss: Loss,
    regularizer: Regularizer,
    gamma: float,
    start: Float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> MetricFit:
    """The minimum of the loss and `gamma` times the regularizer over semidefinite matrices.

    Steps end when the bound falls to `tol` times the objective: a subgradient's length times the
    distance to the best matrix is what the objective can still fall by, and that distance is at
    most the subgradient's length over the curvature, or about the matrix's own length.

    Cost: one or two values of the loss and one of its gradient a step, and O(D^3); tens to hundreds
    of steps.
    """
    matrix, before, beta, curvature, objectives = _start(start, checkpoint)
    if not objectives:
        objectives = [loss(matrix)[0] + gamma * _penalty(regularizer, matrix)]
    bound, converged = np.inf, False
    while not converged and len(objectives) <= max_iter:
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * beta * beta))
        ahead = matrix + (beta - 1.0) / following * (matrix - before)
        value, gradient = loss(ahead)
        while True:
            eigenvalues, vectors = np.linalg.eigh(ahead - gradient / curvature)
            eigenvalues = regularizer.step(eigenvalues, gamma / curvature)
            moved = (vectors * eigenvalues) @ vectors.T
            away = moved - ahead
            value_there, gradient_there = loss(moved)
            model = value + np.vdot(gradient, away) + 0.5 * curvature * np.vdot(away, away)
            if value_there <= model + ROUNDING * abs(value):
                break
            curvature *= 2.0
        objective = value_there + gamma * regularizer.value(eigenvalues)
        subgradient = gradient_there - gradient - curvature * away
        length = float(np.linalg.norm(subgradient))
        bound = length * min(_radius(regularizer, gamma, length), float(np.linalg.norm(moved)))
        converged = bound <= tol * abs(objective)
        if objective > objectives[-1] and beta > 1.0:
            # Momentum went too far: from the best matrix on without it.
            before, beta = matrix, 1.0
            continue
        matrix, before, beta = moved, matrix, following
        objectives.append(min(objective, objectives[-1]))
        curvature *= SHRINK
        progress(1.0 - 1.0 / (1.0 + 0.02 * len(objectives)), "fitting", f"{objective:.6g}")
        checkpoint.save(
            {
                "matrix": matrix,
                "before": before,
                "beta": np.array([beta, curvature]),
                "objectives": np.array(objectives),
            }
        )
    return MetricFit(matrix, bound, objectives, converged)


ROUNDING = 1e-12
FIRST_CURVATURE = 1.0


def _start(start: Float, checkpoint: Checkpoint) -> tuple[Float, Float, float, float, list[float]]:
    saved = checkpoint.load()
    if saved is None:
        return start, start, 1.0, FIRST_CURVATURE, []
    beta, curvature = saved["beta"].tolist()
    return (
        np.array(saved["matrix"]),
        np.array(saved["before"]),
        beta,
        curvature,
        saved["objectives"].tolist(),
    )


def _penalty(regularizer: Regularizer, matrix: Float) -> float:
    return regularizer.value(np.maximum(np.linalg.eigvalsh(matrix), 0.0))


def _radius(regularizer: Regularizer, gamma: float, length: float) -> float:
    """How far the minimum is at most, for a subgradient of this length."""
    modulus = gamma * regularizer.modulus
    return length / modulus if modulus else np.inf
