"""Error messages: how they name the input, locate the fault and quote foreign text."""

from __future__ import annotations

import pytest

from workers.formats.refusals import listed, missing, shown


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a'b", '"a\'b"'),
        ("\x1b[31m\n", "'\\x1b[31m\\n'"),
        ("\u202e", "'\\u202e'"),
        ("x" * 61, f"'{'x' * 60}...'"),
    ],
)
def test_foreign_text_is_quoted_escaped_and_shortened(text: str, quoted: str) -> None:
    assert shown(text) == quoted


def test_the_first_names_are_listed() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"


def test_a_missing_value_is_located_as_far_as_known() -> None:
    error = missing(3)
    assert (error.code, error.where) == ("missing-value", {"row": 3})
    assert error.detail.startswith("The file has a missing value at row 3 (counted from 0);")
    error = missing(0, 2, line=5, role="labels")
    assert error.where == {"role": "labels", "row": 0, "column": 2, "line": 5}
    assert "Input 'labels'" in error.detail
    assert "row 0, column 2 (counted from 0; line 5 of the file)" in error.detail
