"""The metric of least loss and penalty, by accelerated proximal gradients, and the penalties.

A metric is a symmetric (D, D) matrix A on the cone of semidefinite ones, or (D,) its diagonal, not
negative. What holds it (`hold`) is a convex function with its proximal step on that set. On the
cone the nuclear norm is the trace, which is smooth.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1 and algorithm 3, whose momentum is
misprinted and whose projection is a proximal step here; Beck and Teboulle, "A Fast Iterative
Shrinkage-Thresholding Algorithm" (2009), with momentum that starts anew when the objective rises
(O'Donoghue and Candes 2015).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from models.arrays import Float
from models.method import Checkpoint
from models.numerics.descent import soft
from models.running.progress import Progress

RegularizerName: TypeAlias = Literal["identity", "l2", "nuclear", "logdet", "l1"]


@dataclass(frozen=True, slots=True)
class Regularizer:
    """A sum over eigenvalues.

    value : of the eigenvalues. slope : its derivative in each.
    modulus : of strong convexity.
    step : (values, weight) the eigenvalues a >= 0 that minimise |a - values|^2 / 2 + weight value.
    """

    value: Callable[[Float], float]
    slope: Callable[[Float], Float]
    step: Callable[[Float, float], Float]
    modulus: float = 0.0


def _positive(values: Float) -> Float:
    return np.maximum(values, 0.0)


def _logdet(values: Float) -> float:
    with np.errstate(divide="ignore"):
        return float((values - np.log(values)).sum())


def _logdet_step(values: Float, weight: float) -> Float:
    # The positive root of a^2 + (weight - value) a - weight, without cancellation.
    half = 0.5 * (values - weight)
    root = np.sqrt(half * half + weight)
    return np.where(half >= 0.0, half + root, weight / (root - np.minimum(half, 0.0)))


REGULARIZERS: Mapping[str, Regularizer] = {
    "identity": Regularizer(
        lambda values: float(((values - 1.0) ** 2).sum()),
        lambda values: 2.0 * (values - 1.0),
        lambda values, weight: _positive((values + 2.0 * weight) / (1.0 + 2.0 * weight)),
        modulus=2.0,
    ),
    "l2": Regularizer(
        lambda values: float((values**2).sum()),
        lambda values: 2.0 * values,
        lambda values, weight: _positive(values / (1.0 + 2.0 * weight)),
        modulus=2.0,
    ),
    "nuclear": Regularizer(
        lambda values: float(values.sum()),
        np.ones_like,
        lambda values, weight: _positive(values - weight),
    ),
    "logdet": Regularizer(_logdet, lambda values: 1.0 - 1.0 / values, _logdet_step),
}
"""By name; `l1` is no function of eigenvalues (`EntrywiseHold`)."""


class Hold(ABC):
    """A convex function of a metric. modulus : of strong convexity."""

    modulus: float = 0.0

    @abstractmethod
    def value(self, metric: Float) -> float:
        """The value at a metric in the set."""

    @abstractmethod
    def step(self, metric: Float, weight: float) -> tuple[Float, float]:
        """The metric x in the set that minimises |x - metric|^2 / 2 + weight value(x), and
        value(x)."""


class SpectralHold(Hold):
    """A function of a matrix, by its eigenvalues. O(D^3)."""

    def __init__(self, regularizer: Regularizer) -> None:
        self._regularizer, self.modulus = regularizer, regularizer.modulus

    def value(self, metric: Float) -> float:
        return self._regularizer.value(np.maximum(np.linalg.eigvalsh(metric), 0.0))

    def step(self, metric: Float, weight: float) -> tuple[Float, float]:
        eigenvalues, vectors = np.linalg.eigh(metric)
        eigenvalues = self._regularizer.step(eigenvalues, weight)
        moved = np.asarray((vectors * eigenvalues) @ vectors.T)
        return moved, self._regularizer.value(eigenvalues)


class DiagonalHold(Hold):
    """A function of a diagonal. O(D)."""

    def __init__(self, regularizer: Regularizer) -> None:
        self._regularizer, self.modulus = regularizer, regularizer.modulus

    def value(self, metric: Float) -> float:
        return self._regularizer.value(metric)

    def step(self, metric: Float, weight: float) -> tuple[Float, float]:
        moved = self._regularizer.step(metric, weight)
        return moved, self._regularizer.value(moved)


class EntrywiseHold(Hold):
    """The sum of |A - I| over entries, on the cone.

    A step alternates between shrinking entries and the cone, each from what the other left
    (Dykstra's algorithm for proximal steps: Bauschke and Combettes 2008). Tens of O(D^3).
    """

    ROUNDS, ENOUGH = 200, 1e-10

    def value(self, metric: Float) -> float:
        return float(np.abs(metric - np.eye(metric.shape[0])).sum())

    def step(self, metric: Float, weight: float) -> tuple[Float, float]:
        identity = np.eye(metric.shape[0])
        moved, of_shrinking, of_cone = metric, np.zeros_like(metric), np.zeros_like(metric)
        scale = max(float(np.linalg.norm(metric)), 1.0)
        for _ in range(self.ROUNDS):
            from_here = moved + of_shrinking
            shrunk = identity + soft(from_here - identity, weight)
            of_shrinking = from_here - shrunk
            eigenvalues, vectors = np.linalg.eigh(shrunk + of_cone)
            on_cone = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
            of_cone = shrunk + of_cone - on_cone
            away = float(np.linalg.norm(on_cone - shrunk))
            moved = on_cone
            if away <= self.ENOUGH * scale:
                break
        return moved, self.value(moved)


def hold(name: RegularizerName, diagonal: bool) -> Hold:
    """What holds a matrix, or a diagonal, by the name of the regularizer."""
    if name == "l1":
        # On a diagonal the sum is one over its entries.
        return DiagonalHold(_L1) if diagonal else EntrywiseHold()
    return (DiagonalHold if diagonal else SpectralHold)(REGULARIZERS[name])


_L1 = Regularizer(
    lambda values: float(np.abs(values - 1.0).sum()),
    lambda values: np.sign(values - 1.0),
    lambda values, weight: _positive(1.0 + soft(values - 1.0, weight)),
)


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
