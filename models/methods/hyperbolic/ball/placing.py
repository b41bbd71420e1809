"""New points in a tree of the ball: each goes to the parent by eq.

4, among nodes with points. The probability of a leaf is eq. 5 over the leaves, that of a node on
the path the sum over the leaves below it.

Source: Monath et al. (2019), §3.1. Cost: O(n L D) for L leaves, and O(n) for each node, by blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.checks import require_usable, require_width
from models.method import Model, Predictions
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.extraction import BallTree
from models.methods.hyperbolic.ball.scaling import BallScaling, from_model
from models.rows import Rows
from models.tree.tree import Tree
from models.tree.walk import paths


def model_of(ball_tree: BallTree, scaling: BallScaling) -> Model:
    """The model that `place` uses.

    Its arrays: `embedding`, (S, D), the first S nodes of the tree as points of the ball;
    `leaf_of_node`, (S,), the leaf of points that select the node, -1 if none did; and those of the
    scaling.
    """
    return Model(
        arrays={
            "embedding": ball_tree.nodes,
            "leaf_of_node": ball_tree.leaf_of_node.astype(np.int32),
            **scaling.arrays(),
        },
        facts=scaling.facts(),
    )


def place(model: Model, tree: Tree, rows: Rows) -> Predictions:
    """The leaf and the path of each row.

    Raises UsageError for a wrong number of columns, values that are not finite, and rows outside
    the ball if the scaling is 'none'.
    """
    import torch

    scaling = from_model(model.arrays, model.facts)
    require_width(rows, len(scaling.mean))
    leaf_of_node = model.arrays["leaf_of_node"].astype(np.int64)
    with_points = np.flatnonzero(leaf_of_node >= 0)
    nodes = torch.from_numpy(model.arrays["embedding"][with_points])
    leaves = leaf_of_node[with_points]
    n_rows, n_features = rows.shape
    parts = []
    for block in row_blocks(n_rows, max(n_features, 2 * tree.n_nodes), 1 << 21):
        values = rows.values(block.start, block.stop)
        require_usable(values, block.start, n_rows)
        points = torch.from_numpy(scaling.apply(values, block.start))
        weight = decoding.log_weights(points.double(), nodes.double())
        share = weight.softmax(dim=1).numpy()
        parts.append(block_paths(tree, leaves, leaves[weight.argmax(dim=1).numpy()], share))
    return predictions_of(parts)


BlockPaths: TypeAlias = tuple[Int, Int, Int, Float]
"""Rows of a block: leaf and length of path of each, then the paths' nodes and probabilities."""


def block_paths(tree: Tree, leaves: Int, leaf: Int, share: Float) -> BlockPaths:
    """The paths of some rows to their leaf, with the probability of each node on them.

    leaf : (n,) leaf of each row. share : (n, L) probability of each of the `leaves`.
    """
    mass = np.zeros((tree.n_nodes, len(leaf)))
    mass[leaves] = share.T
    for node in range(tree.n_nodes - 1, 0, -1):
        mass[tree.parent[node]] += mass[node]
    mass /= mass[0]
    start, nodes = paths(tree, leaf)
    length = np.diff(start)
    return leaf, length, nodes, mass[nodes, np.repeat(np.arange(len(leaf)), length)]


def predictions_of(blocks: Sequence[BlockPaths]) -> Predictions:
    """The rows of all blocks, concatenated; no rows without blocks."""
    leaf, length, node, probability = (
        np.concatenate([block[number] for block in blocks])
        if blocks
        else np.empty(0, dtype=np.int64)
        for number in range(4)
    )
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    return Predictions(leaf, start, node, probability.astype(np.float64))
