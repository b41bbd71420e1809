"""CSV: text in cells, after RFC 4180.

How cells, numbers and the header are written is found in the first lines (`csv_dialect`). Lines
end in LF or CRLF; a first line that mixes numbers and text is refused. No cell may be missing
but in a matrix with gaps, and every number must be finite.

A matrix is read in blocks by Arrow's parser; a block that it refuses is read again slowly, to name
the cell. Where cells may be empty, a block that is not all numbers is first read again with the
usual spellings of an empty cell, then as text. Columns and pairs of text: `csv_text`.
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

from models.errors import UsageError, shown
from models.inputs.reading import LARGEST, is_kept, rounded
from models.roles import Want
from workers.formats import batches, roles
from workers.formats.csv_dialect import MAX_LINE, Dialect, dialect_of
from workers.formats.csv_spaces import with_one_space
from workers.formats.csv_text import (
    column_of,
    is_by_id,
    pairs_of,
    position_of,
    ragged,
    rows_of,
    undecodable,
)
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.gaps import WRITTEN, Gaps
from workers.formats.refusals import broken, missing
from workers.formats.tables import (
    NOT_FINITE,
    NUMBER,
    NamedColumns,
    Table,
    is_empty,
    require_filled,
    require_names,
)

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 16 << 20
_BLANK = re.compile(rb"(^|\n)\r?\n")
_LIST = re.compile(r"\s*\[\s*[-+]?\.?\d", re.ASCII)
_AT_ONCE = 1 << 14
"""Rows of text that are held as Python objects."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the table, after reading every cell.

    A single column without `member` may be text.
    """
    dialect = dialect_of(path, bounds.csv)
    if member is not None or dialect.n_columns == 1 or is_by_id(dialect):
        return roles.facts(column_of(path, dialect, member, bounds), gaps=bounds.gaps)
    _require_matrix(dialect, gaps=bounds.gaps)
    n_rows, gaps = 0, Gaps()
    for block in _blocks(path, dialect, None, bounds):
        n_rows += len(block)
        gaps.add(block)
    require_filled((n_rows,))
    line = None if gaps.first is None else line_of(path, gaps.first[0], bounds)
    names = dialect.names or ()
    return Facts((n_rows, dialect.n_columns), "float64", warnings=gaps.warnings(names, line))


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The table as float64 (n_rows, n_columns), or as written: a column, pairs or columns."""
    dialect = dialect_of(path, bounds.csv)
    if want == "table":
        return _named_columns(path, dialect, bounds)
    if want in ("column", "labels", "paths"):
        return column_of(path, dialect, member, bounds)
    if (
        want == "edges"
        and member is None
        and (pairs := pairs_of(path, dialect, bounds)) is not None
    ):
        return pairs
    if member is not None:
        cells, position = column_of(path, dialect, member, bounds), position_of(dialect, member)
        numbers = [
            _number(text, row, position, line, dialect, bounds)
            for row, (text, line) in enumerate(zip(cells.texts, cells.lines, strict=True))
        ]
        return np.array(numbers).reshape(-1, 1)
    _require_matrix(dialect, gaps=bounds.gaps)
    most_rows = _count_lines(path, dialect)
    bounds.require(8 * most_rows * dialect.n_columns)
    matrix = np.empty((most_rows, dialect.n_columns))
    n_rows = 0
    for block in _blocks(path, dialect, None, bounds):
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
    if dialect.names is None or dialect.n_columns == 1 or is_by_id(dialect):
        return None
    rows = islice(rows_of(path, dialect, None, first_row=-1), 1, 1 + most)
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
            _explain(path, piece, dialect, len(found), line, (), bounds)
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
    return _blocks(path, dialect, dialect.positions(names), bounds)


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


def line_of(path: Path, row: int, bounds: Bounds) -> int:
    """The line of a row of data, from 1. Reads the file up to it."""
    dialect = dialect_of(path, bounds.csv)
    before = 0
    for line, piece in _pieces(path, dialect):
        if b'"' not in piece:
            n_rows = piece.count(b"\n")
            if row - before < n_rows:
                return line + row - before
            before += n_rows
            last = line + n_rows
            continue
        reader = csv.reader(io.StringIO(piece.decode(), newline="\n"), delimiter=dialect.delimiter)
        last = line
        for _ in reader:
            if row == before:
                return last
            before, last = before + 1, line + reader.line_num
    return last


