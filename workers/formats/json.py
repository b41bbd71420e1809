"""JSON: a list of lists of numbers, or a list of integers or text; inline inputs as well.

In the roles that are read so (`Role.by_role`), a row of labels may be a list of them or null,
and edges are pairs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from models.errors import UsageError
from models.roles import Want
from workers.formats import json_tables, roles
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import broken
from workers.formats.repeated_names import Repeated, once, repetition
from workers.formats.tables import Lists

MAX_JSON = 16 << 20
"""The largest length of a JSON document in bytes."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of a JSON file, after checking every value."""
    return roles.facts(parse(_bytes(path)), gaps=bounds.gaps)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Lists:
    """The lists of a JSON file, parsed but not checked. member : the field of objects."""
    if member is None and want != "table":
        return parse(_bytes(path))
    rows, _ = table(path)
    if member is None or not isinstance(rows, list):
        return Lists(rows)
    return Lists([row.get(member) if isinstance(row, dict) else row for row in rows])


def table(path: Path) -> tuple[object, tuple[str, ...]]:
    """The value of a JSON file and notes on it, as `json_tables.rows`."""
    return json_tables.rows(parse(_bytes(path)).value)


def facts(document: bytes, role: str | None = None) -> Facts:
    """Shape and dtype of a JSON document, as `roles.facts`. O(length)."""
    return roles.facts(parse(document), role, gaps=role is None)


def parse(document: bytes) -> Lists:
    """The lists of a JSON document.

    Raises UsageError `too-large` past `MAX_JSON` bytes, `empty`, and as `decode`. O(length).
    """
    require_length(len(document))
    if not document.strip():
        raise UsageError("The JSON document is empty.", code="empty")
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise broken("The JSON document is not UTF-8.") from None
    return Lists(decode(text))


def decode(text: str) -> object:
    """The value of a JSON text of any form.

    Raises UsageError `not-finite` for NaN and infinities, `invalid-file` for deep nesting, for what
    is not JSON and for a name twice in one object, naming line and column.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=once)
    except Repeated:
        twice = repetition(text)
        raise UsageError(
            f"The JSON document has {twice}; an object has each name once.",
            code="invalid-file",
            line=twice.line,
            column=twice.column,
        ) from None
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
        raise broken("The JSON document holds an integer with too many digits.") from None


def require_length(length: int) -> None:
    """Raise UsageError `too-large` for a document longer than `MAX_JSON`."""
    if length > MAX_JSON:
        raise UsageError(
            f"The JSON is longer than {MAX_JSON} bytes; send larger arrays as .npy.",
            code="too-large",
            limit=MAX_JSON,
        )


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_JSON + 1)


def _refuse_constant(word: str) -> NoReturn:
    raise UsageError(
        f"The JSON document holds {word}, which is not JSON; every value must be a finite number.",
        code="not-finite",
    )
