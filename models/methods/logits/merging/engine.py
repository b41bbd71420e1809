"""Reading the logits for L2H: rows are read in pieces, in this process or by other workers.

A piece is `{"do": "scan", "start", "stop"}`, whose result is the arrays of a `Digest`, or
`{"do": "masses", "start", "stop", "filled", "wanted"}`, whose result is `class_masses`. Digests of
pieces add up, and every decision is exact or made by bounds, so the merges do not depend on how the
rows are divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.logits.merging.empty_classes import TABLE_BYTES, Masses, class_masses, hosts
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.merging import KnownBounds
from models.methods.logits.merging.row_digest import Digest, from_arrays, joined, scan, segment_rows
from models.running.progress import Crew, Piece, Progress


@dataclass(frozen=True, slots=True)
class LogitsRead:
    """The result of reading the logits, from which merges are decided.

    hosts : for each class without points, in order, the class and the classes tied as its best
        host; `n_open` of these choices are guesses.
    parts : number of rows of each dataset, in order.
    readable_from, n_old, known : as for `Merger`.
    """

    matrix: LogitMatrix
    digest: Digest
    hosts: list[tuple[int, Int]]
    masses: Masses
    parts: Int
    n_open: int = 0
    readable_from: int = 0
    n_old: int = 0
    known: Mapping[bytes, KnownBounds] = field(default_factory=dict)


def read(matrix: LogitMatrix, crew: Crew) -> LogitsRead:
    """The result of reading all rows, divided among `crew`: once, and again for empty classes."""
    digest = digested(matrix, 0, crew)
    class_mass = masses(matrix, digest.size, crew)
    parts = np.array([matrix.shape[0]])
    return LogitsRead(matrix, digest, hosts(class_mass, digest.size), class_mass, parts)


def piece(
    matrix: LogitMatrix,
    piece: Piece,
    threads: int,
    progress: Progress,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Arrays:
    """The arrays of one piece. Raises UsageError if there is no such device."""
    start, stop = int(piece["start"]), int(piece["stop"])
    if piece["do"] == "scan":
        if device == "cpu":
            return scan(matrix, start, stop, threads, progress).arrays()
        from models.methods.logits.merging import pass_gpu

        return pass_gpu.scan(matrix, start, stop, device, progress, threads).arrays()
    filled, wanted = (np.array(piece[name], dtype=np.int64) for name in ("filled", "wanted"))
    return {"mass": class_masses(matrix, start, stop, filled, wanted, threads)}


def digested(matrix: LogitMatrix, start: int, crew: Crew) -> Digest:
    """The digest of the rows from `start` on, computed in pieces by `crew`."""
    pieces = _pieces(matrix, start, crew, {"do": "scan"})
    parts: list[Arrays] = [{}] * len(pieces)
    for number, arrays in crew.compute(pieces):
        parts[number] = arrays
    return joined([from_arrays(part) for part in parts])


def masses(matrix: LogitMatrix, size: Int, crew: Crew, start: int = 0) -> Masses:
    """The masses over the rows from `start` on. One read of the rows per `TABLE_BYTES` of them."""
    empty, filled = np.flatnonzero(size == 0), np.flatnonzero(size)
    shape = len(filled), len(empty)
    at_once = max(1, TABLE_BYTES // (8 * max(1, len(filled))))
    tables: list[Float] = []
    for first in range(0, len(empty), at_once):
        wanted = empty[first : first + at_once]
        task = {"do": "masses", "filled": filled.tolist(), "wanted": wanted.tolist()}
        pieces = _pieces(matrix, start, crew, task)
        parts: list[Float] = [np.empty(0)] * len(pieces)
        for number, arrays in crew.compute(pieces):
            parts[number] = arrays["mass"]
        table, *others = parts
        for other in others:
            table = table + other
        tables.append(table)
    # Tables may be large: copied only where there are several.
    total = np.zeros(shape) if not tables else tables[0]
    return Masses(filled, empty, total if len(tables) <= 1 else np.concatenate(tables, axis=1))


def _pieces(matrix: LogitMatrix, start: int, crew: Crew, task: Mapping[str, Any]) -> list[Piece]:
    """`task` for consecutive ranges of the rows, which begin at multiples of a segment."""
    n, step = matrix.shape[0], segment_rows(matrix)
    n_segments = -(-(n - start) // step)
    n_pieces = max(1, min(crew.n_pieces, n_segments))
    edges = [start + step * (n_segments * i // n_pieces) for i in range(n_pieces)] + [n]
    return [{**task, "start": a, "stop": b} for a, b in pairwise(edges)]
