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
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float
from models.clusters.kmeans import KMeansEffort
from models.inputs.checks import Points, blocks, by_rows, require_usable, take
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.running.progress import SHARED, Crew, Piece, Progress, silent, subprogress
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

SHARES, SHARE_BYTES = 32, 1 << 28
"""The number of shares of the rows, at most, and the bytes of their sums together."""


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


def sampled(features: Rows, n_clusters: int, rng: np.random.Generator) -> Array:
    """The random rows that give the seeds, in their order; all rows if there are no more."""
    n_points, n_features = features.shape
    n_rows = min(n_points, max(SAMPLE // n_features, LEAST_ROWS * n_clusters))
    chosen = np.sort(rng.choice(n_points, n_rows, replace=False))
    rows: Array = np.asarray(take(features, chosen))
    return rows


def settle(
    features: Rows, seeds: Float, effort: KMeansEffort, summing: Summing, progress: Progress
) -> Settled:
    """The centres after Lloyd's iterations over all rows.

    They end when the sum of the centres' squared moves is at most `effort.tol` times the mean
    variance of the features, or after `effort.max_iter`. Raises UsageError for values that are not
    finite or too large.
    """
    n_points, n_features = features.shape
    centers, bound = seeds, 0.0
    for turn in range(effort.max_iter):
        done, message = turn / effort.max_iter, f"pass {turn + 1} of at most {effort.max_iter}"
        progress(done, "moving centres", message)
        sums = summing(centers)
        at = origin(centers)
        if turn == 0:
            mean = sums.total.sum(axis=0) / n_points
            variance = sums.length / n_points - float(mean @ mean)
            bound = effort.tol * max(variance, 0.0) / n_features
        filled = sums.size > 0
        moved = centers.copy()
        moved[filled] = sums.total[filled] / sums.size[filled, None] + at
        step = float(((moved - centers) ** 2).sum())
        centers = moved
        if step <= bound:
            return Settled(centers, turn + 1, True)
    return Settled(centers, effort.max_iter, False)


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
        shares = _shares(features.shape, len(centers))
        n_pieces = min(crew.n_pieces, len(shares))
        edges = [len(shares) * number // n_pieces for number in range(n_pieces + 1)]
        pieces: list[Piece] = [{"first": a, "last": b} for a, b in pairwise(edges)]
        parts: dict[int, Arrays] = dict(crew.compute(pieces, {"centers": centers}))
        return _added(
            Sums(total, size, float(length))
            for number in range(n_pieces)
            for total, size, length in zip(
                *(parts[number][name] for name in ("total", "size", "length")), strict=True
            )
        )

    return summing


def piece(features: Rows, given: Piece, threads: int, progress: Progress = silent) -> Arrays:
    """The sums of each share of a piece. total : (S, K, D). size : (S, K). length : (S,)."""
    centers = np.asarray(given[SHARED]["centers"])
    shares = _shares(features.shape, len(centers))[int(given["first"]) : int(given["last"])]
    sums = []
    for at, (start, stop) in enumerate(shares):
        within = subprogress(progress, at / len(shares), (at + 1) / len(shares))
        sums.append(sums_of(features, centers, start, stop, threads, within))
    return {
        "total": np.stack([part.total for part in sums]),
        "size": np.stack([part.size for part in sums]),
        "length": np.array([part.length for part in sums]),
    }


def _shares(shape: tuple[int, ...], n_clusters: int) -> list[tuple[int, int]]:
    """Where each share of the rows begins and ends; they depend on the shape alone."""
    n_points, n_features = shape
    n_shares = max(1, min(SHARES, SHARE_BYTES // (8 * n_clusters * n_features), n_points))
    edges = [n_points * number // n_shares for number in range(n_shares + 1)]
    return list(pairwise(edges))


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

    at = origin(centers)
    kind = np.float32 if _is_single(features.dtype) else np.float64
    near = _Nearest(at.astype(kind), (centers - at).astype(kind))
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


class _Nearest:
    """Sums of blocks for one set of centres, (K, D), moved to `at` already."""

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
