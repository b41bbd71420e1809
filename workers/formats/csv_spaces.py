"""Lines of aligned columns, as Fortran and R print them, with one space between cells."""

from __future__ import annotations

import re

_RUNS = re.compile(
    r'(?P<quoted>"[^"]*")|(?P<around>\A[ ]+|[ ]*\r?\n[ ]*|[ ]+\Z)|(?P<within>[ ]{2,})'
)


def with_one_space(text: str) -> str:
    """Lines without the spaces around them, and with one in the place of several, but in quotes."""
    return _RUNS.sub(_one_space, text)


def _one_space(found: re.Match[str]) -> str:
    if found["quoted"]:
        return found[0]
    return " " if found["within"] else "\n" if "\n" in found[0] else ""
