"""How many cells lie between the first and the last of each sheet of a workbook, for which a reader
makes room; found before one opens it, whatever the file claims."""

from __future__ import annotations

import io
import re
from typing import IO, Any
from xml.parsers import expat

from workers.formats.refusals import broken

_STEP = 1 << 20
_PLACE = re.compile(rb"""\sr\s*=\s*["'](?:([A-Z]{1,3})(\d{1,7})|(\d{1,7}))["']""")
_LONGEST_PLACE = 64
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0 "
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0 "
_ROW, _LAST_CELL = 0, 11
"""Records of xlsb: the header of a row, and up to which number they are cells."""

LEGACY_CELLS = (1 << 16) * (1 << 8)
"""The most cells of a sheet of .xls."""


def of_xml(file: IO[bytes]) -> int:
    """Cells of a sheet of xlsx, by the places that its rows and cells state."""
    n_rows = n_columns = 0
    kept = b""
    while part := file.read(_STEP):
        for letters, row, row_alone in _PLACE.findall(kept + part):
            n_rows = max(n_rows, int(row or row_alone))
            n_columns = max(n_columns, _column(letters))
        kept = part[-_LONGEST_PLACE:]
    return n_rows * max(1, n_columns)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def of_records(file: IO[bytes]) -> int:
    """Cells of a sheet of xlsb, by its records."""
    buffered = io.BufferedReader(file, _STEP)  # type: ignore[type-var]
    n_rows = n_columns = 0
    while head := buffered.read(1):
        number = head[0]
        if number & 0x80:
            number = (number & 0x7F) | (buffered.read(1) or b"\0")[0] << 7
        size = 0
        for shift in (0, 7, 14, 21):
            byte = (buffered.read(1) or b"\0")[0]
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        place = int.from_bytes(buffered.read(min(4, size)), "little")
        if number == _ROW:
            n_rows = max(n_rows, place + 1)
        elif number <= _LAST_CELL:
            n_columns = max(n_columns, place + 1)
        left = size - 4
        while left > 0 and (part := buffered.read(min(left, _STEP))):
            left -= len(part)
    return n_rows * max(1, n_columns)


def of_open_document(file: IO[bytes]) -> int:
    """Cells of the largest sheet of an OpenDocument file, whose rows and cells may be repeated by a
    number alone. Raises UsageError `invalid-file` for what is no XML."""
    counted = _Counted()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = counted.begin
    parser.EndElementHandler = counted.end
    parser.CharacterDataHandler = counted.text
    parser.StartDoctypeDeclHandler = _refuse
    try:
        while part := file.read(_STEP):
            parser.Parse(part, False)
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise broken("The content of the OpenDocument file is damaged XML.") from None
    return counted.most


def _refuse(*_: Any) -> None:
    raise broken("The content of the OpenDocument file has a document type, which it must not.")


class _Counted:
    """most : rows up to the last one that holds something, times columns up to the last such."""

    def __init__(self) -> None:
        self.most = 0
        self._n_rows = self._n_columns = self._row = self._column = 0
        self._times = self._cells = 1
        self._in_cell = self._filled = self._row_filled = False

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        own = name.removeprefix(_TABLE)
        if own == "table":
            self._n_rows = self._n_columns = self._row = 0
        elif own == "table-row":
            self._times = _times(attributes, "number-rows-repeated")
            self._column, self._row_filled = 0, False
        elif own in ("table-cell", "covered-table-cell"):
            self._in_cell = True
            self._filled = f"{_OFFICE}value-type" in attributes
            self._cells = _times(attributes, "number-columns-repeated")

    def text(self, text: str) -> None:
        self._filled = self._filled or (self._in_cell and bool(text.strip()))

    def end(self, name: str) -> None:
        own = name.removeprefix(_TABLE)
        if own in ("table-cell", "covered-table-cell"):
            self._column += self._cells
            if self._filled:
                self._n_columns, self._row_filled = max(self._n_columns, self._column), True
            self._in_cell = False
        elif own == "table-row":
            self._row += self._times
            if self._row_filled:
                self._n_rows = self._row
                self.most = max(self.most, self._n_rows * self._n_columns)


def _times(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(_TABLE + name, "1")
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else 1 << 30
