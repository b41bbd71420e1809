"""The value of a metric, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Estimate:
    """The value of one metric.

    value : None if the metric is undefined; never NaN.
    standard_error : that of a value from sampled pairs; None if the value is exact.
    warnings : what is unusual, approximated or undefined, one sentence each.
    """

    value: float | None
    standard_error: float | None = None
    warnings: tuple[str, ...] = ()


def mean_of(draws: npt.NDArray[np.float64], scale: float = 1.0) -> tuple[float, float]:
    """`scale` times the mean of independent draws, and its standard error. Two draws or more."""
    error = float(draws.std(ddof=1)) / float(np.sqrt(draws.shape[0]))
    return scale * float(draws.mean()), abs(scale) * error
