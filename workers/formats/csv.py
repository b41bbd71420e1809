"""CSV: text in cells, after RFC 4180.

How cells, numbers and the header are written is found in the first lines (`csv_dialect`). Lines
end in LF or CRLF; a first line that mixes numbers and text is refused. No cell may be missing, and
every number must be finite.

A matrix is read in blocks by Arrow's parser; a block that it refuses is read again slowly, to name
the cell. A column (labels, names) is read by Python's parser: one cell a line, or the column that
`member` names by its header. Its first line is a header if it is one of `HEADERS`, or if it is text
and all the others are numbers. Two columns `id` and `name` are the column of names in the order of
the ids, which are the numbers of the rows from 0, each once.

Edges are two columns of text: a file that, below a header, does not hold numbers alone. Their first
line is a header if both cells are in `EDGE_HEADERS`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.roles import Want
from workers.formats import batches, roles
from workers.formats.csv_dialect import MAX_LINE, Dialect, dialect_of
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.refusals import broken, listed, missing, shown
from workers.formats.tables import (
    NOT_FINITE,
    NOTHING,
    NUMBER,
    NamedColumns,
    Table,
    WrittenColumn,
    WrittenPairs,
    is_number,
    require_filled,
    require_names,
)

if TYPE_CHECKING:
    import pyarrow as pa

HEADERS = frozenset(
    {"label", "labels", "name", "names", "class", "classes", "category", "target", "text", "task"}
    | {"tasks", "targets", "timestamp", "timestamps", "document", "documents", "feature_names"}
)
"""Possible headers of a single column of text, in any case."""
ID, NAME = "id", "name"
"""The headers of two columns that are names by the numbers of their rows, in any case."""
EDGE_HEADERS = frozenset(
    {"source", "target", "from", "to", "parent", "child", "label", "node", "class"}
    | {
        f"{word}{mark}{n}"
        for word in ("label", "node", "class")
        for mark in ("", "_")
        for n in (1, 2)
    }
)
"""Possible headers of two columns of text that are edges, in any case."""

_BLOCK = 16 << 20
_AT_ONCE = 1 << 14
"""Rows of text that are held as Python objects."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the table, after reading every cell.

    A single column without `member` may be text.
    """
    dialect = dialect_of(path, bounds.csv)
    if member is not None or dialect.n_columns == 1 or _is_by_id(dialect):
        return roles.facts(_column(path, dialect, member, bounds))
    _require_matrix(dialect)
    n_rows = sum(len(block) for block in _blocks(path, dialect))
    require_filled((n_rows,))
    return Facts((n_rows, dialect.n_columns), "float64")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The table as float64 (n_rows, n_columns), or as written: a column, pairs or columns."""
    dialect = dialect_of(path, bounds.csv)
    if want == "table":
        return _named_columns(path, dialect, bounds)
    if want in ("column", "labels", "paths"):
        return _column(path, dialect, member, bounds)
    if want == "edges" and member is None and (pairs := _pairs(path, dialect, bounds)) is not None:
        return pairs
    if member is not None:
        cells, position = _column(path, dialect, member, bounds), _position(dialect, member)
        numbers = [
            _number(text, row, position, line, dialect)
            for row, (text, line) in enumerate(zip(cells.texts, cells.lines, strict=True))
        ]
        return np.array(numbers).reshape(-1, 1)
    _require_matrix(dialect)
    most_rows = _count_lines(path, dialect)
    bounds.require(8 * most_rows * dialect.n_columns)
    matrix = np.empty((most_rows, dialect.n_columns))
    n_rows = 0
    for block in _blocks(path, dialect):
        matrix[n_rows : n_rows + len(block)] = block
        n_rows += len(block)
    return matrix[:n_rows]


@dataclass(frozen=True, slots=True)
class Head:
    """The header of a file and its first rows, as written."""

    dialect: Dialect
    names: tuple[str, ...]
    rows: list[list[str]]


def head(path: Path, most: int, bounds: Bounds) -> Head | None:
    """The header, and at most so many rows; None for a file without names of several columns."""
    dialect = dialect_of(path, bounds.csv)
    if dialect.names is None or dialect.n_columns == 1 or _is_by_id(dialect):
        return None
    rows = islice(_rows(path, dialect, None, first_row=-1), 1, 1 + most)
    return Head(dialect, dialect.names, [cells for _, cells in rows])


