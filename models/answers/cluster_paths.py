"""The paths of a model's clusters over time, as the hook `Method.paths` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_Float = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopFeatures:
    """The features that distinguish each cluster from the others in each period, best first.

    index : (T, K, n) places in `names`, -1 for none. weight : (T, K, n) the cluster's mean there.
    """

    index: npt.NDArray[np.integer[Any]]
    weight: _Float
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """The paths of K clusters over T periods. Arrays may be mapped from a file: slice them.

    labels : of the periods, their stamp or where their bin begins. ends : where their bins end;
        None for stamps. dated : whether these are times.
    n_rows : rows in each period.
    weight : (T, K) shares of the period.
    drift : (T - 1, K) degrees that each mean turns from one period to the next.
    from_first : (T, K) degrees between each mean and that of the first period.
    gamma : (T, K) how sure each mean is: the concentration of its posterior.
    kappa, kappa_low, kappa_high : (K,) concentration of the rows, and its credible interval.
    features : None where features have no names.
    """

    labels: Sequence[str]
    ends: Sequence[str] | None
    dated: bool
    n_rows: Sequence[int]
    weight: _Float
    drift: _Float
    from_first: _Float
    gamma: _Float
    kappa: _Float
    kappa_low: _Float
    kappa_high: _Float
    features: TopFeatures | None
