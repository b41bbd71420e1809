"""Values of enumerations have different identifiers in what generators make of the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.openapi.document import PATH
from app.openapi.enum_names import name_values, names_of


def enumerations(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if isinstance(part.get("enum"), list):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from enumerations(each)


def test_every_enumeration_of_the_document_has_them() -> None:
    named = 0
    for each in enumerations(json.loads(PATH.read_bytes())):
        names = each.get("x-enum-varnames", each["enum"])
        named += names is not each["enum"]
        assert len(names) == len(each["enum"])
        identifiers = {re.sub(r"\W+", "_", str(name)).strip("_").upper() for name in names}
        assert len(identifiers) == len(names), each
    assert named == 1  # `seeding`, which both methods share.


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["k-means", "k-means++", "random"], ["K_MEANS", "K_MEANS_PLUS_PLUS", "RANDOM"]),
        (["a-b", "a_b", "A b"], ["A_B", "A_B_1", "A_B_2"]),
        (["c", "c#"], ["C", "C_SHARP"]),
        (["+1", "1"], ["PLUS_1", "VALUE_1"]),
    ],
)
def test_values_that_look_alike_get_names(values: list[str], names: list[str]) -> None:
    assert names_of(values) == names
    schema = {"properties": {"x": {"anyOf": [{"enum": values}, {"type": "null"}]}}}
    name_values(schema)
    assert schema["properties"]["x"]["anyOf"][0]["x-enum-varnames"] == names


@pytest.mark.parametrize("values", [["a", "b"], ["a-b", "c"], [1, 2], ["x", None]])
def test_others_stay_as_they_are(values: list[Any]) -> None:
    schema = {"enum": values}
    name_values(schema)
    assert schema == {"enum": values}
