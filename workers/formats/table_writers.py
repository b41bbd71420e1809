"""Tables written as CSV, JSON, Arrow or Parquet, piece by piece, for results and responses.

A table is given as its column names and an iterable of pieces. A piece holds some of the rows,
column by column: a NumPy array, list or tuple for each name, all of one length. Each writer is a
generator of bytes, one chunk a piece, so a table of any length takes the memory of one piece.

    csv_chunks(names, pieces)   header, then rows; cells that a spreadsheet would run are guarded
    json_rows(names, pieces)    [{"a": 1, "b": "x"}, ...]
    json_columns(columns)       {"a": [1, 2], "b": ["x", "y"]}, from whole columns
    json_list(parts)            [1, 2, ...], from lists of its items
    arrow_chunks(table)         an Arrow IPC file, a record batch a chunk
    parquet_chunks(table)       a Parquet file, a row group a chunk
    save_arrow(table, path)     the same, written to a file

Pieces come from `pieces_of_rows` (tuples, one a row) or `pieces_of_arrow` (a `pyarrow.Table`);
`python_values` gives the values of one Arrow array.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Column: TypeAlias = Sequence[Any] | npt.NDArray[Any]
Piece: TypeAlias = Sequence[Column]
"""Some rows of a table, as one column for each of its names."""

PIECE_ROWS = 16_384
"""Rows in a piece of short cells: an encoder holds the interpreter lock for a whole piece."""
BATCH_ROWS = 65_536
"""Rows in a record batch."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that may begin a formula; the last four are the wide forms of the first four."""
_PLAIN = frozenset({int, float, bool, type(None)})


def guarded(text: str) -> str:
    """`text`, with an apostrophe in front if a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_chunks(
    names: Sequence[str], pieces: Iterable[Piece], *, verbatim: Collection[str] = ()
) -> Iterator[bytes]:
    """The table as CSV after RFC 4180, UTF-8: a header, then the rows.

    Text is `guarded`, None is an empty cell, a list is its items separated by spaces.

    Parameters
    ----------
    verbatim : names of columns whose text is written unchanged, for text that the service itself
        makes, such as stamps.
    """
    yield _csv_text([[guarded(name)] for name in names])
    for piece in pieces:
        cells = [
            _values(column) if name in verbatim else _csv_cells(_values(column))
            for name, column in zip(names, piece, strict=True)
        ]
        if text := _csv_text(cells):
            yield text


def json_rows(names: Sequence[str], pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The table as a JSON array of objects, one a row.

    NaN and infinity are null in an array; in a list they raise ValueError.
    """
    return json_list(_objects(names, piece) for piece in pieces)


def json_columns(columns: Mapping[str, Column], *, piece_rows: int = PIECE_ROWS) -> Iterator[bytes]:
    """The table as a JSON object of arrays, one a column; NaN and infinity as in `json_rows`."""
    lead = "{"
    for name, column in columns.items():
        yield f"{lead}{json.dumps(name)}: ".encode()
        yield from json_list(
            _json_values(column[start : start + piece_rows])
            for start in range(0, len(column), piece_rows)
        )
        lead = ", "
    yield b"}" if columns else b"{}"


def json_list(parts: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """A JSON array of the items of all parts, a chunk a part; ValueError for NaN and infinity."""
    lead = b"["
    for part in parts:
        if len(part):
            yield lead + json.dumps(part, allow_nan=False)[1:-1].encode()
            lead = b", "
    yield b"[]" if lead == b"[" else b"]"


def arrow_chunks(table: pa.Table) -> Iterator[bytes]:
    """The table as an Arrow IPC file, a record batch of at most `BATCH_ROWS` rows a chunk."""
    import pyarrow as pa

    sink = _Drained()
    with pa.ipc.new_file(pa.PythonFile(sink, "w"), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            writer.write_batch(batch)
            yield sink.drain()
    yield sink.drain()


def parquet_chunks(table: pa.Table) -> Iterator[bytes]:
    """The table as a Parquet file, a row group of at most `BATCH_ROWS` rows a chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = _Drained()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            writer.write_batch(batch)
            yield sink.drain()
    yield sink.drain()


def save_arrow(table: pa.Table, path: Path, *, batch_rows: int | None = BATCH_ROWS) -> None:
    """Write the table to `path` as an Arrow IPC file.

    Parameters
    ----------
    batch_rows : most rows in a record batch; None keeps the table's own chunks, so that a whole
        column can be mapped back.

    Raises OSError where the file cannot be written.
    """
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)


def pieces_of_rows(
    rows: Iterable[Sequence[Any]], *, piece_rows: int = PIECE_ROWS
) -> Iterator[Piece]:
    """Pieces of a table that is made row by row, each row with a value for each column."""
    remaining = iter(rows)
    while some := list(islice(remaining, piece_rows)):
        yield list(zip(*some, strict=True))


def pieces_of_arrow(table: pa.Table, *, piece_rows: int = PIECE_ROWS) -> Iterator[Piece]:
    """Pieces of an Arrow table with Python values: nulls are None."""
    for start in range(0, table.num_rows, piece_rows):
        yield [column.to_pylist() for column in table.slice(start, piece_rows).columns]


def python_values(array: pa.Array) -> Column:
    """The values of an Arrow array; nulls are None, a number without nulls stays in NumPy.

    As `to_pylist`, but much faster for lists, structs and dictionaries, which hold no null but for
    a dictionary's codes.
    """
    import pyarrow as pa

    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        cuts = array.offsets.to_numpy()
        items = _values(python_values(array.values.slice(cuts[0], cuts[-1] - cuts[0])))
        return [items[begin:end] for begin, end in pairwise((cuts - cuts[0]).tolist())]
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        members = [_values(python_values(member)) for member in array.flatten()]
        return [dict(zip(names, row, strict=True)) for row in zip(*members, strict=True)]
    if pa.types.is_dictionary(kind):
        used, code = np.unique(array.indices.fill_null(-1).to_numpy(), return_inverse=True)
        texts = array.dictionary.take(pa.array(used[used >= 0])).to_pylist()
        values: list[Any] = np.array([*[None] * int((used < 0).sum()), *texts], dtype=object)[
            code
        ].tolist()
        return values
    if array.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        numbers: npt.NDArray[Any] = array.to_numpy()
        return numbers
    plain: list[Any] = array.to_pylist()
    return plain


def _csv_text(columns: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def _csv_cells(values: Sequence[Any]) -> Sequence[Any]:
    if set(map(type, values)) <= _PLAIN:
        return values
    return [_csv_cell(value) for value in values]


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    if isinstance(value, list):
        return guarded(" ".join(map(str, value)))
    return value


def _objects(names: Sequence[str], piece: Piece) -> list[dict[str, Any]]:
    columns = [_json_values(column) for _, column in zip(names, piece, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: Column) -> Sequence[Any]:
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
        return values
    return column


def _json_values(column: Column) -> Sequence[Any]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        finite = np.isfinite(column)
        if not finite.all():
            column = column.astype(object)
            column[~finite] = None
    return _values(column)


class _Drained(io.RawIOBase):
    """A file object that is emptied after each batch."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
