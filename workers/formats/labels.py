"""Labels of rows: one each, or several, one or none.

Where each row has exactly one label they are a column of integers or text, else `LabelSets`. A
label is a name: numbers are named by their digits. In `LabelSets` a row whose labels are unknown
(null, or -1 alone) is not the same as a row without a label.

Rows may also be an indicator, a row of 0 and 1 for each point with a column for each class, one-hot
where each point has one class. Dense matrices of two or more columns are read so, and so are lists
of labels if every row (but unknown ones) has the same number of two or more values and all of them
are 0 or 1, false or true: as sets of labels such rows would hold the label 0 or 1 twice. Only rows
of two columns that are all [0, 1] or [1, 0] could be sets as well; they are sets if all are [0, 1],
as sets are written in ascending order, else classes, and the note says so. Columns with names, as
of a table, give the classes these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Int, Mask
from models.errors import UsageError, listed
from models.inputs.label_sets import LabelSets
from models.inputs.reading import note
from workers.formats import columns
from workers.formats.columns import NUMBERS
from workers.formats.refusals import described, refused
from workers.formats.tables import LabelRows, text_array

MOST_COLUMNS = 10_000_000
"""The largest number of columns of an indicator matrix: each is a label with a name."""

_UNKNOWN = -1

_BLOCK = 1 << 22


def is_indicator(array: npt.NDArray[Any]) -> bool:
    """Whether it is a dense matrix of two or more columns with 0 and 1 alone. O(values)."""
    if array.ndim != 2 or array.shape[1] < 2 or not array.size or array.dtype.kind not in "biuf":
        return False
    step = max(1, _BLOCK // array.shape[1])
    parts = (array[start : start + step] for start in range(0, len(array), step))
    return all(bool(((part == 0) | (part == 1)).all()) for part in parts)


def of_dense(
    array: npt.NDArray[Any], role: str, names: Sequence[str] | None = None
) -> npt.NDArray[Any] | LabelSets:
    """The labels of an indicator, as `of_indicator`; says so in a note. Raises UsageError as it."""
    called = "their numbers" if names is None else f"the header: {listed(names, 20)}"
    note(
        f"The {role} are a one-hot or indicator matrix of {len(array):,} rows x "
        f"{array.shape[1]:,} columns: its columns are read as the classes, named by {called}."
    )
    return of_indicator(sp.csr_array(array != 0), role, names)


def has_sets(items: object) -> bool:
    """Whether a JSON value is a list with a row that is a list of labels, or null."""
    return isinstance(items, list) and not {list, type(None)}.isdisjoint(map(type, items))


def rows_of_list(items: list[Any], role: str) -> LabelRows:
    """The rows of a JSON list: each a label, a list of labels, or null where they are unknown.

    Raises UsageError naming the row of anything else; the labels are all integers or all text.
    """
    times = np.zeros(len(items), dtype=np.int64)
    labels: list[Any] = []
    for row, item in enumerate(items):
        own = item if type(item) is list else [] if item is None else [item]
        times[row] = len(own)
        labels += own
    rows = LabelRows.of(times, np.empty(0), np.array([item is None for item in items]))
    types = set(map(type, labels))
    if types <= {str}:
        value = text_array(labels)
    elif types <= NUMBERS:
        value = columns.numbers(labels, role, rows.row)
    elif types <= NUMBERS | {bool} and _width(times, rows.unlabelled) > 1:
        value = columns.numbers([int(x) if type(x) is bool else x for x in labels], role, rows.row)
        if not ((value == 0) | (value == 1)).all():
            raise refused("has true or false among numbers that are not 0 or 1", role)
    elif types == {bool}:
        value = np.array(labels)
    else:
        first = {str} if type(labels[0]) is str else NUMBERS
        at = next(at for at, label in enumerate(labels) if type(label) not in first)
        row = int(rows.row[at])
        if labels[at] is None:
            how = "; a row whose labels are unknown is null, not a list with null"
        else:
            how = ". Labels must be all integers or all text, several of a row as a list of them"
        raise refused(
            f"has {described(labels[at])} among the labels of row {row} (counted from 0){how}",
            role,
            row=row,
        )
    return LabelRows(rows.start, value, rows.unlabelled)


def value(rows: LabelRows, role: str) -> npt.NDArray[Any] | LabelSets:
    """The column of integers or `str` objects if each row has exactly one label, else label sets.

    Integer names are in numeric order, text names sorted; a label that a row has twice
    counts once. Raises UsageError naming the row of a number that is not an integer and of an empty
    text, `empty` if no row has a label. O(n log n).
    """
    width = 0 if rows.are_sets else _width(np.diff(rows.start), rows.unlabelled)
    if width > 1 and rows.value.dtype.kind in "biuf":
        flags = rows.value.reshape(-1, width)
        # Sets are written in ascending order: [0, 1] throughout is the same set in every row.
        if is_indicator(flags) and not (width == 2 and (flags[:, 0] < flags[:, 1]).all()):
            return _of_flags(flags, rows.unlabelled, role)
    row, n_rows = rows.row, len(rows.unlabelled)
    unlabelled = rows.unlabelled
    names: list[Any]
    if rows.value.dtype.kind == "O":
        texts = rows.value.tolist()
        columns.require_texts(texts, role, row)
        names = sorted(set(texts))
        number = {name: code for code, name in enumerate(names)}
        code = np.fromiter((number[text] for text in texts), dtype=np.int64, count=len(texts))
        kept: npt.NDArray[Any] = rows.value
    else:
        kept = columns.integers(rows.value, role, row)
        numbers, code = np.unique(kept, return_inverse=True)
        names = numbers.tolist()
    # Ascending within each row, and none twice.
    row, code = np.divmod(np.unique(row * max(1, len(names)) + code), max(1, len(names)))
    times = np.bincount(row, minlength=n_rows)
    if names and (times == 1).all():
        if len(kept) == n_rows:
            return kept
        once: npt.NDArray[Any] = np.array(names, dtype=kept.dtype)[code]
        return once
    if _UNKNOWN in names:
        unknown = names.index(_UNKNOWN)
        alone = (code == unknown) & (times[row] == 1)
        unlabelled = unlabelled.copy()
        unlabelled[row[alone]] = True
        row, code = row[~alone], code[~alone]
        if not (code == unknown).any():
            del names[unknown]
            code = code - (code > unknown)
    return _sets(row, code, [str(name) for name in names], unlabelled, role)


def _width(times: Int, unlabelled: Mask) -> int:
    """The number of values of every row whose labels are known; 0 if rows differ."""
    known = np.unique(times[~unlabelled])
    return int(known[0]) if known.size == 1 else 0


def _of_flags(flags: npt.NDArray[Any], unlabelled: Mask, role: str) -> npt.NDArray[Any] | LabelSets:
    """The labels of an indicator of the rows that are not `unlabelled`."""
    if flags.shape[1] == 2 and (flags.sum(axis=1) == 1).all():
        note(
            f"Every row of the {role} is [0, 1] or [1, 0], which could also be the set of the "
            "labels 0 and 1; send label sets as text if this is meant."
        )
    known = of_dense(flags, role)
    if not unlabelled.any():
        return known
    rows = np.flatnonzero(~unlabelled)
    row, code = np.nonzero(flags)
    names = [str(number) for number in range(flags.shape[1])]
    return _sets(rows[row], code, names, unlabelled, role)


def of_indicator(
    matrix: sp.csr_array, role: str, names: Sequence[str] | None = None
) -> npt.NDArray[Any] | LabelSets:
    """The labels of a sparse matrix rows x labels: a row has the labels of its values that are not
    zero. A label has the name of its column; without names column c is named "c". Columns without a
    value are labels too.

    Raises UsageError naming a value that is not finite. O(stored values + columns).
    """
    n_rows, n_labels = matrix.shape
    if n_labels > MOST_COLUMNS:
        raise refused(
            f"has {n_labels} columns; a matrix of rows x labels may have {MOST_COLUMNS}",
            role,
            "too-large",
        )
    row = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    if matrix.dtype.kind == "f":
        odd = np.flatnonzero(~np.isfinite(matrix.data))
        if odd.size:
            place = {"row": int(row[odd[0]]), "column": int(matrix.indices[odd[0]])}
            raise refused(
                f"has a value that is not finite at row {place['row']}, column {place['column']} "
                "(counted from 0)",
                role,
                "not-finite",
                **place,
            )
    has = matrix.data != 0
    row = row[has]
    code: Int = matrix.indices[has].astype(np.int64)
    if n_rows and (np.bincount(row, minlength=n_rows) == 1).all():
        return code if names is None else text_array(names)[code]
    called = [str(number) for number in range(n_labels)] if names is None else list(names)
    return _sets(row, code, called, np.zeros(n_rows, dtype=bool), role)


def _sets(row: Int, code: Int, names: list[str], unlabelled: Mask, role: str) -> LabelSets:
    if not code.size:
        raise UsageError(
            f"Input {role!r} has no label in any of its {len(unlabelled)} rows.",
            code="empty",
            role=role,
        )
    start = np.zeros(len(unlabelled) + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=len(unlabelled)), out=start[1:])
    return LabelSets(start, code, names, unlabelled)
