"""Counts of words that occur together, as pairs to learn from.

    X_ij     how often word j occurs near word i, symmetric
    f(x)     (x / x_max)^exponent below x_max, 1 from there on: what a pair weighs

Pairs of count 0 are not there. Words are taken in order of their totals, greatest first and those
of one total as given, so that what is drawn by number does not hang on the order they came in.

Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation" (2014),
§3, eq. 8 and 9.

Cost: O(P log P) time for P pairs that occur, 90 bytes each, of which 24 are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix
from models.data import require_finite
from models.errors import UsageError

_TOLERANCE = 1e-6
MOST = 1e30
"""Largest count that is taken."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs (i, j) with X_ij > 0, both ways round.

    order : (V,) the given number of each word, those of greatest total first. row, column : (P,)
    int32, in that order. log_count, weight : (P,) log X_ij and f(X_ij).
    """

    order: Int
    row: npt.NDArray[np.int32]
    column: npt.NDArray[np.int32]
    log_count: Float
    weight: Float

    @property
    def n_words(self) -> int:
        return len(self.order)

    @property
    def n_pairs(self) -> int:
        return len(self.row)


def pairs_of(counts: sp.csr_array, x_max: float, exponent: float) -> Pairs:
    """counts : (V, V) symmetric, none negative, as `checked` gives it."""
    total = counts.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    found = counts.tocoo()
    row, column = place[found.row], place[found.col]
    # In one order of pairs too, whatever that of the words was.
    by_pair = np.lexsort((column, row))
    count = found.data[by_pair].astype(np.float64)
    return Pairs(
        order, row[by_pair], column[by_pair], np.log(count), weights(count, x_max, exponent)
    )


def weights(count: Float, x_max: float, exponent: float) -> Float:
    """f of each count."""
    found: Float = np.minimum(count / x_max, 1.0) ** exponent
    return found


def checked(values: Matrix, role: str) -> sp.csr_array:
    """The counts as float64 without zeros.

    UsageError for a matrix that is not square, values that are not finite, negative, beyond `MOST`
    or not symmetric, naming the first, and for a word that occurs with none.
    """
    if values.shape[0] != values.shape[1] or not values.shape[0]:
        raise UsageError(
            f"Input {role!r} must be a square matrix, a row and a column for each word; it has "
            f"{values.shape[0]} rows and {values.shape[1]} columns.",
            code="wrong-shape",
            role=role,
        )
    require_finite(values, role)
    counts = sp.csr_array(values, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    _require(counts, counts.data < 0, role, "negative; a count is 0 or more")
    _require(counts, counts.data > MOST, role, f"above {MOST:g}, the largest that is taken")
    _require_symmetric(counts, role)
    alone = np.flatnonzero(np.diff(counts.indptr) == 0)
    if alone.size:
        raise UsageError(
            f"Input {role!r} has no count above 0 in row {alone[0]} (counted from 0), and in "
            f"{alone.size} row(s) in all: nothing is known of a word that occurs with no other. "
            "Leave such words out.",
            code="wrong-input",
            role=role,
            row=int(alone[0]),
        )
    return counts


def _require(counts: sp.csr_array, bad: npt.NDArray[Any], role: str, what: str) -> None:
    at = np.flatnonzero(bad)
    if at.size:
        row = int(np.searchsorted(counts.indptr, at[0], side="right")) - 1
        column = int(counts.indices[at[0]])
        raise UsageError(
            f"Input {role!r} has the value {counts.data[at[0]]:g} at row {row}, column {column} "
            f"(counted from 0), which is {what}.",
            code="wrong-input",
            role=role,
            row=row,
            column=column,
        )


def _require_symmetric(counts: sp.csr_array, role: str) -> None:
    turned = counts.T.tocsr()
    apart = abs(counts - turned).tocoo()
    if not apart.nnz:
        return
    # Both have their values at the same places once those of either are there.
    size = (counts + turned).tocsr()[apart.row, apart.col]
    bad = np.flatnonzero(apart.data > _TOLERANCE * np.asarray(size).ravel())
    if bad.size:
        row, column = int(apart.row[bad[0]]), int(apart.col[bad[0]])
        raise UsageError(
            f"Input {role!r} must be symmetric; it has {counts[row, column]:g} at row {row}, column"
            f" {column} (counted from 0), and {counts[column, row]:g} the other way round. To count"
            " both, add the matrix and its transpose.",
            code="not-symmetric",
            role=role,
            row=row,
            column=column,
        )
