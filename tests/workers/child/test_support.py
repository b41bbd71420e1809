"""Which rows of each input a replicate of a fit gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.label_sets import LabelSets
from models.progress import silent
from workers.child import support
from workers.child.fit import Plan


@pytest.mark.parametrize(
    "edges",
    [
        np.array([["a", "b"], ["b", "c"], ["c", "d"]], dtype=object),
        np.array([["a", "b"], ["b", "c"]], dtype=object),
        np.array([[0, 1], [1, 2]]),
    ],
    ids=["three", "two", "two of numbers"],
)
def test_labels_are_drawn_with_their_rows_and_edges_are_not(
    monkeypatch: pytest.MonkeyPatch, edges: np.ndarray[Any, Any]
) -> None:
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    rng = np.random.default_rng(3)
    has = rng.random((20, 4)) < 0.4
    unknown = ~has.any(axis=1)
    row, code = np.nonzero(has)
    start = np.searchsorted(row, np.arange(21))
    values = {
        "graph": edges,
        "labels": LabelSets(start, code, ["a", "b", "c", "d"], unknown),
        "features": np.arange(20.0).reshape(20, 1),
    }
    replicates = support.Replicates(support.Support(seed=2), Plan("hac", {}, (), None), values, 1)
    assert replicates.compute({"replicate": 5}, silent)["row"].size == 0
    chosen = drawn["features"][:, 0].astype(int)
    assert len(set(chosen.tolist())) < 20
    labels = drawn["labels"]
    assert labels.shape == (20,)
    again = np.zeros((20, 4), dtype=bool)
    again[np.repeat(np.arange(20), np.diff(labels.start)), labels.code] = True
    np.testing.assert_array_equal(again, has[chosen])
    np.testing.assert_array_equal(labels.unlabelled, unknown[chosen])
    assert drawn["graph"] is edges


def test_pairs_of_rows_are_those_of_the_drawn_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    pairs = np.random.default_rng(0).integers(0, 12, (15, 2)).astype(np.float64)
    values = {"must_link": pairs, "features": np.arange(12.0).reshape(12, 1)}
    plan = Plan("fda", {}, (), None)
    support.Replicates(support.Support(seed=1), plan, values, 1).compute({"replicate": 0}, silent)
    chosen = drawn["features"][:, 0].astype(int).tolist()
    expected = [
        (first, second)
        for one, other in pairs.tolist()
        for first, row in enumerate(chosen)
        for second, another in enumerate(chosen)
        if (row, another) == (one, other)
    ]
    assert len(set(chosen)) < 12
    assert sorted(map(tuple, drawn["must_link"].tolist())) == sorted(expected)
