"""The items of a node: the most central, the least sure, or some at random; and its outliers.

Items are ranked by what the fit of their tree knew of them. With features, an item is the more
central the nearer it is to the mean of the items under the node, and the less sure the farther it
is. With logits, an item is the surer the larger its margin: the probability of its best class less
that of the second. The doubt about an item is, with features, its distance to the mean of the node
divided by that to the nearest mean of the node's siblings: above 1 it is nearer to another; with
logits it is 1 less the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix, Single, row_blocks
from models.errors import UsageError
from models.inputs.checks import blocks
from models.inputs.frames import Frame, require_room, scattered_rows, typical
from models.inputs.rows import Rows
from models.items.placement import Placement
from models.maps.principal import components
from models.running.progress import Progress, silent
from models.tree.tree import Tree
from models.tree.walk import spans

By: TypeAlias = Literal["central", "unsure", "random"]
Basis: TypeAlias = Literal["features", "logits"]

MOST_COLUMNS = 64
"""Features with more columns are ranked in this many principal components."""
MOST_DOUBT = 1e6
"""That of an item which stands at the mean of another node."""
MOST_SIBLINGS = 1000
"""Among more, the ones with most items are compared."""
IN_SINGLE = 2.0**12
"""Single precision holds rows up to so many times as large as most."""
MOST_COMPARED = 100_000
"""The most items of a node that are compared with each other."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """item : (n,) the first in the requested order. score : (n,) the distance to the mean, or the
    margin; None at random. n_compared : the items that they were chosen from."""

    item: Int
    score: Float | None
    n_compared: int


def ranked(
    placement: Placement,
    node: int,
    by: By,
    n: int,
    *,
    known: Array | None = None,
    seed: int = 0,
) -> Ranked:
    """The first `n` items under a node.

    known : what `vectors` (n_items, d) or `margins` (n_items,) gave, from left to right; needed
        unless `by` is "random". Items with NaN there are in no order. With more than
        `MOST_COMPARED` items under the node, only so many are compared, evenly spaced from left to
        right.
    seed : for "random", which draws without replacement, and gives the same items for the same
        node and seed.

    O(items under the node), at most O(MOST_COMPARED * d).
    """
    begin, count = int(placement.first[node]), int(placement.count[node])
    if by == "random":
        rng = np.random.default_rng((seed, node))
        chosen = rng.choice(count, min(n, count), replace=False) if count else np.empty(0, int)
        return Ranked(placement.order[begin + chosen], None, count)
    assert known is not None, "ranked by what is not known"
    n_compared = min(count, MOST_COMPARED)
    place = begin + np.arange(n_compared, dtype=np.int64) * count // max(1, n_compared)
    score = _scores(known, begin, count, place)
    falling = (by == "central") == (known.ndim == 1)
    there = np.flatnonzero(~np.isnan(score))
    item = placement.order[place[there]]
    first = np.lexsort((item, -score[there] if falling else score[there]))[:n]
    return Ranked(item[first], score[there[first]], n_compared)


def _scores(known: Array, begin: int, count: int, place: Int) -> Float:
    """(n_compared,) the margins, or the distances to the mean of what is compared."""
    # A slice of a mapped file reads only itself, and in one go.
    whole = place.size == count
    own = known[begin : begin + count] if whole else known[place]
    own = np.asarray(own, dtype=np.float64)
    if own.ndim == 1:
        return own
    there = ~np.isnan(own).any(axis=1)
    if not there.any():
        return np.full(len(own), np.nan)
    return _distances(own, own[there].mean(axis=0))


Order: TypeAlias = Literal["far", "near", "doubt"]


@dataclass(frozen=True, slots=True)
class Standings:
    """item : (n,) in the requested order, unknown values last. distance : (n,) to the mean of the
    node's items; None with logits. doubt : (n,); None with features where the node has no
    siblings. nearest : (n,) the sibling whose mean is nearest, where doubt is by siblings.
    n_compared : as of `Ranked`."""

    item: Int
    distance: Float | None
    doubt: Float | None
    nearest: Int | None
    n_compared: int


def standings(
    tree: Tree, placement: Placement, node: int, order: Order, n: int, known: Array
) -> Standings:
    """How the items under a node stand in it: the first `n` by falling distance, by rising
    distance, or by falling doubt.

    known : as of `ranked`. O(items under the node's parent * d), and with siblings also O(items
    under the node * siblings * d). Raises UsageError `wrong-parameter` for an order by what is not
    known.
    """
    begin, count = int(placement.first[node]), int(placement.count[node])
    n_compared = min(count, MOST_COMPARED)
    place = begin + np.arange(n_compared, dtype=np.int64) * count // max(1, n_compared)
    item = placement.order[place]
    distance: Float | None = None
    doubt: Float | None = None
    nearest: Int | None = None
    if known.ndim == 1:
        doubt = 1.0 - np.asarray(known[place], dtype=np.float64)
    else:
        own = np.asarray(known[place], dtype=np.float64)
        distance = _distances(own, _mean(known, begin, count))
        siblings = _siblings(tree, placement, node)
        if siblings.size:
            ends = np.stack([placement.first[siblings], placement.count[siblings]], axis=1)
            means = np.stack([_mean(known, *span) for span in ends.tolist()])
            there = ~np.isnan(means).any(axis=1)
            siblings, means = siblings[there], means[there]
        if siblings.size:
            away, nearest = _nearest(own, means, siblings)
            with np.errstate(divide="ignore", invalid="ignore"):
                # An item at both means is as near to either.
                doubt = np.where((away == 0) & (distance == 0), 1.0, distance / away)
            doubt = np.minimum(doubt, MOST_DOUBT)
    value = doubt if order == "doubt" else distance
    if value is None:
        raise UsageError(_UNKNOWN[known.ndim == 1], code="wrong-parameter", parameter="by")
    key = value if order == "near" else -value
    # NaN comes last in either order.
    first = np.lexsort((item, key))[:n]
    return Standings(
        item[first],
        None if distance is None else distance[first],
        None if doubt is None else doubt[first],
        None if nearest is None else nearest[first],
        n_compared,
    )


_UNKNOWN = {
    True: "The items of this tree are ranked by logits, so there is doubt and no distance: "
    "by=doubt.",
    False: "This node has no siblings with items, so there is no doubt about its items: by=far or "
    "by=near.",
}


def _siblings(tree: Tree, placement: Placement, node: int) -> Int:
    """The other children of the node's parent that hold items, those with most if they are many."""
    if node == 0:
        return np.empty(0, dtype=np.int64)
    start, child = tree.children
    parent = int(tree.parent[node])
    others = child[start[parent] : start[parent + 1]]
    others = others[(others != node) & (placement.count[others] > 0)]
    most = np.argsort(-placement.count[others], kind="stable")[:MOST_SIBLINGS]
    return np.sort(others[most]).astype(np.int64)


