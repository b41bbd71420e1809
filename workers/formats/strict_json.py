"""Strict JSON: what a request may send, whichever process parses it."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic_core import from_json

SHORT_BYTES = 64 << 10
"""A text up to this length is searched for huge numbers before its value is gone through."""

# A number that may be infinite as a float: a long exponent, or very many digits.
_HUGE = re.compile(rb"[eE]\+?0*[1-9]\d{2,}|(?<!\d)\d{300}")


class NotStrict(Exception):
    """The text is not JSON (`malformed`), or has what JSON cannot carry (`invalid-request`)."""

    def __init__(self, code: Literal["malformed", "invalid-request"], detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. It holds the interpreter's lock: 70 ms for a megabyte of rows.

    Raises NotStrict: `malformed` for what is not JSON, nested too deep or not UTF-8,
    `invalid-request` for what some parsers accept: NaN, Infinity, a number too large for a float, a
    lone surrogate.
    """
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
    return value


def _refusal(body: bytes, message: str) -> NotStrict:
    if "number out of range" in message:
        return NotStrict("invalid-request", f"The body has a number that is too large: {message}.")
    try:
        # As text: given bytes, it would also accept UTF-16 and a byte order mark.
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
