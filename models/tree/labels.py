"""Labels of a tree's points or leaves: numbered, counted under a node, and as colours.

The colouring of a tree is a category for each leaf, from which inner nodes' categories follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32, Mask
from models.errors import UsageError
from models.tree.cluster_names import cluster_names
from models.tree.cut import clusters
from models.tree.tree import Tree
from models.tree.walk import spans

if TYPE_CHECKING:
    import pyarrow as pa


_SLICE = 1 << 15
"""The number of texts converted at a time, while the interpreter lock is held."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels by number, the most frequent first, equally frequent ones in sorted order.

    of : whether there is a label per row or per leaf, in the order of the leaves' node ids.
    code : (n,) number of the label of each row or leaf, -1: none.
    text : (n_labels,) the labels, an Arrow array.
    times : (n_labels,) number of rows or leaves with each label.
    in_order : (n_labels,) position of each label in sorted order.
    """

    of: Literal["row", "leaf"]
    code: Int32
    text: pa.StringArray
    times: npt.NDArray[np.int64]
    in_order: npt.NDArray[np.int64]

    @property
    def n_labels(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Mix:
    """The labels under a node.

    n : number of points (or leaves) with a label. n_labels : number of different labels.
    purity, entropy : share of the most frequent label, and entropy in nats; None if n is 0.
    most : the most frequent labels, as number, times and share.
    """

    n: int
    n_labels: int
    purity: float | None
    entropy: float | None
    most: list[tuple[int, int, float]]


def labels(tree: Tree, values: npt.NDArray[Any] | Sequence[str | None]) -> Labels:
    """Number `values`, one per row of the tree or else per leaf: integers, texts, None for none.

    If a tree has as many rows as leaves they are taken by row. Raises UsageError `wrong-shape` for
    another length. O(n log n), releasing the interpreter lock in between.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(values) not in (tree.n_points, tree.n_leaves):
        raise UsageError(
            f"There are {len(values)} labels; the tree has {tree.n_points} rows and "
            f"{tree.n_leaves} leaves, and takes one label for each row or each leaf.",
            code="wrong-shape",
        )
    coded = _arrow(values).dictionary_encode()
    first = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    times = np.bincount(first[first >= 0], minlength=len(coded.dictionary))
    order = pc.sort_indices(
        pa.table({"times": times, "label": coded.dictionary}),
        sort_keys=[("times", "descending"), ("label", "ascending")],
    )
    label = coded.dictionary.take(order)
    # One bin more: rows without a label have the number -1.
    number = np.full(len(label) + 1, -1, dtype=np.int32)
    number[order.to_numpy()] = np.arange(len(label))
    return Labels(
        "row" if len(values) == tree.n_points else "leaf",
        number[first],
        label.cast(pa.string()),
        times[order.to_numpy()],
        _inverse(pc.sort_indices(label).to_numpy().astype(np.int64)),
    )


def mix(tree: Tree, labels: Labels, node: int, most: int = 20, *, leaves: Int | None = None) -> Mix:
    """The labels under a node, the `most` frequent by number. O(n).

    leaves : rows of the leaves in the order of labels per leaf; None: in row order.
    """
    if labels.of == "row":
        inside = labels.code[spans(tree).rows(tree, node)]
    else:
        place = spans(tree).start[tree.leaves if leaves is None else leaves]
        begin = int(spans(tree).start[node])
        within = (place >= begin) & (place < begin + int(spans(tree).count[node]))
        inside = labels.code[within]
    times = np.bincount(inside[inside >= 0], minlength=labels.n_labels)
    n = int(times.sum())
    if n == 0:
        return Mix(0, 0, None, None, [])
    order = np.argsort(-times, kind="stable")[:most]
    share = times[times > 0] / n
    return Mix(
        n,
        int(np.count_nonzero(times)),
        float(share.max()),
        # Not -0.0 where there is one label.
        max(0.0, -float(share @ np.log(share))),
        [(int(code), int(times[code]), float(times[code] / n)) for code in order if times[code]],
    )


def leaf_codes(tree: Tree, labels: Labels) -> Int32:
    """(n_leaves,) the most frequent label of each leaf's rows, by node id; -1 without any.

    Ties go to the first in sorted order. O(n_points log n_points).
    """
    if labels.of == "leaf":
        return labels.code
    code = np.full(tree.n_nodes, -1, dtype=np.int32)
    known = np.flatnonzero(labels.code >= 0)
    leaf, label = tree.leaf_of_point[known], labels.code[known]
    code[leaf] = label
    if np.any(code[leaf] != label):
        pair, times = np.unique(
            leaf * np.int64(labels.n_labels) + labels.in_order[label], return_counts=True
        )
        leaf, place = np.divmod(pair, labels.n_labels)
        # The last of a leaf's pairs in this order is its most frequent label.
        best = np.lexsort((-place, times, leaf))
        last = best[np.flatnonzero(np.diff(leaf[best], append=-1))]
        code[leaf[last]] = _inverse(labels.in_order)[place[last]]
    return code[tree.leaves]


