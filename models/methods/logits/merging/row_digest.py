"""The digest of one pass over the logits, which suffices to decide nearly all merges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Float, Int
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops import few
from models.methods.logits.merging.loops import rows as row_loops
from models.running.progress import Progress

LISTED = 8
"""Classes kept for each row. More would cost more time than the repeated reads they save."""

SEGMENT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Digest:
    """The class of each row, its list of next best classes, and the tail of all others.

    Lists and tails are explained in `merging.loops.rows`.

    label : (n,) int32 class of each row.
    listed : (n, M) uint16 or int32 its best classes after its own.
    weight, tail : (n, M), (n,) float32.
    second : (n,) float32 the probability of the first listed class, so that second * weight are the
        probabilities of the list and second * tail that of all others; NaN where it was not kept.
    open_tail : whether tails are only upper bounds.
    size : (K,) number of rows of each class.
    confidence, slack : (K,) sum of the winning probabilities of a class's rows, and a bound on
        its error.
    masked : (K,) number of rows in which the logit of a class is -inf.
    """

    label: npt.NDArray[np.int32]
    listed: npt.NDArray[Any]
    weight: npt.NDArray[np.float32]
    tail: npt.NDArray[np.float32]
    second: npt.NDArray[np.float32]
    size: Int
    confidence: Float
    slack: Float
    masked: Int
    open_tail: bool = False

    def arrays(self) -> Arrays:
        return {name: getattr(self, name) for name in (*_PER_ROW, *_PER_CLASS)}


_PER_ROW = ("label", "listed", "weight", "tail", "second")
_PER_CLASS = ("size", "confidence", "slack", "masked")


def from_arrays(arrays: Arrays, open_tail: bool = False) -> Digest:
    """The digest restored from `Digest.arrays`; earlier versions kept no `second` and counted no
    `masked`."""
    if "masked" not in arrays:
        arrays = {**arrays, "masked": np.zeros_like(arrays["size"])}
    if "second" not in arrays:
        arrays = {**arrays, "second": np.full(len(arrays["label"]), np.nan, dtype=np.float32)}
    return Digest(**{name: arrays[name] for name in (*_PER_ROW, *_PER_CLASS)}, open_tail=open_tail)


def joined(parts: Sequence[Digest]) -> Digest:
    """The digest of all rows, from the digests of consecutive ranges of rows."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part.arrays() for part in parts]
    rows = {name: np.concatenate([part[name] for part in arrays]) for name in _PER_ROW}
    sums = {name: np.add.reduce([part[name] for part in arrays]) for name in _PER_CLASS}
    return from_arrays({**rows, **sums}, parts[0].open_tail)


def segment_rows(matrix: LogitMatrix) -> int:
    """Number of rows read at a time. Pieces begin at multiples of it, so that sums over rows do
    not depend on how the rows are divided."""
    return max(1, SEGMENT_BYTES // (matrix.shape[1] * matrix.dtype.itemsize))


def scan(matrix: LogitMatrix, start: int, stop: int, threads: int, progress: Progress) -> Digest:
    """The digest of rows [start, stop). One read of them; O(n K) time.

    Raises UsageError for the first row with a value that is invalid for the matrix's kind.
    """
    n, n_classes = stop - start, matrix.shape[1]
    n_listed = min(LISTED, n_classes - 1)
    listed_as = np.uint16 if n_classes < 1 << 16 else np.int32
    digest = Digest(
        label=np.empty(n, dtype=np.int32),
        listed=np.empty((n, n_listed), dtype=listed_as),
        weight=np.empty((n, n_listed), dtype=np.float32),
        tail=np.empty(n, dtype=np.float32),
        second=np.empty(n, dtype=np.float32),
        size=np.zeros(n_classes, dtype=np.int64),
        confidence=np.zeros(n_classes),
        slack=np.zeros(n_classes),
        masked=np.zeros(n_classes, dtype=np.int64),
    )
    step = segment_rows(matrix)
    checks = matrix.scale, matrix.limits, matrix.tolerance
    loop = few.scan if n_classes <= few.MOST else row_loops.scan

    def segment(at: int) -> tuple[Int, Float, Float, Int]:
        end = min(at + step, stop)
        here = slice(at - start, end - start)
        size, masked = np.zeros((2, n_classes), dtype=np.int64)
        sums = size, np.zeros(n_classes), np.zeros(n_classes), masked
        block = matrix.packed(at, end)
        # float16 comes as its bits.
        infinite = block.dtype.type(0xFC00 if block.dtype == np.uint16 else -np.inf)
        bad = loop(
            block,
            *checks,
            digest.label[here],
            digest.listed[here],
            digest.weight[here],
            digest.tail[here],
            digest.second[here],
            *sums,
            infinite,
        )
        if bad >= 0 or (matrix.kind != "logits" and matrix.temperature != 1.0):
            matrix.require_values(at, end)
        return sums

    for at, sums in each(segment, range(start, stop, step), threads):
        for name, part in zip(_PER_CLASS, sums, strict=True):
            total = getattr(digest, name)
            total += part
        progress((at - start) / n, "reading logits")
    return digest


def each(work: Any, items: range, threads: int) -> Iterator[tuple[int, Any]]:
    """Yield (item, work(item)) in order, computed by several threads."""
    if threads == 1 or len(items) < 2:
        for item in items:
            yield item, work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from zip(items, pool.map(work, items), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)
