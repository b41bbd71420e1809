"""Dendrogram purity taken apart: of each row, and of each class.

The purity of a row is the mean, over the other rows of its class, of the share that the class has
of the smallest cluster with both. Weighted by the number of these rows, the mean over rows is the
dendrogram purity.

Source: Kobren, Monath, Krishnamurthy and McCallum, "A Hierarchical Algorithm for Extreme
Clustering" (2017); Monath et al. (2019), eq. 22.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int
from models.tree.parents import along
from models.tree.tree import Tree
from models.tree.walk import points_before


def row_purity(tree: Tree, code: Int) -> Float:
    """(n_points,) the purity of each row; NaN without a class, and for the only row of one.

    code : (n_points,) the class of each row, -1 for none. Rows without a class count in the size of
        clusters. O(n_classes (n_points + n_nodes log depth)).
    """
    purity = np.full(tree.n_points, np.nan)
    begin = points_before(tree)
    end = begin + tree.size
    place = np.empty(tree.n_points, dtype=np.int64)
    order = np.argsort(begin[tree.leaf_of_point], kind="stable")
    place[order] = np.arange(order.size)
    parent = np.maximum(tree.parent, 0)
    size = np.maximum(tree.size, 1)
    for rows in _rows_of_classes(code):
        if rows.size < 2:
            continue
        behind = np.zeros(tree.n_points + 1, dtype=np.int64)
        behind[place[rows] + 1] = 1
        behind = np.cumsum(behind)
        own = behind[end] - behind[begin]
        # By the nodes of a path: the rows that part from this one there, times the share.
        part = (own[parent] - own) * own[parent] / size[parent]
        part[0] = 0.0
        leaf = tree.leaf_of_point[rows]
        inside = (own[leaf] - 1) * own[leaf] / size[leaf]
        purity[rows] = (along(tree.parent, part)[leaf] + inside) / (rows.size - 1)
    return purity


def class_purity(purity: Float, code: Int) -> Float:
    """(n_classes,) the mean purity of each class's rows; NaN for a class of one row or none."""
    known = np.flatnonzero((code >= 0) & ~np.isnan(purity))
    n_classes = int(code.max(initial=-1)) + 1
    times = np.bincount(code[known], minlength=n_classes)
    sums = np.bincount(code[known], weights=purity[known], minlength=n_classes)
    return np.where(times > 0, sums / np.maximum(times, 1), np.nan)


def _rows_of_classes(code: Int) -> list[Int]:
    known = np.flatnonzero(code >= 0)
    order = known[np.argsort(code[known], kind="stable")]
    ends = np.flatnonzero(np.diff(code[order])) + 1
    return np.split(order, ends) if order.size else []
