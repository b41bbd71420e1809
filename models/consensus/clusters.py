"""The clusters of several trees over the same items, and how many trees have each.

`set_hashes` gives the set of points under each node as one number, so that sets of several trees
compare fast; `ordered` gives the items of a tree from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.metrics.lca_order import LeafOrder
from models.tree.parents import nearest, under
from models.tree.tree import Tree


def random_keys(n_points: int) -> Int:
    """(2, n_points) random keys, so small that a sum of all stays below 2^53."""
    most = (1 << 53) // max(1, n_points)
    return np.random.default_rng(0).integers(1, most, (2, n_points))


def set_hashes(
    tree: Tree, keys: Int, present: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.uint64], Int]:
    """(n_nodes,) hash of the set of present points under each node, and their number.

    keys : (2, n_points) of each point, 0 where it is not present. Two different sets have the same
    hash with a probability of about 2^-64. O(n_nodes log depth + n_points).
    """
    leaf, n = tree.leaf_of_point, tree.n_nodes
    at_leaves = [
        # Sums of integers below 2^53 are exact in float64.
        np.bincount(leaf, value, n).astype(np.int64)
        for value in (*keys, present)
    ]
    first, second, count = (under(tree.parent, value) for value in at_leaves)
    mixed = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + second.astype(np.uint64)
    return mixed, count


def ordered(tree: Tree) -> tuple[Int, Int]:
    """The points from left to right, and (n_nodes,) the position of the first one under a node.
    O(n_points log n_points + n_nodes).
    """
    leaves = LeafOrder.of(tree)
    place = leaves.start[tree.leaf_of_point]
    before = np.zeros(tree.n_leaves + 1, dtype=np.int64)
    np.cumsum(np.bincount(place, minlength=tree.n_leaves), out=before[1:])
    return np.argsort(place, kind="stable"), before[leaves.start]


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters, the set of all items first. A cluster is a set of items under some node; single
    items are no clusters here.

    trees : n_trees of them, as in `Items`. n_items : of each tree.
    number : for each tree (n_nodes,) the cluster of a node, -1 for a node of one item.
    count : (n_clusters,) trees that have it. size : (n_clusters,) items in it.
    tree, node : (n_clusters,) the first tree that has it, and the node there.
    """

    trees: tuple[Tree, ...]
    number: tuple[Int32, ...]
    count: Int
    size: Int
    tree: Int
    node: Int

    @property
    def n_items(self) -> int:
        return self.trees[0].n_points

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Clusters:
        """Sets are compared by `set_hashes` and their sizes; a collision among two million
        clusters has a probability of about 1e-7. O(n_trees n_nodes log n_nodes).
        """
        n_items = trees[0].n_points
        keys, present = random_keys(n_items), np.ones(n_items, dtype=bool)
        hashes, sizes, nodes, owners = [], [], [], []
        for number, tree in enumerate(trees):
            value, _ = set_hashes(tree, keys, present)
            node = np.flatnonzero(tree.size > 1)
            hashes.append(value[node])
            sizes.append(tree.size[node])
            nodes.append(node)
            owners.append(np.full(len(node), number))
        size, node, owner = (np.concatenate(each) for each in (sizes, nodes, owners))
        _, first, cluster = np.unique(
            np.concatenate(hashes), return_index=True, return_inverse=True
        )
        # Larger ones first, then by earlier trees and nodes: the same order in every run.
        order = np.lexsort((first, -size[first]))
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        of_node, first = rank[cluster.reshape(-1)], first[order]
        numbers, start = [], 0
        for tree, own in zip(trees, nodes, strict=True):
            column = np.full(tree.n_nodes, -1, dtype=np.int32)
            column[own] = of_node[start : start + len(own)]
            start += len(own)
            numbers.append(column)
        return cls(
            tuple(trees),
            tuple(numbers),
            np.bincount(of_node, minlength=len(first)),
            size[first],
            owner[first],
            node[first],
        )

    def having(self, chosen: Int) -> npt.NDArray[np.bool_]:
        """(n_trees, n_chosen) whether a tree has a cluster."""
        row = np.full(len(self.count), -1, dtype=np.int64)
        row[chosen] = np.arange(len(chosen))
        has = np.zeros((self.n_trees, len(chosen)), dtype=bool)
        for number, column in enumerate(self.number):
            at = row[column[column >= 0]]
            has[number, at[at >= 0]] = True
        return has

    def n_proper(self) -> Int:
        """(n_trees,) clusters of each tree but that of all items."""
        return np.array([int((column > 0).sum()) for column in self.number])


def distances(clusters: Clusters, chosen: Int) -> Int:
    """(n_trees,) clusters that only the tree or only `chosen` has: the rooted Robinson-Foulds
    distance, unnormalised, to the tree of these clusters.
    """
    proper = chosen[chosen > 0]
    shared = clusters.having(proper).sum(axis=1)
    apart: Int = clusters.n_proper() + len(proper) - 2 * shared
    return apart


def parents_among(clusters: Clusters, kept: npt.NDArray[np.bool_]) -> tuple[Int, Int]:
    """For compatible clusters of which any two are together in some tree: the smallest kept cluster
    that properly contains each, -1 for that of all items and for those not kept, and (n_items,) the
    smallest that contains each item.

    kept : (n_clusters,), that of all items included. A cluster's parent is, in each tree that has
    both, the nearest kept one above it; in other trees the nearest is larger. So it is the smallest
    of the nearest (Amenta, Clarke and St. John, "A linear-time majority tree algorithm", 2003).
    O(n_trees n_nodes log depth).
    """
    # Clusters are numbered by falling size: the smallest one has the largest number.
    above = np.full(len(clusters.count), -1, dtype=np.int64)
    over_item = np.zeros(clusters.n_items, dtype=np.int64)
    for tree, number in zip(clusters.trees, clusters.number, strict=True):
        own = (number >= 0) & kept[number]
        up = nearest(tree.parent, own)
        cluster_at = number[up]
        np.maximum(over_item, cluster_at[tree.leaf_of_point], out=over_item)
        node = np.flatnonzero(own)[1:]
        np.maximum.at(above, number[node], cluster_at[tree.parent[node]])
    return above, over_item
