"""The points of a map within an outline, and the node of the tree that fits them best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Mask
from models.tree.tree import Tree, sizes


def inside(positions: Array, outline: Float) -> Mask:
    """(n_points,) which points lie within a closed outline, by the even-odd rule.

    positions : (n_points, 2). outline : (n_corners, 2), its end joined to its beginning. A ray from
    a point towards larger x crosses the outline an odd number of times. Points are sorted by y, so
    that an edge looks only at those at its height. O(n log n) for the n points between the
    outline's lowest and highest corner, and one step for each that an edge passes.
    """
    found = np.zeros(len(positions), dtype=bool)
    y = positions[:, 1]
    (rows,) = np.nonzero((y >= outline[:, 1].min()) & (y < outline[:, 1].max()))
    order = rows[np.argsort(y[rows], kind="stable")]
    across, up = positions[order, 0].astype(np.float64), positions[order, 1].astype(np.float64)
    odd = np.zeros(order.size, dtype=bool)
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        low, high = np.searchsorted(up, sorted((y0, y1)))
        if low < high:
            crossing = x0 + (up[low:high] - y0) * ((x1 - x0) / (y1 - y0))
            odd[low:high] ^= across[low:high] < crossing
    found[order] = odd
    return found


@dataclass(frozen=True, slots=True)
class Fit:
    """A node as an answer to a selection.

    n_both : selected points under it. purity : their share of the points under it. recall : their
    share of the selected points. f1, jaccard : of both.
    """

    node: int
    n_both: int
    purity: float
    recall: float
    f1: float
    jaccard: float


def best_fits(tree: Tree, selected: Mask, limit: int) -> list[Fit]:
    """The nodes that fit the selected points best, by F1 (the order by Jaccard is the same), of
    equals the smallest and then the one of lower number; none if no point is selected.

    selected : (n_points,). O(n_nodes log depth + n_points).
    """
    n_selected = int(selected.sum())
    both = sizes(tree.parent, tree.leaf_of_point[selected])
    (nodes,) = np.nonzero(both)
    if n_selected == 0:
        return []
    f1 = 2.0 * both[nodes] / (tree.size[nodes] + n_selected)
    if nodes.size > limit:
        least = np.partition(f1, nodes.size - limit)[nodes.size - limit]
        nodes, f1 = nodes[f1 >= least], f1[f1 >= least]
    ranked = np.lexsort((nodes, tree.size[nodes], -f1))[:limit]
    return [
        _fit(int(node), int(both[node]), int(tree.size[node]), n_selected) for node in nodes[ranked]
    ]


def _fit(node: int, both: int, size: int, n_selected: int) -> Fit:
    union = size + n_selected - both
    return Fit(
        node, both, both / size, both / n_selected, 2 * both / (size + n_selected), both / union
    )
