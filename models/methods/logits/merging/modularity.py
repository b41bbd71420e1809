"""The modularity of cuts of a hierarchy: how much better than chance they keep confused classes
together, and whether that is more than merging finds where there is nothing to find.

Classes without structure have a modularity too, since merges follow the confusions that there are.
`p_values` holds it against that of `_REFERENCES` digests in which the classes that each class is
confused with are others, by a random bijection for each, and which are merged by the same rules.
Where all classes are confused alike but for chance, such a digest is as likely as the given one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.arrays import Int
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.merging import Merger
from models.methods.logits.merging.reference import Aggregation, Merges
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import silent

_ROWS = 10_000

_REFERENCES = 10


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


def p_values(
    values: Sequence[tuple[int, float]],
    matrix: LogitMatrix,
    digest: Digest,
    hosts: Sequence[tuple[int, Int]],
    aggregation: Aggregation,
) -> list[tuple[int, float]]:
    """(k, p-value) of the (k, Q) of `curve`: that of Student's t for one more value beside the
    references', by a bound over all k that gives each a weight of 1 / k.

    At most about `_ROWS` rows are used, at least one of each class that has any: with fewer rows
    merges fit chance better, so that a hierarchy of more is held against more than it needs. The
    same digest gives the same p-values; `matrix` is not read. O(`_REFERENCES` (rows M + K^2)).
    """
    from scipy.special import stdtr

    if not values:
        return []
    rng = np.random.default_rng(0)
    some = _some_rows(digest)
    n = len(some.label)
    chance = []
    for _ in range(_REFERENCES):
        other = replace(some, listed=_elsewhere(some, rng))
        merger = Merger(matrix, other, aggregation, silent, readable_from=n)
        chance.append([q for _, q in curve(merger.run(hosts), other, values[-1][0])])
    k, q = np.array(values).T
    above = q - np.mean(chance, axis=0)
    error = np.std(chance, axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / _REFERENCES)
    by_error = np.divide(above, error, out=np.zeros_like(above), where=error > 0)
    bound = k * np.sum(1.0 / k) * stdtr(_REFERENCES - 1, -by_error)
    return list(zip(k.astype(np.int64).tolist(), np.minimum(bound, 1.0).tolist(), strict=True))


def _some_rows(digest: Digest) -> Digest:
    """The digest of about `_ROWS` rows, evenly spaced in each class."""
    every = len(digest.label) // _ROWS
    if every < 2:
        return digest
    order = np.argsort(digest.label, kind="stable")
    start = np.concatenate(([0], np.cumsum(digest.size)))
    kept = np.sort(order[(np.arange(len(order)) - start[digest.label[order]]) % every == 0])
    size = np.bincount(digest.label[kept], minlength=len(digest.size))
    share = size / np.maximum(digest.size, 1)
    names = ("label", "listed", "weight", "tail", "second")
    return replace(
        digest,
        **{name: getattr(digest, name)[kept] for name in names},
        size=size,
        confidence=digest.confidence * share,
        slack=digest.slack * share,
    )


def _elsewhere(digest: Digest, rng: np.random.Generator) -> Int:
    """The lists with other classes: around a circle of all others, in a random order that all
    share, each is moved on by a number of places that is drawn for the row's class."""
    n_classes = len(digest.size)
    order = rng.permutation(n_classes)
    place = np.argsort(order)
    by = rng.integers(n_classes - 1, size=n_classes)[digest.label][:, None]
    own = place[digest.label][:, None]
    known = digest.listed < n_classes
    now = place[np.where(known, digest.listed, 0)]
    moved = (now - (now > own) + by) % (n_classes - 1)
    other = order[moved + (moved >= own)]
    listed: Int = np.where(known, other, digest.listed).astype(digest.listed.dtype)
    return listed


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
