"""The exact threshold of split conformal prediction.

Given n exchangeable scores and one more, the latter is at most the k-th smallest of the n with
probability at least k / (n + 1), whatever the ties; k = ceil((n + 1)(1 - alpha)) is the smallest
that keeps the promise (Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005;
Angelopoulos and Bates, "Conformal prediction: a gentle introduction", 2023). Without ties, the
share of new rows that are held, given the calibration rows, follows Beta(k, n + 1 - k). Groups with
thresholds of their own (Mondrian) have the promise each: groups by label for every class, groups by
what is predicted for every such prediction.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError


def exact_alpha(alpha: float) -> Fraction:
    """The decimal exactly as written: 0.1 is a tenth, so that no rounding moves the rank.

    Raises UsageError outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise UsageError(
            f"alpha is {alpha}; it is a probability above 0 and below 1.",
            code="invalid-parameter",
            parameter="alpha",
        )
    return Fraction(repr(float(alpha)))


def fewest_rows(alpha: float) -> int:
    """The fewest calibration rows with which a threshold is finite: ceil(1 / alpha) - 1."""
    return ceil(1 / exact_alpha(alpha)) - 1


def rank(n_rows: int, alpha: float) -> int:
    """ceil((n + 1)(1 - alpha)), computed exactly; above n if there are too few rows."""
    return n_rows + 1 - floor((n_rows + 1) * exact_alpha(alpha))


def quantile(scores: Float, alpha: float) -> float:
    """The score of that rank.

    Raises UsageError `too-few-rows` if there are fewer rows than alpha needs.
    """
    n_rows = scores.shape[0]
    place = rank(n_rows, alpha)
    if place > n_rows:
        needed = fewest_rows(alpha)
        raise UsageError(
            f"alpha {alpha} needs at least {needed} calibration rows; there are {n_rows}.",
            code="too-few-rows",
            needed=needed,
            n_rows=n_rows,
        )
    return float(np.partition(scores, place - 1)[place - 1])


def group_quantiles(scores: Float, group: Int, n_groups: int, alpha: float) -> Float:
    """(n_groups,) threshold of each group; infinite for groups with too few rows.

    group : (n,) group of each row, -1 for none. An infinite threshold keeps the promise by the
    root alone. O(n log n).
    """
    needed = fewest_rows(alpha)
    threshold = np.full(n_groups, np.inf)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    for each in range(n_groups):
        members = scores[order[bounds[each] : bounds[each + 1]]]
        if members.shape[0] >= needed:
            threshold[each] = quantile(members, alpha)
    return threshold
