"""Warnings of numbers that stand for something else: marks of missing values, rows of totals,
distances between the rows.

A mark is a number by which files say that a value is missing, such as -999. It is taken for one
where it lies outside of all other values of its column by more than twice their range. A row of
totals is the first or last row, where it is the sum or the mean of all others in every column, or
where its id says so. A square symmetric matrix with 0, or its largest value, all along the diagonal
has distances or similarities of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.errors import shown
from models.inputs.checks import blocks
from models.inputs.frames import sampled
from models.inputs.rows import ArrayRows, Rows

_NINES = (99.0, 999.0, 9999.0, 99999.0, 999999.0, 99.9, 999.9, 99.99, 999.99)
_MISSING = np.unique(
    np.array(
        [
            *_NINES,
            *(-each for each in _NINES),
            -888.0,
            -32768.0,
            32767.0,
            -2147483648.0,
            2147483647.0,
            *(sign * 10.0**power for power in (20, 30, 31, 35, 36) for sign in (1.0, -1.0)),
            9.969209968386869e36,
            *(sign * float(np.finfo(np.float32).max) for sign in (1.0, -1.0)),
        ]
    ).astype(np.float32)
)
"""Numbers by which measuring devices, surveys and NetCDF, GeoTIFF or Fortran files mark missing
values."""

_AT_HAND = 2**26
"""Columns with marks are sought in a sample of a larger matrix."""

FEWEST = 5
"""Rows of which one is a total by chance are fewer."""

_MOST = 5
"""Marks that a warning names."""

_NEARLY = 0.8
"""The share of the columns in which a sum is the largest, at least."""

_SUMMARIES = frozenset(
    (
        *("total", "totals", "grand total", "subtotal", "sub-total", "sum", "sums", "overall"),
        *("mean", "means", "average", "averages", "avg"),
        *("gesamt", "summe", "mittelwert", "durchschnitt", "total général", "somme", "moyenne"),
        *("totale", "somma", "suma", "promedio"),
    )
)
"""Ids of rows that sum up others."""

_ROUNDED = 1e-3
_CENTRAL = 1e-2
"""How far a total may be off, as a share of itself, and a mean, of the standard deviation."""


def stand_ins(
    features: object, names: Sequence[str] | None, ids: Sequence[str] = ()
) -> tuple[str, ...]:
    """One sentence for marks of missing values in a dense matrix, one for a row of totals, one for
    distances.

    names : of the columns; None: their numbers, from 0. ids : of the rows, where they have any.
    O(N D) at most.
    """
    if not _is_looked_at(features):
        return _by_id(ids)
    sample = sampled(features)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _total(features, sample)
    # Beside a total no mark is far from the others.
    others = features if total is None else _without(features, total[0])
    sentences = _by_id(ids) if total is None else (total[1],)
    return (*marks(others, names), *sentences, *_pairs(features, sample))


def marks(features: object, names: Sequence[str] | None) -> tuple[str, ...]:
    """The sentence for marks of missing values alone, as of `stand_ins`."""
    if not _is_looked_at(features):
        return ()
    is_far = isinstance(features, Rows) and features.far
    seen = sampled(features) if is_far else features
    at_hand = seen.shape[0] * seen.shape[1] <= _AT_HAND
    likely = _with_marks(seen if at_hand else sampled(seen), features.dtype)
    marked = _marks(seen, likely, features.dtype) if likely.size else []
    if not marked:
        return ()
    of_all = f" of {seen.shape[0]} rows looked at" if is_far else " row(s)"
    some = [
        f"{value:g} in {shown(str(at) if names is None else names[at])} ({count}{of_all})"
        for at, value, count in marked[:_MOST]
    ]
    more = f" and {len(marked) - _MOST} more" if len(marked) > _MOST else ""
    return (
        "Numbers far from all others of their column, as marks of missing values are, are "
        f"measured as features: {', '.join(some)}{more}. If they are marks, leave such "
        'cells empty and put {"step": "missing"} first in preprocess.',
    )


def _is_looked_at(features: object) -> TypeGuard[Array | Rows]:
    if isinstance(features, np.ndarray) and features.dtype.kind not in "fiu":
        return False
    if not isinstance(features, (np.ndarray, Rows)) or len(features.shape) != 2:
        return False
    return features.shape[0] >= FEWEST and features.shape[1] > 0


def _with_marks(rows: Array | Rows, dtype: np.dtype[Any]) -> Int:
    """The columns whose lowest or highest number is a mark."""
    low, high = np.full((2, rows.shape[1]), np.nan, dtype=np.float32)
    for _, part in blocks(rows):
        low = np.fmin(low, np.fmin.reduce(part, axis=0))
        high = np.fmax(high, np.fmax.reduce(part, axis=0))
    is_mark = (_codes(low, dtype) >= 0) | (_codes(high, dtype) >= 0)
    return np.flatnonzero(is_mark)


def _marks(rows: Array | Rows, columns: Int, dtype: np.dtype[Any]) -> list[tuple[int, float, int]]:
    """(column, mark, in how many rows) for each mark that is far from all other numbers of its
    column."""
    count = np.zeros((len(columns), len(_MISSING)), dtype=np.int64)
    n_others = np.zeros(len(columns), dtype=np.int64)
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    for _, part in blocks(rows):
        own = np.asarray(part)[:, columns].astype(np.float64)
        code = _codes(own, dtype)
        is_other = (code < 0) & np.isfinite(own)
        n_others += is_other.sum(axis=0)
        low = np.minimum(low, own.min(axis=0, initial=np.inf, where=is_other))
        high = np.maximum(high, own.max(axis=0, initial=-np.inf, where=is_other))
        row, column = np.nonzero(code >= 0)
        np.add.at(count, (column, code[row, column]), 1)
    far = []
    for place in np.flatnonzero((n_others >= FEWEST - 1) & (low < high)).tolist():
        middle, room = low[place] / 2 + high[place] / 2, 2.5 * (high[place] - low[place])
        far += [
            (int(columns[place]), float(_MISSING[mark]), int(count[place, mark]))
            for mark in np.flatnonzero(count[place]).tolist()
            if abs(float(_MISSING[mark]) - middle) > room
        ]
    return far


def _codes(values: Array, dtype: np.dtype[Any]) -> Int:
    """The place of each value in `_MISSING`, -1 for other values. dtype : in which they are kept;
    float16 rounds 9,999 to 10,000."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        known = _MISSING.astype(dtype).astype(np.float32) if dtype == np.float16 else _MISSING
    usable = (np.abs(known - _MISSING) <= 1) & ((known == _MISSING) | (_MISSING % 1 == 0))
    code = np.full(values.shape, -1, dtype=np.int64)
    large = np.abs(rounded) >= np.abs(_MISSING).min()
    place = np.searchsorted(known, rounded[large]).clip(max=len(known) - 1)
    code[large] = np.where((known[place] == rounded[large]) & usable[place], place, -1)
    return code