def _mean(known: Array, begin: int, count: int) -> Float:
    """(d,) the mean of the items that have values; NaN without any. Reads blocks."""
    total, n = np.zeros(known.shape[1]), 0
    for block in row_blocks(count, known.shape[1]):
        values = np.asarray(known[begin + block.start : begin + block.stop], dtype=np.float64)
        there = ~np.isnan(values).any(axis=1)
        total += values[there].sum(axis=0)
        n += int(there.sum())
    return total / n if n else np.full(known.shape[1], np.nan)


def _distances(values: Float, mean: Float) -> Float:
    away = values - mean
    distance: Float = np.sqrt(np.einsum("ij,ij->i", away, away))
    return distance


def _nearest(values: Float, means: Float, siblings: Int) -> tuple[Float, Int]:
    """(n,) the distance to the nearest of the means, and whose it is, the first of equals."""
    best = np.full(len(values), np.inf)
    whose = np.full(len(values), siblings[0])
    for mean, sibling in zip(means, siblings.tolist(), strict=True):
        distance = _distances(values, mean)
        nearer = distance < best
        best[nearer], whose[nearer] = distance[nearer], sibling
    best[np.isnan(values).any(axis=1)] = np.nan
    return best, whose


def vectors(
    features: Matrix | Rows, tree: Tree, placement: Placement, progress: Progress = silent
) -> tuple[Array, float | None]:
    """(n_items, d) features of the items from left to right, moved to where they differ, in float32
    where that has room for them; and the share of the variance that they keep, None where they are
    the features themselves.

    features : (n_rows, D). An item that is a leaf has the mean of its rows, NaN without rows. More
    than `MOST_COLUMNS` columns, and sparse rows, become so many principal components. Raises
    UsageError for features whose squares are too small for any precision.
    """
    kept: float | None = None
    require_room(features)
    frame = Frame.of(features)
    n_rows, n_columns = features.shape
    if isinstance(features, sp.csr_array) or n_columns > MOST_COLUMNS:
        n = min(MOST_COLUMNS, n_rows, n_columns)
        reduced = components(features, n, 0, progress)
        points, kept, frame = reduced.points, reduced.explained, reduced.frame
    else:
        framed = frame.rows(features)
        points = np.empty(features.shape, dtype=np.float32)
        most = 0.0
        for block, values in blocks(framed):
            points[block] = values
            most = max(most, float(np.abs(points[block]).max(initial=0.0)))
        usual = float(typical(np.abs(frame.block(scattered_rows(features)))).max())
        if most > IN_SINGLE * usual > 0 and framed.dtype.itemsize > 4:
            points = np.empty(features.shape)
            for block, values in blocks(framed):
                points[block] = values
    return frame.scaled_back(of_items(points, tree, placement)), kept


