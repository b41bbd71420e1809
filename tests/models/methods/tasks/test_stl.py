"""Single-task learning: its results, refusals, and warnings of odd tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.tasks.stl import STLParams
from tests.models.methods.tasks.lines_kit import lines

METHOD = registry.method("stl")


def fit(data: Data, **params: Any) -> Fitted:
    return METHOD.fit(data, STLParams(**params))


# The tasks' regressors, and the tree by average linkage over them:
#
#        root
#       /    \
#      .      .
#     / \    / \
#    a   b  c   d
def test_regressors_and_their_tree() -> None:
    data = lines()
    fitted = fit(data)
    assert fitted.model is not None
    np.testing.assert_allclose(
        fitted.model.arrays["coefficients"][:, 0],
        [[1, 0.2], [1.1, 0.2], [-3, 0.1], [-3, 0.11]],
        atol=0.06,
    )
    tree = fitted.tree
    leaf = {tree.name[node]: int(node) for node in tree.leaves}
    assert tree.parent[leaf["a"]] == tree.parent[leaf["b"]]
    assert tree.parent[leaf["c"]] == tree.parent[leaf["d"]]
    assert [tree.name[node] for node in tree.leaf_of_point] == data.values["tasks"].tolist()
    assert fitted.metrics["explained_variance_fitted"] > 0.99
    assert "explained_variance" not in fitted.metrics


def test_new_rows_need_their_task_and_no_target() -> None:
    data = lines()
    fitted = fit(data)
    new = lines(n_rows=5, noise=0.0, seed=1)
    rows = Data({role: new.values[role] for role in ("features", "tasks")})
    predictions = METHOD.predict(fitted.model, fitted.tree, rows)
    assert np.abs(predictions.columns["value"] - new.values["targets"]).max() < 0.5
    assert (predictions.probability == 1.0).all()
    unknown = Data({**rows.values, "tasks": np.array(["a", "x"] * 10, dtype=object)})
    with pytest.raises(UsageError, match=r"'x' at row 1 .* it knows 'a', 'b', 'c', 'd'") as caught:
        METHOD.predict(fitted.model, fitted.tree, unknown)
    assert (caught.value.code, caught.value.where) == ("unknown-task", {"role": "tasks", "row": 1})
    with pytest.raises(UsageError, match="needs the input 'tasks'"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": new.values["features"]}))
    narrow = Data({**rows.values, "features": new.values["features"][:, :1]})
    with pytest.raises(UsageError, match="1 columns"):
        METHOD.predict(fitted.model, fitted.tree, narrow)


@pytest.mark.parametrize(
    "method", ["stl", "mtrl", pytest.param("ghhc-mtl", marks=pytest.mark.needs("torch"))]
)
def test_leaves_are_called_by_the_names_of_tasks(method: str) -> None:
    used = registry.method(method)
    data = lines(n_rows=12)
    params = used.Params(**used.example)
    names = ["first", "second", "third", "fourth"]
    plain = used.fit(data, params)
    tree = used.fit(Data({**data.values, "names": names}), params).tree
    tasks = sorted(set(np.asarray(data.values["tasks"]).tolist()))
    called = {str(task): name for task, name in zip(tasks, names, strict=True)}
    before = plain.tree.name[plain.tree.leaf_of_point]
    assert tree.name[tree.leaf_of_point].tolist() == [called[name] for name in before]


def test_rows_kept_out_are_measured_and_still_placed() -> None:
    fitted = fit(lines(noise=1.0), held_out=0.25)
    assert 0.5 < fitted.metrics["explained_variance"] < 1
    assert fitted.tree.n_points == 80
    whole = fit(lines(noise=1.0))
    assert whole.metrics["explained_variance_fitted"] > fitted.metrics["explained_variance"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes: int) -> None:
    data = lines(n_rows=30)
    targets = data.values["targets"]
    cuts = np.quantile(targets, np.arange(1, n_classes) / n_classes)  # type: ignore[arg-type]
    names = np.array(["low", "high", "middle"], dtype=object)
    data = Data({**data.values, "targets": names[np.searchsorted(cuts, targets)]})  # type: ignore[arg-type]
    fitted = fit(data, problem="classification", held_out=0.2)
    assert fitted.metrics["classification_accuracy"] > 0.8
    assert -0.6 < fitted.metrics["held_out_log_likelihood"] < 0
    columns = METHOD.predict(fitted.model, fitted.tree, data).columns
    assert (columns["value"] == data.values["targets"]).mean() > 0.9
    assert (columns["value_probability"] >= 1 / n_classes).all()


def test_odd_tasks_are_reported() -> None:
    data = lines(n_rows=5)
    features, tasks = data.values["features"], data.values["tasks"].copy()  # type: ignore[union-attr]
    targets = data.values["targets"].copy()  # type: ignore[union-attr]
    tasks[0] = "alone"
    targets[tasks == "b"] = 7.0
    fitted = fit(Data({"features": features, "targets": targets, "tasks": tasks}))
    assert len(fitted.warnings) == 2
    assert "'alone' have a single row" in fitted.warnings[0]
    assert "'b' have the same target in every row" in fitted.warnings[1]
    classes = np.where(tasks == "b", 1, np.arange(20) // 4 % 2)
    data = Data({"features": features, "targets": classes, "tasks": tasks})
    warning = fit(data, problem="classification").warnings[1]
    assert "Task(s) 'b' have rows of one class only" in warning


def test_a_constant_column_has_no_weight() -> None:
    data = lines()
    features = np.hstack([data.values["features"], np.full((80, 1), 3.3)])  # type: ignore[list-item]
    fitted = fit(Data({**data.values, "features": features}))
    assert fitted.model is not None
    np.testing.assert_allclose(fitted.model.arrays["coefficients"][:, :, 2], 0.0, atol=1e-9)
