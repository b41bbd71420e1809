"""JSON lines: one text per line, as a JSON string or in a field of an object, `text` by default.

The file is read line by line, so it may be longer than a JSON document. A line without a text is
refused by its number. Blank lines may end the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from models.errors import UsageError
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import missing, shown
from workers.formats.tables import Want

MAX_LINE = 16 << 20
"""The largest length of a line in bytes."""

FIELD = "text"
_BOM = b"\xef\xbb\xbf"


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """The number of texts, after reading every line."""
    return Facts((sum(1 for _ in _texts(path, member, bounds)),), "str")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> list[str]:
    """The texts. member : the field of objects, `text` if None."""
    return list(_texts(path, member, bounds))


def begins(first_line: str) -> bool:
    """Whether a file that begins with this complete line holds JSON lines."""
    try:
        value = json.loads(first_line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, str) or (isinstance(value, dict) and type(value.get(FIELD)) is str)


def _texts(path: Path, member: str | None, bounds: Bounds) -> Iterator[str]:
    field = FIELD if member is None else member
    n_bytes = line = row = blank = 0
    with path.open("rb") as file:
        while raw := file.readline(MAX_LINE + 1):
            line += 1
            if len(raw) > MAX_LINE:
                _refuse(line, f"is longer than {MAX_LINE} bytes", "too-large")
            raw = raw.removeprefix(_BOM) if line == 1 else raw
            if not raw.strip():
                blank = blank or line
                continue
            if blank:
                _refuse(blank, "is empty; each line must hold a text")
            n_bytes += len(raw)
            bounds.require(n_bytes)
            yield _text(raw, field, row, line)
            row += 1
    if not row:
        raise UsageError("The file holds no line of JSON.", code="empty")


def _text(raw: bytes, field: str, row: int, line: int) -> str:
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        _refuse(line, "is not UTF-8")
    except json.JSONDecodeError as error:
        _refuse(line, f"is not valid JSON at column {error.colno} (counted from 1): {error.msg}")
    except RecursionError:
        _refuse(line, "is nested too deeply to be read")
    except ValueError:
        _refuse(line, "holds a number that is not finite or has too many digits")
    if isinstance(value, dict):
        if field not in value:
            _refuse(line, f"is an object without the field {shown(field)}")
        value = value[field]
    if not isinstance(value, str):
        _refuse(line, f"holds no text: a JSON string or an object with one as {shown(field)}")
    if not value:
        raise missing(row, line=line)
    try:
        value.encode()
    except UnicodeEncodeError:
        _refuse(line, "has text that is not valid Unicode (a lone surrogate)")
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _refuse(line: int, what: str, code: str = "invalid-file") -> NoReturn:
    raise UsageError(f"Line {line} of the file {what.rstrip('.')}.", code=code, line=line) from None
