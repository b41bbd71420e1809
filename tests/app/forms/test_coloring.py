"""Colours from a labels dataset."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.forms import coloring
from models.tree.categories import of_cut
from tests.app.conftest import Working, problem_of
from tests.app.routes.test_views import dataset
from tests.models.tree.trees_kit import FOUR
from workers.stores.objects import layout


def test_what_is_too_large_is_not_opened(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
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
    seen = working.client.get(f"/v1/trees/{tree}/view?color_by={labels}").json()
    assert (seen["categories"], seen["category_sizes"]) == (["y, z", "x"], [2, 1])
    assert len(seen["warnings"]) == (header == "timber")


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

    def counted(service: Any, found: Any) -> Any:
        read.append(found.id)
        return values(service, found)

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


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coloring, "KEPT_BYTES", 100)
    kept = coloring._Kept()
    found = of_cut(FOUR, k=2)
    for name in "abcd":
        kept.put(("t", "tree", name), found, 40)
        assert kept.get(("t", "tree", "a")) is (
            found if name in "ab" else kept.get(("t", "tree", "a"))
        )
    assert [name for name in "abcd" if kept.get(("t", "tree", name))] in (["a", "d"], ["c", "d"])
    kept.put(("t", "tree", "huge"), found, 101)
    assert not any(kept.get(("t", "tree", name)) for name in [*"abcd", "huge"])
