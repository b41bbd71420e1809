"""Merges of L2H that nothing but the order of the columns decided.

A row is indifferent where all classes but its own are equal to it: with the same logit, or with the
probability 0. Where every row of G* is, all other groups are as good and the first is taken: rows
of a saturated classifier, or of one-hot predictions, give a chain in the order of the columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from models.arrays import Int, Mask, row_blocks
from models.methods.logits.merging.loops.bounds import TAIL_ERROR
from models.methods.logits.merging.reference import Merges
from models.methods.logits.merging.row_digest import Digest

_EQUAL = 1e-6
"""Weights in float32 within this of 1 belong to equal logits."""


def warnings(
    merges: Merges, digest: Digest, hosts: Sequence[tuple[int, Int]], voteless: Collection[int]
) -> tuple[str, ...]:
    """A warning where most merges were ties of all groups. O(n + K).

    hosts : as for `Merger.run`. voteless : the merges of whose rows none gave another group a
    probability above 0.
    """
    n_choices = len(merges.left) - 1
    n_tied = count(merges, indifferent(digest), hosts, voteless)
    if 2 * n_tied <= n_choices:
        return ()
    return (
        f"{n_tied} of {n_choices} merges with a choice were decided by ties alone: the rows of the "
        "group to be merged favour no other group (their other classes are all equal, or all have "
        "the probability 0), so that it joined the group of the first column. One-hot or saturated "
        "predictions hold no hierarchy; send logits as they are before softmax.",
    )


def count(
    merges: Merges, indifferent: Mask, hosts: Sequence[tuple[int, Int]], voteless: Collection[int]
) -> int:
    """The number of merges that were ties of all groups, the last one, without a choice, left out.

    indifferent : (K,) whether no row of the class favours another class.
    """
    n_classes = len(merges.left) + 1
    n_filled = n_classes - len(hosts)
    flat = np.concatenate([indifferent, np.zeros(n_classes - 1, dtype=bool)])
    n_tied = 0
    for step, (a, b) in enumerate(zip(merges.left.tolist(), merges.right.tolist(), strict=True)):
        flat[n_classes + step] = flat[a] and flat[b]
        if step == n_classes - 2:
            break
        if step < len(hosts):
            n_tied += 1 < n_filled == len(hosts[step][1])
        else:
            n_tied += bool(flat[a]) or step in voteless
    return n_tied


def indifferent(digest: Digest) -> Mask:
    """(K,) whether no row of the class favours another class; true for one without rows."""
    n_classes = len(digest.size)
    n_rows, n_listed = digest.weight.shape
    favours = np.zeros(n_classes, dtype=bool)
    if digest.open_tail or not n_listed:
        return np.asarray(digest.size == 0)
    n_others = n_classes - 1 - n_listed
    for block in row_blocks(n_rows, n_listed):
        weight, tail = digest.weight[block], digest.tail[block].astype(np.float64)
        equal = (weight >= 1.0 - _EQUAL).all(axis=1)
        equal &= np.abs(tail - n_others) <= 2.0 * TAIL_ERROR * n_others
        favours[digest.label[block][~equal & (weight[:, 0] > 0.0)]] = True
    return np.asarray(~favours)
