"""New points in a tree over points: each goes to the leaf of the most similar point.

The probability of a leaf is a softmax of similarities over `temperature`, where a given matrix is
first divided by its largest magnitude; that of a node is the sum over the leaves below it.

The paper does not place new points. Cost: O(n N D) by one matrix product; the `CLOSE` nearest of
each row are measured again in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.errors import UsageError
from models.inputs.checks import require_squares, require_width
from models.inputs.data import Data, require_finite
from models.method import Model, Predictions
from models.methods.hyperbolic.ball.placing import BlockPaths, predictions_of
from models.methods.hyperbolic.leaves.similarity import of_squares, rows_of
from models.metrics.lca_order import LeafOrder
from models.tree.tree import Tree
from models.tree.walk import paths

CLOSE = 8


def place(model: Model, tree: Tree, data: Data) -> Predictions:
    """The leaf and the path of each row.

    Raises UsageError for the wrong input, a wrong number of columns, values that are not finite,
    and rows of zeros if similarities are cosines.
    """
    is_matrix = model.facts["affinity"] == "given"
    role = "similarity" if is_matrix else "features"
    if role not in data:
        raise UsageError(
            f"The model was fitted on the input {role!r}; new points must be of that role too.",
            code="wrong-input",
            role=role,
        )
    values = data.dense(role)
    require_width(values, tree.n_points if is_matrix else model.arrays["points"].shape[1], role)
    require_finite(values, role)
    if not is_matrix:
        require_squares(values)
        exponent = model.facts.get("exponent", 0)
        values = rows_of(values, model.facts["affinity"], model.arrays["center"], exponent)
    order = LeafOrder.of(tree)
    # Points in order of their leaves, one each.
    by_leaf = np.argsort(order.start[tree.leaf_of_point])
    parts = []
    for block in row_blocks(len(values), tree.n_points, 1 << 21):
        if is_matrix:
            similar = values[block].astype(np.float64)
            best = similar.argmax(axis=1)
            similar /= model.facts["scale"]
        else:
            similar, best = _similarities(values[block], model.arrays["points"], model.facts)
        leaf = tree.leaf_of_point[best].astype(np.int64)
        weight = similar[:, by_leaf] / model.facts["temperature"]
        parts.append(_block_paths(tree, order, leaf, weight))
    return predictions_of(parts)


def _similarities(rows: Array, points: Array, facts: Mapping[str, Any]) -> tuple[Float, Int]:
    """(n, N) similarities, and (n,) the most similar point of each row."""
    wide = rows.astype(np.float64)
    squares = (
        np.einsum("nd,nd->n", wide, wide)[:, None]
        + np.einsum("nd,nd->n", points, points, dtype=np.float64)
        - 2.0 * (rows @ points.T)
    )
    squares = np.maximum(squares, 0.0)
    n_close = min(CLOSE, len(points))
    close = np.sort(np.argpartition(squares, n_close - 1, axis=1)[:, :n_close], axis=1)
    apart = wide[:, None, :] - points[close]
    exact = np.einsum("nkd,nkd->nk", apart, apart)
    np.put_along_axis(squares, close, exact, axis=1)
    best = np.take_along_axis(close, exact.argmin(axis=1)[:, None], axis=1)[:, 0]
    gamma = float(np.ldexp(facts["gamma"], 2 * facts.get("exponent", 0)))
    return of_squares(squares, facts["affinity"], gamma), best


def _block_paths(tree: Tree, order: LeafOrder, leaf: Int, weight: Float) -> BlockPaths:
    """The paths of some rows to their leaf, with the probability of each node on them.

    leaf : (n,) leaf of each row. weight : (n, n_leaves) logarithms of the leaves' shares up to a
        constant, leaves from left to right.
    """
    share = np.exp(weight - weight.max(axis=1, keepdims=True))
    below = np.zeros((len(leaf), tree.n_leaves + 1))
    np.cumsum(share, axis=1, out=below[:, 1:])
    below /= below[:, -1:]
    start, nodes = paths(tree, leaf)
    length = np.diff(start)
    row = np.repeat(np.arange(len(leaf)), length)
    mass = below[row, order.end[nodes]] - below[row, order.start[nodes]]
    return leaf, length, nodes, mass
