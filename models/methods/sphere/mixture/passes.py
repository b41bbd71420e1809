"""One pass over all rows: posteriors under log densities linear in a row, and their sums.

For every mixture here, given its parameters or their expectations, log p(x, k) =
offset_k + weight_k . x, with weight_k = kappa_k mu_k and offset_k = log pi_k + log C_D(kappa_k), or
their expectations. The next parameters follow from the sums over a pass.

Rows are read by blocks, and nothing of size N K is kept. Products are in the rows' precision while
it suffices (`SINGLE_UP_TO`), sums over blocks in double. Cost: for dense rows two products N D K,
for sparse ones two of their stored values with K, and about 1 ns for each posterior. Memory: a
block, and 8 K D bytes of sums for each share of the rows (at most `SHARES`, 128 MiB).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Matrix
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics.sphere import unit
from models.running.progress import Progress
from models.running.threads import limited

SHARES = 16
"""The number of shares of the rows; independent of the number of threads, so that sums are too."""

SHARE_BYTES = 1 << 27

SINGLE_UP_TO = 1e4
"""The largest weight for single precision: logarithms are then accurate to about 1e-3."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over the rows that count.

    size : (K,) sums of posteriors. total : (K, D) sums of rows weighted by them.
    evidence : (n_points,) for every row the log of its sum over clusters, or of its largest term if
        `hard`.
    """

    size: Float
    total: Float
    evidence: Float


@dataclass(slots=True)
class Threads:
    """The threads of passes. users : the number of threads that run passes at the same time."""

    n: int
    users: int = 1
    pool: ThreadPoolExecutor = field(init=False)


class Passes:
    """Passes over the same rows; a context manager, since it holds threads.

    points : unit rows. threads : the largest number of busy threads.
    """

    def __init__(self, points: UnitRows, threads: int = 1) -> None:
        self.points = points
        self._threads = Threads(threads if points.near else 1)
        self._stack = ExitStack()

    def __enter__(self) -> Passes:

        self._stack.enter_context(limited({"blas": 1}))
        self._threads.pool = self._stack.enter_context(ThreadPoolExecutor(self._threads.n))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.pool.shutdown(cancel_futures=True)
        self._stack.__exit__(kind, error, trace)

    def over(self, points: UnitRows) -> Passes:
        """The same threads over other rows."""
        passes = Passes(points)
        passes._threads = self._threads
        return passes

    @property
    def at_once(self) -> int:
        """The number of passes that may run at the same time, each in its own thread."""
        return self._threads.n

    @contextmanager
    def shared(self) -> Iterator[Callable[[int], None]]:
        """A function to call with the number of passes that run at the same time.

        If these keep all threads busy, each pass works in its own thread only; its sums are the
        same.
        """

        def set_users(users: int) -> None:
            self._threads.users = users

        try:
            yield set_users
        finally:
            self._threads.users = 1

    def expect(
        self,
        weights: Float,
        offsets: Float,
        counted: Float,
        progress: Progress,
        *,
        hard: bool = False,
    ) -> Sums:
        """The sums of the posteriors of all rows.

        weights : (K, D). offsets : (K,).
        counted : (n_points,) how often each row counts, 0 for rows that are only measured.
        hard : whether each row belongs to its likeliest cluster alone.
        progress : called with the completed share of the pass.
        """
        work = RowPass(self.points, weights, offsets, counted, hard)
        evidence = np.empty(self.points.shape[0])
        shares = shares_of_rows(self.points, len(weights))
        parts = self._parts(work, shares, evidence)
        size, total = next(parts)
        progress(1 / len(shares), "fitting")
        for n_done, (share_size, share_total) in enumerate(parts, 2):
            size += share_size
            total += share_total
            progress(n_done / len(shares), "fitting")
        evidence += work.shift
        return Sums(size, total if work.upright else _turned(total, total.dtype), evidence)

    def _parts(
        self, work: RowPass, shares: list[list[slice]], evidence: Float
    ) -> Iterator[tuple[Float, Float]]:
        """The sums of each share in order; fills in the evidence of its rows."""
        if len(shares) == 1 or self._threads.users >= self._threads.n:
            # With few rows a further thread would cost more than it saves.
            return (work.share(share, evidence) for share in shares)
        jobs = [self._threads.pool.submit(work.share, share, evidence) for share in shares]
        return (job.result() for job in jobs)


def shares_of_rows(points: UnitRows, n_clusters: int) -> list[list[slice]]:
    """The blocks of each share of the rows; they depend on the shape alone."""
    slices = points.slices(n_clusters)
    room = max(1, SHARE_BYTES // (8 * n_clusters * points.shape[1]))
    n_shares = min(SHARES, room, len(slices))
    cuts = np.linspace(0, len(slices), n_shares + 1).astype(int).tolist()
    return [slices[start:stop] for start, stop in pairwise(cuts)]


class RowPass:
    """A pass over rows by shares; its arrays are laid out for the compiled loops."""

    def __init__(
        self, points: UnitRows, weights: Float, offsets: Float, counted: Float, hard: bool
    ) -> None:
        kind = precision(points, weights)
        self.points, self.hard, self.kind = points, hard, kind
        self.given = {"weights": weights, "offsets": offsets, "counted": _narrow(counted)}
        # Sums over sparse rows are (D, K), like the weights that the rows index.
        self.upright = hard or not points.sparse
        # (D, K), since sparse rows index its rows; BLAS takes either layout.
        self.weights = _turned(weights, kind)
        self.shift = float(offsets.max())
        self.offsets = (offsets - self.shift).astype(kind)
        self.counted = counted.astype(kind)

    def share(self, slices: list[slice], evidence: Float) -> tuple[Float, Float]:
        """Sizes and totals over some blocks, totals (K, D) if `upright`.

        Fills in their evidence.
        """
        from models.methods.sphere.mixture import loops

        n_features, n_clusters = self.weights.shape
        size = np.zeros(n_clusters)
        total = np.zeros((n_clusters, n_features) if self.upright else (n_features, n_clusters))
        if self.hard and self.points.whole(self.kind):
            slices = [slice(slices[0].start, slices[-1].stop)]
        longest = max(rows.stop - rows.start for rows in slices)
        room = np.empty((0 if self.hard else longest, n_clusters), dtype=self.kind)
        sums = np.empty((0 if self.points.sparse else n_clusters, n_features), dtype=self.kind)
        for rows in slices:
            block = _as(self.points.block(rows), self.kind)
            counted, block_evidence = self.counted[rows], evidence[rows]
            if self.hard:
                self._assign(block, counted, block_evidence, size, total)
                continue
            joint = room[: rows.stop - rows.start]
            self._products(block, joint)
            loops.posteriors(joint, self.offsets, counted, size, block_evidence)
            if isinstance(block, sp.csr_array):
                turned = sp.csc_array(block)
                loops.gather(turned.indptr, turned.indices, turned.data, joint, total)
            else:
                total += np.dot(joint.T, block, out=sums)
        return size, total

    def _assign(
        self,
        block: Matrix,
        counted: npt.NDArray[Any],
        evidence: Float,
        size: Float,
        total: Float,
    ) -> None:
        """Adds each row to its likeliest cluster."""
        from models.methods.sphere.mixture import loops

        if not isinstance(block, sp.csr_array):
            loops.assign(block, self.weights, self.offsets, counted, evidence, size, total)
            return
        joint = np.empty((block.shape[0], self.weights.shape[1]), dtype=self.kind)
        self._products(block, joint)
        joint += self.offsets
        cluster = joint.argmax(axis=1)
        evidence[:] = joint[np.arange(len(joint)), cluster]
        arrays = (block.indptr, block.indices, block.data)
        loops.add_sparse_rows(*arrays, cluster, counted, size, total)

    def _products(self, block: Matrix, joint: npt.NDArray[Any]) -> None:
        from models.methods.sphere.mixture import loops

        if isinstance(block, sp.csr_array):
            loops.multiply(block.indptr, block.indices, block.data, self.weights, joint)
        else:
            np.matmul(block, self.weights, out=joint)


def _narrow(counted: Float) -> npt.NDArray[Any]:
    """The same numbers in few bytes: one if all are equal, bytes if they are 0 and 1."""
    if counted.size and counted.min() == counted.max():
        return counted[:1]
    flags = counted.astype(np.uint8) if counted.max(initial=0.0) <= 1.0 else counted
    return flags if (flags == counted).all() else counted


def precision(points: UnitRows, weights: Float) -> np.dtype[Any]:
    """The precision in which rows are multiplied by these weights."""
    longest = float(np.sqrt(np.einsum("kd,kd->k", weights, weights).max()))
    return points.kind if longest <= SINGLE_UP_TO else np.dtype(np.float64)


def log_joint(points: UnitRows, weights: Float, offsets: Float) -> Float:
    """(n_points, K) offset_k + weight_k . x in double precision, by blocks. O(N D K)."""
    from models.methods.sphere.mixture import loops

    out = np.empty((points.shape[0], len(weights)))
    turned = _turned(weights, np.dtype(np.float64))
    for rows in points.slices(len(weights)):
        block = _as(points.block(rows), np.dtype(np.float64))
        if isinstance(block, sp.csr_array):
            loops.multiply(block.indptr, block.indices, block.data, turned, out[rows])
        else:
            np.matmul(block, turned, out=out[rows])
    out += offsets
    return out


def direction(points: UnitRows, counted: Float) -> Float:
    """(D,) the unit vector along the sum of the rows, each `counted[i]` times. O(N D)."""
    total = np.zeros(points.shape[1])
    for rows in points.slices():
        total += counted[rows] @ points.block(rows)
    if not total.any():
        total[0] = 1.0
    return unit(total)


def _as(block: Matrix, kind: np.dtype[Any]) -> Matrix:
    return block if block.dtype == kind else block.astype(kind)


def _turned(matrix: Float, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    from models.methods.sphere.mixture import loops

    out = np.empty(matrix.shape[::-1], dtype=kind)
    loops.turn(matrix, out)
    return out
