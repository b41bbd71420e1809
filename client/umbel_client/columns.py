"""One column of pandas, polars or pyarrow: its values, or its numbers, also where each row of it is
a list of numbers.

None of them need be installed: only what the caller has imported is used.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from umbel_client.errors import InputError
from umbel_client.quoting import written

Numbers: TypeAlias = npt.NDArray[Any] | list[Any] | None
"""An array with a value or a row for each row, NaN where a value is missing; a list where each row
is a list or an array by itself; None where a column holds others, or integers and decimals that a
float64 would round where it has to be one."""

_KINDS = "fiub"
_LARGEST = 1 << 53
"""Up to which a float64 keeps every integer."""


def is_of(value: object, package: str, *names: str) -> bool:
    """Whether a value is of one of the named classes of a package, or of a class made of one.

    names : with dots, from the package on. Only a package that is imported has values.
    """
    if package not in sys.modules:
        return False
    for name in names:
        kind: Any = sys.modules[package]
        for part in name.split("."):
            kind = getattr(kind, part, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return True
    return False


def is_column(value: object) -> bool:
    """Whether it is one column of pandas (also an index, a Categorical or another of its
    arrays), polars or pyarrow."""
    return (
        _is_pandas(value)
        or is_of(value, "polars", "Series")
        or is_of(value, "pyarrow", "Array", "ChunkedArray")
    )


def is_missing(value: object) -> bool:
    """Whether it is pandas' NA or NaT, or the masked value of NumPy."""
    return value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType")


def values_of(column: Any) -> list[Any]:
    """A column as Python values, None where one is missing."""
    if _is_pandas(column):
        series = sys.modules["pandas"].Series(column)
        if is_of(series.array, "pandas", "Categorical"):
            # Where one is missing, pandas would make floats of integers.
            kinds = values_of(series.array.categories)
            return [None if code < 0 else kinds[code] for code in series.array.codes.tolist()]
        values = np.asarray(series.array, dtype=object).tolist()
        missing = series.isna().tolist()
        return [None if gone else value for value, gone in zip(values, missing, strict=True)]
    if is_of(column, "polars", "Series"):
        return list(column.to_list())
    return list(column.to_pylist())


def numbers_of(column: Any) -> Numbers:
    """A column as numbers, see `Numbers`; of one that has lists, all of one length, a matrix."""
    if _is_pandas(column):
        return _of_pandas(sys.modules["pandas"].Series(column))
    if is_of(column, "polars", "Series"):
        return _of_polars(column)
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    if not chunks:
        return _of_arrow(sys.modules["pyarrow"].array([], column.type))
    parts = [_of_arrow(chunk) for chunk in chunks]
    if any(part is None for part in parts):
        return None
    if any(isinstance(part, list) for part in parts) or len({_row(part) for part in parts}) > 1:
        return [row for part in parts if part is not None for row in part]
    return np.concatenate(parts)  # type: ignore[arg-type]


def is_rounded(value: Any) -> bool:
    """Whether it is an integer or a decimal beyond 2^53 that a float64 does not keep."""
    if isinstance(value, np.integer):
        value = int(value)
    if not isinstance(value, int) and not (isinstance(value, Decimal) and value.is_finite()):
        return False
    try:
        return not -_LARGEST <= value <= _LARGEST and float(value) != value
    except OverflowError:
        return True


def require_kept(role: str, rows: list[Any], array: npt.NDArray[Any]) -> None:
    """Raises InputError for the first integer of lists of numbers that their array has rounded."""
    if not (np.abs(array) >= _LARGEST).any():
        return
    for number, row in enumerate(rows):
        for place, cell in enumerate(row if isinstance(row, (list, tuple, np.ndarray)) else ()):
            if is_rounded(cell):
                whole = int(cell) if isinstance(cell, np.integer) else cell
                where = f"row {number}, column {place} is {written(whole)}"
                raise InputError(role, f"{where}, which a float64 rounds: it keeps up to 2^53.")


