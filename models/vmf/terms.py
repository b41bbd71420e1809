"""The features that tell a cluster on the sphere from the rest, or a node from its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.partitions.counts import TOP_TERMS
from models.partitions.points import Float


def top_features(
    means: Float, log_weights: Float, names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Of each cluster the features by which its rows differ most from the others', best first.

    By mu_kd (mu_kd - sum_j pi_j mu_jd), what feature d adds to the mean cosine with the cluster's
    mean beyond that of any row; each with its weight mu_kd. Features that add nothing are left
    out. O(K D log D).
    """
    return _best(means, np.broadcast_to(np.exp(log_weights) @ means, means.shape), names)


def top_features_below(
    directions: Float, parent: npt.NDArray[np.int32], names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Of each node the features by which it differs most from its parent, best first.

    directions : (T, D) unit vectors psi_n; by psi_nd (psi_nd - psi_parent,d), the root's by
    psi_nd^2; else as `top_features`. O(T D log D).
    """
    whole = np.where(parent[:, None] >= 0, directions[parent], 0.0)
    return _best(directions, whole, names)


def _best(means: Float, wholes: Float, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    found = []
    for own, whole in zip(means, wholes, strict=True):
        adds = own * (own - whole)
        best = np.argsort(-adds, kind="stable")[:TOP_TERMS]
        found.append(
            [
                {"term": names[feature], "weight": float(own[feature])}
                for feature in best
                if adds[feature] > 0
            ]
        )
    return found
