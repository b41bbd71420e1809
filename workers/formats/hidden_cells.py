"""What a sheet of .xlsx does not show and is read all the same: rows and columns that are hidden,
by hand or by a filter, and the sheet itself. What is hidden behind the last cell has no values."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.parsers import expat

from models.errors import shown

_BOOK, _LINKS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_STEP = 1 << 20
_MOST_BYTES = 1 << 22
"""The most bytes that are read of the list of sheets."""
_HIDDEN = re.compile(
    rb"""<(?:\w+:)?(row|col)\b(?=[^<>]*\shidden\s*=\s*["'](?:1|true)["'])([^<>]*)>""", re.ASCII
)
_SPAN = re.compile(rb"""\s(r|min|max)\s*=\s*["'](\d{1,7})["']""", re.ASCII)


def notes(path: Path, sheet: str, end: tuple[int, int]) -> tuple[str, ...]:
    """A warning where the sheet of this name is hidden or has hidden rows or columns; none for a
    file that is no .xlsx, or too odd to tell. Reads the sheet once.

    end : the line and the column, from 1, of its last cell."""
    if not zipfile.is_zipfile(path):
        return ()
    try:
        with zipfile.ZipFile(path) as archive:
            place, is_hidden = _sheet(archive, sheet)
            if place is None:
                return ()
            with archive.open(place) as file:
                n_rows, n_columns = _counted(file, *end)
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile, expat.ExpatError):
        return ()
    parts = [
        f"{number:,} {what}{'s' * (number > 1)}"
        for number, what in ((n_rows, "row"), (n_columns, "column"))
        if number
    ]
    if not parts and not is_hidden:
        return ()
    what = f"has {' and '.join(parts)} that Excel hides" if parts else "is hidden in Excel"
    return (f"The sheet {shown(sheet)} {what}: all of it is read.",)


def _sheet(archive: zipfile.ZipFile, name: str) -> tuple[str | None, bool]:
    """The member that has the sheet, and whether the sheet is hidden."""
    for attributes in _elements(archive, _BOOK, "sheet"):
        if attributes.get("name") == name:
            link = next((own for key, own in attributes.items() if key.endswith(":id")), None)
            for relation in _elements(archive, _LINKS, "Relationship"):
                if relation.get("Id") == link:
                    target = relation["Target"]
                    place = target[1:] if target.startswith("/") else f"xl/{target}"
                    return place, attributes.get("state", "visible") != "visible"
    return None, False


def _elements(archive: zipfile.ZipFile, member: str, name: str) -> Iterator[dict[str, str]]:
    found: list[dict[str, str]] = []

    def begin(own: str, attributes: dict[str, str]) -> None:
        if own.rpartition(":")[2] == name:
            found.append(attributes)

    def refuse(*_: object) -> None:
        raise ValueError

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    with archive.open(member) as file:
        parser.Parse(file.read(_MOST_BYTES), True)
    yield from found


def _counted(file: IO[bytes], last_row: int, last_column: int) -> tuple[int, int]:
    """Hidden rows and columns up to these; an element across two pieces is in the second."""
    n_rows = n_columns = 0
    kept = b""
    while part := file.read(_STEP):
        text = kept + part
        end = max(text.rfind(b"<"), len(text) - _STEP)
        kept = text[end:]
        for kind, attributes in _HIDDEN.findall(text[:end]):
            span = {key: int(number) for key, number in _SPAN.findall(attributes)}
            if kind == b"row":
                n_rows += span.get(b"r", 0) <= last_row
            else:
                last = min(span.get(b"max", 0), last_column)
                n_columns += max(0, last - span.get(b"min", 0) + 1)
    return n_rows, n_columns
