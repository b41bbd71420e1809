"""Inline inputs, as they are checked before a job is made of them."""

from __future__ import annotations

import tracemalloc
from typing import Any, cast

import pytest

from app.creation.inputs import resolve
from models.errors import UsageError
from models.tree import class_paths
from tests.app.conftest import Api

LONG = "x" * 100_000

NO_SERVICE = cast(Any, None)


def test_shapes_of_lists() -> None:
    inputs: dict[str, str | list[Any]] = {
        "features": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "labels": [["a", "b"], None, []],
        "names": ["a", "b"],
        "graph": [["a", "b"]],
        "hierarchy": ["x/a", "x/b", "x/a"],
    }
    resolved = resolve(NO_SERVICE, "ada", inputs)
    assert resolved.shapes == {"features": (3, 2), "labels": (3,), "names": (2,), "graph": (1, 2)}
    assert resolved.refs == dict.fromkeys(inputs, "inline")


def test_a_hierarchy_is_checked_without_making_its_tree() -> None:
    path = "a/" * 100_000 + "b"
    tracemalloc.start()
    try:
        resolve(NO_SERVICE, "ada", {"hierarchy": [path]})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(path)
    with pytest.raises(UsageError, match="empty part") as caught:
        resolve(NO_SERVICE, "ada", {"hierarchy": ["a", f"{path}/"]})
    assert caught.value.where == {"role": "hierarchy", "row": 1}
    assert class_paths.distinct(["b", "a/b", "b"], range(3)) == ["b", "a/b"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("comparisons", {"labels": LONG}),
        ("comparisons", {"hierarchy": LONG}),
        ("comparisons", {"inputs": {LONG: [[0]]}}),
        ("comparisons", {"inputs": {"features": LONG}}),
        ("comparisons", {"runs": [{"method": LONG}]}),
        ("jobs", {"inputs": {LONG: [[0]]}}),
        ("jobs", {"inputs": {LONG: LONG}}),
        ("jobs", {"inputs": {"features": f"job_{LONG}"}}),
        ("jobs", {"inputs": {"features": [LONG, LONG]}}),
        ("jobs", {"params": {LONG: LONG}}),
        ("jobs", {"params": {"linkage": LONG}}),
        ("jobs", {LONG: 1}),
        ("consensus", {"trees": [LONG, LONG]}),
    ],
)
def test_a_refusal_repeats_little_of_a_long_text(api: Api, path: str, body: dict[str, Any]) -> None:
    """A request of 100 KB had an answer of 200."""
    whole: dict[str, Any] = {"inputs": {"features": [[0.0], [1.0]]}}
    whole |= {"runs": [{"method": "hac"}]} if path == "comparisons" else {"method": "hac"}
    answer = api.client.post(f"/v1/{path}", json=body if path == "consensus" else {**whole, **body})
    assert answer.status_code == 422
    assert len(answer.content) < 5_000, answer.text[:500]
