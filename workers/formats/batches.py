"""Arrow record batches as plain tables, for both Arrow and Parquet files.

A matrix is a table whose columns are all numbers, or one column of lists of equal length
(`fixed_size_list`, a tensor column, `list`). A column is a table of one column, or the one that
`member` names; one of labels may hold lists of any length, and null where labels are unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import UsageError, listed, shown
from models.inputs.reading import LARGEST, is_kept, rounded
from models.roles import Want
from workers.formats.arrow_types import (
    is_list,
    is_moment,
    is_number,
    is_text,
    plain,
    plain_type,
)
from workers.formats.facts import Bounds, Facts, Member, choose
from workers.formats.gaps import Gaps
from workers.formats.refusals import broken, missing, unsupported
from workers.formats.tables import (
    Columns,
    LabelRows,
    NamedColumns,
    Table,
    dtype_name,
    require_filled,
    require_names,
)

_MIDNIGHT = re.compile(r" 00:00:00(Z|[+-]\d{4})?$")
_ZEROS = re.compile(r"\.0+(?=(Z|[+-]\d{4})?$)")
_CELLS = 1 << 17
"""Values of one block written while they are in cache."""


@dataclass(frozen=True, slots=True)
class Batches:
    """An open Arrow table.

    schema : `pyarrow.Schema`. n_rows : as the file's metadata claims.
    read : returns the record batches with only the columns at these positions.
    """

    schema: Any
    n_rows: int
    read: Callable[[list[int]], Iterator[Any]]


def facts(batches: Batches, member: str | None, bounds: Bounds) -> Facts:
    """Shape and dtype; every batch is read once and dropped, to detect damage."""
    chosen = _chosen(batches, member)
    first = plain_type(batches.schema.field(chosen[0]).type)
    if len(chosen) == 1 and is_text(first):
        for _ in _texts(batches, chosen[0]):
            pass
        require_filled((batches.n_rows,))
        return Facts((batches.n_rows,), "str")
    width = 0
    dtype = _dtype(batches, chosen)
    gaps = Gaps()
    for block in _blocks(batches, chosen, bounds):
        width = block.shape[1]
        dtype = np.result_type(dtype, block.dtype)
        gaps.add(block)
    require_filled((batches.n_rows,))
    if width != 1 or is_list(first):
        require_filled((batches.n_rows, width))
    written = batches.schema.names
    names = [written[at] for at in chosen] if width == len(chosen) else ()
    return Facts((batches.n_rows, width), dtype_name(dtype), warnings=gaps.warnings(names))


def read(batches: Batches, member: str | None, want: Want, bounds: Bounds) -> Table:
    """The chosen columns, as one array or as texts.

    A single batch of one list column is not copied.
    """
    bounds.require(8 * batches.n_rows)
    require_filled((batches.n_rows,))
    if want == "table":
        return _named_columns(batches, bounds)
    chosen = _chosen(batches, member)
    if want in ("column", "labels", "paths"):
        if len(chosen) != 1:
            return Columns(batches.schema.names)
        if want != "column":
            return _label_rows(batches, chosen[0], bounds)
        own = plain_type(batches.schema.field(chosen[0]).type)
        if is_text(own) or is_moment(own):
            return _all_texts(batches, chosen[0], bounds)
    return _matrix(batches, chosen, bounds)


def columns(batches: Batches, names: Sequence[str], bounds: Bounds) -> npt.NDArray[Any]:
    """(n_rows, len(names)) the columns of these names in this order; (n_rows, n) the vectors of one
    column."""
    bounds.require(8 * batches.n_rows)
    require_filled((batches.n_rows,))
    places = _places(batches, names)
    found = _matrix(batches, sorted(places), bounds)
    if places == sorted(places):
        return found
    order = np.argsort(np.argsort(places))
    return np.ascontiguousarray(found[:, order])


def column_blocks(
    batches: Batches, names: Sequence[str], bounds: Bounds
) -> Iterator[npt.NDArray[Any]]:
    """What `columns` gives, as blocks of rows."""
    require_filled((batches.n_rows,))
    places = _places(batches, names)
    found = _blocks(batches, sorted(places), bounds)
    if places == sorted(places):
        return found
    order = np.argsort(np.argsort(places))
    return (np.ascontiguousarray(block[:, order]) for block in found)


def _places(batches: Batches, names: Sequence[str]) -> list[int]:
    position = {name: at for at, name in enumerate(batches.schema.names)}
    return [position[name] for name in names]


def _named_columns(batches: Batches, bounds: Bounds) -> NamedColumns:
    """All columns; raises UsageError `too-large` before more is held than the bounds allow."""
    import pyarrow as pa

    names = list(batches.schema.names)
    require_names(names)
    if not names:
        raise UsageError("The table has no columns.", code="empty")
    held: list[Any] = []
    n_bytes = n_read = 0
    for batch in batches.read(list(range(len(names)))):
        n_bytes += batch.nbytes
        bounds.require(n_bytes)
        n_read += batch.num_rows
        held.append(batch)
    if n_read != batches.n_rows:
        raise broken(f"The table is damaged: it claims {batches.n_rows} rows and holds {n_read}.")
    table = pa.Table.from_batches(held)
    return NamedColumns(names, table.columns)


def _all_texts(batches: Batches, column: int, bounds: Bounds) -> list[str]:
    texts: list[str] = []
    length = 0
    for part in _texts(batches, column):
        length += sum(map(len, part))
        bounds.require(length)
        texts += part
    if is_moment(batches.schema.field(column).type) and all(map(_MIDNIGHT.search, texts)):
        return [_MIDNIGHT.sub("", text) for text in texts]
    return texts


def _label_rows(batches: Batches, position: int, bounds: Bounds) -> LabelRows:
    """A column of text or numbers, or of lists of them; null where the labels are unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    field = batches.schema.field(position)
    several = is_list(field.type)
    own = plain_type(plain_type(field.type).value_type) if several else plain_type(field.type)
    if not (is_text(own) or is_number(own) or pa.types.is_null(own)):
        raise unsupported(
            f"Column {shown(field.name)} has type {shown(str(field.type))}; labels are integers, "
            "text, or lists of them."
        )
    times, values, unlabelled = [], [np.empty(0, dtype=object if is_text(own) else np.int64)], []
    n_read = n_values = 0
    for batch in batches.read([position]):
        column = plain(batch.column(0))
        unlabelled.append(column.is_null().to_numpy(zero_copy_only=False))
        inside = plain(column.flatten()) if several else column.drop_null()
        own_times = ~unlabelled[-1]
        if several:
            own_times = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        times.append(own_times.astype(np.int64))
        if inside.null_count:
            ends = np.cumsum(times[-1])
            row = n_read + int(np.searchsorted(ends, _first_null(inside), side="right"))
            raise UsageError(
                f"Column {shown(field.name)} has null among the labels of row {row} (counted from "
                "0); a row whose labels are unknown is null, not a list with null.",
                code="missing-value",
                row=row,
            )
        n_read += len(column)
        n_values += len(inside)
        bounds.require(8 * (2 * n_read + n_values))
        values.append(
            _shared_texts(inside) if is_text(own) else inside.to_numpy(zero_copy_only=False)
        )
    if n_read != batches.n_rows:
        raise broken(f"The table is damaged: it claims {batches.n_rows} rows and holds {n_read}.")
    used = [part for part in values if len(part)] or values[:1]
    return LabelRows.of(np.concatenate(times), np.concatenate(used), np.concatenate(unlabelled))


