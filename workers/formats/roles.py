"""What an input must look like by its role: a matrix of numbers, or a column."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.data import Value
from models.errors import UsageError
from workers.formats.facts import broken, shown, unsupported

MATRIX = frozenset({"logits", "top_classes", "features", "distances", "similarity", "graph"})
COLUMN = frozenset(
    {"labels", "names", "feature_names", "tasks", "targets", "timestamps", "documents"}
)
REAL = frozenset({"targets", "timestamps"})
"""Columns of numbers that need not be integers."""
TEXT = frozenset({"names", "feature_names", "documents"})
"""Columns that are text: numbers in them are taken as they are written."""

_DTYPES = frozenset({"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"})


def is_column(role: str) -> bool:
    """Whether `role` takes a column (else a matrix). UsageError for a role that takes no file."""
    if role in COLUMN:
        return True
    if role in MATRIX:
        return False
    raise UsageError(
        f"Role {shown(role)} takes no array; roles that do are "
        f"{', '.join(sorted(MATRIX | COLUMN))}.",
        code="wrong-input",
        role=role[:60],
    )


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The dtype as `Facts` names it."""
    return "str" if dtype.kind in "US" else str(dtype)


def require_dtype(dtype: np.dtype[Any]) -> None:
    """Raise UsageError `unsupported-format` unless numbers of up to 64 bits, booleans or text."""
    if dtype.kind in "US" and dtype.itemsize > 0:
        return
    if f"{dtype.kind}{dtype.itemsize}" not in _DTYPES or dtype.subdtype is not None:
        raise unsupported(
            f"An array of dtype {shown(str(dtype))} is not accepted; accepted are booleans, "
            "integers, float16, float32, float64 and text."
        )


def require_filled(shape: tuple[int, ...]) -> None:
    """Raise UsageError unless the shape is that of a column or a matrix with something in it."""
    if len(shape) not in (1, 2):
        raise UsageError(
            f"The array has {len(shape)} dimensions, shape {shape}; accepted are a matrix "
            "(n_rows, n_columns) and a column (n_rows,).",
            code="wrong-shape",
            shape=list(shape),
        )
    if shape[0] == 0:
        raise UsageError("The array has no rows.", code="empty", shape=list(shape))
    if len(shape) == 2 and shape[1] == 0:
        raise UsageError("The array has no columns.", code="empty", shape=list(shape))


def shaped(values: npt.NDArray[Any], role: str) -> Value:
    """`values` as `role` takes it: a matrix is returned as it is, a column in its own form."""
    return column(values, role) if is_column(role) else matrix(values, role)


def matrix(values: npt.NDArray[Any], role: str) -> npt.NDArray[Any]:
    """A matrix of numbers (n_rows, n_columns) in native byte order.

    Not copied unless its bytes are in the other order or unaligned. Values are not looked at: a
    NaN or an infinity in a binary file is the method's to refuse.
    """
    require_matrix(values.shape, values.dtype, role)
    if not values.dtype.isnative or not values.flags.aligned:
        values = values.astype(values.dtype.newbyteorder("="))
    return values


def require_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], role: str) -> None:
    """Raise UsageError unless an array of this kind is a matrix of numbers."""
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


def sparse(values: sp.csr_array, role: str) -> sp.csr_array:
    """A sparse matrix, for a role that takes a matrix."""
    if is_column(role):
        raise UsageError(
            f"Input {role!r} must be one column of integers or text, not a sparse matrix.",
            code="wrong-shape",
            role=role,
        )
    require_filled(values.shape)
    if values.dtype.kind not in "biuf":
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers.", code="wrong-input", role=role
        )
    return values


def column(values: npt.NDArray[Any], role: str) -> npt.NDArray[Any] | list[str]:
    """A column (n_rows,): int64, `str` objects, float64 (`REAL`), or a list of `str`.

    A matrix of one column is taken as that column. Floats that are whole numbers are taken as
    integers. Raises UsageError naming the row (counted from 0) of a value that cannot be used.
    """
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise UsageError(
            f"Input {role!r} must be one column, one value per row; the array has shape "
            f"{values.shape}.",
            code="wrong-shape",
            role=role,
            shape=list(values.shape),
        )
    require_filled(values.shape)
    kind = values.dtype.kind
    if kind in "USO":
        return text(_strings(values), role)
    if kind == "f" and role in REAL:
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise missing(role, int(bad[0]))
        return np.asarray(values, dtype=np.float64)
    whole = _whole(values, role)
    return [str(item) for item in whole.tolist()] if role in TEXT else whole


def text(values: Sequence[str], role: str) -> npt.NDArray[Any] | list[str]:
    """A column of text as it is: a list for names, an array of `str` objects for labels."""
    for row, item in enumerate(values):
        if not item:
            raise missing(role, row)
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        row = next(r for r, item in enumerate(values) if not _encodes(item))
        raise UsageError(
            f"Input {role!r} has text that is not valid Unicode (a lone surrogate) at row {row} "
            "(counted from 0).",
            code="wrong-input",
            role=role,
            row=row,
        ) from None
    if role in TEXT:
        return list(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def missing(role: str | None, row: int, column: int | None = None, line: int = 0) -> UsageError:
    """A value that is not there. Rows and columns count from 0, lines from 1."""
    what = f"Input {role!r}" if role else "The table"
    place: dict[str, int] = {"row": row}
    said = f"row {row}"
    if column is not None:
        place["column"] = column
        said += f", column {column}"
    said += " (counted from 0"
    if line:
        place["line"] = line
        said += f"; line {line} of the file"
    return UsageError(
        f"{what} has a missing value at {said}); every value must be there.",
        code="missing-value",
        **({"role": role} if role else {}),
        **place,
    )


def _whole(values: npt.NDArray[Any], role: str) -> npt.NDArray[np.int64]:
    if values.dtype.kind == "f":
        bad = np.flatnonzero(np.isnan(values))
        if bad.size:
            raise missing(role, int(bad[0]))
        wide = values.astype(np.float64)
        bad = np.flatnonzero((wide != np.trunc(wide)) | (np.abs(wide) > 2.0**53))
    elif values.dtype.kind == "u" and values.dtype.itemsize == 8:
        bad = np.flatnonzero(values > np.uint64(2**63 - 1))
    elif values.dtype.kind in "biu":
        bad = np.empty(0, dtype=np.int64)
    else:
        raise UsageError(
            f"Input {role!r} must be integers or text; the column holds "
            f"{dtype_name(values.dtype)}.",
            code="wrong-input",
            role=role,
        )
    if bad.size:
        row = int(bad[0])
        raise UsageError(
            f"Input {role!r} has {values[row]!s} at row {row} (counted from 0), which is no "
            "integer of 64 bits; accepted are integers (also written as 3.0) or text.",
            code="wrong-input",
            role=role,
            row=row,
        )
    return values.astype(np.int64)


def _strings(values: npt.NDArray[Any]) -> list[str]:
    if values.dtype.kind == "U":
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
        if values.view(np.uint32).max() > sys.maxunicode:
            raise broken("The text of the array is not valid Unicode.")
    items = values.tolist()
    if values.dtype.kind != "S":
        return [str(item) for item in items]
    out: list[str] = []
    for row, item in enumerate(items):
        try:
            out.append(item.decode("utf-8"))
        except UnicodeDecodeError:
            raise broken(f"The text at row {row} (counted from 0) is not UTF-8.") from None
    return out


def _encodes(item: str) -> bool:
    try:
        item.encode()
    except UnicodeEncodeError:
        return False
    return True