def _arrow(values: npt.NDArray[Any] | Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return pa.array(values)
    parts = [
        pa.array(values[start : start + _SLICE], pa.string())
        for start in range(0, len(values), _SLICE)
    ]
    return pa.chunked_array(parts, pa.string()).combine_chunks()


def _inverse(order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


_CELLS = 1 << 22
"""Counts are kept in a table of up to this many cells, else sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """The categories of the leaves; 8 bytes a leaf.

    of_leaf : (n_leaves,) the category of each leaf from left to right, -1: none.
    changes : (n_leaves,) number of leaves so far whose category differs from that of the previous
        leaf.
    size : (n_categories,) number of points or leaves in each category.
    noise : (n_leaves,) whether each leaf is noise, beside the clusters of a cut; None: none is.
    labels : the labels that are the categories; None for the clusters of a cut.
    node : (n_categories,) the clusters' nodes, from left to right; None for labels.
    warnings : one sentence each.
    """

    of_leaf: Int32
    changes: Int32
    size: Int
    labels: Labels | None = None
    node: Int | None = None
    noise: Mask | None = None
    warnings: tuple[str, ...] = ()

    @property
    def n_categories(self) -> int:
        return len(self.size)

    def texts(self, tree: Tree, most: int) -> list[str]:
        """The names of the first categories; for a cluster that of `cluster_names`, or its
        number."""
        if self.labels is not None:
            texts: list[str] = self.labels.text[:most].to_pylist()
            return texts
        assert self.node is not None
        names = cluster_names(tree, self.node[:most])
        return [name or f"cluster {place + 1}" for place, name in enumerate(names)]


def of_cut(
    tree: Tree, k: int | None = None, height: float | None = None, level: int | None = None
) -> Categories:
    """The clusters of a cut, numbered from left to right; noise has none. Cost as `clusters`,
    O(n_leaves) more.

    Refuses what `clusters` refuses.
    """
    cut = clusters(tree, k, height, level)
    at = spans(tree)
    node = cut.nodes[np.argsort(at.start[cut.nodes])]
    warnings = () if cut.warning is None else (cut.warning,)
    if not cut.noise.size:
        of_leaf = np.repeat(np.arange(node.size, dtype=np.int32), at.count[node])
        return Categories(of_leaf, of_leaf, tree.size[node], node=node, warnings=warnings)
    part = cut.cover[np.argsort(at.start[cut.cover])]
    is_noise = np.isin(part, cut.noise)
    number = np.where(is_noise, -1, np.cumsum(~is_noise) - 1).astype(np.int32)
    of_leaf = np.repeat(number, at.count[part])
    return Categories(
        of_leaf, _changes(of_leaf), tree.size[node], node=node, noise=of_leaf < 0, warnings=warnings
    )


def of_labels(tree: Tree, labels: Labels) -> Categories:
    """The most frequent label of each leaf. O(n_points log n_points)."""
    of_leaf = np.empty(tree.n_leaves, dtype=np.int32)
    of_leaf[spans(tree).start[tree.leaves]] = leaf_codes(tree, labels)
    return Categories(of_leaf, _changes(of_leaf), labels.times, labels=labels)


def moved(categories: Categories, tree: Tree, other: Tree, rows: Int) -> Categories:
    """The categories of a tree's leaves for a tree with the same leaves elsewhere. O(n_leaves).

    rows : (n_nodes of `other`,) the row in `tree` of each row of `other` that is a leaf.
    """
    of_leaf = np.empty_like(categories.of_leaf)
    leaf = other.leaves
    of_leaf[spans(other).start[leaf]] = categories.of_leaf[spans(tree).start[rows[leaf]]]
    return replace(categories, of_leaf=of_leaf, changes=_changes(of_leaf))


def _changes(of_leaf: Int32) -> Int32:
    changes = np.zeros(of_leaf.size, dtype=np.int32)
    np.cumsum(of_leaf[1:] != of_leaf[:-1], out=changes[1:])
    return changes


def shared(
    tree: Tree, categories: Categories, nodes: Int, majority: npt.NDArray[np.bool_]
) -> tuple[Int, npt.NDArray[np.float64]]:
    """The category of each of `nodes`, and its share of the leaves below the node.

    A node has a category if all leaves below it share it; with `majority` it has the most frequent
    one (the lowest of equals), and the nodes must not lie below each other. The category is -1 with
    a share of 1 if no leaf has one, and -1 with a share of 0 if they differ. O(len(nodes)), more
    only for leaves under mixed nodes with `majority`.
    """
    at = spans(tree)
    start, count = at.start[nodes].astype(np.int64), at.count[nodes]
    same = categories.changes[start] == categories.changes[start + count - 1]
    category = np.where(same, categories.of_leaf[start], -1).astype(np.int64)
    share = same.astype(np.float64)
    mixed = np.flatnonzero(majority & ~same)
    if mixed.size:
        most, times = _most(categories, start[mixed], count[mixed])
        category[mixed] = most
        share[mixed] = times / count[mixed]
    return category, share


MOST_LEVELS = 64
MOST_ROWS = 1 << 21
"""The levels of inner nodes that get words, and the rows that are gone through for them, at most:
the upper levels come first."""


def words(
    tree: Tree,
    categories: Categories,
    nodes: Int,
    parent: Int,
    describe: Callable[[str], str] = str,
) -> list[str | None]:
    """What the rows under each node are, as "dog 97%": the most frequent label and its share of the
    rows with one, rounded down, so that 100% is all of them. None where fewer than two rows have
    one, for the clusters of a cut, and for nodes of lower levels where rows are very many.

    nodes : rows of the tree in preorder, -1 for none. parent : the place of each one's parent, -1
        for the first. describe : of a label's text.

    O(n log n) of the rows for the nodes without others below, and for each level of the others.

    Source: "From Logits to Hierarchies" (2025), figure 7.
    """
    found: list[str | None] = [None] * len(nodes)
    if categories.labels is None:
        return found
    depth = np.zeros(len(nodes), dtype=np.int64)
    for place, up in enumerate(parent[1:].tolist(), 1):
        depth[place] = depth[up] + 1
    tip = np.bincount(parent[1:], minlength=len(nodes)) == 0
    n_levels = min(MOST_LEVELS, MOST_ROWS // max(len(categories.labels.code), 1))
    parts = [
        tip,
        *(~tip & (depth == level) for level in range(min(n_levels, int(depth.max()) + 1))),
    ]
    for part in parts:
        places = np.flatnonzero(part & (nodes >= 0))
        number, times, n = commonest(tree, categories, nodes[places])
        for place, label, most, of in zip(
            places.tolist(), number.tolist(), times.tolist(), n.tolist(), strict=True
        ):
            if of > 1:
                text = describe(categories.labels.text[label].as_py())
                found[place] = f"{text} {100 * most // of}%"
    return found


def commonest(tree: Tree, categories: Categories, nodes: Int) -> tuple[Int, Int, Int]:
    """The number of the most frequent label of the rows (or leaves) under each node, how many have
    it, and how many have a label; -1, 0 and 0 for none. Ties go to the first in sorted order.

    nodes : do not lie below each other. O(n log n) of rows or leaves.
    """
    known = categories.labels
    assert known is not None
    at = spans(tree)
    by_leaf = known.of == "leaf"
    code = categories.of_leaf if by_leaf else known.code
    place = np.arange(tree.n_leaves) if by_leaf else at.start[tree.leaf_of_point].astype(np.int64)
    order = np.argsort(at.start[nodes])
    begin = at.start[nodes][order].astype(np.int64)
    end = begin + at.count[nodes][order]
    number, times = np.full(len(nodes), -1, dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    total = np.zeros(len(nodes), dtype=np.int64)
    if not len(nodes):
        return number, times, total
    below = np.searchsorted(begin, place, side="right") - 1
    inside = np.flatnonzero((code >= 0) & (below >= 0) & (place < end[below]))
    width = known.n_labels
    cells, counts = np.unique(
        order[below[inside]] * np.int64(width) + known.in_order[code[inside]], return_counts=True
    )
    node, label = np.divmod(cells, max(width, 1))
    best = np.lexsort((-label, counts, node))
    last = best[np.flatnonzero(np.diff(node[best], append=-1))]
    number[node[last]] = _inverse(known.in_order)[label[last]]
    times[node[last]] = counts[last]
    np.add.at(total, node, counts)
    return number, times, total


def _most(categories: Categories, start: Int, count: Int) -> tuple[Int, Int]:
    """The most frequent category in each range of leaves and its count; -1 and 0 for none."""
    ends = np.cumsum(count)
    leaf = np.repeat(start - ends + count, count) + np.arange(int(ends[-1]))
    width = categories.n_categories + 1
    cell = np.repeat(np.arange(start.size) * width, count) + categories.of_leaf[leaf] + 1
    if start.size * width <= _CELLS:
        table = np.bincount(cell, minlength=start.size * width).reshape(start.size, width)[:, 1:]
        most = table.argmax(axis=1)
        times = table[np.arange(start.size), most]
        return np.where(times, most, -1), times
    cells, counts = np.unique(cell, return_counts=True)
    stretch, category = np.divmod(cells, width)
    counts[category == 0] = 0
    best = np.lexsort((-category, counts, stretch))
    last = best[np.flatnonzero(np.diff(stretch[best], append=-1))]
    return np.where(counts[last], category[last] - 1, -1), counts[last]
