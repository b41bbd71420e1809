"""The squared hinge by its literal definition."""

from __future__ import annotations

import numpy as np


def literal_hinge(points: np.ndarray, cluster: np.ndarray, weights: np.ndarray) -> float:
    total = 0.0
    for x, own in zip(points, cluster, strict=True):
        for k in range(len(weights)):
            if k != own:
                total += max(0.0, 1.0 - weights[own] @ x + weights[k] @ x) ** 2
    return total / (len(points) * len(weights))
