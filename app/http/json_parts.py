"""Parts of a tree as JSON: objects written piece by piece, nodes in brief."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy.typing as npt

from models.tree.tree import Tree

ITEMS = 2048
"""Objects in a piece: the encoder holds the interpreter lock for a whole piece."""
IDS = 16_384
"""Numbers in a piece."""
MOST_TEXT = 1000
"""Characters of a label that are shown."""

_Items = TypeVar("_Items", list[Any], npt.NDArray[Any])


def json_object(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """A JSON object. A field that is an iterator of bytes is JSON already, chunk by chunk."""
    lead = b"{"
    for name, value in fields.items():
        key = lead + json.dumps(name).encode() + b": "
        if isinstance(value, Iterator):
            yield key
            yield from value
        else:
            yield key + json.dumps(value, allow_nan=False).encode()
        lead = b", "
    yield b"}"


def slices(items: _Items, length: int) -> Iterator[_Items]:
    """The items in order, at most `length` at a time."""
    return (items[start : start + length] for start in range(0, len(items), length))


def shortened(text: str) -> str:
    """A label as shown: at most `MOST_TEXT` characters."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def briefs(tree: Tree, nodes: Iterable[int]) -> list[dict[str, Any]]:
    """Each node in brief."""
    return [
        {
            "id": node,
            "name": tree.name[node],
            "size": int(tree.size[node]),
            "height": float(tree.height[node]),
        }
        for node in nodes
    ]
