"""Errors that the methods raise.

Three kinds cross the queue (see `workers.errors`): the user's, passing ones, ours. Everything here
is the user's: the input, a parameter or the request cannot be used. Whatever else escapes
a method is ours.
"""

from __future__ import annotations

from typing import Any


class UsageError(ValueError):
    """The user's data or parameters cannot be used.

    States what is wrong, where, and what is accepted. Parameters ----------
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


def listed(names: list[str], most: int = 5) -> str:
    """Names for a message: the first few, quoted and cut at 80 characters, and the number of the
    others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:80]) for name in names[:most]) + more
