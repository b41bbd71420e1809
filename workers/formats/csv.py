"""CSV: text in cells, after RFC 4180.

Cells are separated by a tab if the first line has one, else by a comma if it has one, else by a
semicolon. UTF-8, lines end in LF or CRLF, decimals are written with a point. The first line is a
header where none of its cells is a number; a first line of numbers and text mixed is refused. Every
cell must be there, and every number finite.

A matrix is read in blocks by Arrow's parser; where that refuses a block, the block is read again
slowly to name the cell. A column (labels, names) is read by Python's parser: one cell a line, or
the column that `member` names by its header. Its first line is a header if it is one of `HEADERS`,
or if it is text and all the others are numbers.

How a CSV file is written: separator, header, where the data begin and end.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from models.data import Value
from models.errors import UsageError
from workers.formats import roles, tables
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, broken, choose, shown

MAX_LINE = 16 << 20
MAX_COLUMNS = 100_000
NUMBER = re.compile(r"[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t]*", re.ASCII)
NOT_FINITE = re.compile(r"[ \t]*[+-]?(nan|inf(inity)?)[ \t]*", re.ASCII | re.IGNORECASE)

_BLOCK = 16 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """How the file is written. Data begin at byte `start`, line `line` (from 1), to byte `end`."""

    delimiter: str
    names: tuple[str, ...] | None
    first: tuple[str, ...]
    start: int
    line: int
    end: int


def layout_of(path: Path) -> Layout:
    with path.open("rb") as file:
        head = file.read(MAX_LINE)
        end = _end(file)
    skip = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    if end <= skip:
        raise UsageError("The CSV file is empty.", code="empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:1024]:
        raise broken("The CSV file is not UTF-8 text.")
    line, newline, _ = head[skip:].partition(b"\n")
    if not newline and len(head) == MAX_LINE:
        raise broken(f"The first line of the CSV file is longer than {MAX_LINE} bytes.")
    delimiter = next((mark for mark in "\t,;" if mark.encode() in line), ",")
    # A quoted cell of the header may hold line breaks.
    text = io.StringIO(
        head[skip : min(end, skip + MAX_LINE)].decode("utf-8", "replace"), newline=""
    )
    try:
        reader = csv.reader(text, delimiter=delimiter)
        first = tuple(next(reader))
        lines = reader.line_num
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
    start = skip
    for _ in range(lines):
        after = head.find(b"\n", start)
        start = after + 1 if after >= 0 else len(head)
    numbers = [is_number(cell) for cell in first]
    if any(numbers):
        return Layout(delimiter, None, first, skip, 1, end)
    return Layout(delimiter, first, first, min(start, end), 1 + lines, end)


def as_matrix(layout: Layout) -> Layout:
    """Refuse a first line that may or may not be a header."""
    names = layout.names
    if names is not None and not names[0].strip() and any(name.strip() for name in names):
        raise UsageError(
            "The first column of the CSV file has no name and seems to be a row index; write the "
            "table without it (pandas: index=False).",
            code="wrong-input",
            line=1,
            column=0,
        )
    if names is None:
        at = next((c for c, cell in enumerate(layout.first) if not is_number(cell)), None)
        if at is not None and layout.first[at].strip():
            raise UsageError(
                "The first line of the CSV file mixes numbers and text: column "
                f"{at} (counted from 0) is {shown(layout.first[at], 40)}. A matrix holds numbers "
                "only; a header names every column by text.",
                code="wrong-input",
                row=0,
                column=at,
                line=1,
            )
    if layout.start >= layout.end:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return layout


def _end(file: IO[bytes]) -> int:
    """Where the file ends, without line breaks at its end."""
    size = file.seek(0, io.SEEK_END)
    while size:
        step = min(size, 1 << 16)
        file.seek(size - step)
        rest = file.read(step).rstrip(b"\r\n")
        size -= step - len(rest)
        if rest:
            return int(size)
    return 0


def pieces(path: Path, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """The data as (line number, whole lines), about `_BLOCK` bytes each."""
    line = layout.line
    with path.open("rb") as file:
        file.seek(layout.start)
        left = layout.end - layout.start
        rest = b""
        while left:
            part = file.read(min(_BLOCK, left))
            if not part:
                break
            left -= len(part)
            part = rest + part
            cut = part.rfind(b"\n") + 1 if left else len(part)
            if not cut and len(part) > MAX_LINE:
                raise UsageError(
                    f"Line {line} of the CSV file is longer than {MAX_LINE} bytes.",
                    code="invalid-file",
                    line=line,
                )
            if cut:
                yield line, part[:cut]
                line += part.count(b"\n", 0, cut)
            rest = part[cut:]


def count_lines(path: Path, layout: Layout) -> int:
    lines = 1
    with path.open("rb") as file:
        file.seek(layout.start)
        left = layout.end - layout.start
        while left:
            part = file.read(min(_BLOCK, left))
            if not part:
                break
            left -= len(part)
            lines += part.count(b"\n")
    return lines


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, be it finite or not."""
    return bool(NUMBER.fullmatch(cell) or NOT_FINITE.fullmatch(cell))


