"""Colours from a labels dataset."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import coloring
from models.tree.build import from_partition
from tests.app.conftest import Working, problem_of
from workers.stores import layout

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 12)), min_size=1, max_size=40)


@given(LABELS, st.booleans())
def test_a_leaf_takes_its_most_frequent_label(rows: list[tuple[int, int]], text: bool) -> None:
    given_labels = [row[1] for row in rows]
    labels: Any = np.array(given_labels, np.int64)
    if text:
        labels = np.array([str(label) for label in given_labels], object)
    tree = from_partition([row[0] for row in rows], 4)
    expected = []
    for leaf in tree.leaves:
        inside = [str(given_labels[i]) for i in np.flatnonzero(tree.leaf_of_point == leaf)]
        counts = Counter(inside)
        expected.append(min(counts, key=lambda label: (-counts[label], label)) if inside else None)
    assert coloring._majority(tree, labels) == expected


def test_what_is_too_large_is_not_opened(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    client = working.client
    tree = client.post(
        "/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}
    ).json()["id"]
    buffer = io.BytesIO()
    np.save(buffer, np.array([1, 2, 2]))
    labels = client.post(
        "/v1/datasets?role=labels",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    ).json()["id"]
    picture = f"/v1/trees/{tree}.svg?color_by={labels}"
    assert client.get(picture).status_code == 200
    monkeypatch.setattr(coloring, "MOST_BYTES", 10)
    answer = client.get(f"{picture}&title=x")
    assert "at most 10" in problem_of(answer, 422, "invalid-request")["detail"]
    monkeypatch.undo()
    # Deleted between the look-up and the reading.
    working.service.blobs.delete(layout.dataset("local", labels, "content"))
    problem_of(client.get(f"{picture}&title=y"), 404, "not-found")