def texts(path: Path, name: str, bounds: Bounds) -> list[str]:
    """A column as written.

    Raises UsageError naming the first cell that is blank, `too-large` before more is held than the
    bounds allow.
    """
    import pyarrow as pa

    dialect = dialect_of(path, bounds.csv)
    assert dialect.names is not None, "the column of a file without names was chosen"
    _require_rows(dialect)
    at = dialect.names.index(name)
    convert = _conversion(dialect, [at], [pa.string()] * dialect.n_columns)
    found: list[str] = []
    n_bytes = 0
    for line, piece in _pieces(path, dialect):
        try:
            column = _parsed(piece, dialect, convert).column(0)
        except pa.ArrowException:
            _explain(piece, dialect, len(found), line, ())
        n_bytes += 80 * len(column) + column.nbytes
        bounds.require(n_bytes)
        own = column.to_pylist()
        if not all(map(str.strip, own)):
            empty = next(row for row, text in enumerate(own) if not text.strip())
            raise missing(len(found) + empty, at, name=name)
        found += own
    return found


def blocks(path: Path, names: Sequence[str], bounds: Bounds) -> Iterator[npt.NDArray[np.float64]]:
    """The columns of these names, in this order, as blocks of rows."""
    dialect = dialect_of(path, bounds.csv)
    assert dialect.names is not None, "the columns of a file without names were chosen"
    _require_rows(dialect)
    return _blocks(path, dialect, [dialect.names.index(name) for name in names])


def columns(path: Path, names: Sequence[str], bounds: Bounds) -> npt.NDArray[np.float64]:
    """(n_rows, len(names)) the columns of these names, in this order."""
    most_rows = _count_lines(path, dialect_of(path, bounds.csv))
    bounds.require(8 * most_rows * len(names))
    matrix = np.empty((most_rows, len(names)))
    n_rows = 0
    for block in blocks(path, names, bounds):
        matrix[n_rows : n_rows + len(block)] = block
        n_rows += len(block)
    require_filled((n_rows,))
    return matrix[:n_rows]


def _require_matrix(dialect: Dialect) -> None:
    """Refuse a first line that may or may not be a header, and a file with only a header."""
    names = dialect.names
    if names is not None and not names[0].strip() and any(name.strip() for name in names):
        raise UsageError(
            "The first column of the CSV file has no name and seems to be a row index; write the "
            "table without it (pandas: index=False).",
            code="wrong-input",
            line=1,
            column=0,
        )
    if names is None:
        texts = (at for at, cell in enumerate(dialect.first) if dialect.number(cell, at) is None)
        column = next(texts, None)
        if column is not None and dialect.first[column].strip():
            raise UsageError(
                "The first line of the CSV file mixes numbers and text: column "
                f"{column} (counted from 0) is {shown(dialect.first[column], 40)}. A matrix holds "
                "numbers only; a header names every column by text.",
                code="wrong-input",
                row=0,
                column=column,
                line=1,
            )
    _require_rows(dialect)


def _require_rows(dialect: Dialect) -> None:
    if dialect.start >= dialect.end:
        raise UsageError("The CSV file has a header and no rows.", code="empty")


def _parts(path: Path, dialect: Dialect) -> Iterator[bytes]:
    """The bytes of the data, `_BLOCK` at a time."""
    with path.open("rb") as file:
        file.seek(dialect.start)
        remaining = dialect.end - dialect.start
        while remaining and (part := file.read(min(_BLOCK, remaining))):
            remaining -= len(part)
            yield part


def _count_lines(path: Path, dialect: Dialect) -> int:
    return 1 + sum(part.count(b"\n") for part in _parts(path, dialect))


def _pieces(path: Path, dialect: Dialect) -> Iterator[tuple[int, bytes]]:
    """The data as (line number, whole rows in UTF-8), about `_BLOCK` bytes each."""
    line = dialect.line
    remaining = dialect.end - dialect.start
    begun = b""
    for part in _parts(path, dialect):
        piece = begun + part
        remaining -= len(part)
        cut = _whole_rows(piece) if remaining else len(piece)
        if not cut and len(piece) > MAX_LINE:
            raise UsageError(
                f"Line {line} of the CSV file is longer than {MAX_LINE} bytes.",
                code="invalid-file",
                line=line,
            )
        if cut:
            yield line, _utf8(piece[:cut], dialect)
            line += piece.count(b"\n", 0, cut)
        begun = piece[cut:]


