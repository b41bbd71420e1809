"""What holds a metric: convex functions of it, each with its proximal step on its set.

A metric is a symmetric (D, D) matrix A on the cone of semidefinite ones, or (D,) its diagonal, not
negative. On the cone the nuclear norm is the trace, which is smooth.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Float
from models.numerics.descent import soft

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
