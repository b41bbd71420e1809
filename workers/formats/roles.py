"""What each role accepts: the one place where a plain table becomes an input, or is refused.

Use `value` for a table whose role is known, `facts` if it is not. Every error names the role, the
place (rows and columns counted from 0) and what is accepted.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.data import Value
from models.errors import UsageError
from workers.formats.facts import Facts
from workers.formats.refusals import broken, listed, missing, shown, subject, where
from workers.formats.tables import (
    Cells,
    Columns,
    Lists,
    Table,
    Want,
    dtype_name,
    require_filled,
    text_array,
)

MATRIX = frozenset({"logits", "top_classes", "features", "distances", "similarity", "graph"})
COLUMN = frozenset(
    {"labels", "names", "feature_names", "tasks", "targets", "timestamps", "documents"}
)
REAL = frozenset({"targets", "timestamps"})
"""Roles that take a column of numbers, not only integers."""
TEXT = frozenset({"names", "feature_names", "documents"})
"""Roles that take a column of text: a number is taken as written."""

_NUMBERS = frozenset({int, float})


def wanted(role: str) -> Want:
    """What `role` takes. Raises UsageError `wrong-input` for a role that takes no file."""
    if role in COLUMN:
        return "column"
    if role in MATRIX:
        return "matrix"
    raise UsageError(
        f"Role {shown(role)} takes no array; roles that do are "
        f"{', '.join(sorted(MATRIX | COLUMN))}.",
        code="wrong-input",
        role=role[:60],
    )


def value(table: Table, role: str) -> Value:
    """The input of `role` in a table.

    A matrix is (n_rows, n_columns) numbers in native byte order, or `csr_array`; it is copied only
    if its bytes are in the other order or unaligned. NaN and infinity in a binary file are left for
    the method to refuse.

    A column is (n_rows,) int64 or `str` objects, float64 for `REAL`, a list of `str` for `TEXT`. A
    matrix of one column is taken as that column, whole floats as integers.

    Raises UsageError `wrong-shape`, `wrong-input`, `missing-value`, `not-finite`, `ragged`,
    `member-needed` or `empty`.
    """
    if wanted(role) == "matrix":
        return _matrix(table, role)
    match table:
        case Columns():
            raise _several_columns(table, role)
        case sp.csr_array():
            raise UsageError(
                f"Input {role!r} must be one column of integers or text, not a sparse matrix.",
                code="wrong-shape",
                role=role,
            )
        case Cells():
            _require_written(table, role)
            return _text(table.texts, role) if role in TEXT else _column(table.typed(), role)
        case Lists():
            return _column(_column_of_list(table.value, role), role)
        case list():
            return _text(table, role)
    return _column(table, role)


def facts(table: Cells | Lists) -> Facts:
    """Shape and dtype of a table whose role is not known yet, after checking every value."""
    if isinstance(table, Cells):
        _require_written(table, None)
        typed = table.typed()
        n_rows = len(typed)
        if typed.dtype.kind == "O":
            return Facts((n_rows,), "str")
        return Facts((n_rows, 1), str(typed.dtype))
    rows = table.value
    if isinstance(rows, list) and rows and isinstance(rows[0], list):
        return Facts(_matrix_of_lists(rows, None).shape, "float64")
    column = _column_of_list(rows, None)
    return Facts(column.shape, "str" if column.dtype.kind == "O" else str(column.dtype))


def require_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], role: str) -> None:
    """Raise UsageError unless an array of this shape and dtype is a matrix of numbers."""
    if len(shape) == 1:
        raise UsageError(
            f"Input {role!r} must be a matrix (n_rows, n_columns); the array has one dimension, "
            f"shape {shape}. For one column reshape it: array.reshape(-1, 1); for one row: "
            "array.reshape(1, -1).",
            code="wrong-shape",
            role=role,
            shape=list(shape),
        )
    require_filled(shape)
    if dtype.kind not in "biuf":
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers; the array holds {dtype_name(dtype)}.",
            code="wrong-input",
            role=role,
        )


def _matrix(table: Table, role: str) -> npt.NDArray[Any] | sp.csr_array:
    if isinstance(table, Lists):
        return _matrix_of_lists(table.value, role)
    if isinstance(table, list):
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers; the file holds texts.",
            code="wrong-shape",
            role=role,
        )
    assert isinstance(table, np.ndarray | sp.csr_array), "a reader gave a column for a matrix"
    require_matrix(table.shape, table.dtype, role)
    if isinstance(table, np.ndarray) and not (table.dtype.isnative and table.flags.aligned):
        table = table.astype(table.dtype.newbyteorder("="))
    return table


def _column(array: npt.NDArray[Any], role: str) -> npt.NDArray[Any] | list[str]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UsageError(
            f"Input {role!r} must be one column, one value per row; the array has shape "
            f"{array.shape}.",
            code="wrong-shape",
            role=role,
            shape=list(array.shape),
        )
    require_filled(array.shape)
    kind = array.dtype.kind
    if kind in "USO":
        return _text(_decoded(array), role)
    if kind == "f" and role in REAL:
        not_finite = np.flatnonzero(~np.isfinite(array))
        if not_finite.size:
            raise missing(int(not_finite[0]), role=role)
        return np.asarray(array, dtype=np.float64)
    integers = _integers(array, role)
    return [str(number) for number in integers.tolist()] if role in TEXT else integers


def _integers(array: npt.NDArray[Any], role: str) -> npt.NDArray[np.int64]:
    if array.dtype.kind == "f":
        nan = np.flatnonzero(np.isnan(array))
        if nan.size:
            raise missing(int(nan[0]), role=role)
        wide = array.astype(np.float64)
        strange = np.flatnonzero((wide != np.trunc(wide)) | (np.abs(wide) > 2.0**53))
    elif array.dtype.kind == "u" and array.dtype.itemsize == 8:
        strange = np.flatnonzero(array > np.uint64(2**63 - 1))
    elif array.dtype.kind in "biu":
        strange = np.empty(0, dtype=np.int64)
    else:
        raise UsageError(
            f"Input {role!r} must be integers or text; the column holds {dtype_name(array.dtype)}.",
            code="wrong-input",
            role=role,
        )
    if strange.size:
        row = int(strange[0])
        raise UsageError(
            f"Input {role!r} has {array[row]!s} at row {row} (counted from 0), which is not a "
            "64-bit integer; accepted are integers (also written as 3.0) or text.",
            code="wrong-input",
            role=role,
            row=row,
        )
    return array.astype(np.int64)


def _text(texts: Sequence[str], role: str) -> npt.NDArray[Any] | list[str]:
    for row, text in enumerate(texts):
        if not text:
            raise missing(row, role=role)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(texts) if _has_surrogate(text))
        raise UsageError(
            f"Input {role!r} has text that is not valid Unicode (a lone surrogate) at row {row} "
            "(counted from 0).",
            code="wrong-input",
            role=role,
            row=row,
        ) from None
    return list(texts) if role in TEXT else text_array(texts)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _decoded(array: npt.NDArray[Any]) -> list[str]:
    """The texts of an array of dtype U, S or O."""
    if array.dtype.kind == "U":
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        if array.view(np.uint32).max() > sys.maxunicode:
            raise broken("The text of the array is not valid Unicode.")
    items = array.tolist()
    if array.dtype.kind != "S":
        return [str(item) for item in items]
    texts: list[str] = []
    for row, item in enumerate(items):
        try:
            texts.append(item.decode("utf-8"))
        except UnicodeDecodeError:
            raise broken(f"The text at row {row} (counted from 0) is not UTF-8.") from None
    return texts


def _require_written(cells: Cells, role: str | None) -> None:
    for row, text in enumerate(cells.texts):
        if not text.strip():
            raise missing(row, 0, line=cells.lines[row], role=role)


def _several_columns(columns: Columns, role: str) -> UsageError:
    return UsageError(
        f"Input {role!r} must be one column; the table has {len(columns.names)}: choose one with "
        f"?member=. It has {listed(columns.names)}.",
        code="member-needed",
        role=role,
    )


def _matrix_of_lists(rows: object, role: str | None) -> npt.NDArray[np.float64]:
    """float64 (n_rows, n_columns) of a list of rows, each a list of as many finite numbers."""
    if not isinstance(rows, list):
        raise _refused(f"must be a list of rows, not {_described(rows)}", role)
    if not rows:
        raise _refused("has no rows", role, "empty")
    _require_rows(rows, role)
    try:
        matrix = np.array(rows, dtype=np.float64)
    except OverflowError:
        matrix = np.array([[_float(cell) for cell in cells] for cells in rows])
    if not math.isfinite(float(np.abs(matrix).max())):
        row, column = (int(place) for place in np.argwhere(~np.isfinite(matrix))[0])
        raise _refused(
            f"has a number too large for float64 at row {row}, column {column} (counted from 0); "
            "every value must be finite",
            role,
            "not-finite",
            row=row,
            column=column,
        )
    return matrix


def _require_rows(rows: list[Any], role: str | None) -> None:
    width = len(rows[0]) if isinstance(rows[0], list) else None
    if width == 0:
        raise _refused("has no columns", role, "empty")
    for row, cells in enumerate(rows):
        if not isinstance(cells, list):
            raise _refused(
                f"must be a list of rows, each a list of numbers; row {row} is {_described(cells)}",
                role,
                row=row,
            )
        if len(cells) != width:
            raise _refused(
                f"is ragged: row {row} (counted from 0) has {len(cells)} values, row 0 has "
                f"{width}; all rows must be of one length",
                role,
                "ragged",
                row=row,
            )
        if not set(map(type, cells)) <= _NUMBERS:
            column = next(at for at, cell in enumerate(cells) if type(cell) not in _NUMBERS)
            if cells[column] is None:
                raise missing(row, column, role=role)
            raise _refused(
                f"must hold numbers only; row {row}, column {column} (counted from 0) is "
                f"{_described(cells[column])}",
                role,
                row=row,
                column=column,
            )


def _column_of_list(items: object, role: str | None) -> npt.NDArray[Any]:
    """(n_rows,) int64, float64 or `str` objects of a list all of numbers or all of text."""
    if not isinstance(items, list):
        raise _refused(f"must be a list, not {_described(items)}", role)
    if not items:
        raise _refused("has no values", role, "empty")
    types = set(map(type, items))
    if types == {str}:
        return text_array(items)
    if types <= _NUMBERS:
        return _numbers(items, role)
    first = {str} if type(items[0]) is str else _NUMBERS
    row = next(row for row, item in enumerate(items) if type(item) not in first)
    if items[row] is None:
        raise missing(row, role=role)
    numbers = "numbers" if role in REAL else "integers"
    mixed = "" if type(items[row]) is list else f". The values must be all {numbers} or all text"
    raise _refused(
        f"must be a list of {numbers} or of text; row {row} (counted from 0) is "
        f"{_described(items[row])}{mixed}",
        role,
        row=row,
    )


def _numbers(items: list[Any], role: str | None) -> npt.NDArray[Any]:
    """Integers stay exact: float64 is used only if some number is written as a float."""
    whole = all(type(item) is int for item in items)
    try:
        numbers = np.array(items, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        numbers = np.array([_float(item) for item in items])
    too_large = whole & (np.abs(numbers.astype(np.float64)) >= 2.0**63)
    strange = np.flatnonzero(~np.isfinite(numbers) | too_large)
    if strange.size:
        row = int(strange[0])
        raise _refused(
            f"has a number too large for 64 bits at row {row} (counted from 0)",
            role,
            "not-finite",
            row=row,
        )
    return numbers


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _refused(what: str, role: str | None, code: str = "wrong-input", **place: int) -> UsageError:
    return UsageError(f"{subject(role)} {what}.", code=code, **where(role, **place))


def _described(item: object) -> str:
    """A JSON value made safe for a message."""
    match item:
        case None:
            return "null"
        case bool():
            return str(item).lower()
        case str():
            return f"the text {shown(item, 40)}"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"
