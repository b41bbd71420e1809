"""Consensus trees: which clusters of several trees go into one, and what it says of them.

Dendrograms are rooted, so trees are compared by clusters (the items under a node), not by splits of
an unrooted tree. `Clusters` counts how many trees have each, by sets of items hashed to one number,
so that several trees compare fast. The rules, as in phylogenetics:

- `strict`: the clusters that all trees have.
- `majority`: the clusters of more than a share of the trees, at least half (Margush and McMorris,
  "Consensus n-trees", 1981). At one half no other tree has a smaller sum of Robinson-Foulds
  distances to the trees given (Barthelemy and McMorris, "The median procedure for n-trees", 1986).
- `extended`: the clusters of the majority, then the others by falling number of trees, each if it
  fits with those before it (the greedy consensus of Bryant, "A classification of consensus
  methods", 2003). Among equally frequent ones the larger comes first, then the one of an earlier
  tree.
- `median`: that of the trees which has the smallest sum of Robinson-Foulds distances to all.

`mean_heights` gives the nodes of a consensus tree their heights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, Int32
from models.consensus import loops
from models.consensus.items import Items, Rule
from models.errors import UsageError
from models.metrics.lca_order import LeafOrder, PointOrder
from models.running.progress import Progress, silent
from models.tree.build import from_parents
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


@dataclass(frozen=True, slots=True)
class Heights:
    """cluster : (n_clusters,) of the inner nodes. item : (n_items,) of single items."""

    cluster: Float
    item: Float
    warnings: tuple[str, ...] = ()


def mean_heights(
    trees: Sequence[Tree],
    parent_of_cluster: Int,
    parent_of_item: Int,
    report: Callable[[float], None],
) -> Heights:
    """The mean, over the trees, of the height of the lowest common ancestor of a node's items.

    A node's items meet no lower than the items of the nodes under it, in every tree, so the means
    never fall from child to parent (the common ancestor heights of Heled and Bouckaert, "Looking
    for trees in the forest", 2013). Where heights of a tree fall, the largest at or below a node
    counts instead, with a warning.

    parent_of_cluster : (n_clusters,) by falling size, the root first. parent_of_item : (n_items,).
    O(n_trees n log n).
    """
    n_clusters, n_items = len(parent_of_cluster), len(parent_of_item)
    parent = np.concatenate([parent_of_cluster, parent_of_item]).astype(np.int32)
    # Sorted by falling size, parents come before children.
    cluster, item = np.zeros(n_clusters), np.zeros(n_items)
    n_falling = 0
    for number, tree in enumerate(trees):
        report(number / len(trees))
        height = tree.height
        if not tree.monotone:
            n_falling += 1
            height = under(tree.parent, height, np.maximum.at)
        order = PointOrder.of(tree, LeafOrder.of(tree))
        place = np.empty(n_items, dtype=np.int64)
        place[order.order] = np.arange(n_items)
        low = np.concatenate([np.full(n_clusters, n_items), place])
        high = np.concatenate([np.full(n_clusters, -1), place])
        low = under(parent, low, np.minimum.at)[:n_clusters]
        high = under(parent, high, np.maximum.at)[:n_clusters]
        cluster += height[order.topmost(low, high)]
        item += height[tree.leaf_of_point]
    warnings: tuple[str, ...] = ()
    if n_falling:
        warnings = (
            f"Heights fall from child to parent in {n_falling} of the trees; there the largest "
            "height at or below a node counts.",
        )
    return Heights(cluster / len(trees), item / len(trees), warnings)


_REPORTED = 4096
"""Clusters between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """A consensus tree.

    tree : over items, or over rows as `Items.rows` has them; its column `support` is the share of
        the trees that have a node's cluster, NaN for single items. Heights are the mean, over all
        trees, of the height at which a node's items meet there.
    agrees : (n_trees, n_nodes) whether a tree has the node's cluster; all have single items.
    distance : (n_trees,) clusters that only the tree or only the consensus has.
    normalized : (n_trees,) the same as a share of the clusters of both, 0 where neither has any.
    clusters : of all trees.
    """

    tree: Tree
    agrees: npt.NDArray[np.bool_]
    distance: Int
    normalized: Float
    clusters: Clusters
    warnings: tuple[str, ...] = ()


def consensus(
    items: Items, rule: Rule = "majority", threshold: float = 0.5, progress: Progress = silent
) -> Consensus:
    """The consensus of the trees. threshold : a cluster of `majority` is in more than this share.

    Raises UsageError `wrong-parameter` for a threshold below one half or of 1 and more: two
    clusters of less than half of the trees may contradict each other.

    O(n_trees n_nodes log n_nodes); `extended` takes further steps for each cluster that is tried,
    as many as it has items. 100 trees of 10,000 leaves take some seconds.
    """
    if not 0.5 <= threshold < 1.0:
        raise UsageError(
            f"A threshold of {threshold} is not possible; it is at least 0.5, since clusters of "
            "fewer trees may contradict each other, and below 1.",
            code="wrong-parameter",
            parameter="threshold",
        )
    progress(0.0, "comparing")
    clusters = Clusters.of(items.trees)
    progress(0.3, "joining")
    if rule == "median":
        chosen = _median(clusters)
    else:
        needed = {"strict": clusters.n_trees - 0.5, "majority": threshold * clusters.n_trees}
        # A share of one tenth of ten trees is one tree, whatever rounding makes of it.
        chosen = np.flatnonzero(clusters.count > needed.get(rule, 0.5 * clusters.n_trees) + 1e-9)
    kept = np.zeros(len(clusters.count), dtype=bool)
    kept[chosen] = True
    above, over_item = parents_among(clusters, kept)
    if rule == "extended":
        chosen, above, over_item = _extended(clusters, chosen, above, over_item, progress)
    progress(0.7, "measuring")
    return _described(items, clusters, chosen, above, over_item, progress)


def _median(clusters: Clusters) -> Int:
    """The clusters of the tree with the smallest sum of distances to all, the first of several."""
    total = np.array(
        [
            # Each of the other trees has as many of its clusters as their counts say.
            clusters.n_trees * int((number > 0).sum())
            - 2 * int(clusters.count[number[number > 0]].sum())
            for number in clusters.number
        ]
    )
    number = clusters.number[int(np.argmin(total))]
    return np.sort(number[number >= 0]).astype(np.int64)


def _extended(
    clusters: Clusters, chosen: Int, above: Int, over_item: Int, progress: Progress
) -> tuple[Int, Int, Int]:
    """The clusters of the majority, and of the others those that fit; with their parents."""
    n, n_made = clusters.n_items, len(chosen)
    n_most = 2 * n
    parent = np.full(n_most, -1, dtype=np.int64)
    size = np.ones(n_most, dtype=np.int64)
    node_of = np.full(len(clusters.count), -1, dtype=np.int64)
    node_of[chosen] = n + np.arange(n_made)
    cluster_of = np.empty(n_most, dtype=np.int64)
    cluster_of[n : n + n_made] = chosen
    size[n : n + n_made] = clusters.size[chosen]
    parent[n + 1 : n + n_made] = node_of[above[chosen[1:]]]
    parent[:n] = node_of[over_item]
    filled = np.zeros(n_most, dtype=np.int64)
    touched = np.empty(n_most, dtype=np.int64)
    tried = np.setdiff1d(np.arange(len(clusters.count)), chosen, assume_unique=True)
    tried = tried[np.argsort(-clusters.count[tried], kind="stable")]
    orders = [ordered(tree) for tree in clusters.trees]
    for position, cluster in enumerate(tried.tolist()):
        if position % _REPORTED == 0:
            progress(0.3 + 0.4 * position / len(tried), "joining")
        order, start = orders[clusters.tree[cluster]]
        first = start[clusters.node[cluster]]
        members = order[first : first + clusters.size[cluster]]
        if loops.insert(members, parent, size, filled, touched, n + n_made):
            cluster_of[n + n_made] = cluster
            n_made += 1
            if n_made == n - 1:
                # No further cluster fits into a binary tree.
                break
    made = np.sort(cluster_of[n : n + n_made])
    above = np.full(len(clusters.count), -1, dtype=np.int64)
    above[cluster_of[n + 1 : n + n_made]] = cluster_of[parent[n + 1 : n + n_made]]
    above[0] = -1
    return made, above, cluster_of[parent[:n]]


def _described(
    items: Items, clusters: Clusters, chosen: Int, above: Int, over_item: Int, progress: Progress
) -> Consensus:
    n, n_made = clusters.n_items, len(chosen)
    row = np.full(len(clusters.count), -1, dtype=np.int64)
    row[chosen] = np.arange(n_made)
    parent_of_cluster = np.where(above[chosen] < 0, -1, row[above[chosen]])
    parent_of_item = row[over_item]
    having = clusters.having(chosen)
    single = np.zeros(n, dtype=np.int64)
    for tree in clusters.trees:
        single += tree.size[tree.leaf_of_point] == 1
    # Items which no tree tells apart, under a node of nothing else, share a leaf.
    n_inner = np.bincount(parent_of_cluster[parent_of_cluster >= 0], minlength=n_made)
    n_single = np.bincount(parent_of_item, single > 0, minlength=n_made)
    joint = (n_inner == 0) & (n_single == 0)
    if n_made == 1 and joint[0] and n > 1:
        joint[0] = False
    own = np.flatnonzero(~joint[parent_of_item])
    leaf_of_item = parent_of_item.copy()
    leaf_of_item[own] = n_made + np.arange(len(own))
    parent = np.concatenate([parent_of_cluster, parent_of_item[own]])
    heights = mean_heights(
        clusters.trees,
        parent_of_cluster,
        parent_of_item,
        lambda done: progress(0.7 + 0.3 * done, "measuring"),
    )
    names: list[str | None] = [None] * n_made
    names += [str(item) for item in own.tolist()] if items.names is None else list(items.names[own])
    support = np.concatenate([having.mean(axis=0), np.full(len(own), np.nan)])
    distance = distances(clusters, chosen)
    tree = from_parents(
        parent,
        np.concatenate([heights.cluster, heights.item[own]]),
        names,
        leaf_of_item if items.rows is None else leaf_of_item[items.rows],
        extra={"support": support},
    )
    agrees = np.concatenate([having, np.ones((clusters.n_trees, len(own)), dtype=bool)], axis=1)
    both = clusters.n_proper() + n_made - 1
    warnings = list(items.warnings) + list(heights.warnings)
    if n_made == 1:
        warnings.append("No cluster of some items is in enough trees: the consensus is one star.")
    return Consensus(
        tree,
        agrees,
        distance,
        np.divide(distance, both, out=np.zeros(len(both)), where=both > 0),
        clusters,
        tuple(warnings),
    )
