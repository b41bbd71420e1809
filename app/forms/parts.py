"""Looks at parts of a tree: answered whole where they are short, sent as they are made if not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from fastapi import Response
from starlette.responses import StreamingResponse

from app.http.dependencies import Service
from app.http.streaming import Turn, in_turn, pieces, turn
from app.submission.tree_jobs import tree_of
from models.tree.tree import Tree

AT_ONCE = 64 << 10
"""Answers of up to so many bytes are written in one piece."""
ITEMS = 2048
"""Objects of an answer that are written at a time: the encoder keeps the interpreter to itself."""
IDS = 16_384
"""Numbers that are written at a time."""
MOST_TEXT = 1000
"""Labels are shown up to so many characters."""


async def written(
    chunks: Iterator[bytes], which: Turn | None, media: str = "application/json"
) -> Response:
    """What is made in turns; a short answer is whole, a long one is sent as it is made."""

    def begin() -> tuple[bytes, bool]:
        start = bytearray()
        for chunk in chunks:
            start += chunk
            if len(start) > AT_ONCE:
                return bytes(start), True
        return bytes(start), False

    start, more = await in_turn(begin, which)
    if not more:
        return Response(start, media_type=media)
    return StreamingResponse(pieces(chain([start], chunks), "look"), media_type=media)


def opened(head: dict[str, Any]) -> bytes:
    """The beginning of a JSON object of which more is to come."""
    return json.dumps(head, allow_nan=False)[:-1].encode()


def listed(parts: Iterable[list[Any]]) -> Iterator[bytes]:
    """A JSON array of what the parts hold, a piece for each."""
    lead = b"["
    for part in parts:
        if part:
            yield lead + json.dumps(part, allow_nan=False)[1:-1].encode()
            lead = b", "
    yield b"[]" if lead == b"[" else b"]"


def parted(items: list[Any], length: int) -> Iterator[list[Any]]:
    return (items[start : start + length] for start in range(0, len(items), length))


def told(text: str) -> str:
    """A label as it is shown: at most `MOST_TEXT` characters."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def briefly(tree: Tree, nodes: Iterable[int]) -> list[dict[str, Any]]:
    """Each node in a few words."""
    return [
        {
            "id": node,
            "name": tree.name[node],
            "size": int(tree.size[node]),
            "height": float(tree.height[node]),
        }
        for node in nodes
    ]


async def look_turn(service: Service, tenant: str, tree_id: str) -> Turn | None:
    """The turn that a look at this tree needs; 404 where there is none."""
    return turn(await tree_of(service, tenant, tree_id), "look")
