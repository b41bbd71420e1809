"""How often a walk along a graph of neighbours that starts at one point ends at another."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from models.arrays import Float, row_blocks
from models.graphs.lengths import Neighbours
from models.running.progress import Progress

WIDTH = 7
"""A point's width is the distance to this neighbour (Zelnik-Manor and Perona, 2004)."""

COLUMNS = 32
"""Columns that are multiplied together, few enough for the cache."""

_COLUMN_TIMES = 12
"""An operation by columns takes as long as so many of a dense square."""

_ROWS = 1 << 12
"""Rows of a sparse square between two reports of progress."""


def affinities(near: Neighbours, n_neighbors: int, size: Float) -> csr_array:
    """(n, n) symmetric: exp(-d_ij^2 / (w_i w_j)) where one of the two places is among the
    `n_neighbors` nearest of the other, times the pairs of points that the two have.

    near : at least `n_neighbors` of each place. size : (n,) the points at each place; they have the
        affinity 1 to themselves and to each other.
    w : the distance to the neighbour number `WIDTH`, or the last one.
    """
    index, distance = near.index[:, :n_neighbors], near.distance[:, :n_neighbors]
    n, k = index.shape
    width = distance[:, min(WIDTH, k) - 1].astype(np.float64)
    # Rows that differ may round to one place. The median, since one far row widens the mean.
    apart = width[width > 0.0]
    width = np.maximum(width, 1e-6 * np.median(apart) if apart.size else 1.0)
    row, column = np.repeat(np.arange(n), k), index.ravel()
    # Each quotient by itself: products of small distances vanish.
    far = (distance.ravel() / width[row]) * (distance.ravel() / width[column])
    weight = np.exp(-far) * size[row] * size[column]
    one_way = csr_array((weight, (row, column)), shape=(n, n))
    own = csr_array((size * size, (np.arange(n), np.arange(n))), shape=(n, n))
    return csr_array(one_way.maximum(one_way.T) + own)


def by_columns(n: int, n_neighbors: int, steps: int) -> bool:
    """Whether walks take less time by columns, step by step, than by squares of a dense matrix."""
    return _COLUMN_TIMES * (2 * n_neighbors + 1) * (steps - 1) <= n * max(steps.bit_length() - 1, 1)


def walked(affinity: csr_array, steps: int, columns: bool, progress: Progress) -> Float:
    """(n (n - 1) / 2,) condensed: the probability that a walk of `steps` steps from i ends at j,
    over that of any long walk; symmetric.

    columns : O(n E) operations for each step but the first, E the stored values of `affinity`, in
        4 n^2 bytes beside a sparse matrix of up to 6 n^2; else O(n^3) for each doubling of the
        steps, in 16 n^2 bytes more. By columns the first doublings are sparse where walks reach
        few places.

    In double precision: within a part of the graph that a walk fills, probabilities differ by
    little.
    """
    step, root = _step(affinity)
    walk, length = step, 1
    while columns and 2 * length <= steps and _is_sparse(walk):
        walk, length = _sparse_square(walk, progress), 2 * length
    n = walk.shape[0]
    likeness = np.empty(n * (n - 1) // 2)
    table = None if columns else _dense(step, steps, progress)
    for block in row_blocks(n, n, COLUMNS * n):
        progress(block.start / n, "walking")
        if table is None:
            part = walk[block].toarray().T
            for _ in range(length, steps):
                part = step @ part
            part = np.ascontiguousarray(part.T)
        else:
            part = table[block]
        part = part * root * root[block, None]
        for i in range(block.start, min(block.stop, n - 1)):
            at = i * (2 * n - i - 1) // 2
            likeness[at : at + n - 1 - i] = part[i - block.start, i + 1 :]
    return likeness


def _is_sparse(walk: csr_array) -> bool:
    """Whether its square is surely small."""
    n = walk.shape[0]
    return bool((np.diff(walk.indptr).astype(np.float64) ** 2).sum() <= 0.5 * float(n) ** 2)


def _sparse_square(walk: csr_array, progress: Progress) -> csr_array:
    parts = []
    for block in row_blocks(walk.shape[0], 1, _ROWS):
        progress(0.0, "walking")
        parts.append(walk[block] @ walk)
    return csr_array(vstack(parts, format="csr"))


def _dense(step: csr_array, steps: int, progress: Progress) -> Float:
    """(n, n) the walk of `steps` steps."""
    table: Float = step.toarray()
    for bit in bin(steps)[3:]:
        table = _squared(table, progress)
        table = step @ table if bit == "1" else table
    return table


def _squared(table: Float, progress: Progress) -> Float:
    """A symmetric matrix times itself: one half is the other."""
    n = len(table)
    twice = np.empty_like(table)
    for block in row_blocks(n, n, 1 << 22):
        progress(0.0, "walking")
        part = table[block] @ table[:, block.start :]
        twice[block, block.start :] = part
        twice[block.start :, block] = part.T
    return twice


def _step(affinity: csr_array) -> tuple[csr_array, Float]:
    """The symmetric D^-1/2 A D^-1/2, and (n,) D^-1/2 for a mean degree of 1."""
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    root = 1.0 / np.sqrt(degree)
    step = csr_array(affinity.multiply(root[:, None]).multiply(root[None, :]))
    return step, root * np.sqrt(degree.mean())
