"""Methods that learn targets, over HTTP: fitted with targets, predicting without."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import fit, predict

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(40, 2))
TASKS = ["north", "south"] * 20
SLOPES = np.array([[1.0, 2.0], [-3.0, 0.5]])[np.arange(40) % 2]
TARGETS = (FEATURES * SLOPES).sum(axis=1) + 0.25
INPUTS = {"features": FEATURES.tolist(), "tasks": TASKS, "targets": TARGETS.tolist()}


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "stl", INPUTS, params={"penalty": 1e-6, "held_out": 0.2})


def test_new_rows_get_values(working: Working, tree: dict[str, Any]) -> None:
    assert (tree["n_points"], tree["n_leaves"]) == (40, 2)
    new_rows = {"features": [[1.0, 0.0], [1.0, 0.0]], "tasks": ["south", "north"]}
    items = predict(working, tree, new_rows).json()["items"]
    assert [tree["nodes"][item["leaf"]]["name"] for item in items] == ["south", "north"]
    assert [item["value"] for item in items] == pytest.approx([-2.75, 1.25], abs=1e-3)
    table = list(
        csv.DictReader(io.StringIO(predict(working, tree, new_rows, Accept="text/csv").text))
    )
    assert [float(row["value"]) for row in table] == [item["value"] for item in items]
    job = working.client.get(f"/v1/jobs/{tree['job']}").json()
    assert job["result"]["metrics"]["explained_variance"] > 0.99
    assert "silhouette" not in job["result"].get("curves", {})
    model = working.client.get(f"/v1/models/{job['result']['model']}").json()
    assert model["inputs"] == ["features", "tasks"]


def test_the_error_names_an_unknown_task(working: Working, tree: dict[str, Any]) -> None:
    answer = predict(working, tree, {"features": [[1.0, 0.0]], "tasks": ["east"]})
    assert "'east' at row 0" in problem_of(answer, 422, "unknown-task")["detail"]


def test_classes_that_look_like_formulas_stay_text(working: Working) -> None:
    names = ["=low" if target < 0 else "high" for target in TARGETS]
    classified = fit(
        working, "stl", {**INPUTS, "targets": names}, params={"problem": "classification"}
    )
    new_rows = {"features": INPUTS["features"], "tasks": TASKS}
    items = predict(working, classified, new_rows).json()["items"]
    assert np.mean([item["value"] == name for item, name in zip(items, names, strict=True)]) > 0.9
    assert all(0.5 <= item["value_probability"] <= 1 for item in items)
    rows = csv.DictReader(
        io.StringIO(predict(working, classified, new_rows, Accept="text/csv").text)
    )
    assert {row["value"] for row in rows} == {"'=low", "high"}


@pytest.mark.parametrize(
    ("targets", "code"), [([1.5, None], "missing-value"), ([1.5, "a"], "wrong-input")]
)
def test_invalid_targets(working: Working, targets: list[Any], code: str) -> None:
    inputs = {"features": [[1.0], [2.0]], "tasks": [0, 1], "targets": targets}
    answer = working.client.post("/v1/jobs", json={"method": "stl", "inputs": inputs})
    assert "row 1" in problem_of(answer, 422, code)["detail"]
