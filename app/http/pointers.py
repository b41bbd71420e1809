"""Where in a request something is wrong: as its parts lead to it, and as a problem shows it.

Inside, a place is a list of keys and indices of the body; one outside the body begins with `QUERY`
or `HEADER`. `located` makes of it what clients read: a JSON pointer (RFC 6901) into the body, or
the name of a parameter or header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Outside(str):
    """The first part of a place that is not in the body."""

    __slots__ = ()


LONGEST = 200
"""Letters of a name in a pointer."""

QUERY = Outside("query")
HEADER = Outside("header")


def pointer_of(place: Sequence[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a place in the body; "" for the whole body. A name that is
    longer than any of ours is cut."""
    parts = (str(part)[:LONGEST] for part in place)
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def located(errors: Sequence[Mapping[str, Any]], *, bodiless: bool) -> list[dict[str, Any]]:
    """The entries of `errors` as clients read them.

    bodiless : whether the request can have no body, so that every place is one of its query.
    """
    return [_located(entry, bodiless) for entry in errors]


def _located(entry: Mapping[str, Any], bodiless: bool) -> dict[str, Any]:
    place = entry.get("pointer")
    if not isinstance(place, list):
        return dict(entry)
    rest = {name: value for name, value in entry.items() if name != "pointer"}
    first, *below = place or [""]
    if isinstance(first, Outside):
        # The query as a whole, as where two parameters exclude each other, has no name.
        name = "parameter" if first == QUERY else "header"
        return {**rest, name: str(below[0])} if below else rest
    if bodiless and place:
        return {**rest, "parameter": str(first)}
    return {**rest, "pointer": pointer_of(place)}
