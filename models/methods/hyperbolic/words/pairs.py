"""Counts of words that occur together, as pairs to learn from, also in documents.

    X_ij     how often word j occurs near word i, symmetric
    f(x)     (x / x_max)^exponent below x_max, 1 from there on: the weight of a pair

Pairs of count 0 are left out. Words are in order of their totals, greatest first, ties as in the
input, so that draws by number do not depend on the order of the input.

Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation" (2014),
§3, eq. 8 and 9.

Cost: O(P log P) time for P pairs that occur, 90 bytes each, of which 24 are kept.

`count_words` counts in documents, at the cost of `models.preprocess.documents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Int32, Mask, Matrix
from models.errors import UsageError
from models.inputs.data import require_finite
from models.preprocess.documents import cooccurrences, numbered, vocabulary
from models.running.progress import Progress, subprogress

_TOLERANCE = 1e-6
MOST = 1e30
"""The largest accepted count."""
LIGHT = 0.05
"""Where no pair has a larger weight, steps are too small to learn vectors."""


@dataclass(frozen=True, slots=True)
class WordPairs:
    """The pairs (i, j) with X_ij > 0, each in both directions.

    order : (V,) the input row of each word, greatest totals first.
    row, column : (P,) i and j in that order. log_count, weight : (P,) log X_ij and f(X_ij).
    """

    order: Int
    row: Int32
    column: Int32
    log_count: Float
    weight: Float

    @property
    def n_words(self) -> int:
        return len(self.order)

    @property
    def n_pairs(self) -> int:
        return len(self.row)


def pairs_of(counts: sp.csr_array, x_max: float, exponent: float) -> WordPairs:
    """The pairs with a count above 0, with their weights.

    counts : (V, V) symmetric, not negative, in the form of `checked`.
    """
    total = counts.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    entries = counts.tocoo()
    row, column = place[entries.row], place[entries.col]
    # The order of pairs, too, must not depend on that of the input.
    by_pair = np.lexsort((column, row))
    count = entries.data[by_pair].astype(np.float64)
    return WordPairs(
        order, row[by_pair], column[by_pair], np.log(count), weights(count, x_max, exponent)
    )


def weights(count: Float, x_max: float, exponent: float) -> Float:
    """f of each count."""
    weight: Float = np.minimum(count / x_max, 1.0) ** exponent
    return weight


def small_warnings(counts: sp.csr_array, x_max: float, exponent: float) -> tuple[str, ...]:
    """A sentence where even the largest count has so little weight that hardly anything is
    learned, as where shares are given instead of counts."""
    largest = float(counts.data.max(initial=0.0))
    weight = float(weights(np.array([largest]), x_max, exponent)[0])
    if weight >= LIGHT or not largest:
        return ()
    return (
        f"The largest count is {largest:.3g}, which has a weight of {weight:.1e} beside 'x_max' "
        f"{x_max:g}: vectors are hardly learned, and the tree is close to chance. Give counts "
        "rather than shares, or multiply all of them.",
    )


def checked(values: Matrix, role: str) -> sp.csr_array:
    """The counts as float64 without zeros.

    Raises UsageError for a matrix that is not square; for values that are not finite, negative,
    above `MOST` or not symmetric, naming the first; and for a word that occurs with no other.
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
    _require(counts, counts.data > MOST, role, f"above {MOST:g}, the largest that is accepted")
    _require_symmetric(counts, role)
    alone = np.flatnonzero(np.diff(counts.indptr) == 0)
    if alone.size:
        raise UsageError(
            f"Input {role!r} has no count above 0 in row {alone[0]} (counted from 0), and in "
            f"{alone.size} row(s) in total: nothing is known of a word that occurs with no other. "
            "Leave such words out.",
            code="wrong-input",
            role=role,
            row=int(alone[0]),
        )
    return counts


def _require(counts: sp.csr_array, bad: Mask, role: str, what: str) -> None:
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
    transposed = counts.T.tocsr()
    apart = abs(counts - transposed).tocoo()
    if not apart.nnz:
        return
    # The sum has a stored value wherever either has one, and so wherever they differ.
    size = (counts + transposed).tocsr()[apart.row, apart.col]
    bad = np.flatnonzero(apart.data > _TOLERANCE * np.asarray(size).ravel())
    if bad.size:
        row, column = int(apart.row[bad[0]]), int(apart.col[bad[0]])
        raise UsageError(
            f"Input {role!r} must be symmetric; it has {counts[row, column]:g} at row {row}, column"
            f" {column} (counted from 0), and {counts[column, row]:g} across the diagonal. To count"
            " both directions, add the matrix and its transpose.",
            code="not-symmetric",
            role=role,
            row=row,
            column=column,
        )


def count_words(
    documents: Sequence[str], min_count: int, max_words: int, window: int, progress: Progress
) -> tuple[list[str], sp.csr_array, tuple[str, ...]]:
    """The words, their counts (V, V) in the form of `words.pairs.checked`, and warnings.

    Raises UsageError if no word is left, or none occurs near another.
    """
    known = vocabulary(documents, min_count, max_words, subprogress(progress, 0.0, 1 / 3))
    tokens = numbered(documents, known.words, subprogress(progress, 1 / 3, 2 / 3))
    counts = cooccurrences(tokens, len(known.words), window, subprogress(progress, 2 / 3, 1.0))
    near = np.diff(counts.indptr) > 0
    if not near.any():
        raise UsageError(
            f"Input 'documents' has {len(known.words):,} word(s) in the vocabulary, and none "
            "occurs near another: no document has two.",
            code="empty",
            role="documents",
        )
    warnings = []
    n_short = int((np.diff(tokens.start) < 2).sum())
    if known.n_left_out:
        warnings.append(
            f"{known.n_left_out:,} word(s) are left out: they occur fewer than 'min_count' = "
            f"{min_count} times, or are not among the 'max_words' = {max_words:,} most frequent."
        )
    if n_short:
        warnings.append(f"{n_short:,} document(s) have fewer than two words of the vocabulary.")
    if not near.all():
        warnings.append(f"{int((~near).sum()):,} word(s) occur near no other and are left out.")
        connected = np.flatnonzero(near)
        counts = sp.csr_array(counts[connected][:, connected])
    words = [word for word, is_near in zip(known.words, near.tolist(), strict=True) if is_near]
    return words, counts, tuple(warnings)
