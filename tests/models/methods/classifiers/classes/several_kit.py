"""Rows that have several labels."""

from __future__ import annotations

import numpy as np


def several(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one to three rare labels of twelve; features are noisy sums of theirs."""
    centers = np.random.default_rng(0).normal(size=(12, 10))
    rng = np.random.default_rng(seed)
    has = np.zeros((n_rows, 12), dtype=bool)
    for row in has:
        row[rng.permutation(12)[: rng.integers(1, 4)]] = True
    return has, has @ centers + 0.8 * rng.normal(size=(n_rows, 10))
