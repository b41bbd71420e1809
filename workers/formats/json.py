"""JSON: a list of lists of numbers, or a list of integers or text; inline inputs as well."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from models.data import Value
from models.errors import UsageError
from workers.formats import roles
from workers.formats.facts import DEFAULT, Bounds, Facts, broken, shown

MAX_JSON = 16 << 20
"""Bound on a JSON document in bytes."""

_NUMBERS = frozenset({int, float})


def parse(data: bytes, role: str, *, limit: int = MAX_JSON) -> Value:
    """The input that a JSON document of at most `limit` bytes holds. See `check`. O(length)."""
    return check(_document(data, limit), role)


def decode(text: str) -> object:
    """What a JSON text says. UsageError for NaN, infinities, deep nesting and what is no JSON."""
    try:
        return json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"The document is not valid JSON at line {error.lineno}, column {error.colno} "
            f"(counted from 1): {error.msg}.",
            code="invalid-file",
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise broken("The JSON document is nested too deeply to be read.") from None
    except UsageError:
        raise
    except ValueError:
        raise broken("The JSON document holds an integer of too many digits.") from None


def facts(data: bytes) -> Facts:
    """Shape and dtype of a JSON document, every value checked."""
    value = _document(data, MAX_JSON)
    if isinstance(value, list) and value and isinstance(value[0], list):
        return Facts(_matrix(value, None).shape, "float64")
    found = _column(value, None)
    return Facts((len(found),), "str" if found.dtype.kind == "O" else str(found.dtype))


def check(value: object, role: str) -> Value:
    """An inline list as the value that `role` takes.

    A matrix role takes a list of rows, each a list of as many numbers: float64 (n_rows, n_columns).
    A column role takes a list of integers (3.0 counts as one) or of text. Raises UsageError naming
    row and column, counted from 0, of what is ragged, missing, not finite or of another type.
    """
    if roles.is_column(role):
        return roles.shaped(_column(value, role), role)
    return roles.matrix(_matrix(value, role), role)


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of a JSON file."""
    return facts(_read(path))


def load(path: Path, member: str | None, role: str, bounds: Bounds = DEFAULT) -> Value:
    """The input that a JSON file holds."""
    return parse(_read(path), role)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_JSON + 1)


def require_length(length: int, limit: int = MAX_JSON) -> None:
    """Raise UsageError `too-large` for a longer document."""
    if length > limit:
        raise UsageError(
            f"The JSON is longer than {limit} bytes; send larger arrays as .npy.",
            code="too-large",
            limit=limit,
        )


def _document(data: bytes, limit: int) -> object:
    require_length(len(data), limit)
    if not data.strip():
        raise UsageError("The JSON document is empty.", code="empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise broken("The JSON document is not UTF-8.") from None
    return decode(text)


def _constant(word: str) -> NoReturn:
    raise UsageError(
        f"The JSON document holds {word}, which is not JSON; every value must be a finite number.",
        code="not-finite",
    )


def _matrix(value: object, role: str | None) -> npt.NDArray[np.float64]:
    if not isinstance(value, list):
        raise _wrong(f"must be a list of rows, not {_said(value)}", role)
    if not value:
        raise UsageError(f"{_who(role)} has no rows.", code="empty", **_where(role))
    if not isinstance(value[0], list):
        raise _wrong(
            f"must be a list of rows, each a list of numbers; row 0 is {_said(value[0])}",
            role,
            row=0,
        )
    width = len(value[0])
    if width == 0:
        raise UsageError(f"{_who(role)} has no columns.", code="empty", **_where(role))
    _check_rows(value, width, role)
    try:
        out = np.array(value, dtype=np.float64)
    except OverflowError:
        out = np.array([[_float(cell) for cell in row] for row in value])
    if not math.isfinite(float(np.abs(out).max())):
        row, column = (int(n) for n in np.argwhere(~np.isfinite(out))[0])
        raise UsageError(
            f"{_who(role)} has a number too large for float64 at row {row}, column {column} "
            "(counted from 0); every value must be finite.",
            code="not-finite",
            **_where(role, row=row, column=column),
        )
    return out


def _check_rows(rows: list[Any], width: int, role: str | None) -> None:
    for row, cells in enumerate(rows):
        if not isinstance(cells, list):
            raise _wrong(
                f"must be a list of rows, each a list of numbers; row {row} is {_said(cells)}",
                role,
                row=row,
            )
        if len(cells) != width:
            raise UsageError(
                f"{_who(role)} is ragged: row {row} (counted from 0) has {len(cells)} values, row "
                f"0 has {width}; all rows must be of one length.",
                code="ragged",
                **_where(role, row=row),
            )
        if not set(map(type, cells)) <= _NUMBERS:
            column = next(c for c, cell in enumerate(cells) if type(cell) not in _NUMBERS)
            raise _cell(cells[column], role, row, column)


def _column(value: object, role: str | None) -> npt.NDArray[Any]:
    if not isinstance(value, list):
        raise _wrong(f"must be a list, not {_said(value)}", role)
    if not value:
        raise UsageError(f"{_who(role)} has no values.", code="empty", **_where(role))
    types = set(map(type, value))
    if types == {str}:
        out = np.empty(len(value), dtype=object)
        out[:] = value
        return out
    if types <= _NUMBERS:
        return _numbers(value, role)
    allowed = {str} if type(value[0]) is str else _NUMBERS
    row = next(r for r, item in enumerate(value) if type(item) not in allowed)
    if value[row] is None:
        raise roles.missing(role, row)
    numbers = "numbers" if role in roles.REAL else "integers"
    mixed = f" The values must be all {numbers} or all text."
    if type(value[row]) is list:
        mixed = ""
    raise _wrong(
        f"must be a list of {numbers} or of text; row {row} (counted from 0) is "
        f"{_said(value[row])}.{mixed}",
        role,
        row=row,
    )


def _numbers(value: list[Any], role: str | None) -> npt.NDArray[Any]:
    """Integers stay exact: float64 only where something was written as a float."""
    whole = all(type(item) is int for item in value)
    try:
        out = np.array(value, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        out = np.array([_float(item) for item in value])
    bad = np.flatnonzero(~np.isfinite(out) | (whole & (np.abs(out.astype(np.float64)) >= 2.0**63)))
    if bad.size:
        row = int(bad[0])
        raise UsageError(
            f"{_who(role)} has a number too large for 64 bits at row {row} (counted from 0).",
            code="not-finite",
            **_where(role, row=row),
        )
    return out


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _cell(cell: object, role: str | None, row: int, column: int) -> UsageError:
    if cell is None:
        return roles.missing(role, row, column)
    return _wrong(
        f"must hold numbers only; row {row}, column {column} (counted from 0) is {_said(cell)}",
        role,
        row=row,
        column=column,
    )


def _wrong(what: str, role: str | None, **place: int) -> UsageError:
    return UsageError(
        f"{_who(role)} {what.rstrip('.')}.", code="wrong-input", **_where(role, **place)
    )


def _who(role: str | None) -> str:
    return f"Input {role!r}" if role else "The document"


def _where(role: str | None, **place: int) -> dict[str, Any]:
    return {"role": role, **place} if role else {**place}


def _said(value: object) -> str:
    """A foreign value in a sentence."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the text {shown(value, 40)}"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"
