"""Rows gathered around new leaves: k-means in which labelled rows stay where they are.

Rows that were found to be new are not all that are, and some are of known leaves.
From the new leaves' first means on, each row that is not labelled goes to the nearest mean of a
known or a new leaf, and means follow their rows. Source: the semi-supervised k-means of Vaze et
al., "Generalized Category Discovery" (2022), section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.methods.labelled.hierarchy.new_nodes import NewNode, kept

MOST_PASSES = 20
VALUES = 1 << 20


def gathered(
    points: Array,
    row_leaf: Int,
    new_nodes: Sequence[NewNode],
    least_size: int,
    near: Float,
    least_share: float,
) -> list[NewNode]:
    """The new nodes with the rows that are nearest to their leaves; parents stay before children.

    points : (n_rows, r). row_leaf : (n_rows,) the known leaf, 0 for rows that may move, -1 for rows
        that take no part.
    least_size : rows of a leaf, below which it is dropped.
    near : (n_rows,) of `labelled_near`. least_share : a leaf is dropped where its rows' mean is not
        below this.

    O(passes x rows x leaves x r).
    """
    inner = {-1 - node.above for node in new_nodes if node.above < 0}
    leaves = [number for number in range(len(new_nodes)) if number not in inner]
    rows = _nearest(points, row_leaf, [new_nodes[number].rows for number in leaves])
    held = [np.zeros(0, dtype=np.int64)] * len(new_nodes)
    for number, own in zip(leaves, rows, strict=True):
        held[number] = own if own.size >= least_size and near[own].mean() < least_share else own[:0]
    for number in range(len(new_nodes) - 1, -1, -1):
        if new_nodes[number].above < 0:
            above = -1 - new_nodes[number].above
            held[above] = np.union1d(held[above], held[number])
    return kept([replace(node, rows=own) for node, own in zip(new_nodes, held, strict=True)])


def _nearest(points: Array, row_leaf: Int, start: Sequence[Int]) -> list[Int]:
    """(n_new,) rows of each new leaf, from its first ones on."""
    known, of_labelled = np.unique(row_leaf[row_leaf > 0], return_inverse=True)
    leaf = np.full(row_leaf.size, -1, dtype=np.int64)
    leaf[row_leaf > 0] = of_labelled
    for number, rows in enumerate(start, start=known.size):
        leaf[rows] = number
    free = np.flatnonzero(row_leaf == 0)
    n_leaves = known.size + len(start)
    center = points.mean(axis=0, dtype=np.float64)
    for _ in range(MOST_PASSES):
        there, means = _means(points, leaf, n_leaves)
        means -= center
        squares = np.square(means).sum(axis=1)
        nearest = np.concatenate(
            [
                there[(squares - 2.0 * (points[some] - center) @ means.T).argmin(axis=1)]
                for some in (free[own] for own in row_blocks(free.size, there.size, VALUES))
            ]
        )
        if np.array_equal(nearest, leaf[free]):
            break
        leaf[free] = nearest
    return [np.flatnonzero(leaf == known.size + number) for number in range(len(start))]


def _means(points: Array, leaf: Int, n_leaves: int) -> tuple[Int, Float]:
    """The leaves that have rows, and the means of these."""
    import scipy.sparse as sp

    rows = np.flatnonzero(leaf >= 0)
    ones = np.ones(rows.size)
    sums = sp.csr_array((ones, (leaf[rows], rows)), shape=(n_leaves, leaf.size)) @ points
    count = np.bincount(leaf[rows], minlength=n_leaves)
    there = np.flatnonzero(count)
    return there, np.asarray(sums[there] / count[there, None], dtype=np.float64)
