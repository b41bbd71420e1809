"""New points in a tree of the ball.

Each goes to its parent by eq. 4 among nodes with points. The probability of such a node is eq. 5
over them, that of a node above the sum over those below it. Where points that selected one node
have separate leaves (`ball.extraction`), a new point then goes to the nearest of them, the first
of equally near ones; that choice is hard, so nodes down to its leaf have the probability of the
node.

Source: Monath et al. (2019), §3.1. Cost: O(n L D) for L nodes with points, O(n) for each node with
several points or nodes below, and, where points have separate leaves, O(D) for each point that
selected the same node; by blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from models.arrays import Array, Float, Int, Int32, Single, row_blocks
from models.inputs.checks import require_usable, require_width
from models.inputs.rows import Rows
from models.method import Model, Predictions
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.extraction import BallTree
from models.methods.hyperbolic.ball.points import BallScaling, from_model
from models.numerics import poincare
from models.tree.tree import Tree
from models.tree.walk import paths


def model_of(ball_tree: BallTree, scaling: BallScaling) -> Model:
    """The model that `place` uses.

    Its arrays: `embedding`, (S, D), the first S nodes of the tree as points of the ball;
    `leaf_of_node`, (S,), the leaf of points that select the node, -1 if none did; and the arrays of
    the scaling.
    """
    return Model(
        arrays={
            "embedding": ball_tree.nodes,
            "leaf_of_node": ball_tree.leaf_of_node.astype(np.int32),
            **scaling.arrays(),
        },
        facts=scaling.facts(),
    )


def with_points(model: Model, points: Single, group: Int | Int32) -> Model:
    """The model of a tree in which points that selected one node have separate leaves.

    points : (N, D) of the ball. group : (N,) the node of the tree that each point selected, or the
        separate leaf below it: a value of `leaf_of_node`.
    """
    arrays: dict[str, Array] = {"points": points, "group": group.astype(np.int32)}
    return Model(arrays={**model.arrays, **arrays}, facts=model.facts)


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
    groups = leaf_of_node[with_points]
    n_rows, n_features = rows.shape
    parts = []
    for block in row_blocks(n_rows, max(n_features, 2 * tree.n_nodes), 1 << 21):
        values = rows.values(block.start, block.stop)
        require_usable(values, block.start, n_rows)
        points = torch.from_numpy(scaling.apply(values, block.start))
        weight = decoding.log_weights(points.double(), nodes.double())
        share = weight.softmax(dim=1).numpy()
        group = groups[weight.argmax(dim=1).numpy()]
        leaf = group
        if "points" in model.arrays:
            leaf = _nearest_leaf(points.double().numpy(), group, model, tree)
        parts.append(block_paths(tree, groups, leaf, share))
    return predictions_of(parts)


def _nearest_leaf(rows: Float, group: Int, model: Model, tree: Tree) -> Int:
    """(n,) the leaf of the nearest point of the group that each row (n, D) of the ball goes to."""
    from scipy.spatial.distance import cdist

    leaf = np.empty_like(group)
    for node in np.unique(group).tolist():
        members = np.flatnonzero(model.arrays["group"] == node)
        points = model.arrays["points"][members].astype(np.float64)
        here = np.flatnonzero(group == node)
        for block in row_blocks(len(here), len(members), 1 << 21):
            # The distance from a row rises with |x - y|^2 / (1 - |y|^2).
            ratio = cdist(rows[here[block]], points, "sqeuclidean") / poincare.gap(points)[:, 0]
            leaf[here[block]] = tree.leaf_of_point[members[ratio.argmin(axis=1)]]
    return leaf


BlockPaths: TypeAlias = tuple[Int, Int, Int, Float]
"""Rows of a block: leaf and length of path of each, then the paths' nodes and probabilities."""


def block_paths(tree: Tree, leaves: Int, leaf: Int, share: Float) -> BlockPaths:
    """The paths of some rows to their leaf, with the probability of each node on them.

    leaf : (n,) leaf of each row. share : (n, L) probability of each of the nodes `leaves`, which
        are leaves or have single points below; nodes below one have its probability.
    """
    top = _tops(tree.parent, leaves)
    upper = np.flatnonzero(top == np.arange(tree.n_nodes))
    row_of = np.cumsum(top == np.arange(tree.n_nodes)) - 1
    mass = np.zeros((len(upper), len(leaf)))
    mass[row_of[leaves]] = share.T
    for row, parent in zip(
        range(len(upper) - 1, 0, -1), row_of[tree.parent[upper]][:0:-1].tolist(), strict=True
    ):
        mass[parent] += mass[row]
    mass /= mass[0]
    start, nodes = paths(tree, leaf)
    length = np.diff(start)
    rows = row_of[top[nodes]]
    return leaf, length, nodes, mass[rows, np.repeat(np.arange(len(leaf)), length)]


def _tops(parent: Array, leaves: Int) -> Int:
    """(M,) for each node the one of `leaves` at or above it, or itself if there is none."""
    top = np.arange(len(parent))
    inside = np.zeros(len(parent), dtype=bool)
    inside[leaves] = True
    for node, above in enumerate(parent.tolist()):
        if node and inside[above]:
            inside[node] = True
            top[node] = top[above]
    return top


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
