"""Names for the values of enumerations, for clients that generators make of the document.

A generator makes an identifier of each value: all that is no letter or digit becomes `_`, so that
`k-means` and `k-means++` would become one. Such an enumeration gets `x-enum-varnames`, which
generators read in its place.
"""

from __future__ import annotations

import re
from typing import Any


def name_values(schema: Any) -> None:
    """Add the names to every enumeration in a part of a document that needs them."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            values = part.get("enum")
            if isinstance(values, list) and _are_alike(values):
                part["x-enum-varnames"] = names_of(values)


def names_of(values: list[str]) -> list[str]:
    """An identifier for each text, all of them different."""
    names: list[str] = []
    for value in values:
        name = _identifier(value.replace("+", " plus ").replace("#", " sharp "))
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def _are_alike(values: list[Any]) -> bool:
    """Whether texts differ, but not in the identifiers that are made of them."""
    if not all(isinstance(value, str) for value in values):
        return False
    return len({_identifier(value) for value in values}) < len(set(values))


def _identifier(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
    return name if name[:1].isalpha() else f"VALUE_{name}"
