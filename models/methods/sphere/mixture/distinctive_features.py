"""The features that distinguish clusters, nodes from their parents, and clusters in each period.

A feature is scored by what it adds to the mean cosine of the cluster's rows with its mean.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Float
from models.clusters.counts import TOP_TERMS

MOST_PER_PERIOD = 5
"""The largest number of features of a cluster in a period."""

INDEX, WEIGHT, NAMES = "told", "told_weight", "told_names"
"""The names of the model's arrays that hold the features of each period."""


def top_features(
    means: Float, log_weights: Float, names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """The features, for each cluster, in which its rows differ most from the others, best first.

    The score is mu_kd (mu_kd - sum_j pi_j mu_jd), what feature d adds to the mean cosine with the
    cluster's mean compared with an average row; the weight is mu_kd. Features that add nothing are
    left out. O(K D log D).
    """
    return _best(means, np.broadcast_to(np.exp(log_weights) @ means, means.shape), names)


def top_features_below(
    directions: Float, parent: npt.NDArray[np.int32], names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """The features, for each node, in which it differs most from its parent, best first.

    directions : (T, D) unit vectors psi_n. The score is psi_nd (psi_nd - psi_parent,d), at the root
        psi_nd^2; otherwise as `top_features`.
    O(T D log D).
    """
    references = np.where(parent[:, None] >= 0, directions[parent], 0.0)
    return _best(directions, references, names)


def _best(means: Float, references: Float, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    features_of = []
    for mean, reference in zip(means, references, strict=True):
        adds = mean * (mean - reference)
        best = np.argsort(-adds, kind="stable")[:TOP_TERMS]
        features_of.append(
            [
                {"term": names[feature], "weight": float(mean[feature])}
                for feature in best
                if adds[feature] > 0
            ]
        )
    return features_of


def top_features_by_period(psi: Float, weights: Float, names: Sequence[str]) -> dict[str, Array]:
    """The features, for each cluster and period, in which it differs most from others, as arrays.

    psi : (T, K, D) means; weights : (T, K). Each period is scored as by `top_features`, at most
        `MOST_PER_PERIOD` features each: `told` (T, K, 5) holds int32 positions in the list of
        names, best first, -1 for none; `told_weight` the values of the mean there; `told_names` the
        list, as JSON bytes.
    O(T K D).
    """
    n_periods, n_clusters, n_features = psi.shape
    most = min(MOST_PER_PERIOD, n_features)
    column = np.full((n_periods, n_clusters, MOST_PER_PERIOD), -1, dtype=np.int64)
    weight = np.zeros((n_periods, n_clusters, MOST_PER_PERIOD))
    for t in range(n_periods):
        adds = psi[t] * (psi[t] - weights[t] @ psi[t])
        best = np.sort(np.argpartition(-adds, most - 1, axis=1)[:, :most], axis=1)
        order = np.argsort(-np.take_along_axis(adds, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        positive = np.take_along_axis(adds, best, axis=1) > 0
        column[t, :, :most] = np.where(positive, best, -1)
        weight[t, :, :most] = np.where(positive, np.take_along_axis(psi[t], best, axis=1), 0.0)
    used = np.unique(column[column >= 0])
    index = np.where(column < 0, -1, np.searchsorted(used, column)).astype(np.int32)
    listed = json.dumps([names[feature] for feature in used.tolist()]).encode()
    return {INDEX: index, WEIGHT: weight, NAMES: np.frombuffer(listed, dtype=np.uint8).copy()}


def feature_names(arrays: Arrays) -> list[str]:
    """The list of names that the positions in `told` refer to."""
    names: list[str] = json.loads(arrays[NAMES].tobytes())
    return names