HEADERS = frozenset(
    {"label", "labels", "name", "names", "class", "classes", "category", "target", "text"}
    | {"task", "tasks", "targets", "timestamp", "timestamps", "document", "documents"}
    | {"feature_names"}
)

_INTEGER = re.compile(r"[ \t]*[+-]?\d{1,18}[ \t]*", re.ASCII)
_NOTHING = frozenset({"na", "n/a", "null", "none", "nil"})


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the table, every cell read. One column without `member` may be text."""
    layout = layout_of(path)
    if member is not None or len(layout.first) == 1:
        cells, lines = _cells(path, layout, member, bounds)
        _require_cells(cells, lines, None)
        kind = _typed(cells).dtype
        return (
            Facts((len(cells),), "str") if kind.kind == "O" else Facts((len(cells), 1), str(kind))
        )
    layout = as_matrix(layout)
    n_rows = sum(len(block) for block in _blocks(path, layout, bounds))
    roles.require_filled((n_rows,))
    return Facts((n_rows, len(layout.first)), "float64")


def load(path: Path, member: str | None, role: str, bounds: Bounds = DEFAULT) -> Value:
    """The table as `role` takes it: float64 (n_rows, n_columns), or a column."""
    layout = layout_of(path)
    if roles.is_column(role):
        cells, lines = _cells(path, layout, member, bounds)
        _require_cells(cells, lines, role)
        if role in roles.TEXT:
            return roles.text(cells, role)
        return roles.column(_typed(cells), role)
    if member is not None:
        cells, lines = _cells(path, layout, member, bounds)
        values = [_require_number(cell, row, 0, lines[row]) for row, cell in enumerate(cells)]
        return np.array(values).reshape(-1, 1)
    layout = as_matrix(layout)
    n_rows = count_lines(path, layout)
    bounds.require(8 * n_rows * len(layout.first))
    out = np.empty((n_rows, len(layout.first)))
    at = 0
    for block in _blocks(path, layout, bounds):
        out[at : at + len(block)] = block
        at += len(block)
    return roles.matrix(out[:at], role)


def _blocks(path: Path, layout: Layout, bounds: Bounds) -> Iterator[npt.NDArray[np.float64]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(at) for at in range(len(layout.first))]
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.float64()), null_values=[]
    )
    parse = arrow_csv.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False)
    row = 0
    for line, piece in pieces(path, layout):
        read = arrow_csv.ReadOptions(column_names=names, block_size=len(piece) + 1)
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(piece),
                read_options=read,
                parse_options=parse,
                convert_options=convert,
            )
        except pa.ArrowException:
            _explain(piece, layout, row, line)
        block = tables.dense(table.combine_chunks().to_batches()[0], np.dtype(np.float64), row)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum())
        if not finite and not np.isfinite(block).all():
            _explain(piece, layout, row, line)
        if len(block) != piece.count(b"\n") + (not piece.endswith(b"\n")):
            raise broken("The CSV file has lines that end in CR alone; accepted are LF and CRLF.")
        row += len(block)
        yield block


def _explain(piece: bytes, layout: Layout, row: int, line: int) -> NoReturn:
    """Name the first cell of a block that is not a finite number."""
    width = len(layout.first)
    # Numbers are not quoted over several lines, so a line is a row.
    for at, raw in enumerate(piece.removesuffix(b"\n").split(b"\n")):
        try:
            cells = next(csv.reader([raw.decode("utf-8", "replace")], delimiter=layout.delimiter))
        except csv.Error:
            cells = []
        if len(cells) != width:
            raise _ragged(row + at, line + at, len(cells), width)
        for column, cell in enumerate(cells):
            _require_number(cell, row + at, column, line + at)
    raise UsageError(
        f"The CSV file cannot be read between lines {line} and {line + piece.count(bytes([10]))}; "
        "cells of a matrix are plain numbers.",
        code="invalid-file",
        line=line,
    )


def _require_number(cell: str, row: int, column: int, line: int) -> float:
    place = f"row {row}, column {column} (counted from 0; line {line} of the file)"
    where = {"row": row, "column": column, "line": line}
    bare = cell.strip().lower()
    if not bare or bare.lstrip("+-").startswith("nan") or bare in _NOTHING:
        raise roles.missing(None, row, column, line)
    if NUMBER.fullmatch(cell):
        value = float(cell)
        if np.isfinite(value):
            return value
    elif not NOT_FINITE.fullmatch(cell):
        raise UsageError(
            f"The CSV file has the text {shown(cell, 40)} at {place}; a matrix holds numbers only.",
            code="wrong-input",
            **where,
        )
    raise UsageError(
        f"The CSV file has an infinite number at {place}; every value must be finite.",
        code="not-finite",
        **where,
    )


def _ragged(row: int, line: int, found: int, width: int) -> UsageError:
    return UsageError(
        f"The CSV file is ragged: row {row} (counted from 0; line {line} of the file) has {found} "
        f"cells, the first line has {width}.",
        code="ragged",
        row=row,
        line=line,
    )


def _cells(
    path: Path, layout: Layout, member: str | None, bounds: Bounds
) -> tuple[list[str], list[int]]:
    """The cells of one column as text, and the line (from 1) that each begins on."""
    at = _position(layout, member)
    bounds.require(24 * (layout.end - layout.start))
    width = len(layout.first)
    out: list[str] = []
    lines: list[int] = []
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=layout.delimiter, strict=True)
            for row, cells in enumerate(reader):
                if len(cells) != width:
                    if not cells and not any(reader):
                        break
                    raise _ragged(row - (member is not None), line, len(cells), width)
                out.append(cells[at])
                lines.append(line)
                line = reader.line_num + 1
    except UnicodeDecodeError:
        raise broken("The CSV file is not UTF-8 text.") from None
    except csv.Error:
        raise broken(f"Line {line} of the CSV file cannot be read as CSV.") from None
    skip = int(member is not None or _has_header(out))
    if len(out) <= skip:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return out[skip:], lines[skip:]


def _require_cells(cells: list[str], lines: list[int], role: str | None) -> None:
    for row, cell in enumerate(cells):
        if not cell.strip():
            raise roles.missing(role, row, 0, lines[row])


def _position(layout: Layout, member: str | None) -> int:
    if member is not None:
        return choose([Member(name, (), "") for name in layout.first], member)
    if len(layout.first) == 1:
        return 0
    said = (
        f"It has {', '.join(shown(name) for name in layout.names[:20])}."
        if layout.names
        else "It has no header by which to choose."
    )
    raise UsageError(
        f"One column is needed and the CSV file has {len(layout.first)}: choose one with ?member=, "
        f"or quote text that holds the separator. {said}",
        code="member-needed",
    )


def _has_header(cells: list[str]) -> bool:
    if cells[0].strip().lower() in HEADERS:
        return True
    return (
        len(cells) > 1
        and not is_number(cells[0])
        and bool(cells[0].strip())
        and all(is_number(cell) for cell in cells[1:])
    )


def _typed(cells: list[str]) -> npt.NDArray[Any]:
    """Integers, else numbers, else text."""
    if all(map(_INTEGER.fullmatch, cells)):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    words = {cell for cell in cells if not NUMBER.fullmatch(cell)}
    strange = {word for word in words if not NOT_FINITE.fullmatch(word)}
    if not {word.strip().lower() for word in strange} - _NOTHING and any(
        cell not in words for cell in cells
    ):
        return np.array([np.nan if cell in strange else float(cell) for cell in cells])
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
