"""Arrow record batches -> arrays. What Arrow and Parquet files share.

A matrix is a table whose columns are all numbers, or one column of lists of equal length
(`fixed_size_list`, a tensor column, `list`). A column is a table of one column, or the one that
`member` names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.data import Value
from models.errors import UsageError
from workers.formats import roles
from workers.formats.facts import Bounds, Facts, Member, choose, shown, unsupported

_CELLS = 1 << 17
"""Values of one block written while they are in cache."""


@dataclass(frozen=True, slots=True)
class Table:
    """An open table.

    schema : `pyarrow.Schema`. n_rows : as the file's metadata claims.
    batches : gives the record batches with only the columns at these positions.
    """

    schema: Any
    n_rows: int
    batches: Callable[[list[int]], Iterator[Any]]


def facts(table: Table, member: str | None, bounds: Bounds) -> Facts:
    """Shape and dtype; every batch is read once and dropped, so that damage shows."""
    chosen = _chosen(table, member)
    types = [_plain(table.schema.field(at).type) for at in chosen]
    if len(chosen) == 1 and _is_text(types[0]):
        for _ in _texts(table, chosen[0]):
            pass
        roles.require_filled((table.n_rows,))
        return Facts((table.n_rows,), "str")
    width = 0
    dtype = _dtype(table, chosen)
    for block in _blocks(table, chosen, bounds):
        width = block.shape[1]
    shape = (table.n_rows, width)
    roles.require_filled((table.n_rows,))
    if width == 1 and not is_list(types[0]):
        return Facts((table.n_rows, 1), roles.dtype_name(dtype))
    roles.require_filled(shape)
    return Facts(shape, roles.dtype_name(dtype))


def load(table: Table, member: str | None, role: str, bounds: Bounds) -> Value:
    """The table as `role` takes it. One batch of one list column is not copied."""
    bounds.require(8 * table.n_rows)
    roles.require_filled((table.n_rows,))
    chosen = _chosen(table, member)
    if roles.is_column(role):
        if len(chosen) != 1:
            raise UsageError(
                f"Input {role!r} must be one column; the table has {len(chosen)}: choose one with "
                f"?member=. It has {_listed(table)}.",
                code="member-needed",
                role=role,
            )
        if _is_text(_plain(table.schema.field(chosen[0]).type)):
            out: list[str] = []
            length = 0
            for part in _texts(table, chosen[0]):
                length += sum(map(len, part))
                bounds.require(length)
                out += part
            return roles.text(out, role)
    return roles.shaped(_matrix(table, chosen, bounds), role)


def _matrix(table: Table, chosen: list[int], bounds: Bounds) -> npt.NDArray[Any]:
    out: npt.NDArray[Any] | None = None
    at = 0
    for block in _blocks(table, chosen, bounds):
        if len(block) == table.n_rows:
            return block
        if out is None:
            bounds.require(table.n_rows * block.shape[1] * block.dtype.itemsize)
            out = np.empty((table.n_rows, block.shape[1]), dtype=block.dtype)
        out[at : at + len(block)] = block
        at += len(block)
    if out is None or at != table.n_rows:
        raise UsageError(
            f"The table is damaged: it claims {table.n_rows} rows and holds {at}.",
            code="invalid-file",
        )
    return out


def _chosen(table: Table, member: str | None) -> list[int]:
    names = list(table.schema.names)
    if not names:
        raise UsageError("The table has no columns.", code="empty")
    if member is not None:
        members = [
            Member(name, (table.n_rows,), str(table.schema.field(at).type)[:40])
            for at, name in enumerate(names)
        ]
        return [choose(members, member)]
    index = _index_columns(table.schema) & set(names)
    if index and len(names) > 1:
        raise UsageError(
            f"The table holds the pandas index {shown(min(index))} as a column; write it with "
            "index=False, or choose one column with ?member=.",
            code="wrong-input",
        )
    return list(range(len(names)))


def _index_columns(schema: Any) -> set[str]:
    try:
        found = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in found if isinstance(name, str)}
    except (KeyError, ValueError, TypeError, RecursionError):
        return set()


def _blocks(table: Table, chosen: list[int], bounds: Bounds) -> Iterator[npt.NDArray[Any]]:
    """The rows as dense blocks (n, n_columns), in order. UsageError names a missing value."""
    dtype = _dtype(table, chosen)
    width: int | None = None
    start = 0
    for batch in table.batches(chosen):
        if batch.num_rows == 0:
            continue
        if len(chosen) == 1 and is_list(_plain(batch.schema.field(0).type)):
            block = _of_lists(_storage(batch.column(0)), start, width)
        else:
            bounds.require(batch.num_rows * len(chosen) * dtype.itemsize)
            block = dense(batch, dtype, start)
        width = block.shape[1]
        start += batch.num_rows
        yield block


def dense(batch: Any, dtype: np.dtype[Any], start: int) -> npt.NDArray[Any]:
    columns: list[npt.NDArray[Any]] = []
    for at, column in enumerate(map(_storage, batch.columns)):
        if column.null_count:
            raise roles.missing(None, start + _first_null(column), at)
        columns.append(column.to_numpy(zero_copy_only=False))
    if len(columns) == 1:
        return columns[0].astype(dtype, copy=False).reshape(-1, 1)
    out = np.empty((batch.num_rows, len(columns)), dtype=dtype)
    step = max(16, _CELLS // len(columns))
    for first in range(0, batch.num_rows, step):
        part = out[first : first + step]
        for at, column in enumerate(columns):
            part[:, at] = column[first : first + step]
    return out


def _of_lists(column: Any, start: int, width: int | None) -> npt.NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        raise roles.missing(None, start + _first_null(column))
    if pa.types.is_fixed_size_list(column.type):
        size = int(column.type.list_size)
    else:
        lengths = pc.list_value_length(column).to_numpy()
        size = int(lengths[0]) if width is None else width
        bad = np.flatnonzero(lengths != size)
        if bad.size:
            row = int(bad[0])
            raise UsageError(
                f"The table is ragged: row {start + row} (counted from 0) has {int(lengths[row])} "
                f"values, the rows before have {size}; all rows must be of one length.",
                code="ragged",
                row=start + row,
            )
    if size == 0:
        raise UsageError("The array has no columns.", code="empty")
    values = column.flatten()
    if values.null_count:
        first = _first_null(values)
        raise roles.missing(None, start + first // size, first % size)
    flat: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), size)


def _texts(table: Table, at: int) -> Iterator[list[str]]:
    import pyarrow as pa

    start = 0
    for batch in table.batches([at]):
        column = batch.column(0)
        if column.null_count:
            raise roles.missing(None, start + _first_null(column))
        start += len(column)
        if pa.types.is_dictionary(column.type):
            words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
            part = words[column.indices.to_numpy(zero_copy_only=False)].tolist()
            if column.dictionary.null_count and None in part:
                raise roles.missing(None, start - len(column) + part.index(None))
            yield part
        else:
            yield column.to_pylist()


def _dtype(table: Table, chosen: list[int]) -> np.dtype[Any]:
    """The one dtype of the matrix. UsageError naming a column that is not numbers."""
    import pyarrow as pa

    kinds = set()
    for at in chosen:
        field = table.schema.field(at)
        plain = _plain(field.type)
        if is_list(plain):
            if len(chosen) > 1:
                raise UsageError(
                    f"Column {shown(field.name)} holds lists and stands beside others; choose it "
                    f"with ?member=. The table has {_listed(table)}.",
                    code="member-needed",
                )
            plain = _plain(plain.value_type)
        numeric = pa.types.is_integer(plain) or pa.types.is_floating(plain)
        if not numeric and not pa.types.is_boolean(plain):
            if _is_text(plain):
                raise UsageError(
                    f"Column {shown(field.name)} holds text, and a matrix holds numbers; leave it "
                    "out, or choose one column with ?member=.",
                    code="wrong-input",
                    column=at,
                )
            raise unsupported(
                f"Column {shown(field.name)} has type {shown(str(field.type))}; accepted are "
                "booleans, integers, floats, lists of them of one length, and text."
            )
        kinds.add(np.dtype(plain.to_pandas_dtype()))
    return np.result_type(*kinds)


def _listed(table: Table) -> str:
    names = [shown(name) for name in table.schema.names[:20]]
    more = len(table.schema.names) - 20
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _storage(column: Any) -> Any:
    import pyarrow as pa

    return column.storage if isinstance(column, pa.ExtensionArray) else column


def is_list(kind: Any) -> bool:
    """Whether each value of an Arrow type is a list of values."""
    import pyarrow as pa

    kind = _plain(kind)
    known = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind)
    return bool(known or pa.types.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(known or pa.types.is_string_view(kind))


def _first_null(column: Any) -> int:
    return int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
