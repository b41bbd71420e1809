"""Data frames as the tables that the service reads: their columns by name, and their index as the
ids of the rows.

A frame whose columns have no names but numbers that count, from 0, is a matrix with its columns in
the order of these numbers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from umbel_client import columns, frames
from umbel_client.columns import is_of
from umbel_client.encodings import Payload, Pieces
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import shown

ROLES = frozenset({"features", "logits", "distances", "similarity"})
"""Roles of matrices whose columns have names."""

Stack: TypeAlias = Callable[[str, list[Any]], npt.NDArray[Any]]
"""Makes a matrix of a list of rows, for a role. Raises InputError where they are none."""


def table_of(role: str, frame: Any, stack: Stack) -> Payload | npt.NDArray[Any]:
    """A data frame as an Arrow stream, or as JSON lines where pyarrow is not installed; as an array
    where neither columns nor rows have names.

    Columns that hold other than numbers go along; the service says what they are used as. The
    index, unless it only counts, is the column of the ids.

    Raises InputError for a frame without columns or with two of one name, for numbers of more than
    64 bits, and where the only column has lists that are no rows of numbers. UmbelWarning where
    names are made up, joined or left out.
    """
    frames.refuse_lazy(role, frame)
    labels = frames.labels_of(frame)
    if not labels:
        raise InputError(role, "the data frame has no columns.")
    names = _names(role, labels)
    own = [_column(role, frame, at, name, stack) for at, name in enumerate(names)]
    counted = sorted(names) == sorted(map(str, range(len(names))))
    if counted:
        order = sorted(range(len(names)), key=lambda at: int(names[at]))
        names, own = [names[at] for at in order], [own[at] for at in order]
    ids = _ids(frame)
    arrays = [each for each in own if isinstance(each, np.ndarray)]
    if len(own) == len(arrays) == 1 and arrays[0].ndim > (1 if ids is None else 2):
        if ids is not None:
            _warn("The index of the data frame is left out: each row is an image.")
        return arrays[0]
    if ids is None and counted and len(arrays) == len(own) and {a.ndim for a in arrays} == {1}:
        return np.column_stack(arrays)
    table = dict(zip(names, own, strict=True))
    query = {}
    if ids is not None:
        query["id_column"] = _free(_index_name(frame), names)
        table = {query["id_column"]: ids, **table}
    if is_of(frame, "pyarrow", "Table", "RecordBatch") or find_spec("pyarrow") is not None:
        return Payload(_arrow(table), "application/vnd.apache.arrow.stream", query)
    return Payload(_json_lines(role, table), "application/x-ndjson", query)


def labels_of(series: Any) -> Payload | None:
    """A Series or a data frame of one column with an index of text, as a table with ids, by which
    the service puts labels in the order of a tree or of features; None for anything else, and where
    the index does not name each row."""
    if is_of(series, "pandas", "DataFrame") and len(series.columns) == 1:
        series = series.iloc[:, 0]
    if not is_of(series, "pandas", "Series"):
        return None
    index = series.index.tolist()
    values = columns.values_of(series)
    if not index or not all(isinstance(label, str) and label for label in index):
        return None
    if len(set(index)) < len(index) or not all(isinstance(one, str | int | None) for one in values):
        return None
    if any(isinstance(one, bool) for one in values) or len({*map(type, values)} - {type(None)}) > 1:
        return None
    name = frames.text_of(series.name) if frames.has_text(series.name) else "label"
    ids = _free(_index_name(series), [name])
    query = {"id_column": ids, "label_column": name}
    table = {ids: index, name: values}
    return Payload(_json_lines("labels", table), "application/x-ndjson", query)


def named_rows(series: Any) -> Any:
    """A Series of pandas that has a list or an array in each row, and an index that names these, as
    a data frame; any other as it came."""
    numbers = columns.numbers_of(series)
    lists = isinstance(numbers, list) or (numbers is not None and numbers.ndim > 1)
    if not lists or is_of(series.index, "pandas", "RangeIndex"):
        return series
    return series.to_frame("0" if series.name is None else series.name)


def _names(role: str, labels: list[Any]) -> list[str]:
    """The names of the columns as text. Raises InputError where two are the same."""
    if any(isinstance(label, tuple) for label in labels):
        _warn("The columns of the data frame have several levels; their names are joined by '.'.")
    names = [frames.text_of(label) for label in labels]
    for place, label in enumerate(labels):
        if not frames.has_text(label):
            names[place] = _free(f"column {place}", names)
            _warn(
                f"Column {place} of the data frame has no name; it is called {shown(names[place])}."
            )
    frames.refuse_doubled(role, names)
    return names


def _free(name: str, names: list[str]) -> str:
    """The name, with a mark behind it if a column has it."""
    return name if name not in names else _free(f"{name}_", names)


def _index_name(frame: Any) -> str:
    named = [frames.text_of(name) for name in frame.index.names if frames.has_text(name)]
    return ".".join(named) or "index"


def _ids(frame: Any) -> list[str] | None:
    """The index of a data frame of pandas as text; None where it only counts, and, with a warning,
    where a row has none or two rows have the same."""
    if not is_of(frame, "pandas", "DataFrame") or is_of(frame.index, "pandas", "RangeIndex"):
        return None
    labels = frame.index.tolist()
    row_of: dict[str, int] = {}
    for row, (label, text) in enumerate(zip(labels, frames.texts_of(labels), strict=True)):
        first = row_of.setdefault(text, row)
        if not frames.has_text(label) or first != row:
            why = f"row {row} has none"
            if first != row:
                why = f"row {first} and row {row} have the same, {shown(text)}"
            _warn(f"The index of the data frame is left out, so that rows have no ids: {why}.")
            return None
    return list(row_of)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UmbelWarning, stacklevel=2)


def _column(role: str, frame: Any, place: int, name: str, stack: Stack) -> Any:
    """A column: numbers as an array, (n_rows,) or with more axes, NaN where one is missing; others
    as a column of pyarrow or polars, or as a list."""
    column = frames.column_at(frame, place)
    numbers = columns.numbers_of(column)
    if isinstance(numbers, list):
        try:
            return stack(role, numbers)
        except InputError:
            if len(frames.labels_of(frame)) == 1:
                raise
            return numbers
    if numbers is None:
        if is_of(column, "pandas", "Series"):
            return column if column.dtype.kind in "mM" else columns.values_of(column)
        python = is_of(column, "polars", "Series") and str(column.dtype) == "Object"
        return columns.values_of(column) if python else column
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize > 8:
        raise InputError(
            role, f"column {shown(name)} is of {numbers.dtype}; use .astype('float64')."
        )
    return numbers


def _arrow(table: Mapping[str, Any]) -> Pieces:
    import pyarrow

    arrays = [_arrow_column(own) for own in table.values()]
    made = pyarrow.Table.from_arrays(arrays, names=list(table))
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return Pieces.of(memoryview(sink.getvalue()))


def _arrow_column(own: Any) -> Any:
    import pyarrow

    if isinstance(own, np.ndarray):
        flat = pyarrow.array(np.ascontiguousarray(own).reshape(-1))
        for length in reversed(own.shape[1:]):
            flat = pyarrow.FixedSizeListArray.from_arrays(flat, length)
        return flat
    if is_of(own, "polars", "Series"):
        return own.to_arrow()
    try:
        return pyarrow.array(own) if isinstance(own, list) else _pandas_or_arrow(own)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return pyarrow.array(list(map(_text, own)), pyarrow.large_string())


def _pandas_or_arrow(own: Any) -> Any:
    import pyarrow

    return pyarrow.array(own) if is_of(own, "pandas", "Series") else own


def _text(value: Any) -> str | None:
    return None if columns.is_missing(value) or value is None else str(columns.plain(value))


def _json_lines(role: str, table: Mapping[str, Any]) -> Pieces:
    """Raises InputError for a number that is not finite, which JSON does not have."""
    values = [_values(own) for own in table.values()]
    lines = []
    for row, cells in enumerate(zip(*values, strict=True)):
        try:
            named = dict(zip(table, map(_cell, cells), strict=True))
            lines.append(json.dumps(named, allow_nan=False, default=_text))
        except ValueError:
            raise InputError(role, f"row {row} has a number that is not finite.") from None
    return Pieces.of("\n".join([*lines, ""]).encode())


def _values(own: Any) -> list[Any]:
    if isinstance(own, np.ndarray):
        return list(own.tolist())
    return own if isinstance(own, list) else columns.values_of(own)


def _cell(value: Any) -> Any:
    value = None if columns.is_missing(value) else columns.plain(value)
    return None if isinstance(value, float) and value != value else value
