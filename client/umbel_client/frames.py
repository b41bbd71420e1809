"""Data frames of pandas, polars and pyarrow, and arrays of SciPy and torch, none of which need be
installed: only what the caller has imported is used. `columns` has what a frame consists of.
"""

from __future__ import annotations

import re
import warnings
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from umbel_client import columns, encodings
from umbel_client.columns import is_of
from umbel_client.encodings import Payload
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import shown

_SHOWN = 5

_MIDNIGHT = re.compile(r" 00:00:00(Z|[+-]\d{4})?$")
_OFFSET = re.compile(r"([+-]\d\d):(\d\d)$")


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def is_frame(value: object) -> bool:
    """Whether it is a data frame or a table."""
    return (
        is_of(value, "pandas", "DataFrame")
        or is_of(value, "polars", "DataFrame", "LazyFrame")
        or is_of(value, "pyarrow", "Table", "RecordBatch")
    )


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


def matrix_of(role: str, frame: Any) -> npt.NDArray[Any] | list[Any]:
    """A data frame as a matrix of numbers, float32 if all columns are float16 or float32; one whose
    only column has a list or an array in each row, as these rows.

    Raises InputError for columns that hold other than numbers, by their names.
    """
    refuse_lazy(role, frame)
    names = [text_of(label) for label in labels_of(frame)]
    if not names:
        raise InputError(role, "the data frame has no columns.")
    found: list[Any] = []
    wrong, lists = [], []
    for number, name in enumerate(names):
        numbers = columns.numbers_of(column_at(frame, number))
        if numbers is None:
            wrong.append(name)
        elif isinstance(numbers, list) or numbers.ndim > 1:
            lists.append(name)
        found.append(numbers)
    if wrong:
        raise InputError(
            role,
            f"{len(wrong)} of {len(names)} columns hold other than numbers: {_listed(wrong)}; drop "
            "or encode them. Accepted are columns of numbers and bool, or one column of lists.",
        )
    if lists and len(names) == 1:
        return found[0]  # type: ignore[no-any-return]
    if lists:
        raise InputError(
            role,
            f"{len(lists)} of {len(names)} columns have a list in each row: {_listed(lists)}; "
            f"give one such column by itself: frame[{lists[0]!r}].",
        )
    return np.column_stack(found)


def labels_of(frame: Any) -> list[Any]:
    """What the columns are called, as the frame has it."""
    if is_of(frame, "pyarrow", "Table", "RecordBatch"):
        return list(frame.schema.names)
    return list(frame.columns)


def text_of(label: Any) -> str:
    """The label of a column or row as text, levels with points between."""
    if isinstance(label, tuple):
        return ".".join(map(text_of, label))
    return str(columns.plain(label))


def texts_of(labels: list[Any]) -> list[str]:
    """Labels of rows as text. Times are written as the service reads them from a file: days alone
    where all are midnights."""
    if not labels or not all(isinstance(label, datetime) for label in labels):
        return [text_of(label) for label in labels]
    texts = [_OFFSET.sub(r"\1\2", label.isoformat(" ")).replace("+0000", "Z") for label in labels]
    days = [_MIDNIGHT.sub("", text) for text in texts]
    return (
        days if all(len(day) < len(text) for day, text in zip(days, texts, strict=True)) else texts
    )


def has_text(label: Any) -> bool:
    """Whether the label of a column or row says something."""
    if isinstance(label, tuple):
        return any(map(has_text, label))
    return not (label is None or columns.is_missing(label) or label != label or label == "")


