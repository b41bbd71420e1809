"""Size limits, and the selection of one array among several."""

from __future__ import annotations

import pytest

from tests.workers.formats.files_kit import refused
from workers.formats.facts import Bounds, Member, choose

MEMBERS = [Member("X", (3, 2), "float64"), Member("y", (3,), "int64")]


def test_the_named_or_only_array_is_selected() -> None:
    assert choose(MEMBERS, "y") == 1
    assert choose(MEMBERS[:1], None) == 0
    assert choose(MEMBERS[:1], "X") == 0


@pytest.mark.parametrize("name", [None, "z", "x"])
def test_several_arrays_require_a_selection(name: str | None) -> None:
    error = refused(choose, MEMBERS, name)
    assert error.code == "member-needed"
    assert error.where["members"] == [
        {"name": "X", "shape": [3, 2], "dtype": "float64"},
        {"name": "y", "shape": [3], "dtype": "int64"},
    ]
    assert "'X' (3, 2) float64; 'y' (3,) int64." in error.detail


def test_the_error_lists_the_first_of_many_arrays() -> None:
    error = refused(choose, [Member(f"a{at}", (), "") for at in range(23)], None)
    assert "'a19'; and 3 more." in error.detail
    assert len(error.where["members"]) == 20


def test_a_file_without_arrays_is_empty() -> None:
    assert refused(choose, [], None).code == "empty"


def test_bounds_hold_exactly() -> None:
    Bounds(max_bytes=10).require(10)
    error = refused(Bounds(max_bytes=10).require, 11)
    assert (error.code, error.where) == ("too-large", {"bytes": 11, "limit": 10})
