"""How often a walk along a graph of neighbours that starts at one point ends at another."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from models.arrays import Float, row_blocks
from models.graphs.lengths import Neighbours
from models.running.progress import Progress, subprogress

WIDTH = 7
"""A point's width is the distance to this neighbour (Zelnik-Manor and Perona, 2004)."""


_SPARSE_TIMES = 64
"""A product of stored values takes as long as so many of a dense matrix."""


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


def walked(affinity: csr_array, steps: int, progress: Progress) -> Float:
    """(n, n) the probability that a walk of `steps` steps from i ends at j, over that of any long
    walk; symmetric. About n^3 operations for each doubling of the steps but the first, fewer where
    walks reach few places.

    In double precision: within a part of the graph that a walk fills, probabilities differ by
    little.
    """
    step, root = _step(affinity)
    bits = bin(steps)[3:]
    walk, table = step, None
    for number, bit in enumerate(bits):
        within = subprogress(progress, number / len(bits), (number + 1) / len(bits))
        within(0.0, "walking")
        if table is None and _is_sparse(walk):
            walk = walk @ walk @ step if bit == "1" else walk @ walk
        else:
            if table is None:
                # The sparse matrix, which may hold most places, is let go first.
                table, walk = walk.toarray(), step
            table = squared(table, within)
            table = step @ table if bit == "1" else table
    whole: Float = walk.toarray() if table is None else table
    whole *= root[:, None]
    whole *= root
    return whole


def longer(table: Float, affinity: csr_array, progress: Progress) -> Float:
    """As `walked`, of a walk four times as long as that of `table`, which is overwritten."""
    _, root = _step(affinity)
    table /= root[:, None]
    table /= root
    twice = squared(table, subprogress(progress, 0.0, 0.5))
    squared(twice, subprogress(progress, 0.5, 1.0), table)
    table *= root[:, None]
    table *= root
    return table


def squared(table: Float, progress: Progress, out: Float | None = None) -> Float:
    """A symmetric matrix times itself, in `out` if it is given. n^3 operations: one half is the
    other."""
    n = len(table)
    twice = np.empty_like(table) if out is None else out
    for block in row_blocks(n, n, 1 << 22):
        progress(block.start / n, "walking")
        part = table[block] @ table[:, block.start :]
        twice[block, block.start :] = part
        twice[block.start :, block] = part.T
    return twice


def _is_sparse(walk: csr_array) -> bool:
    """Whether its square takes less time as a sparse matrix."""
    n = walk.shape[0]
    products = (np.diff(walk.indptr).astype(np.float64) ** 2).sum()
    return bool(products * _SPARSE_TIMES < float(n) ** 3)


def _step(affinity: csr_array) -> tuple[csr_array, Float]:
    """The symmetric D^-1/2 A D^-1/2, and (n,) D^-1/2 for a mean degree of 1."""
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    root = 1.0 / np.sqrt(degree)
    step = csr_array(affinity.multiply(root[:, None]).multiply(root[None, :]))
    return step, root * np.sqrt(degree.mean())
