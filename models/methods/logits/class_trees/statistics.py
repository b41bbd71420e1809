"""What the sums over rows say of classes: confusions, means, covariances; of all rows or of folds
that a bootstrap weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Float, Int
from models.methods.logits.class_trees.sums import RowsSeen, Sums, depth
from models.methods.logits.class_trees.task import RANK_STEPS, SQUARE_STEPS, VALUE_STEPS, fold_of

_NOTHING = 1e-12
"""A variance within classes below this part of that of all rows is rounding."""


@dataclass(frozen=True, slots=True)
class ClassStatistics:
    """What is known of the classes that have rows, `used`, (u,), ascending.

    confusion : (u, u) mean of 1 / rank of the other class in the rows of a class; 0 on the
        diagonal.
    mean : (u, u) mean logits in the rows of a class, less their mean over `used`.
    within : (u, u) covariance of these within classes.
    score : (u,) sum of the winning probabilities of the rows of a class.
    host : (K - u,) for each class without rows, in order, the position in `used` of the class in
        whose rows its logit, less their mean, is highest on average; of equal ones the first.
    n_tied : how many of these are ties of all.
    """

    used: Int
    confusion: Float
    mean: Float
    within: Float
    score: Float
    host: Int
    n_tied: int


@dataclass(frozen=True, slots=True)
class FoldCounts:
    """(folds, u) rows, rows whose ranks were added, and sums of winning probabilities; (u,) rows
    whose products were added, of all folds."""

    size: Int
    ranked: Int
    score: Float
    squared: Int


def fold_counts(rows: RowsSeen, sums: Sums) -> FoldCounts:
    """The counts of the rows that were added to `sums`. O(n)."""
    digest, folds, n_used = rows.digest, sums.folds, len(sums.used)
    position = np.full(len(digest.size) + 1, -1, dtype=np.int32)
    position[sums.used] = np.arange(n_used)
    at = position[rows.own]
    kept = np.flatnonzero(at >= 0)
    own, before = at[kept].astype(np.int64), depth(at, n_used)[kept]
    cell = fold_of(kept, folds) * n_used + own

    def by_cell(weight: Any) -> Any:
        return np.bincount(cell, weight, folds * n_used).reshape(folds, n_used)

    if folds == 1:
        score = digest.confidence[sums.used][None].copy()
        if sums.used[0] == 0:
            # Rows that are left out are of the first class, each with the probability 1 / K.
            score[0, 0] -= (len(at) - len(kept)) / len(digest.size)
    else:
        # The digest keeps the probabilities of a row's best other classes and of the rest.
        others = digest.second * (digest.weight.sum(axis=1, dtype=np.float64) + digest.tail)
        score = by_cell(np.clip(1.0 - np.nan_to_num(others[kept]), 0.0, 1.0))
    return FoldCounts(
        by_cell(None),
        by_cell(before < sums.ranked).astype(np.int64),
        score,
        np.minimum(np.bincount(own, minlength=n_used), sums.squared),
    )


def class_statistics(
    sums: Sums, counts: FoldCounts, within: Float, weight: Int | None = None
) -> ClassStatistics:
    """The statistics of all rows, or of folds that count `weight` times, (folds,).

    within : as of `covariance`. O(folds u K).
    """
    if weight is None:
        weight = np.ones(sums.folds, dtype=np.int64)
    size, ranked = weight @ counts.size, weight @ counts.ranked
    here = np.flatnonzero(ranked > 0)
    at = np.ix_(here, here)
    # Whole numbers: exact, and the same by any order.
    confusion = np.tensordot(weight, sums.ranks, 1)[at] / ranked[here, None]
    mean = np.tensordot(weight.astype(np.float64), sums.values, 1)[here] / size[here, None]
    used = sums.used[here]
    mean -= mean[:, used].mean(axis=1, keepdims=True)
    beside = mean[:, np.setdiff1d(np.arange(mean.shape[1]), used)]
    tied = (beside == beside[:1]).all(axis=0) & (len(here) > 1)
    return ClassStatistics(
        used,
        confusion * 2.0**-RANK_STEPS,
        # A step is of half the widest range.
        mean[:, used] * 2.0**-VALUE_STEPS,
        within[at],
        (weight @ counts.score)[here],
        beside.argmax(axis=0),
        int(tied.sum()),
    )


def covariance(sums: Sums, counts: FoldCounts) -> Float:
    """(u, u) covariance of the logits, less their mean, within classes; the unit is that of
    `ClassStatistics.mean`. O(u^3)."""
    n_rows, n_used = counts.squared.sum(), len(sums.used)
    mean = sums.picked / np.maximum(counts.squared, 1)[:, None]
    within = sums.squares - mean.T @ sums.picked
    for axis in (0, 1):
        within = within - within.mean(axis=axis, keepdims=True)
    if not np.trace(within) > _NOTHING * np.trace(sums.squares):
        return np.zeros((n_used, n_used))
    return np.asarray(within * 2.0 ** (-2 * SQUARE_STEPS) / max(1, int(n_rows) - n_used))
