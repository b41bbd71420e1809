"""A part of a heatmap at a level of detail: tiles of at most `TILE` x `TILE` cells.

At level 0 one tile shows the whole; each level below has half as many rows and columns in a cell,
down to one. What lies in a cell is averaged, and never more than the rows of a tile are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float
from models.heatmaps.options import MEASURED, What

TILE = 256
STEPS = 65_535
"""A value is sent as one of 0 to this, from the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class PooledRange:
    """Rows or columns `start` to `stop` - 1, `pooled` in a cell."""

    start: int
    stop: int
    pooled: int

    @property
    def slice(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Where each cell begins, counted from `start`."""
        return np.arange(0, self.stop - self.start, self.pooled)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows or columns in each cell."""
        return np.diff(np.append(self.cells, self.stop - self.start))


def n_levels(n_rows: int, n_columns: int) -> int:
    """The levels of detail of a heatmap."""
    return 1 + max(_doublings(n_rows), _doublings(n_columns))


def pooled_range(n: int, level: int, number: int) -> PooledRange | None:
    """The rows, or columns, of a tile by its number at a level; None beyond the last of `n`."""
    pooled = 1 << max(0, _doublings(n) - level)
    start = number * TILE * pooled
    return PooledRange(start, min(n, start + TILE * pooled), pooled) if start < n else None


def _doublings(n: int) -> int:
    return max(0, (ceil(n / TILE) - 1).bit_length())


def tile(
    values: Array, what: What, metric: str | None, rows: PooledRange, columns: PooledRange
) -> Float:
    """(cells of rows, cells of columns) averages.

    values : of `features`, and of distances of pairs of points, the heatmap itself; of other
    `distances` the points between which they are, or for "cophenetic" the
    `models.heatmaps.drawing.meetings` of the rows. Euclidean distances are averaged as squares
    (root mean square), cosine distances as they are; both need only the means of the points in a
    cell, O((rows + columns) D) and one product of matrices. Cophenetic ones cost O(rows (columns +
    gap)).
    """
    if what == "features" or metric in MEASURED:
        part = np.add.reduceat(values[rows.slice], rows.cells, axis=0, dtype=np.float64)
        part = np.add.reduceat(part[:, columns.slice], columns.cells, axis=1)
        averages: Float = part / (rows.counts[:, None] * columns.counts)
        return averages
    if metric == "cophenetic":
        return _cophenetic(values, rows, columns)
    left, of_left = _pooled(values, rows)
    right, of_right = _pooled(values, columns)
    products = left @ right.T
    if metric == "cosine":
        return np.clip(1.0 - products, 0.0, 2.0)
    return np.sqrt(np.maximum(of_left[:, None] + of_right - 2 * products, 0.0))


def _pooled(points: Array, pooled: PooledRange) -> tuple[Float, Float]:
    """(means of the points of each cell, means of their squared lengths)."""
    part = points[pooled.slice].astype(np.float64)
    lengths = np.einsum("nd,nd->n", part, part)
    sums = np.add.reduceat(part, pooled.cells, axis=0)
    return sums / pooled.counts[:, None], np.add.reduceat(lengths, pooled.cells) / pooled.counts


def _cophenetic(meets: Array, rows: PooledRange, columns: PooledRange) -> Float:
    node, n = meets[:, 0].astype(np.int64), len(meets) + 1
    height_of = dict(zip(node.tolist(), meets[:, 1].tolist(), strict=True))
    known = np.array(sorted(height_of), dtype=np.int64)
    rank = np.searchsorted(known, node)
    # The last height is that of a row with itself.
    heights = np.array([*(height_of[each] for each in known.tolist()), 0.0])
    out = np.zeros((rows.cells.size, columns.cells.size))
    first, last = columns.start, columns.stop
    for row in range(rows.start, rows.stop):
        met = np.full(n, known.size)
        if row + 1 < last:
            met[row + 1 : last] = np.minimum.accumulate(rank[row : last - 1])
        if first < row:
            met[first:row] = np.minimum.accumulate(rank[first:row][::-1])[::-1]
        sums = np.add.reduceat(heights[met[columns.slice]], columns.cells)
        out[(row - rows.start) // rows.pooled] += sums
    return out / (rows.counts[:, None] * columns.counts)


def quantised(values: Float, low: float, high: float) -> npt.NDArray[np.uint16]:
    """The values as steps from `low` to `high`, in little-endian 16 bits."""
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.rint(np.clip(share, 0.0, 1.0) * STEPS).astype("<u2")
