"""Columns of features that are likely not meant so: of one value, equal to another, an id, or so
wide that no other counts.

They are sought in a sample, and those found there are compared with all rows. O(sample), and a pass
over the rows where something was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from models.arrays import Float
from models.errors import listed
from models.inputs.checks import Points, blocks
from models.inputs.frames import sampled, typical
from models.inputs.rows import Rows

WIDEST = 1e12
"""How many times as wide as every other a column is that alone counts."""

FEWEST = 20
"""Fewer rows are in sequence by chance."""


def odd_columns(
    features: object, names: Sequence[str] | None, id_like: Callable[[str], bool]
) -> tuple[str, ...]:
    """One sentence for each kind of odd columns of a dense matrix, of one alone whether it varies.

    names : of the columns; None: their numbers, from 0. id_like : whether a name is that of ids.
    """
    if not isinstance(features, (np.ndarray, Rows)) or len(features.shape) != 2:
        return ()
    n_rows, n_columns = features.shape
    if n_columns < 1 or n_rows < 2:
        return ()
    sample = sampled(features)
    if not np.isfinite(sample).all():
        return ()
    name = [str(at) if names is None else names[at] for at in range(n_columns)]
    constant = _everywhere(features, _constant(sample), _constant)
    notes = []
    if len(constant) == n_columns:
        return ("No row differs from another: every column has one value.",)
    if n_columns == 1:
        return ()
    if constant:
        notes.append(f"{len(constant)} column(s) have one value: {_named(constant, name)}.")
    twins = _everywhere(features, [at for at in _twins(sample) if at not in constant], _twins)
    if twins:
        notes.append(
            f"{len(twins)} column(s) equal one before them, and so count twice: "
            f"{_named(twins, name)}."
        )
    ids = []
    if n_rows >= FEWEST:
        likely = {each for each in range(n_columns) if names and id_like(name[each])}
        ids = _everywhere(features, _rising(sample, likely), lambda rows: _rising(rows, likely))
    if ids:
        notes.append(
            f"{len(ids)} column(s) look like numbers of the rows and are measured as features: "
            f"{_named(ids, name)}. Leave them out, or choose ids by ?id_column=."
        )
    reach = typical(np.abs(sample / 2 - np.sort(sample / 2, axis=0)[(len(sample) - 1) // 2]))
    widest = int(reach.argmax())
    others = np.delete(reach, widest)
    if (others > 0).any() and reach[widest] / WIDEST > others.max():
        notes.append(
            f"Column {_named([widest], name)} spreads more than {WIDEST:.0e} times as much as any "
            'other, so that it alone counts. `preprocess: [{"step": "standardize"}]` gives all one '
            "spread."
        )
    return tuple(notes)


def _named(columns: Sequence[int], name: Sequence[str]) -> str:
    return listed([name[at] for at in columns])


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