def _shared_texts(column: Any) -> npt.NDArray[np.object_]:
    """(n,) `str` objects, equal texts of the column being one object."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    texts: npt.NDArray[np.object_] = words[column.indices.to_numpy(zero_copy_only=False)]
    return texts


def _matrix(batches: Batches, chosen: list[int], bounds: Bounds) -> npt.NDArray[Any]:
    matrix: npt.NDArray[Any] | None = None
    n_read = 0
    for block in _blocks(batches, chosen, bounds):
        if len(block) == batches.n_rows:
            return block
        if matrix is None:
            bounds.require(batches.n_rows * block.shape[1] * block.dtype.itemsize)
            matrix = np.empty((batches.n_rows, block.shape[1]), dtype=block.dtype)
        elif block.dtype != matrix.dtype:
            # The first missing value among integers.
            matrix = matrix.astype(np.result_type(matrix, block), copy=False)
        matrix[n_read : n_read + len(block)] = block
        n_read += len(block)
    if matrix is None or n_read != batches.n_rows:
        raise broken(f"The table is damaged: it claims {batches.n_rows} rows and holds {n_read}.")
    return matrix


def _chosen(batches: Batches, member: str | None) -> list[int]:
    """Positions of the columns to read: the one named by `member`, or all."""
    names = list(batches.schema.names)
    if not names:
        raise UsageError("The table has no columns.", code="empty")
    if member is not None:
        members = [
            Member(name, (batches.n_rows,), str(batches.schema.field(position).type)[:40])
            for position, name in enumerate(names)
        ]
        return [choose(members, member)]
    index = index_columns(batches.schema) & set(names)
    if index and len(names) > 1:
        raise UsageError(
            f"The table holds the pandas index {shown(min(index))} as a column; write it with "
            "index=False, or choose one column with ?member=.",
            code="wrong-input",
        )
    return list(range(len(names)))


def index_columns(schema: Any) -> set[str]:
    """The columns that pandas wrote as the index of its rows."""
    try:
        names = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in names if isinstance(name, str)}
    except (KeyError, ValueError, TypeError, RecursionError):
        return set()


def _blocks(batches: Batches, chosen: list[int], bounds: Bounds) -> Iterator[npt.NDArray[Any]]:
    """The rows as dense blocks (n, n_columns), in order.

    Missing values are NaN where the bounds allow gaps; a block of integers with some is float64.
    Else raises UsageError naming the first.
    """
    dtype = _dtype(batches, chosen)
    width: int | None = None
    start = 0
    for batch in batches.read(chosen):
        if batch.num_rows == 0:
            continue
        if len(chosen) == 1 and is_list(plain_type(batch.schema.field(0).type)):
            block = of_lists(plain(batch.column(0)), start, width, gaps=bounds.gaps)
        else:
            bounds.require(batch.num_rows * len(chosen) * dtype.itemsize)
            block = dense(batch, dtype, start, gaps=bounds.gaps)
        width = block.shape[1]
        start += batch.num_rows
        yield block


def dense(batch: Any, dtype: np.dtype[Any], start: int, *, gaps: bool = False) -> npt.NDArray[Any]:
    """The batch as (n_rows, n_columns) of `dtype`, of float64 where integers are missing.

    start : its first row in the table. gaps : whether a missing value is NaN; else raises
    UsageError naming it. Raises UsageError as `require_kept`.
    """
    import pyarrow as pa

    columns: list[npt.NDArray[Any]] = []
    names = batch.schema.names  # A new list at each request.
    for number, given in enumerate(batch.columns):
        column = plain(given)
        if column.null_count and not gaps:
            raise missing(start + _first_null(column), number)
        columns.append(_with_nan(column))
        dtype = np.result_type(dtype, columns[-1]) if column.null_count else dtype
        if dtype.kind == "f" or column.null_count:
            decimal = pa.types.is_decimal(given.type)
            require_kept(given if decimal else column, start, number, shown(names[number]))
    if len(columns) == 1:
        return columns[0].astype(dtype, copy=False).reshape(-1, 1)
    block = np.empty((batch.num_rows, len(columns)), dtype=dtype)
    step = max(16, _CELLS // len(columns))
    for first in range(0, batch.num_rows, step):
        part = block[first : first + step]
        for number, column in enumerate(columns):
            part[:, number] = column[first : first + step]
    return block


def require_kept(column: Any, start: int, number: int, name: str | None) -> None:
    """Raises UsageError naming the first integer or decimal of a column that double precision would
    round."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decimal = pa.types.is_decimal(column.type)
    if not decimal and not (pa.types.is_integer(column.type) and column.type.bit_width == 64):
        return
    if len(column) == column.null_count:
        return
    ends = pc.min_max(column).as_py()
    if max(abs(ends["min"]), abs(ends["max"])) <= LARGEST:
        return
    for row, value in enumerate(column.to_pylist()):
        if value is None or abs(value) <= LARGEST:
            continue
        written = f"{value:f}" if decimal else str(value)
        if not is_kept(written):
            raise rounded(written, start + row, number, name=name)