def _whole_rows(piece: bytes) -> int:
    """Where the last whole row of a piece ends: after a line break that is not within quotes."""
    cut = piece.rfind(b"\n") + 1
    n_quotes = piece.count(b'"', 0, cut)
    while cut and n_quotes % 2:
        before = piece.rfind(b'"', 0, cut)
        after = piece.rfind(b"\n", 0, before) + 1
        n_quotes -= piece.count(b'"', after, cut)
        cut = after
    return cut


def _utf8(piece: bytes, dialect: Dialect) -> bytes:
    if dialect.encoding == "utf-8":
        return piece
    try:
        return piece.decode(dialect.encoding).encode()
    except UnicodeDecodeError:
        raise broken("The CSV file is neither UTF-8 nor Windows-1252 text.") from None


def _blocks(
    path: Path, dialect: Dialect, chosen: Sequence[int] | None = None
) -> Iterator[npt.NDArray[np.float64]]:
    """The rows as float64 (n, n_columns), in order; chosen : the positions of the columns.

    Raises UsageError naming a cell that is not a number.
    """
    import pyarrow as pa

    own = range(dialect.n_columns) if chosen is None else chosen
    types = [pa.float64() if style == "plain" else pa.string() for style in dialect.styles]
    convert = _conversion(dialect, own, types)
    row = 0
    for line, piece in _pieces(path, dialect):
        try:
            table = _parsed(piece, dialect, convert)
            if not dialect.plain:
                table = _standard(table, own, dialect)
        except pa.ArrowException:
            _explain(piece, dialect, row, line, own)
        block = batches.dense(table.combine_chunks().to_batches()[0], np.dtype(np.float64), row)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum())
        if not finite and not np.isfinite(block).all():
            _explain(piece, dialect, row, line, own)
        if b'"' not in piece and len(block) != piece.count(b"\n") + (not piece.endswith(b"\n")):
            raise broken("The CSV file has lines that end in CR alone; accepted are LF and CRLF.")
        row += len(block)
        yield block


def _conversion(dialect: Dialect, own: Sequence[int], types: Sequence[pa.DataType]) -> Any:
    """How Arrow reads the columns at these positions. types : of all columns."""
    from pyarrow import csv as arrow_csv

    return arrow_csv.ConvertOptions(
        column_types={str(at): kind for at, kind in enumerate(types)},
        null_values=[],
        strings_can_be_null=False,
        include_columns=[str(at) for at in own],
        decimal_point=dialect.decimal,
    )


