"""How a CSV file is written: separator, header, where the data begin and end."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from models.errors import UsageError
from workers.formats.facts import broken, shown

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
