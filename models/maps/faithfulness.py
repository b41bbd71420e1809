"""How many nearest neighbours a map keeps: the first thing to ask of a picture of points."""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Matrix, Single, row_blocks
from models.inputs.rows import Rows

NEIGHBOURS = 10
SAMPLE = 256
_BLOCK = 1 << 21
"""Values that are read at a time."""


def neighbours_kept(rows: Matrix | Rows, positions: Array, seed: int) -> float | None:
    """The share of the `NEIGHBOURS` nearest points on the map that are as near as the `NEIGHBOURS`
    nearest ones by the rows, over a sample of `SAMPLE` points; None for fewer than two points.

    rows : (n_points, D) dense, Euclidean. positions : (n_points, 2). Points as near as the last
    neighbour count, so that ties do not matter. O(SAMPLE N D).
    """
    import faiss

    n_points = rows.shape[0]
    k = min(NEIGHBOURS, n_points - 1)
    if k < 1:
        return None
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(n_points, min(SAMPLE, n_points), replace=False))
    queries = _taken(rows, sample)
    nearest = np.full((sample.size, 0), np.inf, dtype=np.float32)
    for block in row_blocks(n_points, rows.shape[1], _BLOCK):
        values = rows.values(block.start, block.stop) if isinstance(rows, Rows) else rows[block]
        some, _ = faiss.knn(queries, _single(values), min(k + 1, len(values)))
        nearest = np.sort(np.hstack([nearest, some]), axis=1)[:, : k + 1]
    flat = _single(positions)
    _, near = faiss.knn(np.ascontiguousarray(flat[sample]), flat, k + 1)
    kept = 0.0
    for number, row in enumerate(sample):
        others = near[number][near[number] != row][:k]
        apart = _taken(rows, np.sort(others)) - queries[number]
        squares = np.einsum("nd,nd->n", apart, apart)
        # faiss sums in another order: the last digits differ.
        kept += float((squares <= nearest[number, k] * (1 + 1e-4) + 1e-12).mean())
    return kept / sample.size


def _taken(rows: Matrix | Rows, numbers: Array) -> Single:
    return _single(rows.take(numbers) if isinstance(rows, Rows) else rows[numbers])


def _single(values: Array) -> Single:
    return np.ascontiguousarray(values, dtype=np.float32)
