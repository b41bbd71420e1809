"""Sums over the rows of each class, from which the similarities of classes follow.

The rows are read twice: `l2h`'s pass gives each row's class, and here the widest range of a row's
values; the second read adds up, by the class of the row,

- `ranks`: 1 / rank of each other class among the classes that have rows, the best 1, equal ones
  their mean;
- `values`: how far each value lies below the row's highest;
- `squares`: products of these, of two classes.

Each number is rounded to whole steps (of 2^-34; of 2^-24 and 2^-17 of half the widest range), whose
sums are exact: they are the same for any order of rows, threads, pieces or device, and add up when
a fit goes on. Ranks, and products, are of the first rows of each class alone where there are many
(`quotas`): with 1,000 classes a row of them costs ten and twenty times as much as reading it.
Rows whose values are all equal say nothing and are left out, unless all are.

Rows belong to `folds`, by their number, so that bootstraps can weigh these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import frexp
from typing import Any

import numpy as np

from models.arrays import Arrays, Float, Int, Int32, Mask
from models.methods.logits.class_trees.loops import ranks as loops
from models.methods.logits.class_trees.task import (
    SQUARE_STEPS,
    TABLES,
    VALUE_STEPS,
    Device,
    Task,
    quotas,
)
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.row_digest import (
    Digest,
    each,
    from_arrays,
    joined,
    scan,
    segment_rows,
)
from models.running.progress import SHARED, Crew, Piece, Progress

TABLE_BYTES = 256 << 20
"""The most memory of the sums of threads that work at the same time."""

_ROWS = 1024
"""Rows whose products and ranks are computed at a time."""


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """What the first read tells of each row.

    flat : (n,) whether all its values are equal. widest : half the widest range of finite values.
    """

    digest: Digest
    flat: Mask
    widest: float

    @property
    def own(self) -> Int:
        """(n,) the class of each row; -1 for rows that are left out."""
        label = self.digest.label.astype(np.int64)
        return label if self.flat.all() else np.where(self.flat, -1, label)

    def arrays(self) -> Arrays:
        return {**self.digest.arrays(), "flat": self.flat, "widest": np.array([self.widest])}


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over rows, in steps.

    used : (u,) the classes that have rows. exponent : 2^exponent is no less than `widest`.
    ranked, squared : the first rows of each class whose ranks, and whose products, were added.
    ranks : (folds, u, u) int64, by the class of the row and the other.
    values : (folds, u, K), by the class of the row and any.
    picked : (u, u) as `values`, in the steps of `squares` and over the rows of these alone.
    squares : (u, u) of products, of pairs of classes.
    """

    used: Int
    exponent: int
    ranked: int
    squared: int
    ranks: Int
    values: Float
    picked: Float
    squares: Float

    @property
    def folds(self) -> int:
        return len(self.ranks)


def of_rows(matrix: LogitMatrix, start: int, crew: Crew) -> RowsSeen:
    """What the rows from `start` on are, read in pieces."""
    return rows_joined(
        [rows_from(part) for part in _computed(matrix, start, crew, {"do": "scan"}, None)]
    )


def rows_from(arrays: Arrays) -> RowsSeen:
    """Restored from `RowsSeen.arrays`."""
    digest = from_arrays({k: v for k, v in arrays.items() if k not in ("flat", "widest")})
    return RowsSeen(digest, arrays["flat"].astype(np.bool_), float(arrays["widest"][0]))


def rows_joined(parts: Sequence[RowsSeen]) -> RowsSeen:
    """What consecutive ranges of rows are together."""
    return RowsSeen(
        joined([part.digest for part in parts]),
        np.concatenate([part.flat for part in parts]),
        max(part.widest for part in parts),
    )