def _with_nan(column: Any) -> npt.NDArray[Any]:
    """Numbers as an array, those with a missing value as floats."""
    import pyarrow as pa

    if column.null_count and not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def of_lists(column: Any, start: int, width: int | None, *, gaps: bool = False) -> npt.NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        raise missing(start + _first_null(column))
    if pa.types.is_fixed_size_list(column.type):
        size = int(column.type.list_size)
    else:
        lengths = pc.list_value_length(column).to_numpy()
        size = int(lengths[0]) if width is None else width
        ragged = np.flatnonzero(lengths != size)
        if ragged.size:
            row = int(ragged[0])
            raise UsageError(
                f"The table is ragged: row {start + row} (counted from 0) has {int(lengths[row])} "
                f"values, the rows before have {size}; all rows must be of one length.",
                code="ragged",
                row=start + row,
            )
    if size == 0:
        raise UsageError("The array has no columns.", code="empty")
    values = plain(column.flatten())
    if values.null_count and not gaps:
        first = _first_null(values)
        raise missing(start + first // size, first % size)
    found = _with_nan(values)
    if found.dtype.kind == "f":
        try:
            require_kept(values, 0, 0, None)
        except UsageError as error:
            row, inside = divmod(int(error.where["row"]), size)
            raise rounded(values[row * size + inside], start + row, inside) from None
    return found.reshape(len(column), size)


def _texts(batches: Batches, position: int) -> Iterator[list[str]]:
    import pyarrow as pa

    start = 0
    for batch in batches.read([position]):
        column = plain(batch.column(0))
        if column.null_count:
            raise missing(start + _first_null(column))
        start += len(column)
        if is_moment(column.type):
            yield [_ZEROS.sub("", text) for text in column.cast(pa.large_string()).to_pylist()]
        elif pa.types.is_dictionary(column.type):
            words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
            part = words[column.indices.to_numpy(zero_copy_only=False)].tolist()
            if column.dictionary.null_count and None in part:
                raise missing(start - len(column) + part.index(None))
            yield part
        else:
            yield column.to_pylist()


def _dtype(batches: Batches, chosen: list[int]) -> np.dtype[Any]:
    """The common dtype of the matrix; a column without any value is float64. Raises UsageError
    naming a column that is not numbers."""
    import pyarrow as pa

    kinds = set()
    for position in chosen:
        field = batches.schema.field(position)
        kind = plain_type(field.type)
        if is_list(kind):
            if len(chosen) > 1:
                raise UsageError(
                    f"Column {shown(field.name)} holds lists and stands beside others; choose it "
                    f"with ?member=. The table has {listed(batches.schema.names, 20)}.",
                    code="member-needed",
                )
            kind = plain_type(kind.value_type)
        if pa.types.is_null(kind):
            kind = pa.float64()
        if not is_number(kind):
            if is_text(kind):
                lists = " Lists of labels need ?role=labels." if is_list(field.type) else ""
                raise UsageError(
                    f"Column {shown(field.name)} holds text, and a matrix holds numbers; leave it "
                    f"out, or choose one column with ?member=.{lists}",
                    code="wrong-input",
                    column=position,
                )
            raise unsupported(
                f"Column {shown(field.name)} has type {shown(str(field.type))}; accepted are "
                "booleans, integers, floats, decimals, lists of them of one length, and text."
            )
        kinds.add(np.dtype(kind.to_pandas_dtype()))
    return np.result_type(*kinds)


def _first_null(column: Any) -> int:
    return int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
