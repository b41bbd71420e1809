"""Rows of four tasks whose regressors are known."""

from __future__ import annotations

import numpy as np

from models.inputs.data import Data


def lines(n_rows: int = 20, noise: float = 0.1, seed: int = 0) -> Data:
    """Tasks a and b alike, c and d alike and far from those; features and targets far from 0."""
    rng = np.random.default_rng(seed)
    slope = {"a": (1, 2), "b": (1.1, 2), "c": (-3, 1), "d": (-3, 1.1)}
    tasks = np.array(list(slope) * n_rows, dtype=object)
    features = rng.normal(size=(len(tasks), 2)) * [1.0, 10.0] + [5.0, 100.0]
    weights = np.array([slope[task] for task in tasks]) / [1.0, 10.0]
    targets = 50 + (features * weights).sum(axis=1) + noise * rng.normal(size=len(tasks))
    return Data({"features": features, "targets": targets, "tasks": tasks})