def _parsed(piece: bytes, dialect: Dialect, convert: Any) -> pa.Table:
    """Whole rows as a table. Raises pa.ArrowException."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        pa.BufferReader(piece),
        read_options=arrow_csv.ReadOptions(
            column_names=[str(at) for at in range(dialect.n_columns)], block_size=len(piece) + 1
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            ignore_empty_lines=False,
            newlines_in_values=b'"' in piece,
        ),
        convert_options=convert,
    )


def _standard(table: pa.Table, own: Sequence[int], dialect: Dialect) -> pa.Table:
    """The table with its columns of text as numbers. Raises pa.ArrowInvalid for other texts."""
    import pyarrow as pa

    for place, at in enumerate(own):
        if dialect.styles[at] == "plain":
            continue
        coded = table.column(place).combine_chunks().dictionary_encode()
        texts = [dialect.number(text, at) for text in coded.dictionary.to_pylist()]
        if None in texts:
            raise pa.ArrowInvalid
        numbers = pa.array([float(text) for text in texts if text is not None], pa.float64())
        table = table.set_column(place, table.column_names[place], numbers.take(coded.indices))
    return table


def _explain(
    piece: bytes, dialect: Dialect, row: int, line: int, chosen: Sequence[int]
) -> NoReturn:
    """Raise UsageError naming the first cell of a piece that is not a finite number.

    row, line : numbers of the first row and line of the piece. chosen : as `_blocks`.
    """
    text = io.StringIO(piece.decode("utf-8", "replace"), newline="")
    reader = csv.reader(text, delimiter=dialect.delimiter)
    before = 0
    try:
        for offset, cells in enumerate(reader):
            at = line + before
            if len(cells) != dialect.n_columns:
                raise _ragged(row + offset, at, len(cells), dialect)
            for column in sorted(chosen):
                _number(cells[column], row + offset, column, at, dialect)
            before = reader.line_num
    except csv.Error:
        pass
    raise UsageError(
        f"The CSV file cannot be read between lines {line} and {line + piece.count(bytes([10]))}; "
        "cells of a matrix are plain numbers.",
        code="invalid-file",
        line=line,
    )


def _number(cell: str, row: int, column: int, line: int, dialect: Dialect) -> float:
    """The finite number in a cell of a matrix. Raises UsageError for anything else."""
    name = None if dialect.names is None else dialect.names[column]
    own = f"{column}" if name is None else f"{column} ({shown(name, 40)})"
    at = f"row {row}, column {own} (counted from 0; line {line} of the file)"
    bare = cell.strip().lower()
    if not bare or bare.lstrip("+-").startswith("nan") or bare in NOTHING:
        raise missing(row, column, line=line, name=name)
    written = dialect.number(cell, column)
    if written is not None and NUMBER.fullmatch(written):
        number = float(written)
        if np.isfinite(number):
            return number
    elif not NOT_FINITE.fullmatch(cell):
        raise UsageError(
            f"The CSV file has the text {shown(cell, 40)} at {at}; a matrix holds numbers only.",
            code="wrong-input",
            row=row,
            column=column,
            line=line,
        )
    raise UsageError(
        f"The CSV file has an infinite number at {at}; every value must be finite.",
        code="not-finite",
        row=row,
        column=column,
        line=line,
    )


def _column(path: Path, dialect: Dialect, member: str | None, bounds: Bounds) -> WrittenColumn:
    """The cells of one column without its header."""
    if member is None and _is_by_id(dialect):
        return _by_id(path, dialect, bounds)
    position = _position(dialect, member)
    texts: list[str] = []
    lines: list[int] = []
    for line, cells in _rows(path, dialect, bounds, first_row=-int(member is not None)):
        texts.append(cells[position])
        lines.append(line)
    first = int(member is not None or _has_header(texts))
    if len(texts) <= first:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return WrittenColumn(texts[first:], lines[first:])


def _is_by_id(dialect: Dialect) -> bool:
    """Whether the columns are `id` and `name`, in either order."""
    return {ID, NAME} == {text.strip().lower() for text in dialect.names or ()} and (
        dialect.n_columns == 2
    )


def _by_id(path: Path, dialect: Dialect, bounds: Bounds) -> WrittenColumn:
    """The names in the order of their ids.

    Raises UsageError for an id that is no number of a row, or that occurs twice, and for a name
    that is blank.
    """
    place = [text.strip().lower() for text in dialect.first].index(ID)
    rows = list(_rows(path, dialect, bounds, first_row=-1))[1:]
    if not rows:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    row_of: dict[int, int] = {}
    for row, (line, cells) in enumerate(rows):
        text = cells[place].strip()
        number = int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else len(rows)
        if number >= len(rows):
            raise UsageError(
                f"The CSV file has the id {shown(text, 40)} at line {line}. The ids of names are "
                f"the numbers of their rows: of {len(rows)} names 0 to {len(rows) - 1}, each once.",
                code="wrong-input",
                row=row,
                column=place,
                line=line,
            )
        if number in row_of:
            raise UsageError(
                f"The CSV file has the id {number} at line {rows[row_of[number]][0]} and at line "
                f"{line}. The ids of names are the numbers of their rows, each once.",
                code="wrong-input",
                row=row,
                column=place,
                line=line,
            )
        row_of[number] = row
    ordered = [rows[row_of[number]] for number in range(len(rows))]
    for number, (line, cells) in enumerate(ordered):
        if not cells[1 - place].strip():
            raise missing(number, 0, line=line)
    return WrittenColumn([cells[1 - place] for _, cells in ordered], [line for line, _ in ordered])


def _pairs(path: Path, dialect: Dialect, bounds: Bounds) -> WrittenPairs | None:
    """Two columns without their header; None if the file is a matrix of numbers."""
    if dialect.n_columns != 2:
        return None
    texts: list[tuple[str, str]] = []
    lines: list[int] = []
    for line, (first, second) in _rows(path, dialect, bounds):
        texts.append((first, second))
        lines.append(line)
    below = texts if dialect.names is None else texts[1:]
    if below and all(is_number(first) and is_number(second) for first, second in below):
        return None
    has_header = {text.strip().lower() for text in texts[0]} <= EDGE_HEADERS
    if len(texts) == has_header:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return WrittenPairs(texts[has_header:], lines[has_header:])


def _rows(
    path: Path, dialect: Dialect, bounds: Bounds | None, first_row: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row as text, the first line too.

    bounds : None where few rows are read. first_row : the number of the first line, for errors.

    Raises UsageError `empty` where there is none: the decoder drops the beginning of a byte order
    mark that the file breaks off in.
    """
    if bounds is not None:
        bounds.require(24 * (dialect.end - dialect.start))
    line = 1 + dialect.skipped
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    try:
        with path.open(encoding=encoding, newline="") as file:
            for _ in range(dialect.skipped):
                file.readline()
            reader = csv.reader(file, delimiter=dialect.delimiter, strict=True)
            for row, cells in enumerate(reader, first_row):
                if dialect.short and row == first_row:
                    cells = ["", *cells]
                if len(cells) != dialect.n_columns:
                    if not cells and not any(reader):
                        break
                    raise _ragged(row, line, len(cells), dialect)
                yield line, cells
                line = reader.line_num + 1 + dialect.skipped
        if line == 1 + dialect.skipped:
            raise UsageError("The CSV file has no rows.", code="empty")
    except UnicodeDecodeError:
        raise broken("The CSV file is not UTF-8 text.") from None
    except csv.Error:
        raise broken(f"Line {line} of the CSV file cannot be read as CSV.") from None


