"""The colouring of a tree: a category for each leaf, from which inner nodes' categories follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32, Mask
from models.tree.cluster_names import cluster_names
from models.tree.clusters import clusters
from models.tree.labels import Labels, leaf_codes
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree

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
