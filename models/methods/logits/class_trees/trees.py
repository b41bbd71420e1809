"""The tree of all classes: by a rule, with how far its nodes are agreed on and supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.methods.logits.class_trees.joining import averaged, consensus, smallest_first
from models.methods.logits.class_trees.similarities import balanced, walked
from models.methods.logits.class_trees.statistics import (
    ClassStatistics,
    class_statistics,
    covariance,
    fold_counts,
)
from models.methods.logits.class_trees.sums import RowsSeen, Sums
from models.numerics.merges import keys_of_groups, top_agreement
from models.numerics.rows import whitened
from models.running.progress import Progress

Rule = Literal["consensus", "walk"]

SHORT, LONG = 0.5, 0.9
"""Probabilities that a walk goes on."""

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class ClassTree:
    """Merges as SciPy's over all K classes, (K - 1, 4); first, at height 0, classes without
    rows join others.

    used : (u,) classes that have rows. n_tied_hosts : classes without rows that are as near to all.
    agreement : (K - 1,) the share of the trees of a consensus that have a node; NaN where there
        is none, or all have it. top : of the two parts at the top, the same.
    support : (K - 1,) the share of bootstraps that have a node; NaN where there are none, or all
        have it.
    n_tied : merges at the height of the one above, so that the order of columns decided; in the
        similarity that has fewest.
    """

    merges: Float
    used: Int
    n_tied_hosts: int
    agreement: Float
    top: float
    support: Float
    n_tied: int


def class_tree(
    rows: RowsSeen,
    sums: Sums,
    rule: Rule,
    bootstraps: int,
    rng: np.random.Generator,
    progress: Progress,
) -> ClassTree:
    """The tree of the sums over rows. O(u^3) for it, and for each bootstrap."""
    counts = fold_counts(rows, sums)
    within = covariance(sums, counts)
    n_classes = sums.values.shape[2]
    keys = rng.integers(-(1 << 63), (1 << 63) - 1, (n_classes,))
    found = class_statistics(sums, counts, within)
    joined, parts, n_tied = _joined(found, rule)
    merges = _with_empty(found, joined, n_classes)
    own, below = keys_of_groups(merges, keys), len(merges) - len(joined)
    agreement = np.full(len(merges), np.nan)
    if parts:
        each = [
            np.isin(own[below:], keys_of_groups(_with_empty(found, p, n_classes), keys))
            for p in parts
        ]
        agreement[below:-1] = np.mean(each, axis=0)[:-1]
    having = np.zeros(len(merges))
    for number in range(bootstraps):
        progress(number / bootstraps, "weighing rows anew")
        weight = rng.multinomial(sums.folds, np.full(sums.folds, 1.0 / sums.folds))
        drawn = class_statistics(sums, counts, within, weight)
        again = _with_empty(drawn, _joined(drawn, rule)[0], n_classes)
        having += np.isin(own, keys_of_groups(again, keys))
    support = np.full(len(merges), np.nan)
    if bootstraps:
        support[:-1] = having[:-1] / bootstraps
    top = top_agreement(joined, parts)
    return ClassTree(merges, found.used, found.n_tied, agreement, top, support, n_tied)


def _joined(found: ClassStatistics, rule: Rule) -> tuple[Float, list[Float], int]:
    """Merges of the classes that have rows, the merges of each tree of the consensus, and the
    number of ties."""
    if len(found.used) == 1:
        return np.empty((0, 4)), [], 0
    near, far = _walks(found.confusion)
    if rule == "walk":
        joined = averaged(far)
        return joined, [], _n_tied(joined)
    similarities = near, far, whitened(found.mean, found.within)
    average = [averaged(similarity) for similarity in similarities]
    trees = [*average, *(smallest_first(each, found.score) for each in similarities)]
    return consensus(trees, similarities), trees, min(map(_n_tied, average))


def _walks(confusion: Float) -> tuple[Float, Float]:
    """The similarities by short and by long walks. Confusions of three classes are all equal once
    they are balanced, so there they are the similarity themselves."""
    if len(confusion) == 3:
        both = 0.5 * (confusion + confusion.T) + np.eye(3)
        return both, both
    steps = balanced(confusion)
    return walked(steps, SHORT), walked(steps, LONG)


def _n_tied(merges: Float) -> int:
    """The number of merges that are as high as one of their parts."""
    n, height = len(merges) + 1, merges[:, 2]
    part = merges[:, :2].astype(np.int64) - n
    tied = (part >= 0) & (height[:, None] - height[np.maximum(part, 0)] <= _TIE)
    return int(tied.any(axis=1).sum())


def _with_empty(found: ClassStatistics, joined: Float, n_classes: int) -> Float:
    """Merges over all classes: first each class without rows joins its host."""
    empty = np.setdiff1d(np.arange(n_classes), found.used)
    node, size = found.used.copy(), np.ones(len(found.used))
    merges = np.empty((n_classes - 1, 4))
    for step, (c, host) in enumerate(zip(empty.tolist(), found.host.tolist(), strict=True)):
        size[host] += 1.0
        merges[step] = node[host], c, 0.0, size[host]
        node[host] = n_classes + step
    number = np.concatenate([node, n_classes + np.arange(len(empty), n_classes - 1)])
    below = np.concatenate([size, np.zeros(len(joined))])
    for step, (a, b, height, _) in enumerate(joined):
        below[len(size) + step] = below[int(a)] + below[int(b)]
        merges[len(empty) + step] = number[int(a)], number[int(b)], height, below[len(size) + step]
    return merges
