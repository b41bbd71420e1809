"""Batches of unit rows in a random order, of data that may be larger than memory.

Rows in a file or far away are never read one by one: a pool is made of runs of rows from random
places, each read at once, and its rows are shuffled. So every row comes once in an epoch and a
batch is mixed out of all the runs of a pool, of which there are hundreds: `POOL_BYTES` hold the
whole of smaller data. Sparse rows, which are in memory, are shuffled whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.contract import Shapes
from models.data import Matrix
from models.partitions.points import Float, Int
from models.rows import ArrayRows, Rows
from models.vmf.points import UnitRows

POOL_BYTES = 1 << 27
"""Of a pool's rows; reading them takes as much again at most, and a batch its own rows."""

RUN_BYTES = 1 << 17
FAR_RUN_BYTES = 1 << 19
"""Read at once; from afar so much comes about as fast as less."""


@dataclass(frozen=True, slots=True)
class Batches:
    """counted : (n_points,) 0 for rows that are left out. size : rows of a batch, about."""

    points: UnitRows
    counted: Float
    size: int

    def epoch(self, rng: np.random.Generator, first: int = 0) -> Iterator[tuple[float, UnitRows]]:
        """All rows that count once, in batches of nearly the same size.

        Each comes with the share of the rows that have been given with it. first : so many batches
        are left out; pools of which none is left are not read. Draws the same whatever `first` is.
        """
        n_counted = int(np.count_nonzero(self.counted))
        given = number = 0
        for rows in self._pools(rng):
            parts = self._parts(rng.permutation(len(rows)))
            pool: Matrix | None = None
            for part in parts:
                given += len(part)
                number += 1
                if number <= first:
                    continue
                own = np.sort(part)
                if self.points.sparse:
                    yield given / n_counted, self._unit(self.points.take(rows[own]))
                    continue
                if pool is None:
                    pool = self.points.take(rows)
                yield given / n_counted, self._unit(pool[own] if len(parts) > 1 else pool)

    def sample(self, n_rows: int, rng: np.random.Generator) -> UnitRows:
        """Random rows that count, in their order; all of them where there are no more.

        Of rows beyond a pool from one pool, at least as many as a batch has.
        """
        rows = next(self._pools(rng))
        if len(rows) > n_rows:
            rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False))]
        return self._unit(self.points.take(rows))

    def _pools(self, rng: np.random.Generator) -> Iterator[Int]:
        """Ascending numbers of the rows of each pool; none is empty."""
        n_points, n_features = self.points.shape
        values = self.points.values
        most = max(self.size, POOL_BYTES // (n_features * self.points.kind.itemsize))
        if not isinstance(values, Rows) or n_points <= most:
            yield np.flatnonzero(self.counted)
            return
        run_bytes = FAR_RUN_BYTES if values.far else RUN_BYTES
        length = max(1, min(most, run_bytes // (n_features * values.dtype.itemsize)))
        starts = rng.permutation(np.arange(0, n_points, length))
        # Pools of the same number of runs, so that none has few rows.
        for some in np.array_split(starts, -(-len(starts) // (most // length))):
            rows = (np.sort(some)[:, None] + np.arange(length)).ravel()
            rows = rows[rows < n_points]
            rows = rows[self.counted[rows] > 0]
            if rows.size:
                yield rows

    def _parts(self, order: Int) -> list[Int]:
        """Of nearly the same size, so that no batch is much noisier than the others."""
        return np.array_split(order, max(1, round(len(order) / self.size)))

    def _unit(self, rows: Matrix) -> UnitRows:
        return UnitRows(ArrayRows(rows) if isinstance(rows, np.ndarray) else rows, rows.dtype)


def bytes_of_batches(shapes: Shapes, size: int | None) -> int:
    """What a pool with a batch takes; 0 where there are no batches."""
    if size is None:
        return 0
    n_points, n_features = shapes["features"]
    return min(3 * POOL_BYTES, 24 * n_points * n_features)
