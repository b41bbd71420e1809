"""The tree with a leaf for each word, from nodes of the ball selected by words.

Words that selected the same node each get a leaf below it, as siblings or joined by average linkage
(`ball.leaf_merges`); the only word that selected a node is its leaf.

Cost: O(M + V) for M nodes and V words, and that of `ball.leaf_merges`.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Int, Single
from models.methods.hyperbolic.ball.extraction import BallTree
from models.methods.hyperbolic.ball.leaf_merges import LeafMerges
from models.methods.hyperbolic.ball.point_leaves import point_leaves
from models.numerics import poincare
from models.tree.build import from_parents
from models.tree.tree import Tree


def joined_word_tree(merges: LeafMerges, points: Single, names: list[str], place: Int) -> Tree:
    """The tree whose points and leaves are the words, those of one node joined.

    points : (V, D), names : (V,) in the order of `merges`. place : (V,) position of each word of
        the result in that order.
    """
    merges.columns["norm"][merges.leaf] = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    name = np.full(len(merges.parent), None, dtype=object)
    name[merges.leaf] = names
    leaf = merges.leaf[place]
    return from_parents(merges.parent, merges.height, name, leaf, extra=merges.columns)


def word_tree(ball_tree: BallTree, points: Single, names: list[str], place: Int) -> Tree:
    """The tree whose points and leaves are the words, those of one node as siblings.

    points : (V, D), names : (V,) in the order of `ball_tree`. place : (V,) position of each word of
        the result in that order.
    """
    tree = ball_tree.tree
    norm = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    leaves = point_leaves(ball_tree, norm)
    leaves.columns["norm"][leaves.leaf] = norm
    # Nodes count as well: one may lie further out than every word.
    furthest = max(float(norm.max()), float(tree.extra["norm"].max()))
    n_new = int(leaves.shared.sum())
    height = np.concatenate([furthest - tree.extra["norm"], np.zeros(n_new)])
    height[leaves.leaf] = 0.0
    name = np.full(len(leaves.parent), None, dtype=object)
    name[leaves.leaf] = names
    return from_parents(leaves.parent, height, name, leaves.leaf[place], extra=leaves.columns)
