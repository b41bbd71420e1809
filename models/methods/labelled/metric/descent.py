"""The metric of least loss and penalty, by accelerated proximal gradients.

Source: Beck and Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm" (2009), with momentum
that starts anew when the objective rises (O'Donoghue and Candes 2015); Gopal (2014), algorithm 3,
whose momentum is misprinted and whose projection is a proximal step here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.arrays import Float
from models.method import Checkpoint
from models.methods.labelled.metric.holds import Hold
from models.running.progress import Progress

SHRINK = 0.9
"""The curvature assumed falls by this factor a step, and doubles where it was too small."""

ROUNDING = 1e-12
FIRST_CURVATURE = 1.0
LEAST_CURVATURE = 1e-6
"""In shares of the largest so far: where the loss is flat, steps would grow without end."""

LOOKS = 10
"""Steps between looks at the bound, which takes a further gradient."""

NEAR = 10.0
"""A step that lowers the objective by less than this many times `tol` is followed by a look."""


class Loss(Protocol):
    """A convex function of a metric that is nowhere negative, by way of an image of it.

    The image is affine in the metric, so that of a step's end and of the step before is that of
    what lies ahead of both.
    """

    def image(self, metric: Float) -> Float: ...

    def value(self, image: Float) -> float: ...

    def slope(self, image: Float) -> tuple[float, Float]:
        """The value, and its gradient by the metric."""


class Direct:
    """A loss whose image is the metric itself; the last one's value and gradient are kept."""

    def __init__(self, function: Callable[[Float], tuple[float, Float]]) -> None:
        """function : from a metric to its value and gradient."""
        self._function = function
        self._last: tuple[Float, tuple[float, Float]] | None = None

    def image(self, metric: Float) -> Float:
        return metric

    def value(self, image: Float) -> float:
        return self.slope(image)[0]

    def slope(self, image: Float) -> tuple[float, Float]:
        if self._last is None or self._last[0] is not image:
            self._last = image, self._function(image)
        return self._last[1]


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
    most the subgradient's length over the curvature, or about the metric's own length. Nor can it
    fall below 0.

    Cost: an image, two values and a gradient of the loss a step, now and then one more gradient,
    and O(D^3) for a matrix; tens to hundreds of steps.
    """
    metric, before, beta, curvature, largest, objectives = _start(start, checkpoint)
    image, image_before = loss.image(metric), loss.image(before)
    if not objectives:
        objectives = [loss.value(image) + gamma * hold.value(metric)]
    bound, converged, modulus = np.inf, False, gamma * hold.modulus
    while True:
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * beta * beta))
        factor = (beta - 1.0) / following
        ahead = metric + factor * (metric - before)
        value, gradient = loss.slope(image + factor * (image - image_before))
        while True:
            moved, held = hold.step(ahead - gradient / curvature, gamma / curvature)
            away = moved - ahead
            image_moved = loss.image(moved)
            value_there = loss.value(image_moved)
            model = value + np.vdot(gradient, away) + 0.5 * curvature * np.vdot(away, away)
            if value_there <= model + ROUNDING * abs(value):
                break
            curvature *= 2.0
        objective = value_there + gamma * held
        last = len(objectives) >= max_iter
        near = objectives[-1] - objective <= NEAR * tol * abs(objective)
        if near or last or len(objectives) % LOOKS == 0:
            gradient_there = loss.slope(image_moved)[1]
            length = float(np.linalg.norm(gradient_there - gradient - curvature * away))
            radius = length / modulus if modulus else np.inf
            bound = length * min(radius, float(np.linalg.norm(moved)))
            bound = min(bound, max(objective, 0.0))
            converged = bound <= tol * abs(objective)
        if objective > objectives[-1] and beta > 1.0 and not converged:
            # Momentum went too far: from the best metric on without it.
            before, image_before, beta = metric, image, 1.0
            continue
        metric, before, beta = moved, metric, following
        image, image_before = image_moved, image
        objectives.append(min(objective, objectives[-1]))
        largest = max(largest, curvature)
        curvature = max(SHRINK * curvature, LEAST_CURVATURE * largest)
        progress(1.0 - 1.0 / (1.0 + 0.02 * len(objectives)), "learning", f"{objective:.6g}")
        if converged or last:
            # A fit that resumes takes the last step again, and so ends with its bound.
            break
        checkpoint.save(
            {
                "metric": metric,
                "before": before,
                "state": np.array([beta, curvature, largest]),
                "objectives": np.array(objectives),
            }
        )
    return MetricFit(metric, bound, objectives, converged)


def _start(
    start: Float, checkpoint: Checkpoint
) -> tuple[Float, Float, float, float, float, list[float]]:
    saved = checkpoint.load()
    if saved is None:
        return start, start, 1.0, FIRST_CURVATURE, FIRST_CURVATURE, []
    beta, curvature, largest = saved["state"].tolist()
    metric, before = (np.array(saved[name]) for name in ("metric", "before"))
    return metric, before, beta, curvature, largest, saved["objectives"].tolist()
