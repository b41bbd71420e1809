"""JSON lines: one value per line, or in a field of an object, `text` by default.

A value is a text or a number, or a row of a matrix as a list of numbers; as labels it may also be a
list of labels or null, as edges a pair, as items an object with a value for each column. The file
is read line by line, so it may be longer than a JSON document. A line without such a value is
refused by its number. Blank lines may end the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from models.errors import UsageError, shown
from models.roles import Want
from workers.formats import roles
from workers.formats.columns import NUMBERS
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.repeated_names import Repeated, once, repetition
from workers.formats.tables import Lists, Table

MAX_LINE = 16 << 20
"""The largest length of a line in bytes."""

FIELD = "text"
_BYTES_OF_LISTS = 24
"""The bytes in memory for a byte of the file, at most: an empty list is written as two."""
_BOM = b"\xef\xbb\xbf"


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """The number of texts, or the facts of numbers and of lists of numbers, after reading every
    line."""
    if _are_numbers(path, member, bounds):
        return roles.facts(_lists(path, member, bounds), gaps=bounds.gaps)
    texts = map(_require_text, _values(path, member, bounds))
    return Facts((sum(1 for _ in texts),), "str")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The texts, or the values as lists. member : the field of objects, `text` if None."""
    if want == "table":
        rows = _values(path, None, bounds, _BYTES_OF_LISTS, whole=True)
        return Lists([value for value, *_ in rows])
    if want in ("labels", "paths", "edges") or _are_numbers(path, member, bounds):
        return _lists(path, member, bounds)
    return list(map(_require_text, _values(path, member, bounds)))


def begins(first_line: str) -> bool:
    """Whether a file that begins with this complete line holds JSON lines."""
    try:
        value = json.loads(first_line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, str) or (isinstance(value, dict) and type(value.get(FIELD)) is str)


def are_lists(head: str) -> bool:
    """Whether the first two lines of a file are whole lists, so that it is no JSON document."""
    lines = head.split("\n", 2)[:2]
    try:
        return len(lines) == 2 and all(isinstance(json.loads(line), list) for line in lines)
    except (ValueError, RecursionError):
        return False


def _are_numbers(path: Path, member: str | None, bounds: Bounds) -> bool:
    """Whether the first value is a number, or a list of numbers."""
    first, *_ = next(_values(path, member, bounds))
    cells = first if isinstance(first, list) else [first]
    return (
        bool(cells)
        and {*map(type, cells)} <= {*NUMBERS, type(None)}
        and any(cell is not None for cell in cells)
    )


def _lists(path: Path, member: str | None, bounds: Bounds) -> Lists:
    return Lists([value for value, *_ in _values(path, member, bounds, _BYTES_OF_LISTS)])


def _values(
    path: Path, member: str | None, bounds: Bounds, weight: int = 1, *, whole: bool = False
) -> Iterator[tuple[object, str, int, int]]:
    """The value of each row, with its field, row and line.

    weight : bytes in memory for a byte of the file. whole : objects are values themselves.
    """
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
            bounds.require(weight * n_bytes)
            yield _value(raw, None if whole else field, line), field, row, line
            row += 1
    if not row:
        raise UsageError("The file holds no line of JSON.", code="empty")


def _value(raw: bytes, field: str | None, line: int) -> object:
    try:
        text = raw.decode("utf-8")
        value: object = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=once)
    except Repeated:
        twice = shown(repetition(text).name)
        _refuse(line, f"has {twice} twice in one object, which has each name once")
    except UnicodeDecodeError:
        _refuse(line, "is not UTF-8")
    except json.JSONDecodeError as error:
        _refuse(line, f"is not valid JSON at column {error.colno} (counted from 1): {error.msg}")
    except RecursionError:
        _refuse(line, "is nested too deeply to be read")
    except ValueError:
        _refuse(line, "holds a number that is not finite or has too many digits")
    if isinstance(value, dict) and field is not None:
        if field not in value:
            _refuse(line, f"is an object without the field {shown(field)}")
        value = value[field]
    return value


def _require_text(of_line: tuple[object, str, int, int]) -> str:
    value, field, _, line = of_line
    if not isinstance(value, str):
        _refuse(
            line,
            f"holds no text: a JSON string or an object with one as {shown(field)} (rows of labels "
            "and edges are read with ?role=labels or graph)",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        _refuse(line, "has text that is not valid Unicode (a lone surrogate)")
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _refuse(line: int, what: str, code: str = "invalid-file") -> NoReturn:
    raise UsageError(f"Line {line} of the file {what.rstrip('.')}.", code=code, line=line) from None
