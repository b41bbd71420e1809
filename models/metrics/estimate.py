"""The value of a metric, with how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Estimate:
    """One metric's value.

    value : None where the metric is undefined; never NaN.
    standard_error : of the value where it comes from sampled pairs; None where it is exact.
    warnings : what is odd, approximated or undefined, one sentence each.
    """

    value: float | None
    standard_error: float | None = None
    warnings: tuple[str, ...] = ()


def mean_of(draws: npt.NDArray[np.float64], scale: float = 1.0) -> tuple[float, float]:
    """`scale` times the mean of independent draws, and its standard error. Two draws or more."""
    error = float(draws.std(ddof=1)) / float(np.sqrt(draws.shape[0]))
    return scale * float(draws.mean()), abs(scale) * error
