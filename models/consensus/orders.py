"""The items of a tree from left to right."""

from __future__ import annotations

import numpy as np

from models.arrays import Int
from models.metrics.lca_order import LeafOrder
from models.tree.tree import Tree


def ordered(tree: Tree) -> tuple[Int, Int]:
    """The points from left to right, and (n_nodes,) the position of the first one under a node.
    O(n_points log n_points + n_nodes).
    """
    leaves = LeafOrder.of(tree)
    place = leaves.start[tree.leaf_of_point]
    before = np.zeros(tree.n_leaves + 1, dtype=np.int64)
    np.cumsum(np.bincount(place, minlength=tree.n_leaves), out=before[1:])
    return np.argsort(place, kind="stable"), before[leaves.start]
