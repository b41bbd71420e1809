"""What a text certainly is, whatever it was sent as."""

from __future__ import annotations

import re
from typing import Literal

_LEADING_COMMENTS = re.compile(r"(?:\s*+\[[^\]]*+\])*+\s*+")


def text_format(text: str) -> Literal["newick", "nexus"] | None:
    """The format that a text shows for certain: `newick` or `nexus`; None for another.

    Newick begins with a bracket, after comments, and either ends with `;` or has no slash; also
    where words come first, as in `tree one = (a,b);`, so that its reader says what is wrong.
    O(len(text)).
    """
    begin = _LEADING_COMMENTS.match(text)
    lead = text[begin.end() if begin else 0 :]
    if text.lstrip()[:6].upper() == "#NEXUS":
        return "nexus"
    ends = text.rstrip().endswith((";", "]"))
    brackets = "(" in lead and "," in lead and ")" in lead and "/" not in lead
    if lead.startswith("("):
        return "newick" if ends or brackets else None
    return "newick" if ends and brackets and lead.count(";") == 1 else None