def _require_matrix(dialect: Dialect, *, gaps: bool) -> None:
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
        texts = (
            at
            for at, cell in enumerate(dialect.first)
            if dialect.number(cell, at) is None and not (gaps and is_empty(cell))
        )
        column = next(texts, None)
        if column is not None and dialect.first[column].strip():
            numbers = (
                at for at, cell in enumerate(dialect.first) if dialect.number(cell, at) is not None
            )
            number = next(numbers, None)
            beside = "" if number is None else f", column {number} {_shown(dialect, number)}"
            raise UsageError(
                "The first line of the CSV file mixes numbers and text: column "
                f"{column} (counted from 0) is {_shown(dialect, column)}{beside}. A matrix holds "
                "numbers only; a header names every column by text, or is declared by "
                "?header=true.",
                code="wrong-input",
                row=0,
                column=column,
                line=1,
            )
    _require_rows(dialect)


def _shown(dialect: Dialect, column: int) -> str:
    """A cell of the first line, for a message."""
    return shown(dialect.first[column], 40)


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
            whole = _utf8(path, piece[:cut], dialect)
            yield line, _with_one_space(whole) if dialect.aligned else whole
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


def _utf8(path: Path, piece: bytes, dialect: Dialect) -> bytes:
    if dialect.encoding == "utf-8":
        return piece
    try:
        return piece.decode(dialect.encoding).encode()
    except UnicodeDecodeError:
        raise undecodable(path, dialect) from None


def _with_one_space(piece: bytes) -> bytes:
    # What is no UTF-8 is refused where it is read.
    text = with_one_space(piece.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


def _blocks(
    path: Path, dialect: Dialect, chosen: Sequence[int] | None, bounds: Bounds
) -> Iterator[npt.NDArray[np.float64]]:
    """The rows as float64 (n, n_columns), in order; chosen : the positions of the columns, None for
    all. bounds : whether an empty cell is NaN, and one of -inf accepted.

    Raises UsageError naming a cell that is not a number.
    """
    import pyarrow as pa

    gaps = bounds.gaps
    own = range(dialect.n_columns) if chosen is None else chosen
    types = [pa.float64() if style == "plain" else pa.string() for style in dialect.styles]
    ways = [_conversion(dialect, own, types)]
    if gaps:
        ways.append(_conversion(dialect, own, types, WRITTEN))
        ways.append(_conversion(dialect, own, [pa.string()] * dialect.n_columns))
    usual = row = 0
    for line, piece in _pieces(path, dialect):
        for way in range(usual, len(ways)):
            try:
                table = _standard(_parsed(piece, dialect, ways[way]), own, dialect, gaps=gaps)
                break
            except pa.ArrowException:
                # Files with empty cells are read with their usual spellings from here on.
                usual = min(1, len(ways) - 1)
        else:
            _explain(path, piece, dialect, row, line, own, bounds)
        batch = table.combine_chunks().to_batches()[0]
        block = batches.dense(batch, np.dtype(np.float64), row, gaps=gaps)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum())
        if not finite and _strange(block, bounds).any():
            _explain(path, piece, dialect, row, line, own, bounds)
        if not finite and _BLANK.search(piece):
            _require_no_blank(piece, dialect, row, line)
        if (block >= LARGEST).any() or (block <= -LARGEST).any():  # 2^53 + 1 is read as 2^53.
            _require_kept(piece, dialect, row, line, own)
        if b'"' not in piece and len(block) != piece.count(b"\n") + (not piece.endswith(b"\n")):
            raise broken("The CSV file has lines that end in CR alone; accepted are LF and CRLF.")
        row += len(block)
        yield block


def _require_kept(
    piece: bytes, dialect: Dialect, row: int, line: int, chosen: Sequence[int]
) -> None:
    """Refuse the first number that double precision would round."""
    reader = csv.reader(
        io.StringIO(piece.decode("utf-8", "replace"), newline="\n"), delimiter=dialect.delimiter
    )
    before = 0
    for offset, cells in enumerate(reader):
        for column in chosen:
            _kept(cells[column], row + offset, column, line + before, dialect)
        before = reader.line_num


def _kept(cell: str, row: int, column: int, line: int, dialect: Dialect) -> None:
    """Raise UsageError for a number that double precision would round."""
    written = dialect.number(cell, column)
    if written is None or not NUMBER.fullmatch(written) or abs(float(written)) < LARGEST:
        return
    if not is_kept(written):
        name = None if dialect.names is None else shown(dialect.names[column], 40)
        raise rounded(written, row, column, name=name, line=line)


def _require_no_blank(piece: bytes, dialect: Dialect, row: int, line: int) -> None:
    """Refuse a blank line, which Arrow takes as a row of empty cells; one within quotes is none."""
    text = io.StringIO(piece.decode("utf-8", "replace"), newline="\n")
    reader = csv.reader(text, delimiter=dialect.delimiter)
    for offset, cells in enumerate(reader):
        if not cells:
            raise ragged(row + offset, line + reader.line_num - 1, 0, dialect)