def summed(
    matrix: LogitMatrix,
    rows: RowsSeen,
    crew: Crew,
    folds: int = 1,
    earlier: Sums | None = None,
    n_old: int = 0,
    products: bool = True,
) -> tuple[Sums, bool]:
    """The sums over all rows, and whether the rows [0, n_old) were read again.

    products : whether `squares` are needed.
    earlier : the sums over these. They are of use where the same classes have rows and the steps
    are equal.
    """
    used, exponent = _frame(rows)
    position = np.full(matrix.shape[1] + 1, -1, dtype=np.int32)
    position[used] = np.arange(len(used))
    at = position[rows.own]
    going_on = earlier is not None and goes_on(earlier, rows, folds)
    first = n_old if going_on else 0
    ranked, squared = quotas(len(used))
    task: dict[str, Any] = {
        "do": "sums",
        "first": first,
        "exponent": exponent,
        "folds": folds,
        "ranked": ranked,
        "squared": squared if products else 0,
    }
    shared: Arrays = {"used": used, "own": at[first:], "depth": depth(at, len(used))[first:]}
    total = Sums(
        used,
        exponent,
        ranked,
        task["squared"],
        np.zeros((folds, len(used), len(used)), dtype=np.int64),
        np.zeros((folds, len(used), matrix.shape[1])),
        np.zeros((len(used), len(used))),
        np.zeros((len(used), len(used))),
    )
    parts = _computed(matrix, first, crew, task, shared)
    if earlier is not None and going_on:
        parts.append(_tables(earlier))
    for part in parts:
        for name, table in _tables(total).items():
            table += part[name]
    return total, earlier is not None and not going_on


def goes_on(earlier: Sums, rows: RowsSeen, folds: int) -> bool:
    """Whether the sums over the first of the rows are of use for all of them."""
    used, exponent = _frame(rows)
    same = (earlier.exponent, earlier.folds) == (exponent, folds)
    return same and np.array_equal(earlier.used, used)


def _frame(rows: RowsSeen) -> tuple[Int, int]:
    own = rows.own
    return np.unique(own[own >= 0]), max(frexp(rows.widest)[1], -900)


def _tables(sums: Sums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in TABLES}


def depth(at: Int32, n_used: int) -> Int32:
    """(n,) how many rows before each are of its class; -1 for rows that are left out."""
    order = np.argsort(at, kind="stable")
    count = np.bincount(at + 1, minlength=n_used + 1)
    start = np.cumsum(count) - count
    before = np.empty(len(at), dtype=np.int32)
    before[order] = np.arange(len(at)) - start[at[order] + 1]
    before[at < 0] = -1
    return before


def piece(
    matrix: LogitMatrix, piece: Piece, threads: int, progress: Progress, device: Device = "cpu"
) -> Arrays:
    """The arrays of one piece, of `of_rows` or of `summed`. Raises UsageError if there is no such
    device."""
    start, stop = int(piece["start"]), int(piece["stop"])
    if piece["do"] == "scan":
        return _scan(matrix, start, stop, threads, progress, device).arrays()
    shared, part = piece[SHARED], slice(start - int(piece["first"]), stop - int(piece["first"]))
    task = Task(
        matrix,
        np.ascontiguousarray(shared["used"], dtype=np.int64),
        np.ascontiguousarray(shared["own"][part], dtype=np.int32),
        np.ascontiguousarray(shared["depth"][part], dtype=np.int32),
        start,
        *(int(piece[name]) for name in ("exponent", "folds", "ranked", "squared")),
    )
    if device == "cpu":
        return _sums(task, threads, progress)
    from models.methods.logits.class_trees import sums_gpu

    return sums_gpu.summed(task, device, progress)


