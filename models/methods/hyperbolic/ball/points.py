"""Features as points of the Poincaré ball, and pools of them with their neighbours.

'unit'     about their mean, each on the sphere of radius `point_norm`: only directions count. A
           point at the mean has no direction and lies at the origin.
'largest'  about their mean, all divided by one number, so that the farthest has norm `point_norm`.
           A new row that would lie outside the ball is placed at that norm.
'none'     as they are; each must lie within the ball.

A row very far from all others would move the mean so far that, seen from it, the others coincide.
So the mean, and the number that 'largest' divides by, leave out rows more than `FAR` times as far
from the median of a sample as half the sample is; the fit says which. Others are not affected.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1; means and the radius 0.9 from the authors' program.

Cost: one pass over the rows by blocks, two for 'largest', two more where rows are that far.

Pools have all points, or as many as memory holds.

A pool has at most `MOST_POINTS` points and `MOST_VALUES` values. If not all points fit, a pool
consists of stretches from random places of the file, read in order, and neighbours are searched
within it, so that no index ever holds more. Up to 10,000 points all pairs are compared; beyond that
the index is Faiss' `IndexIVFFlat`, which finds at least 98% of a sample's neighbours or reports how
many it finds.

Cost: O(P D) a pool besides its neighbours (`models.graphs.neighbours`); memory for the P points
in float32 three times over, and 24 bytes for each neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Int32, Mask, Single, row_blocks
from models.errors import UsageError
from models.graphs.neighbours import nearest
from models.inputs.checks import distinct, require_usable
from models.inputs.data import require_finite
from models.inputs.rows import Rows
from models.methods.hyperbolic.ball.parameters import ScalingKind
from models.running.progress import Progress, subprogress

if TYPE_CHECKING:
    from torch import Tensor


FAR = 1e5
"""How many times as far as half of a sample a row lies that is left out of the mean."""

_SAMPLE = 1001
"""About the number of rows in the sample, at equal distances in the file."""

_BLOCK = 1 << 22
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class BallScaling:
    """Features minus `mean`, times a factor per row for 'unit', else times `factor`.

    mean : (D,), zeros for 'none'. far_rows : numbers of the rows that the mean leaves out.
    """

    kind: ScalingKind
    mean: Float
    factor: float
    point_norm: float
    far_rows: tuple[int, ...] = ()

    def apply(self, values: Array, first_row: int = 0) -> Single:
        """(n, D) points of the ball.

        first_row : number of the first of these rows, for errors.
        Raises UsageError for a row outside the ball if the kind is 'none'.
        """
        wide = values.astype(np.float64)
        moved = wide - self.mean
        length = np.sqrt(np.einsum("nd,nd->n", moved, moved))[:, None]
        if self.kind == "unit":
            # At the mean, only rounding errors are left of a point.
            least = _ROUNDING * (np.abs(wide).max(axis=1, keepdims=True, initial=0.0) + 1e-300)
            directed = length > least
            moved *= np.where(directed, self.point_norm / np.where(directed, length, 1.0), 0.0)
        elif self.kind == "largest":
            moved *= self.factor
            outside = length * self.factor >= 1.0
            moved *= np.where(outside, self.point_norm / np.where(outside, length, 1.0), 1.0)
            moved /= np.where(outside, self.factor, 1.0)
        else:
            beyond = np.flatnonzero(length >= 1.0)
            if beyond.size:
                row = int(beyond[0])
                raise UsageError(
                    f"Input 'features' has a row of norm {length[row, 0]:.6g}, row "
                    f"{first_row + row}: with 'scaling': 'none' every row must lie within the "
                    "ball, at norm below 1. The scalings 'unit' and 'largest' place rows there.",
                    code="outside-the-ball",
                    role="features",
                    row=first_row + row,
                )
        return moved.astype(np.float32)

    def arrays(self) -> dict[str, Array]:
        return {"mean": self.mean}

    def facts(self) -> dict[str, Any]:
        return {"scaling": self.kind, "factor": self.factor, "point_norm": self.point_norm}


def from_model(arrays: Arrays, facts: Mapping[str, Any]) -> BallScaling:
    """The scaling described by `arrays` and `facts`."""
    return BallScaling(facts["scaling"], arrays["mean"], facts["factor"], facts["point_norm"])


def measure_scaling(
    rows: Rows, kind: ScalingKind, point_norm: float, progress: Progress
) -> BallScaling:
    """The scaling for these rows, all of which are read and checked.

    Raises UsageError naming the first row that is not finite, too large or, for 'none', outside the
    ball.
    """
    n_points, n_features = rows.shape
    total, longest, sample = np.zeros(n_features), 0.0, []
    stride = -(-n_points // _SAMPLE)
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(block.start / n_points, "reading features")
        values = rows.values(block.start, block.stop)
        require_usable(values, block.start, n_points)
        total += values.sum(axis=0, dtype=np.float64)
        if kind == "none":
            BallScaling(kind, np.zeros(n_features), 1.0, point_norm).apply(values, block.start)
            continue
        sample.append(values[-block.start % stride :: stride].astype(np.float64))
        longest = max(longest, float(_squares(values.astype(np.float64)).max(initial=0.0)) ** 0.5)
    if kind == "none":
        return BallScaling(kind, np.zeros(n_features), 1.0, point_norm)
    far = _far_rows(rows, np.concatenate(sample), longest, progress)
    if far:
        # Subtracting their sum would leave little of the others'.
        total[:] = 0.0
        for block in row_blocks(n_points, n_features, _BLOCK):
            values = rows.values(block.start, block.stop)
            total += values[_others(far, block)].sum(axis=0, dtype=np.float64)
    mean = total / (n_points - len(far))
    if kind == "unit":
        return BallScaling(kind, mean, 1.0, point_norm, far)
    largest = 0.0
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(1.0, "reading features")
        squares = _squares(rows.values(block.start, block.stop) - mean)[_others(far, block)]
        largest = max(largest, float(squares.max(initial=0.0)))
    factor = float(point_norm / np.sqrt(largest)) if largest else 1.0
    return BallScaling(kind, mean, factor, point_norm, far)


def scaled_points(rows: Rows, scaling: BallScaling) -> Single:
    """(N, D) all points of the ball, in memory."""
    points = np.empty(rows.shape, dtype=np.float32)
    for block in row_blocks(*rows.shape, _BLOCK):
        points[block] = scaling.apply(rows.values(block.start, block.stop), block.start)
    return points


def _far_rows(rows: Rows, sample: Float, longest: float, progress: Progress) -> tuple[int, ...]:
    """The rows that are far from all others, fewer than half.

    sample : (n, D) some of the rows. longest : largest norm of a row.
    """
    middle = np.median(sample, axis=0)
    apart = np.sqrt(_squares(sample - middle))
    limit = FAR * float(np.median(apart[apart > 0])) if (apart > 0).any() else np.inf
    if longest + float(np.sqrt(_squares(middle[None, :])[0])) <= limit:
        return ()
    n_points, n_features = rows.shape
    far: list[int] = []
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(1.0, "reading features")
        squares = _squares(rows.values(block.start, block.stop) - middle)
        far += (block.start + np.flatnonzero(np.sqrt(squares) > limit)).tolist()
    return tuple(far) if 2 * len(far) < n_points else ()


def _others(far: tuple[int, ...], block: slice) -> Mask:
    """(n,) which rows of the block are not far."""
    return ~np.isin(np.arange(block.start, block.stop), far)


def _squares(values: Array) -> Float:
    squares: Float = np.einsum("nd,nd->n", values, values)
    return squares


MOST_POINTS = 1 << 17
"""The largest number of points in a pool, ..."""

MOST_VALUES = 1 << 26
"""... and their values (256 MiB)."""

_STRETCHES = 256


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
