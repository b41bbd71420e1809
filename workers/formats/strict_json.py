"""Strict JSON: what a request may send, whichever process parses it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import from_json

from workers.formats.repeated_names import repetition

SHORT_BYTES = 64 << 10
"""A text up to this length is searched for huge numbers before its value is gone through."""

_MOST_INPUTS = 100
MOST_FIELDS = 200
"""Fields of a body itself, and of a sample in it; no request has as many."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# A number that may be infinite as a float: a long exponent, or very many digits.
_HUGE = re.compile(rb"[eE]\+?0*[1-9]\d{2,}|(?<!\d)\d{300}")


INPUTS = frozenset({"costs", "labels", "features", "distances", "similarity", "hierarchy"})
"""Fields of a body that may be inputs, beside those in `inputs`."""
SAMPLES = ("reference", "batch")
"""Fields of a body that may be objects with inputs of their own."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How many values a body may have, besides lists that are inputs: each may be wrong, and to say
    so of each takes long.

    numbers : whether lists of nothing but whole numbers count; if not, such a list is one value.
    """

    values: int = 10_000
    numbers: bool = True


class NotStrict(Exception):
    """The text is not JSON (`malformed`), or has what JSON cannot carry (`invalid-request`)."""

    def __init__(self, code: Literal["malformed", "invalid-request"], detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def parse_json(body: bytes) -> Any:
    """The value of a JSON text, which may begin with the byte order mark of UTF-8. It holds the
    interpreter's lock: 70 ms for a megabyte of rows.

    Raises NotStrict: `malformed` for what is not JSON, nested too deep or not UTF-8,
    `invalid-request` for what some parsers accept: NaN, Infinity, a number too large for a float, a
    lone surrogate, a name twice in one object, of which each parser takes another value.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(body, str(error)) from None
    # A regular expression over a long body would hold the interpreter lock; the walk does not.
    if (len(body) > SHORT_BYTES or _HUGE.search(body)) and _has_infinite(value):
        raise NotStrict(
            "invalid-request",
            "The body has a number that is too large for a 64-bit float; every number must be "
            "finite.",
        )
    if _n_repeated(body, value):
        twice = repetition(body.decode())
        raise NotStrict("invalid-request", f"The body has {twice}; give each field once.")
    return value


def require_few(value: Any, bound: Bound) -> None:
    """Raises NotStrict (`invalid-request`) for a body with more values than `bound` allows, or more
    than `MOST_FIELDS` fields."""
    n_values = 0
    stack: list[list[Any] | dict[str, Any]] = _containers([value])
    if isinstance(value, dict):
        parts = [part for _, part in parts_with_inputs(value)]
        n_values = sum(map(len, parts))
        most = max(map(len, parts))
        if most > MOST_FIELDS:
            raise NotStrict(
                "invalid-request",
                f"The body has an object of {most} fields; it takes {MOST_FIELDS} at most.",
            )
        own = {id(part) for part in parts}
        stack = [
            given
            for part in parts
            for field, given in part.items()
            if isinstance(given, (list, dict))
            and not _is_input(field, given)
            and id(given) not in own
        ]
    while stack and n_values <= bound.values:
        item = stack.pop()
        if isinstance(item, list) and not bound.numbers and all(type(part) is int for part in item):
            continue
        n_values += len(item)
        if n_values <= bound.values:
            stack.extend(_containers(item if isinstance(item, list) else item.values()))
    if n_values > bound.values:
        raise NotStrict(
            "invalid-request",
            f"The body has more than {bound.values} values besides the lists of its inputs.",
        )


def parts_with_inputs(body: dict[str, Any]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """The objects of a body that may have `inputs`, and inputs beside these, each with the way to
    it: the body itself, and its samples."""
    samples = [((name,), body[name]) for name in SAMPLES if isinstance(body.get(name), dict)]
    return [((), body), *samples]


def _is_input(field: str, given: Any) -> bool:
    """Whether it is a list that is an input, or has no others below `inputs`."""
    if field == "inputs" and isinstance(given, dict):
        return len(given) < _MOST_INPUTS and all(
            isinstance(part, (str, list)) for part in given.values()
        )
    return field in INPUTS and isinstance(given, list)


def _refusal(body: bytes, message: str) -> NotStrict:
    wide = _wide_encoding(body)
    if wide is not None:
        return NotStrict(
            "malformed", f"The body is {wide} text; JSON is sent in UTF-8, as RFC 8259 requires."
        )
    if "number out of range" in message:
        return NotStrict("invalid-request", f"The body has a number that is too large: {message}.")
    try:
        # As text: given bytes, it would also accept UTF-16.
        json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return NotStrict("malformed", f"The body is not valid JSON: {message}.")
    if "recursion limit" in message:
        return NotStrict("malformed", f"The body is nested too deeply: {message}.")
    return NotStrict(
        "invalid-request",
        "The body has NaN, Infinity or half of a surrogate pair, which JSON cannot carry: "
        f"{message}.",
    )


def _containers(values: Iterable[Any]) -> list[list[Any] | dict[str, Any]]:
    return [value for value in values if isinstance(value, (list, dict))]


def _n_repeated(body: bytes, value: Any) -> int:
    """How many members of the text's objects `value` does not have: their names occur again.

    O(length), in C where the text is numbers; it ends at the last object.
    """
    bare = _STRING.sub(b"", body)
    n_members, n_objects = bare.count(b":"), bare.count(b"{")
    stack = _containers([value])
    while stack and n_objects > 0:
        item = stack.pop()
        if isinstance(item, dict):
            n_objects -= 1
            n_members -= len(item)
        below = _containers(item if isinstance(item, list) else item.values())
        # Objects first: behind long lists of rows there may be none.
        stack += sorted(below, key=lambda each: isinstance(each, dict))
    return n_members


def _wide_encoding(body: bytes) -> str | None:
    """UTF-16 or UTF-32, by the mark that the body begins with or by the zero bytes beside its first
    character, which JSON has nowhere; None for neither."""
    if body.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    return {2: "UTF-16", 3: "UTF-32"}.get(body[:4].count(0))


def _has_infinite(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if item in (float("inf"), float("-inf")):
                return True
        elif isinstance(item, int):
            if item.bit_length() > 1024:
                return True
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
    return False
