"""One temperature for all logits, of largest likelihood.

Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.calibration.probabilities import BLOCK
from models.errors import UsageError
from models.numerics.rows import log_softmax, softmax

LOWEST, HIGHEST = 2.0**-10, 2.0**10
"""Where a temperature ends for which the likelihood has no maximum."""
_LARGEST = 1e100
"""Slopes beyond it are taken for it: what counts is their sign."""
_MOST_STEPS = 1_000
"""Far more than are taken: a root that is not found would end the job."""


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
    """The temperature of largest likelihood between `LOWEST` and `HIGHEST`; 1 where all are alike.

    logits : (n, n_classes), finite. label : (n,) classes. The negative log likelihood is convex in
    the inverse temperature b, with slope mean(sum_k softmax(b z)_k z_k - z_y), whose root in log b
    is found by Brent's method. O(n n_classes) for each of some 15 steps. Raises UsageError without
    rows.
    """
    from scipy.optimize import brentq

    if not label.shape[0]:
        raise UsageError("A temperature needs at least one row.", code="too-few-rows", needed=1)
    # With halves, no difference of finite numbers overflows. Slopes of rounded logits have no root
    # that Brent's method finds.
    shifted: Float = np.divide(logits, 2.0, dtype=np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    own = shifted[np.arange(label.shape[0]), label]

    def mean(of_rows: Callable[[Float, slice], Float]) -> float:
        """The mean of a number for each row, by blocks of rows."""
        found = np.empty(label.shape[0])
        for rows in row_blocks(shifted.shape[0], shifted.shape[1], BLOCK):
            found[rows] = of_rows(shifted[rows], rows)
        return float(found.mean())

    def likelihood(inverse: float) -> float:
        def lost(halves: Float, rows: slice) -> Float:
            scores = log_softmax(_scaled(halves, inverse))
            return -scores[np.arange(len(scores)), label[rows]]

        return mean(lost)

    def slope(log_inverse: float) -> float:
        inverse = float(np.exp(log_inverse))

        def excess(halves: Float, rows: slice) -> Float:
            weight = softmax(_scaled(halves, inverse))
            return np.asarray(np.einsum("ij,ij->i", weight, halves) - own[rows])

        with np.errstate(over="ignore"):  # an infinite slope has the right sign
            return float(np.clip(mean(excess), -_LARGEST, _LARGEST))

    low, high = np.log(1 / HIGHEST), np.log(1 / LOWEST)
    flat = slope(low) >= 0
    steep = slope(high) <= 0
    at_bound = bool(flat != steep)
    if at_bound:
        best = low if flat else high
    else:
        best = 0.0 if flat else brentq(slope, low, high, xtol=1e-15, maxiter=_MOST_STEPS)
    inverse = float(np.exp(best))
    return Temperature(1 / inverse, likelihood(1.0), likelihood(inverse), at_bound)


def _scaled(halves: Float, inverse: float) -> Float:
    """Capped where a difference would overflow: its probability is 0 long before."""
    with np.errstate(over="ignore"):
        return np.maximum(halves * (2 * inverse), -1e300)