def _named_columns(path: Path, dialect: Dialect, bounds: Bounds) -> NamedColumns:
    """All columns under the names of the header. Raises UsageError where there is no header."""
    import pyarrow as pa

    if dialect.names is None:
        number = next(at for at, cell in enumerate(dialect.first) if dialect.number(cell, at))
        raise UsageError(
            "The first line of the CSV file must name the columns; column "
            f"{number} (counted from 0) is {shown(dialect.first[number], 40)}, a number.",
            code="wrong-input",
            row=0,
            column=number,
            line=1,
        )
    require_names(dialect.first)
    kind = pa.large_string()
    rows = (cells for _, cells in _rows(path, dialect, bounds, first_row=-1))
    next(rows)
    parts: list[list[pa.Array]] = [[] for _ in dialect.first]
    while some := list(islice(rows, _AT_ONCE)):
        for at, texts in enumerate(zip(*some, strict=True)):
            own = texts if dialect.plain else [_with_point(text, at, dialect) for text in texts]
            parts[at].append(pa.array(own, kind))
    if not parts[0]:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return NamedColumns(
        dialect.first, [pa.chunked_array(part, kind) for part in parts], written=True
    )


def _with_point(text: str, at: int, dialect: Dialect) -> str:
    """The cell with a decimal point if it is a number, else the cell."""
    if dialect.styles[at] == "truth":
        return text
    return dialect.number(text, at) or text


def _position(dialect: Dialect, member: str | None) -> int:
    if member is not None:
        return choose([Member(name, (), "") for name in dialect.first], member)
    if dialect.n_columns == 1:
        return 0
    names = (
        f"It has {listed(dialect.names)}." if dialect.names else "It has no header to choose by."
    )
    raise UsageError(
        f"One column is needed and the CSV file has {dialect.n_columns}: choose one with ?member=, "
        f"or quote text that holds the separator. {names}",
        code="member-needed",
    )


def _has_header(texts: list[str]) -> bool:
    """Whether the first cell of a single column is its header."""
    if texts[0].strip().lower() in HEADERS:
        return True
    return (
        len(texts) > 1
        and not is_number(texts[0])
        and bool(texts[0].strip())
        and all(is_number(text) for text in texts[1:])
    )


def _ragged(row: int, line: int, n_cells: int, dialect: Dialect) -> UsageError:
    return UsageError(
        f"The CSV file is ragged: row {row} (counted from 0; line {line} of the file) has "
        f"{n_cells} cells, the first line has {dialect.n_columns}.",
        code="ragged",
        row=row,
        line=line,
    )
