"""Multi-task gHHC on tasks of a planted tree, where it predicts better than single tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.tasks import Planted, explained, planted, recovered
from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.tasks.ghhc_mtl import GHHCMTLParams
from models.methods.tasks.regression import fit as fitting
from models.methods.tasks.regression import joint
from tests.models.methods.tasks.lines_kit import lines
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("ghhc-mtl")


def fit(data: Data, **params: Any) -> Fitted:
    return METHOD.fit(data, GHHCMTLParams(**params))


def data_of(rows: tuple[Any, Any, Any]) -> Data:
    return Data(dict(zip(("features", "targets", "tasks"), rows, strict=True)))


def explained_by(method_id: str, rows: Any, new: Any, **params: Any) -> float:
    used = registry.method(method_id)
    fitted = used.fit(data_of(rows), used.Params(**params))
    questions = Data({"features": new[0], "tasks": new[2]})
    value = used.predict(fitted.model, fitted.tree, questions).columns["value"]
    return explained(value, new[1])


@pytest.mark.parametrize("n_rows", [5, 40])
def test_tasks_of_a_planted_tree_gain_over_tasks_alone(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    tasks = planted(rng)
    rows, new = tasks.rows(n_rows, rng), tasks.rows(100, rng)
    ours = explained_by("ghhc-mtl", rows, new, sharing=30.0, max_iter=100, n_init=0)
    for tuning in ("each", "together"):
        assert ours > explained_by("stl", rows, new, tuning=tuning)


# Weights of 24 tasks: 3 groups of 2 groups of 4, far apart; each of the 9 groups is a node.
def test_a_planted_tree_is_found() -> None:
    rng = np.random.default_rng(0)
    top, sub = np.repeat(np.arange(3), 8), np.repeat(np.arange(6), 4)
    weights = (
        4 * rng.normal(size=(3, 12))[top]
        + 1.5 * rng.normal(size=(6, 12))[sub]
        + 0.1 * rng.normal(size=(24, 12))
    )
    tasks = Planted(weights, [top, sub])
    rows = tasks.rows(40, rng)
    fitted = fit(data_of(rows), sharing=30.0, max_iter=100, n_init=4)
    assert recovered(fitted.tree, tasks, rows[2]) == 1.0
    assert [fitted.tree.name[leaf] for leaf in fitted.tree.leaf_of_point] == [
        str(task) for task in rows[2]
    ]


def test_sharing_and_steps_are_chosen_on_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    monkeypatch.setattr(fitting, "SHARINGS", [10.0, 100.0])
    rows = planted(rng).rows(10, rng)
    fitted = fit(data_of(rows), n_folds=2, max_iter=50, n_init=0, held_out=0.2)
    assert fitted.metrics["sharing"] in (10.0, 100.0)
    assert fitted.metrics["n_steps"] in (0.0, 50.0)
    assert [step for step, _ in fitted.curves["loss_on_folds"]] == [0, 50]
    assert np.isfinite(fitted.metrics["explained_variance"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    own = rng.normal(size=(2, n_classes, 6))[np.arange(8) // 4]
    own = 1.5 * own + 0.2 * rng.normal(size=own.shape)

    def rows(n_rows: int) -> tuple[Any, Any, Any]:
        task = np.repeat(np.arange(8), n_rows)
        features = rng.normal(size=(len(task), 6))
        scores = np.einsum("nkd,nd->nk", own[task], features)
        return features, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), task

    few, new = rows(12), rows(200)
    right = {}
    for method_id, params in (
        ("stl", {}),
        ("ghhc-mtl", {"sharing": 30.0, "max_iter": 50, "n_init": 0}),
    ):
        used = registry.method(method_id)
        fitted = used.fit(data_of(few), used.Params(problem="classification", **params))
        questions = Data({"features": new[0], "tasks": new[2]})
        columns = used.predict(fitted.model, fitted.tree, questions).columns
        right[method_id] = (columns["value"] == new[1]).mean()
        assert (columns["value_probability"] >= 1 / n_classes).all()
    assert right["ghhc-mtl"] > right["stl"]


def test_no_step_is_a_number_of_steps() -> None:
    fitted = fit(lines(), sharing=1.0, max_iter=0, n_init=1)
    assert not fitted.warnings
    assert fitted.metrics["explained_variance_fitted"] > 0.99


def test_two_tasks_make_no_triples() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, 3))
    data = data_of((features, features @ [1.0, 2, 3], np.arange(20) % 2))
    fitted = fit(data)
    assert fitted.tree.parent.tolist() == [-1, 0, 0]
    assert "Fewer than three tasks differ" in fitted.warnings[-1]
    assert fitted.metrics["explained_variance_fitted"] > 0.99


def test_tasks_that_are_copies() -> None:
    rng = np.random.default_rng(0)
    features = np.tile(rng.normal(size=(6, 3)), (4, 1))
    data = data_of((features, features @ [1.0, 2, 3] + 0.1, np.repeat(np.arange(4), 6)))
    fitted = fit(data, sharing=10.0, max_iter=50)
    assert fitted.tree.n_leaves == 4
    assert fitted.metrics["explained_variance_fitted"] > 0.99


def test_tasks_of_one_row_each() -> None:
    fitted = fit(lines(n_rows=1), max_iter=50, n_init=0)
    assert any(
        "the rows do not determine how much tasks share" in warning for warning in fitted.warnings
    )
    assert any("have a single row" in warning for warning in fitted.warnings)


def test_one_task_is_refused() -> None:
    data = lines()
    alone = np.array(["a"] * 80, dtype=object)
    with pytest.raises(UsageError, match="names one task only"):
        fit(Data({**data.values, "tasks": alone}))


def test_a_step_length_that_is_too_long_is_reported_or_harmless() -> None:
    fitted = fit(lines(), sharing=30.0, max_iter=50, learning_rate=1e5, n_init=0)
    assert np.isfinite(METHOD.predict(fitted.model, fitted.tree, lines()).columns["value"]).all()


def test_a_lost_fit_resumes_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SHARINGS", [1.0, 30.0])
    monkeypatch.setattr(joint, "ROUND", 10)
    data = lines(n_rows=5, noise=1.0)
    params = GHHCMTLParams(n_folds=2, max_iter=30, n_init=0)
    kept, stages = MemoryCheckpoint(), []
    whole = METHOD.fit(data, params, checkpoint=kept)

    def watch(fraction: float, stage: str, message: str = "") -> None:
        stages.append(message)

    again = METHOD.fit(data, params, watch, checkpoint=MemoryCheckpoint(kept.states[0]))
    assert not any("sharing" in message for message in stages), (
        "what was chosen is not chosen again"
    )
    np.testing.assert_array_equal(whole.tree.parent, again.tree.parent)
    assert whole.metrics == again.metrics
    assert whole.curves == again.curves
    assert whole.model is not None
    assert again.model is not None
    np.testing.assert_array_equal(
        whole.model.arrays["coefficients"], again.model.arrays["coefficients"]
    )


def test_the_order_of_rows_changes_nothing() -> None:
    data = lines()
    order = np.random.default_rng(0).permutation(80)
    mixed = Data({role: value[order] for role, value in data.values.items()})  # type: ignore[index,call-overload]
    fitted, fitted_to_mixed = (
        fit(rows, sharing=10.0, max_iter=50, n_init=1) for rows in (data, mixed)
    )
    assert fitted.metrics == fitted_to_mixed.metrics