def _by_id(ids: Sequence[str]) -> tuple[str, ...]:
    """The sentence on a first or last row whose id is a word for a sum or a mean: its numbers may
    be of some columns or rows alone."""
    for row, place in ((len(ids) - 1, "last"), (0, "first")) if ids else ():
        if ids[row].strip(" :*").casefold() in _SUMMARIES:
            return (
                f"Row {row} (counted from 0), the {place}, has the id {shown(ids[row])} and is "
                "taken as a row like the others. Leave it out if it sums them up.",
            )
    return ()


def _total(features: Array | Rows, sample: Float) -> tuple[int, str] | None:
    """The number of a row of totals and the sentence on it."""
    n_rows = features.shape[0]
    for row, part, place in ((n_rows - 1, sample[:-1], "last"), (0, sample[1:], "first")):
        own = sample[row and -1]
        all_at_hand = len(sample) == n_rows
        if not (all_at_hand or _may_be_sum(own, part) or _may_be_mean(own, part)):
            continue
        what = _sum_or_mean(features, row, own)
        if what is not None:
            return row, (
                f"Row {row} (counted from 0), the {place}, is the {what} of all others in every "
                f"column and is taken as a row like these. Leave it out if it is a {what}."
            )
    return None


def _without(features: Array | Rows, row: int) -> Array | Rows:
    """The rows but the first or last; all of rows that are read otherwise than from an array."""
    array = _array_of(features)
    return features if array is None else array[:-1] if row else array[1:]


