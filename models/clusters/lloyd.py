"""Lloyd's iterations over rows that need not fit in memory, from seeds of a sample.

Each iteration reads the rows once, block by block, and keeps sums by cluster alone, so memory
depends neither on the number of rows nor on the iterations. Blocks are summed in their order within
shares of the rows that depend on the shape alone, and the shares in theirs, so neither threads nor
pieces nor workers change a digit.

Numbers of at most 16 bits and float32 are computed in single precision, moved to the mean of the
centres, and added up in double precision over the blocks. A cluster that loses all its rows keeps
its centre.

Source: Lloyd, "Least squares quantization in PCM" (1982). Cost: O(N K D) for each iteration.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float
from models.clusters import row_sums
from models.clusters.kmeans import KMeansEffort
from models.inputs.checks import Points, blocks, by_rows, require_usable, take
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.method import Checkpoint
from models.running.progress import Crew, Piece, Progress, silent
from models.running.threads import limited

WHOLE = 1 << 27
"""Values of a matrix that is clustered as a whole, at most: 0.5 GB in single precision."""

SAMPLE = 1 << 24
"""Values of the sample for the seeds."""

LEAST_ROWS = 50
"""Rows of the sample for each cluster, at least."""

BLOCK = 1 << 19
"""Values of a block, or of its distances to the centres where these are more."""

GROUP = 4
"""Blocks that a thread takes at a time."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over rows, each in the cluster of its nearest centre, moved to `origin` of the centres.

    total : (K, D) of the rows by cluster. size : (K,) number of rows.
    length : of the rows' squared lengths.
    """

    total: Float
    size: Float
    length: float

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.total + other.total, self.size + other.size, self.length + other.length)


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the iterations ended. centers : (K, D). ended : whether they converged."""

    centers: Float
    n_iter: int
    ended: bool


Summing: TypeAlias = Callable[[Float], Sums]
"""The sums of all rows for given centres."""


def whole(features: Rows) -> Array | Rows:
    """The rows as an array where they are clustered as a whole, otherwise as they are."""
    n_points, n_features = features.shape
    return features.values(0, n_points) if n_points * n_features <= WHOLE else features


def whole_or_rows(data: Data) -> Points:
    """The input 'features': sparse, or as `whole` gives it. Raises UsageError as `Data.dense`."""
    features = by_rows(data)
    return whole(features) if isinstance(features, Rows) else features


def require_usable_points(features: Points) -> None:
    """Raises UsageError for values that are not finite or whose squares would overflow, as
    `require_usable`. Reads all rows."""
    if isinstance(features, Rows):
        for block, part in blocks(features):
            require_usable(part, block.start, features.shape[0])
    else:
        require_usable(features, 0, features.shape[0])


