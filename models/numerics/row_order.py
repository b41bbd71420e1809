"""An order of rows that depends only on their values, so that a fit does not depend on theirs."""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Int, row_blocks


def canonical(values: Array, square: bool = False) -> Int:
    """(n,) rows in an order that depends only on their values. O(size).

    The order is that of a 64-bit hash of each row's bits, in which all columns count alike if they
    are the points again (`square`). Equal rows stay in order.
    """
    n_rows, n_columns = values.shape
    n_factors = 1 if square else n_columns
    factor = np.random.default_rng(0).integers(2**63, size=n_factors, dtype=np.uint64) * 2 + 1
    sums = np.empty(n_rows, dtype=np.uint64)
    for block in row_blocks(n_rows, n_columns, 1 << 20):
        # Adding 0 makes -0.0 equal 0.0 in bits too.
        bits = (values[block].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(29)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        bits ^= bits >> np.uint64(32)
        sums[block] = (bits * factor).sum(axis=1)
    return np.argsort(sums, kind="stable")
