"""The scores that a model gives to the classes of new rows, read by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int

LEAST = 1e6
"""How far a score is below the best of its row at most, where the probability is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores whose softmax is the probability of each class.

    node : (n_classes,) node of each class in the tree. read : rows [start, stop) as (stop - start,
    n_classes) finite scores; it may be called again. by_edges : whether they only count the edges
    up from a row's leaf.
    """

    node: Int
    n_rows: int
    read: Callable[[int, int], Array]
    by_edges: bool = False

    @property
    def n_classes(self) -> int:
        return int(self.node.shape[0])


def finite(log_probability: Array) -> Float:
    """(n, n_classes) with a finite number for the logarithm of 0, `LEAST` below the row's best."""
    wide = np.asarray(log_probability, dtype=np.float64)
    lowest = wide.max(axis=1, keepdims=True) - LEAST
    return np.where(np.isneginf(wide), lowest, wide)
