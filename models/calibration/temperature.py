"""One temperature for all logits, of largest likelihood.

Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.numerics.rows import log_softmax

LOWEST, HIGHEST = 2.0**-10, 2.0**10
"""Where a temperature ends for which the likelihood has no maximum."""
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Temperature:
    """value : what logits are divided by. before, after : mean negative log likelihood of the rows
    in nats, at 1 and at the value. at_bound : the likelihood still rises there, as it does when
    every row is right or none is better than chance.
    """

    value: float
    before: float
    after: float
    at_bound: bool


def fitted_temperature(logits: Array, label: Int) -> Temperature:
    """The temperature of largest likelihood between `LOWEST` and `HIGHEST`.

    logits : (n, n_classes), finite. label : (n,) classes. The negative log likelihood is convex in
    the inverse temperature b, with slope mean(sum_k softmax(b z)_k z_k - z_y), so the root is
    bisected in log b. O(n n_classes) for each of 60 steps. Raises UsageError without rows.
    """
    if not label.shape[0]:
        raise UsageError("A temperature needs at least one row.", code="too-few-rows", needed=1)
    # With halves, no difference of finite numbers overflows.
    shifted = logits / 2.0
    shifted = shifted - shifted.max(axis=1, keepdims=True)
    rows = np.arange(label.shape[0])

    def likelihood(inverse: float) -> float:
        return float(-log_softmax(_scaled(shifted, inverse))[rows, label].mean())

    def slope(inverse: float) -> float:
        probability = np.exp(log_softmax(_scaled(shifted, inverse)))
        with np.errstate(over="ignore"):  # an infinite slope has the right sign
            excess = (probability * shifted).sum(axis=1) - shifted[rows, label]
            return float(excess.mean())

    low, high = np.log(1 / HIGHEST), np.log(1 / LOWEST)
    flat = slope(float(np.exp(low))) >= 0
    steep = slope(float(np.exp(high))) <= 0
    if flat or steep:
        best = low if flat else high
    else:
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if slope(float(np.exp(middle))) > 0:
                high = middle
            else:
                low = middle
        best = (low + high) / 2
    inverse = float(np.exp(best))
    return Temperature(1 / inverse, likelihood(1.0), likelihood(inverse), bool(flat or steep))


def _scaled(halves: Float, inverse: float) -> Float:
    """Capped where a difference would overflow: its probability is 0 long before."""
    with np.errstate(over="ignore"):
        return np.maximum(halves * (2 * inverse), -1e300)
