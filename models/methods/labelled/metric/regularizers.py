"""What holds a metric: functions of the symmetric matrix A on the cone of semidefinite ones.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1. On the cone the nuclear norm is the
trace, which is smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Float

RegularizerName: TypeAlias = Literal["identity", "l2", "nuclear", "logdet", "l1"]


@dataclass(frozen=True)
class Regularizer:
    """A function of a matrix's eigenvalues.

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


def _logdet_step(values: Float, weight: float) -> Float:
    # The positive root of a^2 + (weight - value) a - weight, without cancellation.
    half = 0.5 * (values - weight)
    root = np.sqrt(half * half + weight)
    return np.where(half >= 0.0, half + root, weight / (root - half))


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
    "logdet": Regularizer(
        lambda values: float((values - np.log(values)).sum()),
        lambda values: 1.0 - 1.0 / values,
        _logdet_step,
    ),
}
"""By name; `l1`, the sum of |A - I| over entries, is no function of eigenvalues."""
