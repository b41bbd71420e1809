"""A separate leaf for each point of a `BallTree`, which may put several points into one leaf.

A leaf that several points selected becomes a node above them, with a new leaf for each; a leaf of
one point is that point's leaf. New leaves follow the nodes of the tree, in order of the points.
Their columns are the hyperbolic norm of the point, the probability of its parent and no
alternatives. A leaf that existed before has the norm of its node.

Cost: O(M + N) for a tree of M nodes and N points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.methods.hyperbolic.ball.extraction import BallTree


@dataclass(frozen=True, slots=True)
class PointLeaves:
    """The nodes of a tree with a leaf for each of N points.

    leaf : (N,) the leaf of each point. shared : (N,) whether the point shared its leaf, so that
    `leaf` is new. parent : (M',) parent of each node. columns : (M',) each, by name.
    """

    leaf: Int
    shared: Mask
    parent: Int
    columns: dict[str, Array]


def point_leaves(ball_tree: BallTree, norm: Float) -> PointLeaves:
    """The nodes of the tree with a leaf for each point.

    norm : (N,) hyperbolic norms of the points.
    """
    tree = ball_tree.tree
    group = tree.leaf_of_point.astype(np.int64)
    shared = np.bincount(group, minlength=tree.n_nodes)[group] > 1
    n_new = int(shared.sum())
    leaf = np.where(shared, tree.n_nodes + np.cumsum(shared) - 1, group)
    columns = {
        name: np.concatenate([column, _blank(column, n_new)]) for name, column in tree.extra.items()
    }
    columns["norm"][leaf[shared]] = norm[shared]
    columns["parent_probability"][leaf[shared]] = ball_tree.probability[shared]
    return PointLeaves(leaf, shared, np.concatenate([tree.parent, group[shared]]), columns)


def _blank(column: Array, n: int) -> Array:
    """`n` values that stand for no node or no probability in a column."""
    return np.full(n, -1 if column.dtype.kind == "i" else np.nan, dtype=column.dtype)
