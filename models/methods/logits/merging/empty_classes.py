"""The groups that classes without points are merged with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops import rows
from models.methods.logits.merging.reference import TIE
from models.methods.logits.merging.row_digest import each, segment_rows

TABLE_BYTES = 256 << 20
"""The most memory of the tables that threads fill at the same time; larger ones, fewer threads."""


@dataclass(frozen=True, slots=True)
class Masses:
    """Sums of the probabilities of classes without points, over the rows of each other class.

    filled, wanted : numbers of the classes with points and of those without, ascending.
    total : (len(filled), len(wanted)).
    """

    filled: Int
    wanted: Int
    total: Float

    def at(self, filled: Int, wanted: Int) -> Float:
        """The rows and columns of some classes; zeros for classes `filled` that had no points."""
        total = np.zeros((len(filled), len(wanted)))
        row = np.full(max(filled.max(), self.filled.max(initial=-1)) + 1, -1)
        row[self.filled] = np.arange(len(self.filled))
        known = row[filled] >= 0
        column = np.searchsorted(self.wanted, wanted)
        total[known] = self.total[np.ix_(row[filled[known]], column)]
        return total


def class_masses(
    matrix: LogitMatrix, start: int, stop: int, filled: Int, wanted: Int, threads: int
) -> Float:
    """(len(filled), len(wanted)) sums of the probabilities of the classes `wanted`.

    They are taken over the rows in [start, stop) of each class of `filled`, in float64. One read
    of the rows. Each thread fills its own table, so at most `TABLE_BYTES` of them work, but
    one always does.
    """
    n_classes = matrix.shape[1]
    column = np.zeros(n_classes, dtype=np.int64)
    column[filled] = np.arange(len(filled))
    step = segment_rows(matrix)
    n_segments = -(-(stop - start) // step)
    table_bytes = 8 * max(1, len(filled) * len(wanted))
    n_shares = max(1, min(threads, n_segments, TABLE_BYTES // table_bytes))
    edges = [start + step * (n_segments * i // n_shares) for i in range(n_shares)] + [stop]

    def share(number: int) -> Float:
        """One thread's rows, into one table: it may be larger than a segment."""
        total = np.zeros((len(filled), len(wanted)))
        for at in range(edges[number], edges[number + 1], step):
            block = matrix.packed(at, min(at + step, edges[number + 1]))
            rows.masses(block, matrix.scale, column, wanted, total)
        return total

    total: Float | None = None
    for _, part in each(share, range(n_shares), threads):
        if total is None:
            total = part
        else:
            total += part
    assert total is not None, "there is at least one share"
    return total


def hosts(masses: Masses, size: Int) -> list[tuple[int, Int]]:
    """For each class without points, in order: the class, and the classes tied as its best host.

    The host is the group G whose points give the class the highest mean probability. While classes
    without points are being placed, each such G has exactly one class with points, so the mean over
    D^G is that over one class.
    """
    if not len(masses.wanted):
        return []
    best = np.zeros(len(masses.wanted))
    n_near = np.zeros(len(masses.wanted), dtype=np.int64)
    rows.best_means(masses.total, size[masses.filled], 1.0 - TIE, best, n_near)
    end = np.cumsum(n_near)
    tied = np.empty(int(n_near.sum()), dtype=np.int64)
    rows.near_means(masses.total, size[masses.filled], 1.0 - TIE, best, end - n_near, tied)
    # A mass that underflows to 0 everywhere is a tie of all groups.
    return [
        (c, masses.filled[part])
        for c, part in zip(masses.wanted.tolist(), np.split(tied, end[:-1]), strict=True)
    ]
