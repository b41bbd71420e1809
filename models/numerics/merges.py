"""Merges in SciPy's numbering: the groups that they make, and how several trees agree on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.arrays import Float, Int


def spans(merges: Float) -> tuple[Int, Int]:
    """The items from left to right, and (2 n - 1, 2) where those under each SciPy id begin and
    end. O(n)."""
    n = len(merges) + 1
    size = np.concatenate([np.ones(n), merges[:, 3]]).astype(np.int64)
    begin, sizes = [0] * (2 * n - 1), size.tolist()
    ends = merges[:, :2].astype(np.int64).tolist()
    for step in range(n - 2, -1, -1):
        a, b = ends[step]
        begin[a] = begin[n + step]
        begin[b] = begin[a] + sizes[a]
    start = np.array(begin, dtype=np.int64)
    return np.argsort(start[:n], kind="stable"), np.stack([start, start + size], axis=1)


def keys_of_groups(merges: Float, keys: Int) -> Int:
    """(n - 1,) the sum of the keys of the items under each merge, modulo 2^64."""
    # Those under a merge lie side by side.
    order, span = spans(merges)
    with np.errstate(over="ignore"):
        total = np.append(0, np.cumsum(keys[order]))
        return np.asarray(total[span[len(order) :, 1]] - total[span[len(order) :, 0]])


def top_agreement(merges: Float, trees: Sequence[Float]) -> float:
    """The mean, over trees of the same items, of how much of the smaller part at the top of
    `merges` is a part at theirs: items in both by items in either. NaN without trees."""
    if not len(trees):
        return float("nan")
    own = _sides(merges) == (np.mean(_sides(merges)) <= 0.5)
    shares = []
    for tree in trees:
        side = _sides(tree) == 1
        shares.append(max((own & s).sum() / (own | s).sum() for s in (side, ~side)))
    return float(np.mean(shares))


def _sides(merges: Float) -> Int:
    """(n,) 0 or 1: the part at the top in which each item lies."""
    order, span = spans(merges)
    side = np.zeros(len(merges) + 1, dtype=np.int64)
    first, last = span[int(merges[-1, 1])]
    side[order[first:last]] = 1
    return side
