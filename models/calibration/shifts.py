"""A threshold for new rows whose shares are others than the calibration's, as a drift found them.

A drift finds the nodes whose shares of rows moved. They part the tree into regions: a region is the
nodes whose nearest such node above, or the root, is the same. Rows of a region are taken to be like
those before; only the regions' shares q are others. Regions are by the node at which a row is
placed (`rows`: what comes moved, what it means did not) or of its true class (`classes`: how often
classes come moved, what they look like did not).

With q known the promise is exact for any number of rows. The threshold is the smallest t with
sum_g q_g (a_g(t) + 1) / (n_g + 1) <= alpha, of the n_g rows of region g those whose score is above
t being a_g(t). Add one new row to each region, and take the smallest t' at which these n_g + 1 rows
have sum_g q_g a'_g(t') / (n_g + 1) <= alpha: it is at most t, and treats the rows of a region all
alike, so a new row of region g is above t' with probability E[a'_g(t') / (n_g + 1)]; weighted with
q these are at most alpha. With one region it is the threshold of split conformal prediction. The
aim is that of Tibshirani, Barber, Candes and Ramdas, "Conformal prediction under covariate shift"
(NeurIPS 2019), of Podkopaev and Ramdas, "Distribution-free uncertainty quantification for
classification under label shift" (UAI 2021), and of Bhattacharyya and Barber, "Group-weighted
conformal prediction" (2024), whose weights need shares of the calibration's rows as well.

The shares of true classes in the batch are not seen. They are the likeliest for where
its rows are placed, given where rows of each region are placed (Saerens, Latinne and Decaestecker,
"Adjusting the outputs of a classifier to new a priori probabilities", Neural Computation 14, 2002,
of regions in place of rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from models.arrays import Float, Int, Mask
from models.errors import UsageError

Shift = Literal["rows", "classes"]
_STEPS, _STILL = 10_000, 1e-10
_MOST_EXACT = 1000


@dataclass(frozen=True, slots=True)
class Regions:
    """of : (n_nodes,) the region of each node, from 0. node : (n_regions,) the topmost of each.
    n_batch : (n_regions,) the batch's rows.
    """

    of: Int
    node: Int
    n_batch: Int

    @classmethod
    def of_moves(cls, parent: Int, moved: Mask, n_after: Int) -> Regions:
        """parent : (n_nodes,) of the tree. moved : (n_nodes,) whose share of mass moved. n_after :
        (n_nodes,) rows of the batch under each. Raises UsageError for a drift of a tree with other
        nodes. O(n_nodes).
        """
        if len(moved) != len(parent):
            raise UsageError(
                f"The drift is of a tree with {len(moved)} nodes; this one has {len(parent)}.",
                code="wrong-input",
                role="drift",
            )
        of = np.zeros(len(parent), dtype=np.int64)
        top = np.flatnonzero(moved & (parent >= 0))
        n_batch = np.append(n_after[:1], n_after[top]).astype(np.int64)
        number = np.full(len(parent), -1, dtype=np.int64)
        number[top] = np.arange(1, top.size + 1)
        for node in range(1, len(parent)):
            above = of[parent[node]]
            of[node] = above if number[node] < 0 else number[node]
            if number[node] >= 0:
                n_batch[above] -= n_after[node]
        return cls(of, np.append(0, top), n_batch)


def class_shares(placed: Int, true: Int, n_batch: Int) -> Float:
    """(n_regions,) shares of true regions in a batch, by largest likelihood.

    placed, true : (n,) the regions of labelled rows. n_batch : (n_regions,) of the batch's rows by
    where they are placed; where no labelled row is placed they are left out. A region without
    labelled rows has the share 0. At most 10,000 steps of EM of O(n), O(n) memory.
    """
    n_regions = len(n_batch)
    pair, count = np.unique(placed.astype(np.int64) * n_regions + true, return_counts=True)
    at, of = np.divmod(pair, n_regions)
    total = np.bincount(of, count, n_regions)
    likely = count / total[of]
    share = total / total.sum()
    batch = np.where(np.bincount(at, minlength=n_regions) > 0, n_batch, 0).astype(np.float64)
    if not batch.sum():
        return np.asarray(share)
    batch /= batch.sum()
    for _ in range(_STEPS):
        mixed = np.bincount(at, likely * share[of], n_regions)
        taken = np.divide(batch, mixed, out=np.zeros_like(batch), where=mixed > 0)
        new = share * np.bincount(of, likely * taken[at], n_regions)
        new /= new.sum()
        still = float(np.abs(new - share).max()) < _STILL
        share = new
        if still:
            break
    return np.asarray(share)


def left_out(placed: Int, true: Int, regions: Regions, of_class: Int) -> tuple[str, ...]:
    """What `class_shares` knows nothing of, in words. of_class : (n_classes,) their regions."""
    n_regions, n_batch = len(regions.node), regions.n_batch
    n_silent = int(n_batch[np.bincount(placed, minlength=n_regions) == 0].sum())
    empty = np.setdiff1d(of_class, true).size
    found = []
    if n_silent:
        found.append(
            f"{n_silent} of the {int(n_batch.sum())} rows of the batch are placed where no "
            "labelled row is, and were left out of the estimate of shares."
        )
    if empty:
        found.append(
            f"{empty} region(s) have no labelled row of their classes, which are taken not to come."
        )
    return tuple(found)


def missed(start: Int, score: Float, share: Float) -> tuple[Float, Float]:
    """(threshold, bound): rising scores, and what may be missed at each, at most.

    start, score : region g has the scores `score[start[g]:start[g + 1]]`. share : (n_regions,).
    O(n log n).
    """
    n_rows = np.diff(start)
    weight = share / (n_rows + 1)
    order = np.argsort(score, kind="stable")
    each = np.repeat(weight, n_rows)[order]
    above = np.append(np.cumsum(each[::-1])[::-1][1:], 0.0) if each.size else each
    rising = score[order]
    last = np.flatnonzero(np.diff(rising, append=np.inf) > 0)
    # Sums are of up to n numbers: at most so much is lost to rounding.
    slack = 1 + 4 * score.size * np.finfo(np.float64).eps
    return rising[last], (above[last] + weight.sum()) * slack


def least_threshold(start: Int, score: Float, share: Float, level: float) -> float:
    """The smallest score at which at most `level` is missed; infinite where none is.

    It is exact for up to 1,000 regions, level being the decimal as written; with more a score that
    just keeps the level may be passed over. O(n log n).
    """
    threshold, bound = missed(start, score, share)
    last = bound.size - int((bound <= level).sum())
    # What rounding leaves open is counted exactly: bounds fall, and are too large by the slack.
    open_ = bound <= level * (1 + 16 * score.size * np.finfo(np.float64).eps)
    first = bound.size - int(open_.sum())
    if len(share) > _MOST_EXACT:
        first = last
    exact = Fraction(repr(float(level)))
    while first < last:
        middle = (first + last) // 2
        if _missed_at(start, score, share, float(threshold[middle])) <= exact:
            last = middle
        else:
            first = middle + 1
    return float(threshold[last]) if last < bound.size else float("inf")


def _missed_at(start: Int, score: Float, share: Float, threshold: float) -> Fraction:
    bound = Fraction(0)
    for begin, end, own in zip(
        start[:-1].tolist(), start[1:].tolist(), share.tolist(), strict=True
    ):
        above = end - begin - int(np.searchsorted(score[begin:end], threshold, side="right"))
        bound += Fraction(own) * Fraction(above + 1, end - begin + 1)
    return bound


def shifted_threshold(start: Int, score: Float, share: Float, alpha: float) -> float:
    """The threshold at alpha. Raises UsageError `too-few-rows` where no score keeps the promise."""
    threshold = least_threshold(start, score, share, alpha)
    if np.isinf(threshold):
        least = float((share / (np.diff(start) + 1)).sum())
        raise UsageError(
            f"alpha {alpha:g} needs more calibration rows where the drift's batch has its rows: "
            f"the share of each of its {len(share)} regions over one more than their rows sums to "
            f"{least:.3g}, which is at most alpha where rows are enough.",
            code="too-few-rows",
            n_rows=int(score.size),
        )
    return threshold
