"""Points of the ball in pools: all of them, or as many as memory holds, with their neighbours.

A pool has at most `MOST_POINTS` points and `MOST_VALUES` values. If not all points fit, a pool
consists of stretches from random places of the file, read in order, and neighbours are searched
within it, so that no index ever holds more. Up to 10,000 points all pairs are compared; beyond that
the index is Faiss' `IndexIVFFlat`, which finds at least 98% of a sample's neighbours or reports how
many it finds.

Cost: O(P D) a pool besides its neighbours (`models.graphs.neighbours`); memory for the P points
in float32 three times over, and 24 bytes for each neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Int, Int32, Single, row_blocks
from models.graphs.neighbours import nearest
from models.inputs.checks import distinct
from models.inputs.data import require_finite
from models.inputs.rows import Rows
from models.methods.hyperbolic.ball.scaling import BallScaling
from models.running.progress import Progress, subprogress

if TYPE_CHECKING:
    from torch import Tensor


MOST_POINTS = 1 << 17
"""The largest number of points in a pool, ..."""

MOST_VALUES = 1 << 26
"""... and their values (256 MiB)."""

_STRETCHES = 256
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Pool:
    """Points that triples are drawn from.

    points : (P, D) float32, on the device. near : (P, k) the neighbours of each, at other places; k
        may be less than requested, and is 0 if all points coincide.
    first : (U,) the first point of each of the U places, ascending.
    recall : share of a sample's neighbours that an approximate index found, None for all pairs.
    """

    points: Tensor
    near: Int32
    first: Int
    recall: float | None = None

    @property
    def n_points(self) -> int:
        return len(self.near)


class Pools:
    """The pools in which rows of features are read, `size` points each.

    is_whole : whether one pool holds all points.
    """

    def __init__(self, rows: Rows, scaling: BallScaling, n_neighbors: int, device: str) -> None:
        self._rows, self._scaling = rows, scaling
        self._n_neighbors, self._device = n_neighbors, device
        self.n_points, self.n_features = rows.shape
        self.size = most_points(*rows.shape)
        self.is_whole = self.size == self.n_points

    def draw(self, rng: np.random.Generator, threads: int, progress: Progress) -> Pool:
        """A pool of random points; the only one if `is_whole`."""
        import torch

        points = self._read(rng, subprogress(progress, 0.0, 0.2))
        first, place = distinct(points)
        n_near = min(self._n_neighbors, len(first) - 1)
        near, recall = np.empty((len(points), 0), dtype=np.int32), None
        if n_near:
            neighbours = nearest(
                points[first], n_near, "euclidean", threads, subprogress(progress, 0.2, 1.0)
            )
            near = first[neighbours.index].astype(np.int32)[place]
            recall = neighbours.recall
        return Pool(torch.from_numpy(points).to(self._device), near, first, recall)

    def _read(self, rng: np.random.Generator, progress: Progress) -> Single:
        """(size, D) points, a stretch's side by side.

        There are a few less if the last stretch of the file, which is shorter, is among them.
        """
        out = np.empty((self.size, self.n_features), dtype=np.float32)
        length = self.n_points if self.is_whole else -(-self.size // _STRETCHES)
        starts = np.arange(0, self.n_points, length)
        if not self.is_whole:
            starts = np.sort(rng.choice(starts, -(-self.size // length), replace=False))
        n_read = 0
        for start in starts.tolist():
            stop = min(start + length, self.n_points)
            for block in row_blocks(stop - start, self.n_features, _BLOCK):
                progress(n_read / self.size, "reading points")
                first_row = start + block.start
                values = self._rows.values(first_row, start + block.stop)
                require_finite(values, "features", first_row=first_row)
                points = self._scaling.apply(values, first_row)[: self.size - n_read]
                out[n_read : n_read + len(points)] = points
                n_read += len(points)
        return out[:n_read]


def most_points(n_points: int, n_features: int) -> int:
    """Number of points in a pool."""
    return min(n_points, MOST_POINTS, max(1, MOST_VALUES // max(1, n_features)))


def bytes_held(n_points: int, n_features: int, n_neighbors: int) -> int:
    """Estimated memory of a pool on the processor while it is made."""
    size = most_points(n_points, n_features)
    return size * (16 * n_features + 40 * n_neighbors) + 40 * _BLOCK
