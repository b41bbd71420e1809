"""Places as clients read them: JSON pointers as RFC 6901 writes them, parameters, headers."""

from __future__ import annotations

from typing import Any

import pytest

from app.http.pointers import HEADER, QUERY, located, pointer_of
from umbel_client import ProblemError

RFC = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
    "~1": 9,
}
"""The document of RFC 6901, section 5, and a key that looks like an escape."""


def read(pointer: str) -> Any:
    """Section 4, literally."""
    here: Any = RFC
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        here = here[int(key)] if isinstance(here, list) else here[key]
    return here


@pytest.mark.parametrize(
    "place", [[], ["foo"], ["foo", 0], ["foo", 1], *([key] for key in RFC)], ids=str
)
def test_a_pointer_leads_to_its_place(place: list[str | int]) -> None:
    there: Any = RFC
    for part in place:
        there = there[part]
    assert read(pointer_of(place)) is there


def test_the_client_reads_the_parts_again() -> None:
    place = ("inputs", "a/b~c~1", 3)
    problem = {"errors": [{"detail": "wrong", "pointer": pointer_of(place)}]}
    assert ProblemError(problem).pointers == [place]


def test_what_is_not_in_the_body_is_named() -> None:
    errors = [
        {"detail": "a", "pointer": [QUERY, "limit"]},
        {"detail": "b", "pointer": [HEADER, "Range"]},
        {"detail": "c", "pointer": ["query", "limit"]},
        {"detail": "d", "pointer": []},
        {"detail": "e", "pointer": [QUERY]},
    ]
    assert located(errors, bodiless=False) == [
        {"detail": "a", "parameter": "limit"},
        {"detail": "b", "header": "Range"},
        {"detail": "c", "pointer": "/query/limit"},
        {"detail": "d", "pointer": ""},
        {"detail": "e"},
    ]


def test_a_request_without_a_body_has_parameters_alone() -> None:
    assert located([{"detail": "a", "pointer": ["edition"]}], bodiless=True) == [
        {"detail": "a", "parameter": "edition"}
    ]
