"""A name that an object has twice is found with its place."""

from __future__ import annotations

import pytest

from workers.formats.repeated_names import repetition


@pytest.mark.parametrize(
    ("text", "name", "pointer", "line", "column"),
    [
        ('{"a": 1, "a": 2}', "a", "", 1, 10),
        ('[1, 2, [3, 4], {"b": [], "c": 5,\n  "b": 6}]', "b", "/3", 2, 3),
        ('{"a/b": {"~": [{"x": "{,:"}, {"\\u0063": {}, "c": 1}]}}', "c", "/a~1b/~0/1", 1, 45),
        ('{"a": {"a": 1}, "b": {"a": 1, "b": "a"}, "b": 0}', "b", "", 1, 42),
    ],
)
def test_the_first_repetition(text: str, name: str, pointer: str, line: int, column: int) -> None:
    found = repetition(text)
    assert (found.name, found.pointer, found.line, found.column) == (name, pointer, line, column)


def test_names_of_different_objects_are_none() -> None:
    with pytest.raises(ValueError, match="no name"):
        repetition('[{"a": 1}, {"a": {"a": "a"}}, "a"]')
