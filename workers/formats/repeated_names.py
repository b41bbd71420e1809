"""Names that an object of a JSON text has twice: each parser takes another of their values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from models.errors import shown

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^"{}\[\]]+', re.DOTALL)


class Repeated(Exception):
    """An object of the text has a name twice."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The first name that occurs again. line, column : of its second place, counted from 1.

    pointer : the JSON pointer of its object, "" for the whole text.
    """

    name: str
    pointer: str
    line: int
    column: int

    def __str__(self) -> str:
        inside = f" in the object at {shown(self.pointer)}" if self.pointer else ""
        return f"{shown(self.name)} twice{inside} (line {self.line}, column {self.column})"


def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members, for `json.loads(..., object_pairs_hook=once)`.

    Raises Repeated.
    """
    value = dict(members)
    if len(value) < len(members):
        raise Repeated
    return value


def repetition(text: str) -> Repetition:
    """The first name that occurs again in a text that is JSON at least until there. O(length).

    Raises ValueError where none does.
    """
    # For each open object the names so far, for a list None; and where in it the next value is.
    names: list[set[str] | None] = []
    path: list[str | int] = []
    due = False
    for token in _TOKEN.finditer(text):
        part = token[0]
        if part in "{[":
            due = part == "{"
            names.append(set() if due else None)
            path.append("" if due else 0)
        elif part in "}]":
            names.pop()
            path.pop()
        elif part[0] != '"':
            n_values = part.count(",")
            if n_values:
                due = names[-1] is not None
                path[-1] = "" if due else int(path[-1]) + n_values
        elif due and (seen := names[-1]) is not None:
            due = False
            name = json.loads(part)
            if name in seen:
                begin = token.start()
                start = text.rfind("\n", 0, begin) + 1
                pointer = "".join(f"/{_escaped(str(each))}" for each in path[:-1])
                return Repetition(name, pointer, text.count("\n", 0, begin) + 1, begin - start + 1)
            seen.add(name)
            path[-1] = name
    raise ValueError("no name occurs twice in one object")


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