def _conversion(
    dialect: Dialect, own: Sequence[int], types: Sequence[pa.DataType], empty: Sequence[str] = ()
) -> Any:
    """How Arrow reads the columns at these positions. types : of all columns. empty : what is
    written where a number is missing."""
    from pyarrow import csv as arrow_csv

    return arrow_csv.ConvertOptions(
        column_types={str(at): kind for at, kind in enumerate(types)},
        null_values=empty,
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


def _standard(table: pa.Table, own: Sequence[int], dialect: Dialect, *, gaps: bool) -> pa.Table:
    """The table with its columns of text as numbers. Raises pa.ArrowInvalid for other texts, but
    for empty ones where there may be gaps."""
    import pyarrow as pa

    for place, at in enumerate(own):
        if not pa.types.is_string(table.schema.field(place).type):
            continue
        coded = table.column(place).combine_chunks().dictionary_encode()
        written = coded.dictionary.to_pylist()
        texts = ["nan" if gaps and is_empty(x) else dialect.number(x, at) for x in written]
        if None in texts:
            raise pa.ArrowInvalid
        numbers = pa.array([float(text) for text in texts if text is not None], pa.float64())
        table = table.set_column(place, table.column_names[place], numbers.take(coded.indices))
    return table


def _explain(
    path: Path,
    piece: bytes,
    dialect: Dialect,
    row: int,
    line: int,
    chosen: Sequence[int],
    bounds: Bounds,
) -> NoReturn:
    """Raise UsageError naming the first cell of a piece that is not a finite number, or the first
    byte of the file that is not of its encoding.

    row, line : numbers of the first row and line of the piece. chosen, bounds : as `_blocks`.
    """
    try:
        text = io.StringIO(piece.decode(), newline="\n")
    except UnicodeDecodeError:
        raise undecodable(path, dialect) from None
    reader = csv.reader(text, delimiter=dialect.delimiter)
    before = 0
    try:
        for offset, cells in enumerate(reader):
            at = line + before
            if len(cells) != dialect.n_columns:
                raise ragged(row + offset, at, len(cells), dialect)
            for column in sorted(chosen):
                _number(cells[column], row + offset, column, at, dialect, bounds)
            before = reader.line_num
    except csv.Error:
        pass
    raise UsageError(
        f"The CSV file cannot be read between lines {line} and {line + piece.count(bytes([10]))}; "
        "cells of a matrix are plain numbers.",
        code="invalid-file",
        line=line,
    )


def _strange(block: npt.NDArray[np.float64], bounds: Bounds) -> npt.NDArray[np.bool_]:
    strange: npt.NDArray[np.bool_] = np.isinf(block) if bounds.gaps else ~np.isfinite(block)
    return strange & (block != -np.inf) if bounds.masks else strange


def _number(cell: str, row: int, column: int, line: int, dialect: Dialect, bounds: Bounds) -> float:
    """The finite number in a cell of a matrix, NaN for an empty one where there may be gaps, -inf
    where logits may be masked. Raises UsageError for anything else."""
    name = None if dialect.names is None else dialect.names[column]
    own = f"{column}" if name is None else f"{column} ({shown(name, 40)})"
    at = f"row {row}, column {own} (counted from 0; line {line} of the file)"
    if is_empty(cell):
        if bounds.gaps:
            return np.nan
        raise missing(row, column, line=line, name=name)
    written = dialect.number(cell, column)
    if written is not None and NUMBER.fullmatch(written):
        number = float(written)
        if np.isfinite(number):
            _kept(cell, row, column, line, dialect)
            return number
    elif not NOT_FINITE.fullmatch(cell):
        advice = "Leave the cell empty where a value is missing."
        if row == 0 and dialect.names is not None:
            advice = "If that line goes with the header, as units do, remove it."
        if _LIST.match(cell):
            advice = "Write lists as a column for each number, or in Parquet or JSON lines."
        raise UsageError(
            f"The CSV file has the text {shown(cell, 40)} at {at}; a matrix holds numbers only. "
            f"{advice}",
            code="wrong-input",
            row=row,
            column=column,
            line=line,
        )
    elif bounds.masks and float(cell) == -np.inf:
        return -np.inf
    raise UsageError(
        f"The CSV file has an infinite number at {at}; every value must be finite.",
        code="not-finite",
        row=row,
        column=column,
        line=line,
    )


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
    rows = (cells for _, cells in rows_of(path, dialect, bounds, first_row=-1))
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
