"""Batches of unit rows in a random order, from data that may be larger than memory.

Rows in a file or in the object store are never read one by one: a pool consists of hundreds of runs
of rows from random places, each run read in one go, and the rows of the pool are shuffled. So each
row occurs once in an epoch, and a batch mixes rows from all runs of a pool. Data of up to
`POOL_BYTES` form one pool. Sparse rows, which are in memory, are shuffled as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Matrix
from models.inputs.rows import ArrayRows, Rows
from models.method import Shapes
from models.methods.sphere.mixture.rows import UnitRows

POOL_BYTES = 1 << 27
"""Bytes of the rows in a pool.

Reading them takes at most as much again, and a batch its own rows.
"""

RUN_BYTES = 1 << 17
FAR_RUN_BYTES = 1 << 19
"""Bytes read in one go; from a remote store they arrive about as fast as fewer would."""


@dataclass(frozen=True, slots=True)
class Batches:
    """counted : (n_points,) 0 for rows that are left out.

    size : approximate number of rows in a batch.
    """

    points: UnitRows
    counted: Float
    size: int

    def epoch(self, rng: np.random.Generator, first: int = 0) -> Iterator[tuple[float, UnitRows]]:
        """Each counted row once, in batches of nearly the same size.

        Each batch comes with the share of the rows yielded so far. first : number of batches to
        skip; a pool that is skipped as a whole is not read. The draws do not depend on it.
        """
        n_counted = int(np.count_nonzero(self.counted))
        n_given = n_batches = 0
        for rows in self._pools(rng):
            parts = self._parts(rng.permutation(len(rows)))
            pool: Matrix | None = None
            for part in parts:
                n_given += len(part)
                n_batches += 1
                if n_batches <= first:
                    continue
                own = np.sort(part)
                if self.points.sparse:
                    yield n_given / n_counted, self._unit(self.points.take(rows[own]))
                    continue
                if pool is None:
                    pool = self.points.take(rows)
                yield n_given / n_counted, self._unit(pool[own] if len(parts) > 1 else pool)

    def sample(self, n_rows: int, rng: np.random.Generator) -> UnitRows:
        """`n_rows` random counted rows, in their order; all of them if there are no more.

        If the data exceed a pool they come from one pool, which has at least as many rows as a
        batch.
        """
        rows = next(self._pools(rng))
        if len(rows) > n_rows:
            rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False))]
        return self._unit(self.points.take(rows))

    def _pools(self, rng: np.random.Generator) -> Iterator[Int]:
        """The ascending row numbers of each pool; none is empty."""
        n_points, n_features = self.points.shape
        values = self.points.values
        most = max(self.size, POOL_BYTES // (n_features * self.points.kind.itemsize))
        if not isinstance(values, Rows) or n_points <= most:
            yield np.flatnonzero(self.counted)
            return
        run_bytes = FAR_RUN_BYTES if values.far else RUN_BYTES
        length = max(1, min(most, run_bytes // (n_features * values.dtype.itemsize)))
        starts = rng.permutation(np.arange(0, n_points, length))
        # Pools have the same number of runs, so that none has few rows.
        for own_starts in np.array_split(starts, -(-len(starts) // (most // length))):
            rows = (np.sort(own_starts)[:, None] + np.arange(length)).ravel()
            rows = rows[rows < n_points]
            rows = rows[self.counted[rows] > 0]
            if rows.size:
                yield rows

    def _parts(self, order: Int) -> list[Int]:
        """The rows in parts of nearly equal size, so that no batch is much noisier than another."""
        return np.array_split(order, max(1, round(len(order) / self.size)))

    def _unit(self, rows: Matrix) -> UnitRows:
        return UnitRows(ArrayRows(rows) if isinstance(rows, np.ndarray) else rows, rows.dtype)


def bytes_of_batches(shapes: Shapes, size: int | None) -> int:
    """Bytes of a pool and a batch; 0 without batches."""
    if size is None:
        return 0
    n_points, n_features = shapes["features"]
    return min(3 * POOL_BYTES, 24 * n_points * n_features)
