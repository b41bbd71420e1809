"""What is added up over some rows, in which steps, and of which rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from models.arrays import Int, Int32
from models.methods.logits.merging.logit_matrix import LogitMatrix

Device = Literal["cpu", "cuda"]

RANKED, SQUARED = 1 << 26, 1 << 34
"""Ranks, and products, that are added at most where classes have many rows: half a second each."""

_LEAST_RANKED, _LEAST_SQUARED = 1 << 16, 1 << 14
"""Rows that these are of at least."""

_LEAST_EACH = 32, 16
"""And rows of each class."""

_MOST_SQUARED = 1 << 17
"""Sums of so many products of 36 bits are exact in float64."""

RANK_STEPS, VALUE_STEPS, SQUARE_STEPS = 34, 24, 17

TABLES = ("ranks", "values", "picked", "squares")


def quotas(n_used: int) -> tuple[int, int]:
    """The first rows of each class whose ranks are added, and whose products are."""
    ranked = max(_LEAST_RANKED, RANKED // n_used) // n_used
    squared = min(_MOST_SQUARED, max(_LEAST_SQUARED, SQUARED // n_used**2)) // n_used
    least_ranked, least_squared = _LEAST_EACH
    most = max(2, _MOST_SQUARED // n_used)
    return max(least_ranked, ranked), min(most, max(least_squared, squared))


def fold_of(numbers: Int, folds: int) -> Int:
    """(n,) the fold of each row, by its number; scattered, so that an order of rows is none."""
    return ((numbers * 2654435761 & 0xFFFFFFFF) >> 16) % folds


@dataclass(frozen=True, slots=True)
class Task:
    """Rows [start, start + n) to be added.

    own : (n,) the class of each as a position in `used`, -1 for none. depth : (n,) how many rows of
    its class come before it. ranked, squared : the first rows of each class whose ranks, and whose
    products, are added.
    """

    matrix: LogitMatrix
    used: Int
    own: Int32
    depth: Int32
    start: int
    exponent: int
    folds: int
    ranked: int
    squared: int

    @property
    def share(self) -> Int:
        """(u,) share[r] is the sum of 1 / rank over the ranks 1 .. r, in steps."""
        each = np.round(2.0**RANK_STEPS / np.arange(1, max(1, len(self.used))))
        return np.concatenate(([0], np.cumsum(each[: len(self.used) - 1]))).astype(np.int64)

    def factor(self, steps: int) -> float:
        """Steps per half unit."""
        return float(2.0 ** (steps - self.exponent))

    def tables(self) -> dict[str, Any]:
        n_used, n_classes = len(self.used), self.matrix.shape[1]
        return {
            "ranks": np.zeros((self.folds, n_used, n_used), dtype=np.int64),
            "values": np.zeros((self.folds, n_used, n_classes)),
            "picked": np.zeros((n_used, n_used)),
            "squares": np.zeros((n_used, n_used)),
        }

    def groups(self, here: slice) -> list[tuple[int, Int32]]:
        """The folds among some rows, and (n,) the class of each row, -1 outside the fold."""
        own = self.own[here]
        if self.folds == 1:
            return [(0, own)]
        fold = fold_of(np.arange(here.start, here.stop) + self.start, self.folds)
        return [(int(f), np.where(fold == f, own, -1).astype(np.int32)) for f in np.unique(fold)]