def plain(value: Any) -> Any:
    """A value as text or as Python's number where it is one that a package has its own type for:
    dates, periods and intervals as text, decimals as numbers; others as they are."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return float(value)
        return int(value) if value == value.to_integral_value() else float(value)
    if is_of(value, "pyarrow", "Scalar"):
        return plain(value.as_py())
    if is_of(value, "pandas", "Interval", "Period"):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


def _is_pandas(value: object) -> bool:
    return is_of(value, "pandas", "Series", "Index", "api.extensions.ExtensionArray")


def _row(part: Numbers) -> tuple[int, ...] | None:
    """The shape of a row of a part; None where rows need not have the same."""
    return part.shape[1:] if isinstance(part, np.ndarray) else None


def _of_pandas(series: Any) -> Numbers:
    if is_of(series.dtype, "pandas", "ArrowDtype"):
        return numbers_of(series.array.__arrow_array__())
    kind = series.dtype.kind
    if kind == "O" and isinstance(series.dtype, np.dtype):
        return _of_objects(values_of(series))
    if kind not in _KINDS:
        return None
    if isinstance(series.dtype, np.dtype) or is_of(series.dtype, "pandas", "SparseDtype"):
        return _checked(np.asarray(series))
    if kind == "f" or bool(series.isna().any()):
        if kind != "f" and any(map(is_rounded, values_of(series))):
            return None
        return _checked(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return _checked(series.to_numpy())


def _of_polars(series: Any) -> Numbers:
    polars = sys.modules["polars"]
    kind = series.dtype
    if isinstance(kind, (polars.List, polars.Array)):
        if series.null_count():
            return values_of(series)
        lengths = series.list.len() if isinstance(kind, polars.List) else series.arr.len()
        if lengths.n_unique() != 1 or not lengths[0]:
            return values_of(series)
        inner = numbers_of(series.explode())
        if not isinstance(inner, np.ndarray):
            return values_of(series)
        return inner.reshape(len(series), lengths[0], *inner.shape[1:])
    if kind == polars.Object:
        return _of_objects(values_of(series))
    whole = kind == polars.Boolean or kind.is_integer()
    if kind.is_decimal() or kind == polars.Null or (whole and series.null_count()):
        if any(map(is_rounded, series.to_list())):
            return None
        series = series.cast(polars.Float64)
    elif not whole and not kind.is_float():
        return None
    return _checked(np.asarray(series.to_numpy()))


def _of_arrow(array: Any) -> Numbers:
    pyarrow = sys.modules["pyarrow"]
    kinds, kind = pyarrow.types, array.type
    if is_of(array, "pyarrow", "ExtensionArray"):
        return _of_arrow(array.storage)
    if kinds.is_dictionary(kind):
        return _of_arrow(array.dictionary_decode())
    if kinds.is_run_end_encoded(kind):
        return _of_arrow(_computed().run_end_decode(array))
    if kinds.is_fixed_size_list(kind) or kinds.is_list(kind) or kinds.is_large_list(kind):
        return _of_arrow_lists(array)
    decimal = kinds.is_decimal(kind)
    if (decimal or array.null_count) and any(map(is_rounded, array.to_pylist())):
        return None
    if decimal or kinds.is_null(kind):
        array = array.cast(pyarrow.float64())
    elif kinds.is_boolean(kind):
        array = array.cast(pyarrow.uint8())
    elif not kinds.is_integer(kind) and not kinds.is_floating(kind):
        return None
    return _checked(array.to_numpy(zero_copy_only=False))


def _of_arrow_lists(array: Any) -> Numbers:
    if not len(array) or array.null_count:
        return values_of(array)
    lengths = _computed().list_value_length(array).to_numpy(zero_copy_only=False)
    inner = numbers_of(array.flatten())
    if (lengths != lengths[0]).any() or not lengths[0] or not isinstance(inner, np.ndarray):
        return values_of(array)
    return inner.reshape(len(array), int(lengths[0]), *inner.shape[1:])


def _computed() -> Any:
    """The functions on columns of pyarrow, which is imported."""
    import pyarrow.compute

    return pyarrow.compute


def _of_objects(values: list[Any]) -> Numbers:
    """Python values: numbers, decimals and missing ones as numbers, lists and arrays as rows."""
    if any(hasattr(value, "__len__") and not isinstance(value, (str, bytes)) for value in values):
        return values
    cells = [None if is_missing(value) else plain(value) for value in values]
    if not all(cell is None or isinstance(cell, (bool, int, float)) for cell in cells):
        return None
    if not all(type(cell) is int for cell in cells) and any(map(is_rounded, values)):
        return None
    if any(cell is None for cell in cells):
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    array = np.array(cells)
    if array.dtype.kind in "iub" or not any(map(is_rounded, values)):
        return _checked(array) if array.dtype.kind in _KINDS else array.astype(np.float64)
    return None


def _checked(array: npt.NDArray[Any]) -> Numbers:
    if array.dtype.kind not in _KINDS:
        return None
    return array.astype(np.uint8) if array.dtype.kind == "b" else array
