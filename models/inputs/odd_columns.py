"""Columns of features that are likely not meant so: of one value, equal to another, an id, or so
wide that no other counts.

They are sought in a sample, and those found there are compared with all rows. O(sample), and a pass
over the rows where something was found. All stored values of sparse rows are looked at, a few times
each; columns with few values, which are equal by chance, are not called so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.errors import listed
from models.inputs.checks import Points, blocks
from models.inputs.frames import sampled, typical
from models.inputs.rows import Rows

WIDEST = 1e12
"""How many times as wide as every other a column is that alone counts."""

FEWEST = 20
"""Fewer rows are in sequence by chance."""

FEWEST_STORED = 5
"""Columns with fewer stored values are equal by chance."""


def odd_columns(
    features: object, names: Sequence[str] | None, id_like: Callable[[str], bool]
) -> tuple[str, ...]:
    """One sentence for each kind of odd columns of a matrix, of one alone whether it varies.

    names : of the columns; None: their numbers, from 0. id_like : whether a name is that of ids.
    """
    if not isinstance(features, (np.ndarray, Rows, sp.csr_array)) or len(features.shape) != 2:
        return ()
    n_rows, n_columns = features.shape
    if n_columns < 1 or n_rows < 2:
        return ()
    likely = {at for at in range(n_columns) if id_like(names[at])} if names else set()
    if isinstance(features, sp.csr_array):
        if not np.isfinite(features.data).all():
            return ()
        found = _of_sparse(features, likely)
    else:
        sample = sampled(features)
        if not np.isfinite(sample).all():
            return ()
        found = _of_dense(features, sample, likely)

    def named(columns: Sequence[int]) -> str:
        return listed([str(at) if names is None else names[at] for at in columns])

    notes = []
    if len(found.constant) == n_columns:
        return ("No row differs from another: every column has one value.",)
    if n_columns == 1:
        return ()
    if found.constant:
        notes.append(f"{len(found.constant)} column(s) have one value: {named(found.constant)}.")
    if found.twins:
        notes.append(
            f"{len(found.twins)} column(s) equal one before them, and so count twice: "
            f"{named(found.twins)}."
        )
    if found.ids:
        notes.append(
            f"{len(found.ids)} column(s) look like numbers of the rows and are measured as "
            f"features: {named(found.ids)}. Leave them out, or choose ids by ?id_column=."
        )
    widest = int(found.reach.argmax())
    others = np.delete(found.reach, widest)
    if (others > 0).any() and found.reach[widest] / WIDEST > others.max():
        notes.append(
            f"Column {named([widest])} spreads more than {WIDEST:.0e} times as much as any "
            'other, so that it alone counts. `preprocess: [{"step": "standardize"}]` gives all one '
            "spread."
        )
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Found:
    """The columns of one value, equal to one before, and that number the rows; (D,) the spread of
    each."""

    constant: list[int]
    twins: list[int]
    ids: list[int]
    reach: Float


def _of_dense(features: Points, sample: Float, likely: set[int]) -> _Found:
    constant = _everywhere(features, _constant(sample), _constant)
    twins: list[int] = []
    ids: list[int] = []
    reach = typical(np.abs(sample / 2 - np.sort(sample / 2, axis=0)[(len(sample) - 1) // 2]))
    if sample.shape[1] > len(constant):
        twins = _everywhere(features, [at for at in _twins(sample) if at not in constant], _twins)
    if features.shape[0] >= FEWEST:
        ids = _everywhere(features, _rising(sample, likely), lambda rows: _rising(rows, likely))
    return _Found(constant, twins, ids, reach)


def _of_sparse(features: sp.csr_array, likely: set[int]) -> _Found:
    """O(stored values + D)."""
    n_rows, n_columns = features.shape
    stored = features.data != 0
    column, value = features.indices[stored], features.data[stored].astype(np.float64)
    count = np.bincount(column, minlength=n_columns)
    one = np.zeros(n_columns)
    one[column] = value
    varies = np.zeros(n_columns, dtype=bool)
    varies[column[value != one[column]]] = True
    constant = np.flatnonzero(~varies & ((count == 0) | (count == n_rows)))
    # Equal columns have equal sums of products with any numbers of the rows, to the last bit.
    top = float(np.abs(value).max(initial=0.0)) or 1.0
    draw = np.random.default_rng(0).random(n_rows)
    row = np.repeat(np.arange(n_rows), np.diff(features.indptr))[stored]
    sums = np.bincount(column, draw[row] * (value / top), n_columns)
    many = np.flatnonzero((count >= FEWEST_STORED) & (varies | (count < n_rows)))
    _, number, times = np.unique(sums[many], return_inverse=True, return_counts=True)
    twins = _equal(features, many[times[number] > 1])
    mean = np.bincount(column, value / top, n_columns) / n_rows
    squares = np.bincount(column, (value / top - mean[column]) ** 2, n_columns)
    reach = np.sqrt((squares + (n_rows - count) * mean**2) / n_rows)
    reach[constant] = 0.0
    ids: list[int] = []
    if n_rows >= FEWEST:
        # At most one of rising numbers is 0, which need not be stored.
        full = np.flatnonzero((count >= n_rows - 1) & varies)
        own = {at for at, one in enumerate(full.tolist()) if one in likely}
        first = features[:FEWEST][:, full].toarray().astype(np.float64)
        rising = full[_rising(first, own)] if full.size else full
        own = {at for at, one in enumerate(rising.tolist()) if one in likely}
        part = features[:, rising].toarray().astype(np.float64)
        ids = [int(rising[at]) for at in _rising(part, own)] if rising.size else []
    return _Found(constant.tolist(), twins, ids, reach)


def _equal(features: sp.csr_array, columns: Int) -> list[int]:
    """The columns among these that equal one before them."""
    if not columns.size:
        return []
    part = sp.csc_array(features[:, columns])
    part.sum_duplicates()
    part.eliminate_zeros()
    ends = zip(part.indptr[:-1], part.indptr[1:], strict=True)
    first: dict[bytes, int] = {}
    keys = [part.indices[a:b].tobytes() + part.data[a:b].tobytes() for a, b in ends]
    return [int(columns[at]) for at, key in enumerate(keys) if first.setdefault(key, at) != at]


def _everywhere(
    features: Points, found: list[int], test: Callable[[Float], list[int]]
) -> list[int]:
    """The columns of `found` that pass the test in all rows; each block begins with the last row of
    the one before it."""
    if not found:
        return found
    last: Float | None = None
    for _, rows in blocks(features):
        wide = np.asarray(rows).astype(np.float64)
        part = wide if last is None else np.vstack([last, wide])
        passed = test(part) if len(part) > 1 else found
        found = [at for at in found if at in passed]
        if not found:
            break
        last = wide[-1:]
    return found


def _constant(rows: Float) -> list[int]:
    return [int(at) for at in np.flatnonzero((rows == rows[0]).all(axis=0))]


def _twins(rows: Float) -> list[int]:
    """The columns that equal one before them."""
    first: dict[bytes, int] = {}
    columns = np.ascontiguousarray(rows.T + 0.0)
    return [at for at, column in enumerate(columns) if first.setdefault(column.tobytes(), at) != at]


def _rising(rows: Float, likely: set[int]) -> list[int]:
    """The columns of integers that rise from row to row: by 1, or by any step where their name is
    that of ids. Between stretches of a sample they may rise by more."""
    step = np.diff(rows, axis=0)
    whole = (rows == np.trunc(rows)).all(axis=0)
    by_one = np.median(step, axis=0) == 1
    return [
        int(at)
        for at in np.flatnonzero(whole & (step > 0).all(axis=0))
        if by_one[at] or int(at) in likely
    ]
