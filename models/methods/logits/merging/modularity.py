"""The modularity of cuts of a hierarchy: how much better than chance they keep confused classes
together."""

from __future__ import annotations

import numpy as np

from models.arrays import Int
from models.methods.logits.merging.reference import Merges
from models.methods.logits.merging.row_digest import Digest

_ROWS = 10_000


def curve(merges: Merges, digest: Digest, most: int) -> list[tuple[int, float]]:
    """(k, Q) of the cuts into k = 2 .. `most` groups, by Newman and Girvan's modularity Q (2004).

    The weight between two classes is how often points of one would choose the other if their own
    class did not exist, in both directions: the fraction of each point's mass outside its class,
    for the classes of its list. If there are many rows, about 10,000 evenly spaced ones are used.
    O(K log K + rows M).
    """
    n_classes = len(digest.size)
    rows = slice(None, None, max(1, len(digest.label) // _ROWS))
    weight = digest.weight[rows].astype(np.float64)
    total = weight.sum(axis=1) + digest.tail[rows]
    share = np.divide(weight, total[:, None], out=np.zeros_like(weight), where=total[:, None] > 0)
    a = np.repeat(digest.label[rows].astype(np.int64), weight.shape[1])
    b, share = digest.listed[rows].astype(np.int64).ravel(), share.ravel()
    a, b, share = a[share > 0], b[share > 0], share[share > 0]
    if n_classes < 3 or not share.size:
        return []
    share /= share.sum()
    if n_classes**2 <= share.size:
        table = np.bincount(a * n_classes + b, share, n_classes**2)
        pair = np.flatnonzero(table)
        a, b, share = pair // n_classes, pair % n_classes, table[pair]
    degree = (np.bincount(a, share, n_classes) + np.bincount(b, share, n_classes)) / 2
    together = np.bincount(_joined(merges, a, b), share, n_classes - 1)
    q, values = -float(degree @ degree), []
    group = [*degree.tolist(), *[0.0] * (n_classes - 1)]
    for step, (i, j) in enumerate(zip(merges.left.tolist(), merges.right.tolist(), strict=True)):
        q += float(together[step]) - 2.0 * group[i] * group[j]
        group[n_classes + step] = group[i] + group[j]
        values.append((n_classes - 1 - step, q))
    return [(k, value) for k, value in reversed(values) if 2 <= k <= most]


def _joined(merges: Merges, a: Int, b: Int) -> Int:
    """The number of the merge that joins classes a[i] and b[i], which differ.

    With the classes of every group side by side, it is the last merge that lies between them.
    """
    n = len(merges.left) + 1
    first, last = list(range(n)), list(range(n))
    after, joined_by = [-1] * n, [-1] * n
    for step, (i, j) in enumerate(zip(merges.left.tolist(), merges.right.tolist(), strict=True)):
        after[last[i]], joined_by[last[i]] = first[j], step
        first.append(first[i])
        last.append(last[j])
    place, between, c = np.empty(n, dtype=np.int64), [], first[-1]
    for number in range(n):
        place[c] = number
        between.append(joined_by[c])
        c = after[c]
    # The maximum of every 2^i neighbours, which gives the maximum of any range in O(1).
    largest = [np.array(between[:-1], dtype=np.int64)]
    while 2 << (len(largest) - 1) <= n - 1:
        half = 1 << (len(largest) - 1)
        largest.append(np.maximum(largest[-1][:-half], largest[-1][half:]))
    low, high = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
    power = np.frexp(high - low)[1] - 1
    merge_of_pair = np.empty(len(a), dtype=np.int64)
    for i, table in enumerate(largest):
        at = np.flatnonzero(power == i)
        merge_of_pair[at] = np.maximum(table[low[at]], table[high[at] - (1 << i)])
    return merge_of_pair