def margins(logits: Matrix | Rows, tree: Tree, placement: Placement) -> Single:
    """(n_items,) float32 margins of the items from left to right: the softmax of the largest logit
    less that of the second; 1 for a single class. An item that is a leaf has the mean of its rows.

    logits : (n_rows, n_classes).
    """
    n_rows, n_classes = logits.shape
    margin = np.ones(n_rows, dtype=np.float32)
    if n_classes > 1:
        for block in row_blocks(n_rows, n_classes):
            margin[block] = _margin(_dense(logits, block))
    return of_items(margin, tree, placement)


def _dense(logits: Matrix | Rows, block: slice) -> Float:
    if isinstance(logits, Rows):
        return np.asarray(logits.values(block.start, block.stop), dtype=np.float64)
    rows = logits[block]
    dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
    return np.asarray(dense, dtype=np.float64)


def _margin(logits: Float) -> Float:
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    two = np.partition(share, -2, axis=1)[:, -2:]
    margin: Float = (two[:, 1] - two[:, 0]) / share.sum(axis=1)
    return margin


def of_items(values: Single, tree: Tree, placement: Placement) -> Single:
    """The values of items, from the values of rows, from left to right.

    values : (n_rows, d) or (n_rows,). Raises UsageError `wrong-shape` unless there is one for each
    row of the tree.
    """
    if len(values) != tree.n_points:
        raise UsageError(
            f"There are {len(values):,} rows to rank items by; the tree has {tree.n_points:,}.",
            code="wrong-shape",
        )
    if placement.per == "row":
        return values[placement.order]
    position = spans(tree).start[tree.leaf_of_point]
    total = np.zeros((tree.n_leaves, *values.shape[1:]))
    np.add.at(total, position, values)
    count = np.bincount(position, minlength=tree.n_leaves)
    count = count.reshape(-1, *(1,) * (values.ndim - 1))
    mean = np.full(total.shape, np.nan, dtype=np.float32)
    np.divide(total, count, out=mean, where=count > 0, casting="same_kind")
    return mean
