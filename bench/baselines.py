"""L2H as printed in its paper, for comparison: appendix A in NumPy and SciPy.

Source: Palumbo et al., "From Logits to Hierarchies" (2025), appendix A. Each baseline
returns the K - 1 merges in order as (K - 1, 2) SciPy ids, G* first: ids below K are classes, K + i
is the result of merge i. The appendix does not define classes without points and ties; neither may
occur where merges are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from models.arrays import Array, Int

Assigned = tuple[Array, Array]
"""The class of each row and its probability."""

BLOCK = 1 << 17
"""Number of values in a block of rows that stays in a core's cache."""


def hoisted(logits: Array) -> Int:
    """The appendix's loop with the mean confidence of each class computed once, not at each step.

    Each step copies the rows of G*, then their columns outside G*, takes the softmax, writes it
    into an array of zeros as wide as the logits, and takes argmax and max, all as printed. Sums
    per class and group are bincounts. Softmax has the type of the logits, sums are float64. A class
    without points has the confidence 0.

    Time O(N K) per pass; each row is visited about log2(K) / 2 times. Memory: 2 N K numbers.
    """
    return _loop(logits, _assigned(logits), _reassigned)


def trimmed(logits: Array) -> Int:
    """As `hoisted`, without the array of zeros: argmax and max of the softmax itself."""
    return _loop(logits, _assigned(logits), _reassigned_outside)


def exact(logits: Array) -> Int:
    """As `trimmed` in float64, whatever the type of the logits: the reference for merges.

    Blocks of rows stay in the cache, so only the rows of G* are copied as a whole.
    """

    def in_blocks(rows: Array, inside: Array) -> Assigned:
        step = max(1, BLOCK // rows.shape[1])
        parts = [
            _reassigned_outside(rows[start : start + step].astype(np.float64), inside)
            for start in range(0, max(1, len(rows)), step)
        ]
        best, confidence = zip(*parts, strict=True)
        return np.concatenate(best), np.concatenate(confidence)

    return _loop(logits, in_blocks(logits, np.zeros(logits.shape[1], dtype=bool)), in_blocks)


def _assigned(logits: Array) -> Assigned:
    probability = softmax(logits, axis=-1)
    return probability.argmax(axis=1), probability.max(axis=1)


def _reassigned(rows: Array, inside: Array) -> Assigned:
    masked = np.zeros_like(rows)
    masked[:, ~inside] = softmax(rows[:, ~inside], axis=-1)
    return masked.argmax(axis=1), masked.max(axis=1)


def _reassigned_outside(rows: Array, inside: Array) -> Assigned:
    outside = np.flatnonzero(~inside)
    best, confidence = _assigned(rows[:, outside])
    return outside[best], confidence


def _loop(logits: Array, assigned: Assigned, reassigned: Callable[[Array, Array], Assigned]) -> Int:
    """The merges, from each row's class and confidence and a function that reassigns rows."""
    n_classes = logits.shape[1]
    label, confidence = assigned
    total = np.bincount(label, weights=confidence, minlength=n_classes)
    score = total / np.maximum(np.bincount(label, minlength=n_classes), 1)
    group = np.arange(n_classes)
    n_members = np.ones(n_classes)
    node = np.arange(n_classes)
    merges = np.empty((n_classes - 1, 2), dtype=np.int64)
    for step in range(n_classes - 1):
        lowest = int(score.argmin())
        inside = group == lowest
        best, confidence = reassigned(logits[inside[label]], inside)
        gained = np.bincount(best, weights=confidence, minlength=n_classes)
        related = np.bincount(group, weights=gained, minlength=n_classes) / n_members
        related[np.isinf(score)] = related[lowest] = -1.0
        partner = int(related.argmax())
        merges[step] = node[lowest], node[partner]
        group[inside] = partner
        n_members[partner] += n_members[lowest]
        score[partner] += score[lowest]
        score[lowest] = np.inf
        node[partner] = n_classes + step
    return merges


def as_printed(logits: Array) -> Int:
    """The code of appendix A with its names; only its result is converted to ids.

    Each step recomputes the mean over every class of every group. O(N K^2) time.
    """
    K = logits.shape[-1]
    groups: list[tuple[int, ...]] = [(c,) for c in range(K)]
    steps = []
    softmaxed_logits = softmax(logits, axis=-1)
    assignments = np.argmax(softmaxed_logits, axis=-1)
    pred_probs = np.max(softmaxed_logits, axis=-1)
    for _ in range(1, K):
        score_per_gr = {}
        for group in groups:
            score_per_gr[group] = sum([np.mean(pred_probs[assignments == c]) for c in group])
        lsg = min(score_per_gr, key=score_per_gr.__getitem__)
        logits_lsg = logits[np.where(np.isin(assignments, lsg))[0]]
        msm_logits_lsg = np.zeros_like(logits_lsg)
        cls_not_in_lsg = [c for c in range(K) if c not in lsg]
        cls_in_lsg = [c for c in range(K) if c in lsg]
        msm_logits_lsg[:, cls_not_in_lsg] = softmax(logits_lsg[:, cls_not_in_lsg], axis=-1)
        msm_logits_lsg[:, cls_in_lsg] = 0.0
        reassignments = np.argmax(msm_logits_lsg, axis=-1)
        re_pred_probs = np.max(msm_logits_lsg, axis=-1)
        re_pp_per_group = {
            group: np.mean([np.sum(re_pred_probs[reassignments == c]) for c in group])
            for group in groups
            if group != lsg
        }
        mtg = max(re_pp_per_group, key=re_pp_per_group.__getitem__)
        groups = [gr for gr in groups if gr not in [lsg, mtg]] + [lsg + mtg]
        steps.append((lsg, mtg))
    node: dict[tuple[int, ...], int] = {(c,): c for c in range(K)}
    merges = np.empty((K - 1, 2), dtype=np.int64)
    for step, (lsg, mtg) in enumerate(steps):
        merges[step] = node[lsg], node[mtg]
        node[lsg + mtg] = K + step
    return merges
