"""Values of pandas, polars, pyarrow, SciPy and torch, none of which need be installed.

A value is recognised by the package of its type: only what the caller has imported is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from umbel_client import encodings
from umbel_client.encodings import Payload
from umbel_client.errors import InputError

_SHOWN = 5


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def is_frame(value: object) -> bool:
    """Whether it is a data frame or a table."""
    return _package(value) in ("pandas", "polars", "pyarrow") and type(value).__name__ in (
        "DataFrame",
        "LazyFrame",
        "Table",
        "RecordBatch",
    )


def is_column(value: object) -> bool:
    """Whether it is one column of pandas, polars or pyarrow."""
    return _package(value) in ("pandas", "polars", "pyarrow") and not is_frame(value)


def is_sparse(value: object) -> bool:
    """Whether it is a sparse matrix of SciPy, or a sparse tensor of torch."""
    if _package(value) == "torch":
        return is_tensor(value) and str(getattr(value, "layout", "")) != "torch.strided"
    return _package(value) == "scipy" and hasattr(value, "tocsr")


def is_tensor(value: object) -> bool:
    """Whether it is a tensor of torch, also a subclass such as a parameter."""
    return any(
        kind.__module__ == "torch" and kind.__name__ == "Tensor" for kind in type(value).__mro__
    )


def is_missing(value: object) -> bool:
    """Whether it is pandas' NA or NaT."""
    return type(value).__name__ in ("NAType", "NaTType")


def matrix_of(role: str, frame: Any) -> npt.NDArray[Any]:
    """A data frame as a matrix of numbers; float32 if all columns are float16 or float32.

    Raises InputError for columns that hold other than numbers, by their names.
    """
    _refuse_lazy(role, frame)
    names = _names(frame)
    if not names:
        raise InputError(role, "the data frame has no columns.")
    columns, wrong = [], []
    for number, name in enumerate(names):
        column = _numbers(_column_at(frame, number))
        if column is None:
            wrong.append(str(name))
        else:
            columns.append(column)
    if wrong:
        shown = ", ".join(map(repr, wrong[:_SHOWN])) + (", ..." if len(wrong) > _SHOWN else "")
        raise InputError(
            role,
            f"{len(wrong)} of {len(names)} columns hold other than numbers: {shown}; drop or "
            "encode them. Accepted are columns of numbers and bool.",
        )
    return np.column_stack(columns)


def column_of(role: str, frame: Any) -> list[Any]:
    """A data frame of one column as its values. Raises InputError for one with several."""
    _refuse_lazy(role, frame)
    names = _names(frame)
    if len(names) != 1:
        raise InputError(
            role,
            f"the data frame has {len(names)} columns; one, with a value a row, is needed.",
        )
    return values_of(role, _column_at(frame, 0))


def columns_of(role: str, frame: Any) -> dict[str, list[Any]]:
    """All columns of a data frame as Python values, by name, None where one is missing.

    Raises InputError for two columns of one name.
    """
    _refuse_lazy(role, frame)
    names = [str(name) for name in _names(frame)]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise InputError(role, f"the data frame has two columns {doubled!r}.")
    return {name: values_of(role, _column_at(frame, at)) for at, name in enumerate(names)}


def values_of(role: str, column: Any) -> list[Any]:
    """A column as Python values, None where one is missing."""
    del role
    if _package(column) == "pandas":
        column = column.astype(object).where(column.notna(), None)
        return list(column.tolist())
    if _package(column) == "pyarrow":
        return list(column.to_pylist())
    return list(column.to_list())


def numbers_of(role: str, column: Any) -> npt.NDArray[Any]:
    """A column where a matrix is needed. Raises InputError for other than numbers."""
    numbers = _numbers(column)
    if numbers is None:
        raise InputError(
            role, "the column holds other than numbers; a matrix of numbers is needed."
        )
    return numbers


def sparse_payload(role: str, value: Any) -> Payload:
    """A sparse matrix as an npz file, in compressed rows. Raises InputError for what is none."""
    if len(value.shape) != 2:
        raise InputError(role, f"a sparse array of {len(value.shape)} dimensions is no matrix.")
    if _package(value) == "torch":
        return _sparse_tensor(role, value.detach().cpu().to_sparse_coo().coalesce())
    csr = value.tocsr()
    if csr.dtype.kind not in "fiub":
        raise InputError(role, f"a sparse matrix of {csr.dtype} is no input; numbers are needed.")
    data = csr.data.astype(np.uint8) if csr.dtype.kind == "b" else csr.data
    return encodings.sparse_npz("csr", csr.shape, data, csr.indices, csr.indptr)


def _sparse_tensor(role: str, tensor: Any) -> Payload:
    """A tensor of rows and columns, sorted by both, in compressed rows."""
    rows, columns = tensor.indices().numpy()
    counts = np.bincount(rows, minlength=tensor.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return encodings.sparse_npz(
        "csr", tuple(tensor.shape), dense_of(role, tensor.values()), columns, indptr
    )


def array_or_payload(role: str, tensor: Any) -> npt.NDArray[Any] | Payload:
    """A tensor on any device, with or without a gradient; bfloat16 as a separate file."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if str(plain.dtype) == "torch.bfloat16":
        import torch

        return encodings.bfloat16(plain.contiguous().view(torch.int16).numpy().view(np.uint16))
    try:
        array: npt.NDArray[Any] = plain.numpy()
    except TypeError as error:
        raise InputError(role, f"a tensor of {plain.dtype} is no input: {error}.") from None
    return array


def dense_of(role: str, tensor: Any) -> npt.NDArray[Any]:
    """As `array_or_payload`, with bfloat16 as float32, which holds every value of it."""
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    array = array_or_payload(role, tensor)
    assert not isinstance(array, Payload)
    return array


def _refuse_lazy(role: str, frame: Any) -> None:
    if type(frame).__name__ == "LazyFrame":
        raise InputError(role, "a LazyFrame holds no rows yet; give frame.collect().")


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if _package(frame) == "pyarrow" else frame.columns)


def _column_at(frame: Any, number: int) -> Any:
    if _package(frame) == "pandas":
        return frame.iloc[:, number]
    if _package(frame) == "pyarrow":
        return frame.column(number)
    return frame.to_series(number)


def _numbers(column: Any) -> npt.NDArray[Any] | None:
    """A column as numbers, NaN where one is missing; None if it holds others."""
    values: npt.NDArray[Any]
    if _package(column) == "pandas":
        if column.dtype.kind not in "fiub":
            return None
        missing = column.dtype.kind != "f" and bool(column.isna().any())
        nullable = not isinstance(column.dtype, np.dtype)
        if missing or (nullable and column.dtype.kind == "f"):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = column.to_numpy()
    else:
        values = np.asarray(column.to_numpy())
    if values.dtype.kind not in "fiub":
        return None
    return values.astype(np.uint8) if values.dtype.kind == "b" else values
