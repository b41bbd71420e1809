"""Errors that the methods raise.

Three kinds cross the queue (see `workers.errors`): the user's, passing ones, ours. Everything here
is the user's: the input, a parameter or the request cannot be used. Whatever else escapes
a method is ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

_UNSEEN = re.compile(
    "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0"
    "\\U000e0100-\\U000e01ef]"
)
"""Signs that are printable to Python and show nothing: fillers, selectors of variants (the
property `Default_Ignorable_Code_Point` of Unicode 15.1, and the empty pattern of Braille)."""


class UsageError(ValueError):
    """The user's data or parameters cannot be used.

    States what is wrong, where, and what is accepted.

    detail : the whole sentence shown to the user. No paths, no tracebacks.
    code : stable last part of the problem's type, `/problems/<code>`.
    where : machine-readable place, for instance `{"role": "logits", "row": 3, "column": 7}` or
        `{"parameter": "n_clusters"}`; plain JSON values only.
    """

    def __init__(self, detail: str, *, code: str = "unusable-input", **where: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.where = where

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.detail, self.code, self.where))


class InvalidTree(UsageError):
    """A tree breaks one of the invariants listed in `Tree.validate`, or cannot be read as one."""

    def __init__(self, detail: str, *, code: str = "invalid-tree", **where: Any) -> None:
        super().__init__(detail, code=code, **where)


class EmptyValue(UsageError):
    """Features have a NaN where every value is needed; its row and column are in `where`."""


class Cancelled(Exception):
    """Raised out of a progress call when the job was cancelled; never caught by a method."""


def _rebuild(cls: type[UsageError], detail: str, code: str, where: dict[str, Any]) -> UsageError:
    return cls(detail, code=code, **where)


def shown(text: str | int, limit: int = 80) -> str:
    """A foreign text made safe for a message: quoted, cut at `limit` characters, escaped where it
    cannot be seen.

    Letters and signs of every script stay as they are. What a reader cannot see, or what would
    change the text around it, is escaped: controls, line breaks, signs of direction, surrogates,
    unassigned code points, fillers, and a combining mark that has no letter before it. A number
    is written plainly.
    """
    if isinstance(text, int):
        return str(text)
    quoted = repr(text if len(text) <= limit else text[:limit] + "...")
    if quoted.isascii():
        return quoted
    if unicodedata.category(quoted[1]).startswith("M"):
        quoted = quoted[0] + _escaped(quoted[1]) + quoted[2:]
    return _UNSEEN.sub(lambda found: _escaped(found.group()), quoted)


def _escaped(letter: str) -> str:
    return ascii(letter)[1:-1]


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names for a message: the first `most` as `shown`, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more
