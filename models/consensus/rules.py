"""Consensus trees: which clusters of several trees go into one, and what it says of them.

Dendrograms are rooted, so trees are compared by clusters (the items under a node), not by splits of
an unrooted tree. The rules, as in phylogenetics:

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

from models.arrays import Float, Int
from models.consensus.clusters import Clusters, distances, ordered, parents_among
from models.consensus.items import Items
from models.consensus.loops import insertion
from models.consensus.options import Rule
from models.errors import UsageError
from models.metrics.lca_order import LeafOrder, PointOrder
from models.running.progress import Progress, silent
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree


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
        if insertion.insert(members, parent, size, filled, touched, n + n_made):
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
