"""Which unlabelled rows are of no known leaf, and near to which known nodes rows lie.

Among the nearest rows of one in a known leaf are about as many labelled ones as among those of a
labelled row; a row of a new leaf has fewer. It says so whatever the leaf's shape, as long as a fair
share of the known leaves' rows is labelled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.methods.labelled.hierarchy.known_tree import KnownTree

FEWEST_NEIGHBOURS, MOST_NEIGHBOURS = 5, 20
N_VOTES = 10
VALUES = 1 << 20


def novel(points: Array, row_node: Int, least_share: float) -> Mask:
    """(n_rows,) unlabelled rows that have, among their nearest rows, less than `least_share` of the
    labelled ones that labelled rows have on average.

    row_node : (n_rows,) the known leaf, 0 for none. The nearest rows are about as many as a leaf
    has, since more would be of other leaves. O(n_rows^2 r).
    """
    labelled = row_node > 0
    most = min(MOST_NEIGHBOURS, labelled.size - 1)
    near = np.empty((labelled.size, most), dtype=bool)
    for rows, squares in _squares(points, points):
        squares[np.arange(squares.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
        some = np.argpartition(squares, most - 1, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(squares, some, axis=1), axis=1)
        near[rows] = labelled[np.take_along_axis(some, order, axis=1)]
    size = np.bincount(row_node[labelled])
    typical = max(int(np.median(size[size > 0])), FEWEST_NEIGHBOURS)
    of_all = typical / max(float(near[labelled, :typical].mean()), typical / labelled.size)
    n_near = min(round(of_all), most)
    share = near[:, :n_near].mean(axis=1)
    return np.asarray(~labelled & (share < least_share * share[labelled].mean()))


def votes(tree: KnownTree, points: Array, rows: Int) -> Float:
    """(n, n_nodes) of some rows the share of the nearest labelled rows at or below each node.

    O(n x labelled rows x r).
    """
    labelled = np.flatnonzero(tree.row_node > 0)
    own = tree.row_node[labelled]
    n_near = min(N_VOTES, labelled.size)
    share = np.zeros((rows.size, tree.n_nodes))
    for some, squares in _squares(points[rows], points[labelled]):
        near = own[np.argpartition(squares, n_near - 1, axis=1)[:, :n_near]]
        for place in range(n_near):
            share[np.arange(some.start, some.stop), near[:, place]] += 1.0 / n_near
    for node in range(tree.n_nodes - 1, 0, -1):
        share[:, tree.parent[node]] += share[:, node]
    return share


def _squares(points: Array, others: Array) -> Iterator[tuple[slice, Float]]:
    """Slices of rows with their squared distances from `others`."""
    from scipy.spatial.distance import cdist

    for rows in row_blocks(points.shape[0], others.shape[0], VALUES):
        yield rows, cdist(points[rows], others, "sqeuclidean")
