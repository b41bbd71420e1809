"""Error messages: how they name the input and locate the fault."""

from __future__ import annotations

from workers.formats.refusals import missing


def test_a_missing_value_is_located_as_far_as_known() -> None:
    error = missing(3)
    assert (error.code, error.where) == ("missing-value", {"row": 3})
    assert error.detail.startswith("The file has a missing value at row 3 (counted from 0);")
    error = missing(0, 2, line=5, role="labels")
    assert error.where == {"role": "labels", "row": 0, "column": 2, "line": 5}
    assert "Input 'labels'" in error.detail
    assert "row 0, column 2 (counted from 0; line 5 of the file)" in error.detail