def _array_of(features: Array | Rows) -> Array | None:
    if isinstance(features, ArrayRows) and not features.bfloat16:
        # The array itself: `as_array` copies one in another order.
        return features.array
    return features if isinstance(features, np.ndarray) else None


def _may_be_sum(own: Float, others: Float) -> bool:
    """Whether it is larger than the others in nearly all columns: a few may have numbers of both
    signs, or marks."""
    return bool((own >= others.max(axis=0)).mean() >= _NEARLY and (own > 0).sum() > 1)


def _may_be_mean(own: Float, others: Float) -> bool:
    room = others.std(axis=0)
    return bool((np.abs(own - others.mean(axis=0)) <= room).all() and (room > 0).sum() > 2)


def _sum_or_mean(features: Array | Rows, row: int, own: Float) -> str | None:
    """What a row is of all others: their sum or their mean, which in three columns or more is a
    value that no other row has; or their sum in two columns, if none of these is negative."""
    n_others = features.shape[0] - 1
    total, squares = np.zeros(own.shape), np.zeros(own.shape)
    equal, negative = np.zeros(own.shape, dtype=bool), False
    for block, part in blocks(features):
        others = np.asarray(part).astype(np.float64)
        if block.start <= row < block.stop:
            others = np.delete(others, row - block.start, axis=0)
        total += others.sum(axis=0)
        squares += ((others - own) ** 2).sum(axis=0)
        equal |= (others == own).any(axis=0)
        negative = negative or bool((others < 0).any())
    if not (np.isfinite(total).all() and np.isfinite(squares).all()):
        return None
    if not negative and (np.abs(total - own) <= _ROUNDED * own).all() and (own > 0).sum() > 1:
        return "sum"
    spread = np.sqrt(squares / n_others)
    if (~equal & (spread > 0)).sum() > 2:
        for what, value in (("mean", total / n_others), ("sum", total)):
            if (np.abs(value - own) <= _CENTRAL * spread).all():
                return what
    return None


def _pairs(features: Array | Rows, sample: Float) -> tuple[str, ...]:
    n_rows, n_columns = features.shape
    if n_rows != n_columns:
        return ()
    matrix = _array_of(features)
    if matrix is None:
        return ()
    diagonal = np.diagonal(matrix).astype(np.float64)
    if not np.isfinite(sample).all() or np.ptp(diagonal) > _ROUNDED * np.abs(sample).max():
        return ()
    # Near the diagonal first, where most matrices differ already.
    if not (_is_symmetric(matrix[:FEWEST, :FEWEST]) and _is_symmetric(matrix)):
        return ()
    low, high = float(matrix.min()), float(matrix.max())
    room = _ROUNDED * (high - low)
    if low == 0 < high and diagonal.max() <= room:
        what, role = "distances between the rows, or weights of a graph", "'distances' or 'graph'"
    elif low < high and diagonal.min() >= high - room:
        what, role = "similarities of the rows", "'similarity'"
    else:
        return ()
    return (
        f"The features are square and symmetric, with {diagonal[0]:.3g} all along the diagonal, as "
        f"{what} are, and are measured as features. If they are, give them as the input {role} of "
        "a method that takes it.",
    )


def _is_symmetric(matrix: Array) -> bool:
    return all(
        np.allclose(matrix[block], matrix[:, block].T, rtol=1e-5, atol=0.0)
        for block in row_blocks(len(matrix), len(matrix))
    )
