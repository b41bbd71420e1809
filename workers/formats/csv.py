"""CSV: text in cells, after RFC 4180.

Cells are separated by a tab if the first line has one, else by a comma if it has one, else by a
semicolon. UTF-8, lines end in LF or CRLF, decimals are written with a point. The first line is a
header where none of its cells is a number; a first line that mixes numbers and text is refused. No
cell may be missing, and every number must be finite.

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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.roles import Want
from workers.formats import batches, roles
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

MAX_LINE = 16 << 20
"""The largest length of a line in bytes."""
MAX_COLUMNS = 100_000
HEADERS = frozenset(
    {"label", "labels", "name", "names", "class", "classes", "category", "target", "text"}
    | {"task", "tasks", "targets", "timestamp", "timestamps", "document", "documents"}
    | {"feature_names"}
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


@dataclass(frozen=True, slots=True)
class Dialect:
    """The layout of a file.

    names : the cells of the header, None without a header. first : the cells of the first line.
    start, end : byte range of the data, without line breaks at the end.
    line : number of the first line of data, from 1.
    """

    delimiter: str
    names: tuple[str, ...] | None
    first: tuple[str, ...]
    start: int
    line: int
    end: int

    @property
    def n_columns(self) -> int:
        return len(self.first)


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the table, after reading every cell.

    A single column without `member` may be text.
    """
    dialect = _dialect_of(path)
    if member is not None or dialect.n_columns == 1 or _is_by_id(dialect):
        return roles.facts(_column(path, dialect, member, bounds))
    _require_matrix(dialect)
    n_rows = sum(len(block) for block in _blocks(path, dialect))
    require_filled((n_rows,))
    return Facts((n_rows, dialect.n_columns), "float64")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The table as float64 (n_rows, n_columns), or one column, pairs or columns of text as
    written."""
    dialect = _dialect_of(path)
    if want == "table":
        return _named_columns(path, dialect, bounds)
    if want in ("column", "labels", "paths"):
        return _column(path, dialect, member, bounds)
    if want == "edges" and member is None and (pairs := _pairs(path, dialect, bounds)) is not None:
        return pairs
    if member is not None:
        cells = _column(path, dialect, member, bounds)
        numbers = [
            _number(text, row, 0, line)
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


def _dialect_of(path: Path) -> Dialect:
    with path.open("rb") as file:
        head = file.read(MAX_LINE)
        end = _end(file)
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    if end <= start:
        raise UsageError("The CSV file is empty.", code="empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:1024]:
        raise broken("The CSV file is not UTF-8 text.")
    line, newline, _ = head[start:].partition(b"\n")
    if not newline and len(head) == MAX_LINE:
        raise broken(f"The first line of the CSV file is longer than {MAX_LINE} bytes.")
    delimiter = next((mark for mark in "\t,;" if mark.encode() in line), ",")
    first, n_lines = _first_row(head[start:end], delimiter)
    if any(map(is_number, first)):
        return Dialect(delimiter, None, first, start, 1, end)
    for _ in range(n_lines):
        after = head.find(b"\n", start)
        start = after + 1 if after >= 0 else len(head)
    return Dialect(delimiter, first, first, min(start, end), 1 + n_lines, end)


def _first_row(head: bytes, delimiter: str) -> tuple[tuple[str, ...], int]:
    """The cells of the first row and its number of lines: a quoted cell may contain line breaks."""
    reader = csv.reader(
        io.StringIO(head.decode("utf-8", "replace"), newline=""), delimiter=delimiter
    )
    try:
        first = tuple(next(reader))
    except (csv.Error, StopIteration):
        raise broken("The first line of the CSV file cannot be read.") from None
    if not first:
        raise UsageError("The first line of the CSV file is blank.", code="ragged", line=1)
    if len(first) > MAX_COLUMNS:
        raise UsageError(
            f"The CSV file has {len(first)} columns; at most {MAX_COLUMNS} are accepted. Upload "
            "wider arrays as .npy, sparse ones as .npz or libsvm.",
            code="too-large",
            limit=MAX_COLUMNS,
        )
    return first, reader.line_num


def _end(file: IO[bytes]) -> int:
    """The end of the file, without trailing line breaks."""
    size = file.seek(0, io.SEEK_END)
    while size:
        step = min(size, 1 << 16)
        file.seek(size - step)
        kept = file.read(step).rstrip(b"\r\n")
        size -= step - len(kept)
        if kept:
            return int(size)
    return 0


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
        texts = (at for at, cell in enumerate(dialect.first) if not is_number(cell))
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
    """The data as (line number, whole lines), about `_BLOCK` bytes each."""
    line = dialect.line
    remaining = dialect.end - dialect.start
    begun = b""
    for part in _parts(path, dialect):
        piece = begun + part
        remaining -= len(part)
        cut = piece.rfind(b"\n") + 1 if remaining else len(piece)
        if not cut and len(piece) > MAX_LINE:
            raise UsageError(
                f"Line {line} of the CSV file is longer than {MAX_LINE} bytes.",
                code="invalid-file",
                line=line,
            )
        if cut:
            yield line, piece[:cut]
            line += piece.count(b"\n", 0, cut)
        begun = piece[cut:]


def _blocks(path: Path, dialect: Dialect) -> Iterator[npt.NDArray[np.float64]]:
    """The rows as float64 (n, n_columns), in order.

    Raises UsageError naming a cell that is not a number.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(column) for column in range(dialect.n_columns)]
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.float64()), null_values=[]
    )
    parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, ignore_empty_lines=False)
    row = 0
    for line, piece in _pieces(path, dialect):
        options = arrow_csv.ReadOptions(column_names=names, block_size=len(piece) + 1)
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(piece),
                read_options=options,
                parse_options=parse,
                convert_options=convert,
            )
        except pa.ArrowException:
            _explain(piece, dialect, row, line)
        block = batches.dense(table.combine_chunks().to_batches()[0], np.dtype(np.float64), row)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum())
        if not finite and not np.isfinite(block).all():
            _explain(piece, dialect, row, line)
        if len(block) != piece.count(b"\n") + (not piece.endswith(b"\n")):
            raise broken("The CSV file has lines that end in CR alone; accepted are LF and CRLF.")
        row += len(block)
        yield block