def _sums(task: Task, threads: int, progress: Progress) -> Arrays:
    """The tables over the rows of a task. One read of them; each thread fills tables."""
    n, step = len(task.own), segment_rows(task.matrix)
    n_segments = -(-n // step)
    n_bytes = sum(table.nbytes for table in task.tables().values())
    n_shares = max(1, min(threads, n_segments, TABLE_BYTES // max(1, n_bytes)))
    edges = [step * (n_segments * i // n_shares) for i in range(n_shares)] + [n]

    def share(number: int) -> dict[str, Any]:
        tables, room = task.tables(), _Room(task)
        for at in range(edges[number], edges[number + 1], step):
            if not number:
                progress(at / n, "comparing classes")
            end = min(at + step, edges[number + 1])
            block = task.matrix.packed(task.start + at, task.start + end)
            _add(task, block, slice(at, end), tables, room)
        return tables

    total: dict[str, Any] = {}
    for _, tables in each(share, range(n_shares), threads):
        for name, table in tables.items():
            total[name] = total[name] + table if name in total else table
    return total


class _Room:
    """Work space of a thread: writing memory for the first time costs more than filling it."""

    def __init__(self, task: Task) -> None:
        self.bits = max(1, (len(task.used) - 1).bit_length())
        self.share = task.share
        self.key = np.empty((_ROWS, len(task.used)), dtype=np.uint32)
        self.picked = np.empty((_ROWS, len(task.used)))


def _add(task: Task, block: Any, here: slice, tables: Mapping[str, Any], room: _Room) -> None:
    depth = task.depth[here]
    for fold, own in task.groups(here):
        loops.add_values(block, own, task.factor(VALUE_STEPS), tables["values"][fold])
        rows = np.flatnonzero((own >= 0) & (depth < task.ranked))
        for part in _parts(rows if len(task.used) > 1 else rows[:0]):
            key = room.key[: len(part)]
            loops.keys(block, part, own[part], task.used, room.bits, key)
            key.sort(axis=1)
            ranks = tables["ranks"][fold]
            loops.add_ranks(block, part, own[part], task.used, room.bits, key, room.share, ranks)
    own, factor = task.own[here], task.factor(SQUARE_STEPS)
    for part in _parts(np.flatnonzero((own >= 0) & (depth < task.squared))):
        picked = room.picked[: len(part)]
        loops.pick(block, part, own[part], task.used, factor, picked, tables["picked"])
        squares = tables["squares"]
        squares += picked.T @ picked


def _parts(rows: Int) -> list[Int]:
    return [rows[at : at + _ROWS] for at in range(0, len(rows), _ROWS)]


def _scan(
    matrix: LogitMatrix, start: int, stop: int, threads: int, progress: Progress, device: Device
) -> RowsSeen:
    if device == "cpu":
        digest = scan(matrix, start, stop, threads, progress)
    else:
        from models.methods.logits.merging import pass_gpu

        digest = pass_gpu.scan(matrix, start, stop, device, progress, threads)
    return RowsSeen(digest, *ranges(matrix, start, stop, threads))


def ranges(matrix: LogitMatrix, start: int, stop: int, threads: int) -> tuple[Mask, float]:
    """(n,) whether all values of a row are equal, and half the widest range. One read."""
    flat, widest = np.empty(stop - start, dtype=np.bool_), 0.0
    step = segment_rows(matrix)

    def segment(at: int) -> float:
        end = min(at + step, stop)
        return float(loops.ranges(matrix.packed(at, end), flat[at - start : end - start]))

    for _, width in each(segment, range(start, stop, step), threads):
        widest = max(widest, width)
    return flat, widest


def _computed(
    matrix: LogitMatrix, start: int, crew: Crew, task: Mapping[str, Any], shared: Arrays | None
) -> list[Arrays]:
    """The results of `task` for consecutive ranges of the rows, in their order; these begin at
    multiples of a segment."""
    n, step = matrix.shape[0], segment_rows(matrix)
    n_segments = -(-(n - start) // step)
    n_pieces = max(1, min(crew.n_pieces, n_segments))
    edges = [start + step * (n_segments * i // n_pieces) for i in range(n_pieces)] + [n]
    pieces = [{**task, "start": a, "stop": b} for a, b in pairwise(edges)]
    parts: list[Arrays] = [{}] * len(pieces)
    for number, arrays in crew.compute(pieces, shared):
        parts[number] = arrays
    return parts
