"""The features that tell clusters from each other in each period, as arrays that a model keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.contract import Arrays
from models.partitions.points import Float

TOLD = 5
"""Features of a cluster in a period, at most."""

INDEX, WEIGHT, NAMES = "told", "told_weight", "told_names"


def telling(psi: Float, weights: Float, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Of each cluster in each period the features that tell it from the others there, best first.

    psi : (T, K, D) means; weights : (T, K). As `models.vmf.terms.top_features` of each period
    alone, at most `TOLD`: `told` (T, K, TOLD) int32, places in the list of names, -1 for none;
    `told_weight` what the mean has there; `told_names` the list, JSON as bytes. O(T K D).
    """
    n_periods, n_clusters, n_features = psi.shape
    most = min(TOLD, n_features)
    column = np.full((n_periods, n_clusters, TOLD), -1, dtype=np.int64)
    weight = np.zeros((n_periods, n_clusters, TOLD))
    for t in range(n_periods):
        adds = psi[t] * (psi[t] - weights[t] @ psi[t])
        best = np.sort(np.argpartition(-adds, most - 1, axis=1)[:, :most], axis=1)
        order = np.argsort(-np.take_along_axis(adds, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        tells = np.take_along_axis(adds, best, axis=1) > 0
        column[t, :, :most] = np.where(tells, best, -1)
        weight[t, :, :most] = np.where(tells, np.take_along_axis(psi[t], best, axis=1), 0.0)
    used = np.unique(column[column >= 0])
    index = np.where(column < 0, -1, np.searchsorted(used, column)).astype(np.int32)
    listed = json.dumps([names[one] for one in used.tolist()]).encode()
    return {INDEX: index, WEIGHT: weight, NAMES: np.frombuffer(listed, dtype=np.uint8).copy()}


def names_told(arrays: Arrays) -> list[str]:
    """The list that `told` has places in."""
    found: list[str] = json.loads(arrays[NAMES].tobytes())
    return found
