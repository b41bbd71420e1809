"""Range requests over a content of known length."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.problems import Refused

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """The bytes [start, end) of a content of `length` bytes."""

    start: int
    end: int
    length: int

    @property
    def content_range(self) -> str:
        return f"bytes {self.start}-{self.end - 1}/{self.length}"


def part_of(header: str | None, length: int) -> Part | None:
    """The part that a Range header asks for; None for the whole.

    Several ranges, other units and what cannot be read give the whole, as RFC 9110 allows. Raises
    Refused `range-not-satisfiable` (416) for a range outside the content.
    """
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or found.group(1, 2) == ("", ""):
        return None
    first, last = found.group(1, 2)
    if first == "":
        start, end = max(0, length - int(last)), length
    else:
        start = int(first)
        if last != "" and int(last) < start:
            return None
        end = length if last == "" else min(int(last) + 1, length)
    if start >= end:
        raise Refused(
            "range-not-satisfiable",
            f"The content has {length} bytes; the range lies outside.",
            headers={"Content-Range": f"bytes */{length}"},
        )
    return Part(start, end, length)