def _explain(piece: bytes, dialect: Dialect, row: int, line: int) -> NoReturn:
    """Raise UsageError naming the first cell of a piece that is not a finite number.

    row, line : numbers of the first row and line of the piece.
    """
    # Numbers are not quoted over several lines, so a line is a row.
    for offset, raw in enumerate(piece.removesuffix(b"\n").split(b"\n")):
        text = raw.decode("utf-8", "replace")
        try:
            cells = next(csv.reader([text], delimiter=dialect.delimiter))
        except csv.Error:
            cells = []
        if len(cells) != dialect.n_columns:
            raise _ragged(row + offset, line + offset, len(cells), dialect)
        for column, cell in enumerate(cells):
            _number(cell, row + offset, column, line + offset)
    raise UsageError(
        f"The CSV file cannot be read between lines {line} and {line + piece.count(bytes([10]))}; "
        "cells of a matrix are plain numbers.",
        code="invalid-file",
        line=line,
    )


def _number(cell: str, row: int, column: int, line: int) -> float:
    """The finite number in a cell of a matrix. Raises UsageError for anything else."""
    at = f"row {row}, column {column} (counted from 0; line {line} of the file)"
    bare = cell.strip().lower()
    if not bare or bare.lstrip("+-").startswith("nan") or bare in NOTHING:
        raise missing(row, column, line=line)
    if NUMBER.fullmatch(cell):
        number = float(cell)
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
    path: Path, dialect: Dialect, bounds: Bounds, first_row: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row as text, the first line too.

    first_row : the number of the first line, for errors.

    Raises UsageError `empty` where there is none: the decoder drops the beginning of a byte order
    mark that the file breaks off in.
    """
    bounds.require(24 * (dialect.end - dialect.start))
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=dialect.delimiter, strict=True)
            for row, cells in enumerate(reader, first_row):
                if len(cells) != dialect.n_columns:
                    if not cells and not any(reader):
                        break
                    raise _ragged(row, line, len(cells), dialect)
                yield line, cells
                line = reader.line_num + 1
        if line == 1:
            raise UsageError("The CSV file has no rows.", code="empty")
    except UnicodeDecodeError:
        raise broken("The CSV file is not UTF-8 text.") from None
    except csv.Error:
        raise broken(f"Line {line} of the CSV file cannot be read as CSV.") from None


def _named_columns(path: Path, dialect: Dialect, bounds: Bounds) -> NamedColumns:
    """All columns under the names of the header. Raises UsageError where there is no header."""
    import pyarrow as pa

    number = next((at for at, cell in enumerate(dialect.first) if is_number(cell)), None)
    if number is not None:
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
        for part, texts in zip(parts, zip(*some, strict=True), strict=True):
            part.append(pa.array(texts, kind))
    if not parts[0]:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return NamedColumns(
        dialect.first, [pa.chunked_array(part, kind) for part in parts], written=True
    )


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