def sampled(
    features: Rows, n_clusters: int, rng: np.random.Generator, values: int | None = None
) -> Array:
    """The random rows that give the seeds, in their order; all rows if there are no more.

    values : of the sample, about; None: `SAMPLE`.
    """
    n_points, n_features = features.shape
    n_values = SAMPLE if values is None else values
    n_rows = min(n_points, max(n_values // n_features, LEAST_ROWS * n_clusters))
    chosen = np.sort(rng.choice(n_points, n_rows, replace=False))
    rows: Array = np.asarray(take(features, chosen))
    return rows


def settle(
    features: Rows,
    seeds: Float,
    effort: KMeansEffort,
    summing: Summing,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> Settled:
    """The centres after Lloyd's iterations over all rows.

    They end when the sum of the centres' squared moves is at most `effort.tol` times the mean
    variance of the features, or after `effort.max_iter`; after each they are saved in `checkpoint`.
    Raises UsageError for values that are not finite or too large.
    """
    n_points, n_features = features.shape

    def iterate(before: row_sums.Estimate) -> tuple[row_sums.Estimate, float]:
        centers, bound = before["centers"], before["bound"]
        sums = summing(centers)
        if not bound.size:
            mean = sums.total.sum(axis=0) / n_points
            variance = sums.length / n_points - float(mean @ mean)
            bound = np.array([effort.tol * max(variance, 0.0) / n_features])
        filled = sums.size > 0
        moved = centers.copy()
        moved[filled] = sums.total[filled] / sums.size[filled, None] + origin(centers)
        return {"centers": moved, "bound": bound}, -float(((moved - centers) ** 2).sum())

    end = row_sums.Climber(
        start=lambda number: {"centers": seeds, "bound": np.empty(0)},
        iterate=iterate,
        settled=lambda now, values: -values[-1] <= float(now["bound"][0]),
        max_iter=effort.max_iter,
    ).best(1, checkpoint or Checkpoint(), progress, "moving centres")
    return Settled(end.estimate["centers"], len(end.values), end.ended)


def in_process(features: Rows, threads: int) -> Summing:
    """The sums by this process alone."""

    def summing(centers: Float) -> Sums:
        shares = _shares(features.shape, len(centers))
        return _added(sums_of(features, centers, a, b, threads) for a, b in shares)

    return summing


def in_pieces(features: Rows, crew: Crew) -> Summing:
    """The sums by the pieces of a crew, which answer with `piece`: the same bits as `in_process`,
    whatever the number of pieces."""

    def summing(centers: Float) -> Sums:
        cut = _shares(features.shape, len(centers))
        parts = row_sums.sums_of_shares(crew, len(cut), {"centers": centers})
        return _added(Sums(part["total"], part["size"], float(part["length"][0])) for part in parts)

    return summing


def piece(features: Rows, given: Piece, threads: int, progress: Progress = silent) -> Arrays:
    """The sums of each share of a piece. total : (K, D). size : (K,). length : (1,)."""
    centers = row_sums.shared_of(given)["centers"]

    def within(fraction: float, stage: str, message: str = "") -> None:
        progress(0.0, stage)

    def of_share(share: tuple[int, int]) -> Arrays:
        sums = sums_of(features, centers, *share, threads, within)
        return {"total": sums.total, "size": sums.size, "length": np.array([sums.length])}

    return row_sums.piece(given, _shares(features.shape, len(centers)), of_share, progress)


def _shares(shape: tuple[int, ...], n_clusters: int) -> list[tuple[int, int]]:
    """Where each share of the rows begins and ends; they depend on the shape alone."""
    return row_sums.shares(shape[0], 8 * n_clusters * shape[1])


def origin(centers: Float) -> Float:
    """(D,) where rows are moved to: the mean of the centres, the same bits in any order of them."""
    mean: Float = np.sort(centers, axis=0).mean(axis=0)
    return mean


def sums_of(
    features: Rows,
    centers: Float,
    start: int,
    stop: int,
    threads: int,
    progress: Progress = silent,
) -> Sums:
    """The sums over rows [start, stop)."""

    near = _Nearest.of(centers, features.dtype)
    step = max(1, BLOCK // max(features.shape[1], len(centers)))
    groups = [
        range(first, min(first + GROUP * step, stop), step)
        for first in range(start, stop, GROUP * step)
    ]

    def group_sums(group: range) -> Sums:
        return _added(block_sums(first) for first in group)

    def block_sums(first: int) -> Sums:
        return near.sums(features.values(first, min(first + step, stop)))

    def all_sums(pool: ThreadPoolExecutor) -> Iterator[Sums]:
        waiting: deque[Future[Sums]] = deque()
        for number, group in enumerate(groups):
            waiting.append(pool.submit(group_sums, group))
            if len(waiting) > threads:
                progress(number / len(groups), "moving centres")
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()

    with limited(1):
        if len(groups) == 1:
            return group_sums(groups[0])
        with ThreadPoolExecutor(threads) as pool:
            return _added(all_sums(pool))


def sums_of_rows(values: Array, centers: Float) -> Sums:
    """The sums over some rows in memory, as `sums_of`."""
    return _Nearest.of(centers, values.dtype).sums(values)


class _Nearest:
    """Sums of blocks for one set of centres, (K, D), moved to `at` already."""

    @classmethod
    def of(cls, centers: Float, dtype: np.dtype[Any]) -> _Nearest:
        """For rows of a type."""
        at = origin(centers)
        kind = np.float32 if _is_single(dtype) else np.float64
        return cls(at.astype(kind), (centers - at).astype(kind))

    def __init__(self, at: Array, centers: Array) -> None:
        self._at, self._centers = at, centers
        self._length = np.einsum("kd,kd->k", centers, centers)

    def sums(self, values: Array) -> Sums:
        rows = values.astype(self._at.dtype)
        rows -= self._at
        n_rows, n_clusters = len(rows), len(self._centers)
        apart = rows @ self._centers.T
        apart *= -2.0
        apart += self._length
        cluster = apart.argmin(axis=1)
        length = float(np.einsum("nd,nd->n", rows, rows).sum(dtype=np.float64))
        member: Any = sp.csr_array(
            (np.ones(n_rows, rows.dtype), cluster, np.arange(n_rows + 1)), (n_rows, n_clusters)
        )
        total = (member.T @ rows).astype(np.float64)
        size = np.bincount(cluster, minlength=n_clusters).astype(np.float64)
        return Sums(total, size, length)


def _added(parts: Iterator[Sums]) -> Sums:
    first = next(parts)
    for other in parts:
        first = first + other
    return first


def _is_single(kind: np.dtype[Any]) -> bool:
    return kind == np.float32 or kind.itemsize <= 2
