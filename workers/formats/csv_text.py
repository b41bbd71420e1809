"""Columns and pairs of a CSV file as text, by Python's parser.

A column is one cell a line, or the column that `member` names by its header. Its first line is a
header if it is one of `HEADERS`, or if it is text and all the others are numbers. Two columns `id`
and `name` are the column of names in the order of the ids, which are the numbers of the rows from
0, each once. Edges are two columns of text: a file that, below a header, does not hold numbers
alone. Their first line is a header if both cells are in `EDGE_HEADERS`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from models.errors import UsageError, listed, shown
from workers.formats.csv_dialect import MAX_LINE, Dialect
from workers.formats.csv_spaces import with_one_space
from workers.formats.facts import Bounds, Member, choose
from workers.formats.refusals import broken, missing
from workers.formats.tables import WrittenColumn, WrittenPairs, is_number

HEADERS = frozenset(
    {"label", "labels", "name", "names", "class", "classes", "category", "target", "text"}
    | {"task", "tasks", "targets", "timestamp", "timestamps", "document", "documents"}
    | {"feature_names", "sample_weight"}
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


def column_of(path: Path, dialect: Dialect, member: str | None, bounds: Bounds) -> WrittenColumn:
    """The cells of one column without its header."""
    if member is None and is_by_id(dialect):
        return _by_id(path, dialect, bounds)
    position = position_of(dialect, member)
    texts: list[str] = []
    lines: list[int] = []
    for line, cells in rows_of(path, dialect, bounds, first_row=-int(member is not None)):
        texts.append(cells[position])
        lines.append(line)
    first = int(member is not None or _has_header(texts))
    if len(texts) <= first:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return WrittenColumn(texts[first:], lines[first:])


def is_by_id(dialect: Dialect) -> bool:
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
    rows = list(rows_of(path, dialect, bounds, first_row=-1))[1:]
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


def pairs_of(path: Path, dialect: Dialect, bounds: Bounds) -> WrittenPairs | None:
    """Two columns without their header; None if the file is a matrix of numbers."""
    if dialect.n_columns != 2:
        return None
    texts: list[tuple[str, str]] = []
    lines: list[int] = []
    for line, (first, second) in rows_of(path, dialect, bounds):
        texts.append((first, second))
        lines.append(line)
    below = texts if dialect.names is None else texts[1:]
    if below and all(is_number(first) and is_number(second) for first, second in below):
        return None
    has_header = {text.strip().lower() for text in texts[0]} <= EDGE_HEADERS
    if len(texts) == has_header:
        raise UsageError("The CSV file has a header and no rows.", code="empty")
    return WrittenPairs(texts[has_header:], lines[has_header:])


def rows_of(
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
        with path.open(encoding=encoding, newline="\n") as file:
            for _ in range(dialect.skipped):
                file.readline()
            lines = map(with_one_space, file) if dialect.aligned else file
            reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
            for row, cells in enumerate(reader, first_row):
                if dialect.short and row == first_row:
                    cells = ["", *cells]
                if len(cells) != dialect.n_columns:
                    if not cells and not any(reader):
                        break
                    raise ragged(row, line, len(cells), dialect)
                yield line, cells
                line = reader.line_num + 1 + dialect.skipped
        if line == 1 + dialect.skipped:
            raise UsageError("The CSV file has no rows.", code="empty")
    except UnicodeDecodeError:
        raise undecodable(path, dialect) from None
    except csv.Error:
        raise broken(
            f"Line {line} of the CSV file cannot be read as CSV: a quote opens there or further on "
            "and is not closed before a separator. Quotes within quotes are doubled."
        ) from None


def undecodable(path: Path, dialect: Dialect) -> UsageError:
    """The error that names the first byte which is not of the file's encoding, and its line."""
    name = "UTF-8" if dialect.encoding == "utf-8" else "Windows-1252"
    at = 0
    with path.open("rb") as file:
        for line, content in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
            try:
                content.decode(dialect.encoding)
            except UnicodeDecodeError as error:
                return UsageError(
                    f"The CSV file is {name} text up to line {line}, whose byte {error.start} "
                    f"(counted from 0; byte {at + error.start} of the file) is "
                    f"0x{content[error.start]:02X}, which {name} has not there. Save the file as "
                    "UTF-8.",
                    code="invalid-file",
                    line=line,
                )
            at += len(content)
    return broken(f"The CSV file is not {name} text.")


def position_of(dialect: Dialect, member: str | None) -> int:
    if member is not None:
        return choose([Member(name, (), "") for name in dialect.first], member)
    if dialect.n_columns == 1:
        return 0
    names = (
        f"It has {listed(dialect.names, 20)}."
        if dialect.names
        else "It has no header to choose by."
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


def ragged(row: int, line: int, n_cells: int, dialect: Dialect) -> UsageError:
    """The error for a row with another number of cells than the first line."""
    advice = "" if n_cells else " Remove blank lines from the file."
    return UsageError(
        f"The CSV file is ragged: row {row} (counted from 0; line {line} of the file) has "
        f"{n_cells} cells, the first line has {dialect.n_columns}.{advice}",
        code="ragged",
        row=row,
        line=line,
    )