def refuse_doubled(role: str, names: list[str]) -> None:
    """Raises InputError for two columns of one name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        first = seen.setdefault(name, place)
        if first != place:
            raise InputError(
                role,
                f"the data frame has two columns {shown(name)}, {first} and {place}; name each.",
            )


def column_of(role: str, frame: Any) -> list[Any]:
    """A data frame of one column as its values. Raises InputError for one with several."""
    refuse_lazy(role, frame)
    n_columns = len(labels_of(frame))
    if n_columns != 1:
        raise InputError(
            role,
            f"the data frame has {n_columns} columns; one, with a value a row, is needed.",
        )
    return columns.values_of(column_at(frame, 0))


def indicated(frame: Any) -> list[Any] | None:
    """The labels of a one-hot or indicator frame, the names of the columns that have 1 in each row:
    one each, or lists of them. None for any other frame, and for one of a single column."""
    names = [text_of(label) for label in labels_of(frame)]
    found = [columns.numbers_of(column_at(frame, number)) for number in range(len(names))]
    if len(names) < 2 or not all(isinstance(own, np.ndarray) and own.ndim == 1 for own in found):
        return None
    has = np.stack(found, axis=1)  # type: ignore[arg-type]
    if not np.isin(has, (0, 1)).all():
        return None
    sets = [[names[at] for at in np.flatnonzero(row).tolist()] for row in has]
    return [one for (one,) in sets] if all(len(own) == 1 for own in sets) else sets


def in_order_of(role: str, column: Any, frame: Any) -> Any:
    """A Series or a data frame of pandas in the order of the index of another frame that has the
    same labels in another order, with an UmbelWarning; anything else unchanged, with one where its
    numbers are others."""
    if not is_of(column, "pandas", "Series", "DataFrame") or not is_of(
        frame, "pandas", "DataFrame"
    ):
        return column
    own, wanted = column.index, frame.index
    if len(own) != len(wanted) or own.equals(wanted):
        return column
    if not (own.is_unique and wanted.is_unique and own.isin(wanted).all()):
        if own.dtype.kind in "iu" and wanted.dtype.kind in "iu" and not _counts(own):
            warnings.warn(
                f"The index of {shown(role)} is not that of the data frame beside it: rows are "
                "taken in order.",
                UmbelWarning,
                stacklevel=3,
            )
        return column
    warnings.warn(
        f"The rows of {shown(role)} were put in the order of the data frame beside them, by the "
        "index.",
        UmbelWarning,
        stacklevel=3,
    )
    return column.reindex(wanted)


def warn_shuffled(role: str, column: Any) -> None:
    """An UmbelWarning for a Series or a data frame of pandas whose index counts the rows in another
    order, where nothing beside it has an index."""
    if not is_of(column, "pandas", "Series", "DataFrame") or column.index.dtype.kind not in "iu":
        return
    own = column.index.to_numpy()
    if not _counts(column.index) and np.array_equal(np.sort(own), np.arange(len(own))):
        warnings.warn(
            f"The index of {shown(role)} counts its rows in another order: rows are taken in the "
            "order in which they stand, not by the index.",
            UmbelWarning,
            stacklevel=3,
        )


def warn_unaligned(column: Any, frame: Any) -> None:
    """An UmbelWarning for targets whose index has the labels of the data frame beside them in
    another order, which scikit-learn does not look at."""
    if not is_of(column, "pandas", "Series", "DataFrame") or not is_of(
        frame, "pandas", "DataFrame"
    ):
        return
    own, wanted = column.index, frame.index
    if len(own) != len(wanted) or own.equals(wanted) or not (own.is_unique and wanted.is_unique):
        return
    if own.isin(wanted).all():
        warnings.warn(
            "The index of y is that of X in another order: rows are taken in the order in which "
            "they stand, as scikit-learn does; y.loc[X.index] is in that of X.",
            UmbelWarning,
            stacklevel=4,
        )


def _counts(index: Any) -> bool:
    return bool(np.array_equal(index.to_numpy(), np.arange(len(index))))


def columns_of(role: str, frame: Any) -> dict[str, list[Any]]:
    """All columns of a data frame as Python values, by name, None where one is missing.

    Raises InputError for two columns of one name.
    """
    refuse_lazy(role, frame)
    names = [text_of(label) for label in labels_of(frame)]
    refuse_doubled(role, names)
    return {name: columns.values_of(column_at(frame, at)) for at, name in enumerate(names)}


def rows_of(role: str, column: Any) -> npt.NDArray[Any] | list[Any]:
    """A column where a matrix is needed: its lists or arrays as rows, else its numbers.

    Raises InputError for other than numbers.
    """
    numbers = columns.numbers_of(column)
    if numbers is None:
        raise InputError(
            role,
            "the column holds other than numbers, or integers beyond 2^53 that a float64 would "
            "round; a matrix of numbers is needed.",
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
    """A tensor on any device, with or without a gradient; bfloat16 as a separate file, a masked
    tensor as a masked array. Raises InputError for numbers that NumPy has not, and without data.
    """
    if hasattr(tensor, "get_mask") and hasattr(tensor, "get_data"):
        data = dense_of(role, tensor.get_data())
        return np.ma.masked_array(data, ~tensor.get_mask().cpu().numpy())
    if getattr(tensor, "is_meta", False):
        raise InputError(role, "a tensor on the device 'meta' has no data.")
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


def refuse_lazy(role: str, frame: Any) -> None:
    """Raises InputError for a frame that holds no rows yet."""
    if type(frame).__name__ == "LazyFrame":
        raise InputError(role, "a LazyFrame holds no rows yet; give frame.collect().")


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")


def column_at(frame: Any, number: int) -> Any:
    """The column at a place."""
    if is_of(frame, "pandas", "DataFrame"):
        return frame.iloc[:, number]
    if is_of(frame, "polars", "DataFrame"):
        return frame.to_series(number)
    return frame.column(number)
