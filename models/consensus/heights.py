"""Heights of a consensus tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.metrics.lca_order import LeafOrder, PointOrder
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

    A node's items meet no lower than those of the nodes under it, in every tree, so the means never
    fall from child to parent (the common ancestor heights of Heled and Bouckaert, "Looking for
    trees in the forest", 2013). Where heights of a tree fall, the largest at or below a node counts
    instead, with a warning.

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
