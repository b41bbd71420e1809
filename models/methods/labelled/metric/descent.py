"""The metric of least loss and penalty, by accelerated proximal gradients.

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
from models.methods.labelled.metric.holds import Hold
from models.progress import Progress

SHRINK = 0.9
"""The curvature assumed falls by this factor a step, and doubles where it was too small."""

ROUNDING = 1e-12
FIRST_CURVATURE = 1.0

Loss = Callable[[Float], tuple[float, Float]]
"""From a metric to a convex value and its gradient."""


@dataclass(frozen=True, slots=True)
class MetricFit:
    """metric : the matrix A, or its diagonal.

    bound : the objective is at most about this above its minimum.
    objectives : after each step, from the start on.
    """

    metric: Float
    bound: float
    objectives: list[float]
    converged: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.converged:
            return ()
        return (
            f"Not converged after {len(self.objectives) - 1} steps: the objective "
            f"{self.objectives[-1]:.6g} may be {self.bound:.2g} above its minimum. Raise "
            "'max_iter' or 'tol'.",
        )


def minimize(
    loss: Loss,
    hold: Hold,
    gamma: float,
    start: Float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> MetricFit:
    """The minimum of the loss and `gamma` times the hold.

    Steps end when the bound falls to `tol` times the objective: a subgradient's length times the
    distance to the best metric is what the objective can still fall by, and that distance is at
    most the subgradient's length over the curvature, or about the metric's own length.

    Cost: one or two values of the loss and of its gradient a step, and O(D^3) for a matrix; tens to
    hundreds of steps.
    """
    metric, before, beta, curvature, objectives = _start(start, checkpoint)
    if not objectives:
        objectives = [loss(metric)[0] + gamma * hold.value(metric)]
    bound, converged, modulus = np.inf, False, gamma * hold.modulus
    while True:
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * beta * beta))
        ahead = metric + (beta - 1.0) / following * (metric - before)
        value, gradient = loss(ahead)
        while True:
            moved, held = hold.step(ahead - gradient / curvature, gamma / curvature)
            away = moved - ahead
            value_there, gradient_there = loss(moved)
            model = value + np.vdot(gradient, away) + 0.5 * curvature * np.vdot(away, away)
            if value_there <= model + ROUNDING * abs(value):
                break
            curvature *= 2.0
        objective = value_there + gamma * held
        length = float(np.linalg.norm(gradient_there - gradient - curvature * away))
        radius = length / modulus if modulus else np.inf
        bound = length * min(radius, float(np.linalg.norm(moved)))
        converged = bound <= tol * abs(objective)
        if objective > objectives[-1] and beta > 1.0 and not converged:
            # Momentum went too far: from the best metric on without it.
            before, beta = metric, 1.0
            continue
        metric, before, beta = moved, metric, following
        objectives.append(min(objective, objectives[-1]))
        curvature *= SHRINK
        progress(1.0 - 1.0 / (1.0 + 0.02 * len(objectives)), "learning", f"{objective:.6g}")
        if converged or len(objectives) > max_iter:
            # A fit that resumes takes the last step again, and so ends with its bound.
            break
        checkpoint.save(
            {
                "metric": metric,
                "before": before,
                "state": np.array([beta, curvature]),
                "objectives": np.array(objectives),
            }
        )
    return MetricFit(metric, bound, objectives, converged)


def _start(start: Float, checkpoint: Checkpoint) -> tuple[Float, Float, float, float, list[float]]:
    saved = checkpoint.load()
    if saved is None:
        return start, start, 1.0, FIRST_CURVATURE, []
    beta, curvature = saved["state"].tolist()
    metric, before = (np.array(saved[name]) for name in ("metric", "before"))
    return metric, before, beta, curvature, saved["objectives"].tolist()
