"""Colours from a labels dataset."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.resources.trees import coloring
from models.tree.labels import of_cut
from models.tree.tree import Tree
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import dataset
from workers.stores.objects import layout


def test_datasets_that_are_too_large_are_not_opened(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = working.client
    trees = [
        client.post("/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}).json()
        for _ in range(3)
    ]
    buffer = io.BytesIO()
    np.save(buffer, np.array([1, 2, 2]))
    labels = client.post(
        "/v1/datasets?role=labels",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    ).json()["id"]
    pictures = [f"/v1/trees/{tree['id']}.svg?color_by={labels}" for tree in trees]
    assert client.get(pictures[0]).status_code == 200
    monkeypatch.setitem(coloring.READ_HERE, "npy", 10)
    answer = client.get(pictures[1])
    assert "at most 10" in problem_of(answer, 422, "invalid-request")["detail"]
    monkeypatch.undo()
    # Deleted between the look-up and the reading.
    working.service.blobs.delete(layout.dataset("local", labels, "content"))
    problem_of(client.get(pictures[2]), 404, "not-found")


@pytest.mark.parametrize("header", ["label", "timber"])
def test_labels_of_a_table(working: Working, header: str) -> None:
    tree = working.client.post(
        "/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}
    ).json()["id"]
    labels = working.client.post(
        "/v1/datasets?role=labels",
        content=f'{header}\nx\n"y, z"\n"y, z"\n',
        headers={"Content-Type": "text/csv"},
    ).json()["id"]
    view = working.client.get(f"/v1/trees/{tree}/view?color_by={labels}").json()
    assert (view["categories"], view["category_sizes"]) == (["y, z", "x"], [2, 1])
    assert len(view["warnings"]) == (header == "timber")


def test_other_formats_are_not_opened(working: Working) -> None:
    tree = working.client.post(
        "/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}
    ).json()["id"]
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"label": ["x", "y", "z"]}), buffer)
    labels = working.client.post(
        "/v1/datasets?role=labels",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/vnd.apache.parquet"},
    ).json()["id"]
    answer = working.client.get(f"/v1/trees/{tree}/view?color_by={labels}")
    assert "npy, json, csv" in problem_of(answer, 422, "invalid-request")["detail"]


def test_labels_are_read_once(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = working.client.post(
        "/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}
    ).json()["id"]
    labels = dataset(working, ["p", "q", "q"])
    read: list[str] = []
    values = coloring._values

    def counted(service: Any, source: Any) -> Any:
        read.append(source.id)
        return values(service, source)

    monkeypatch.setattr(coloring, "_values", counted)
    with ThreadPoolExecutor(4) as pool:
        bodies = list(
            pool.map(
                lambda n: working.client.get(
                    f"/v1/trees/{tree}/view?color_by={labels}&max_nodes={n + 4}"
                ).json()["categories"],
                range(12),
            )
        )
    assert bodies == [["q", "p"]] * 12
    assert 1 <= len(read) <= 4
    working.client.get(f"/v1/trees/{tree}/nodes/0?labels={labels}")
    assert len(read) <= 4


FOUR = Tree(
    np.array([-1, 0, 0, 1, 1, 2, 2], dtype=np.int32),
    np.array([3.0, 2, 1, 0, 0, 0, 0]),
    np.array([4, 2, 2, 1, 1, 1, 1]),
    np.full(7, None, dtype=object),
    np.array([3, 4, 5, 6], dtype=np.int32),
)
"""((3 4)1 (5 6)2)0"""


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coloring, "KEPT_BYTES", 100)
    cache = coloring.Cache()
    categories = of_cut(FOUR, k=2)
    for name in "abcd":
        cache.put(("t", "tree", name), categories, 40)
        assert cache.get(("t", "tree", "a")) is (
            categories if name in "ab" else cache.get(("t", "tree", "a"))
        )
    assert [name for name in "abcd" if cache.get(("t", "tree", name))] in (["a", "d"], ["c", "d"])
    cache.put(("t", "tree", "huge"), categories, 101)
    assert not any(cache.get(("t", "tree", name)) for name in [*"abcd", "huge"])
