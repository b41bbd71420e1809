"""Random batches of rows that may lie in a file larger than memory.

One pool is read at a time, made of many stretches from random places, and its rows are shuffled:
each row occurs once in a pass, and batches are mixed even if the file is sorted. A matrix no larger
than a pool is shuffled as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from models.arrays import Int, Matrix
from models.errors import UsageError
from models.inputs.checks import Points, require_usable, take
from models.inputs.rows import Rows

POOL = 1 << 25
"""Values of a pool."""

STRETCHES = 64
"""Number of stretches that make a pool."""


def sample(features: Points, n_rows: int, rng: np.random.Generator) -> Matrix:
    """`n_rows` random rows, each at most once, in their order; all rows if there are no more.

    Raises UsageError for dense values that cannot be used; sparse ones must have been checked.
    """
    n_points = features.shape[0]
    if n_rows >= n_points:
        rows, numbers = _whole(features), None
    else:
        numbers = np.sort(rng.choice(n_points, n_rows, replace=False))
        rows = take(features, numbers)
    if not isinstance(features, sp.csr_array):
        _require_usable(rows, numbers, n_points)
    return rows


def shuffled(
    features: Points, batch_size: int, rng: np.random.Generator, *, checked: bool
) -> Iterator[tuple[float, Matrix]]:
    """All rows once, in batches, each with the share of the rows that came before.

    checked : whether the values are known to be usable; if not, unusable ones raise UsageError.
        Sparse ones must have been checked.
    """
    n_points = features.shape[0]
    before = 0
    for numbers in _pools(features, rng):
        pool = _whole(features) if numbers is None else take(features, numbers)
        if not checked:
            _require_usable(pool, numbers, n_points)
        order = rng.permutation(pool.shape[0])
        for start in range(0, len(order), batch_size):
            yield before / n_points, pool[order[start : start + batch_size]]
            before += batch_size


def _pools(features: Points, rng: np.random.Generator) -> Iterator[Int | None]:
    """Ascending numbers of the rows of each pool; None for all rows."""
    n_points, n_features = features.shape
    n_rows = POOL // n_features
    if isinstance(features, sp.csr_array) or n_rows >= n_points:
        yield None
        return
    length = max(1, n_rows // STRETCHES)
    starts = rng.permutation(np.arange(0, n_points, length))
    for first in range(0, len(starts), STRETCHES):
        numbers = np.sort(starts[first : first + STRETCHES])[:, None] + np.arange(length)
        yield numbers[numbers < n_points]


def _whole(features: Points) -> Matrix:
    return features.values(0, features.shape[0]) if isinstance(features, Rows) else features


def _require_usable(rows: Matrix, numbers: Int | None, n_points: int) -> None:
    """As `require_usable`, for rows of the given ascending numbers; None for all rows."""
    try:
        require_usable(rows, 0, n_points)
    except UsageError as error:
        at = error.where.get("row")
        if at is not None and numbers is not None:
            require_usable(rows[at : at + 1], int(numbers[at]), n_points)
        raise
