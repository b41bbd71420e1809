"""`rmlr` against the objective's minimum, and each bound against its definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Checkpoint, Fitted
from models.methods.classifiers.softmax import objective as objective_module
from models.methods.classifiers.softmax.bounds import BOUNDS
from models.methods.classifiers.softmax.objective import Effort, Minimum, SoftmaxObjective
from models.methods.classifiers.softmax.sweeps import Acceleration, Anderson, descend
from models.registry import method
from models.running import budget
from models.running.progress import silent
from tests.models.methods.classifiers.softmax.softmax_kit import (
    CERTIFIED,
    literal_bound,
    literal_objective,
    problem,
    real_rows,
)
from umbel.testing.examples import assert_same
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

RMLR = method("rmlr")
ACCELERATIONS: tuple[Acceleration, ...] = ("none", "centering", "anderson")
EXACT = ("log-concavity", "admm", "lbfgs")


def small_data(seed: int = 0, **changes: Any) -> tuple[Data, SoftmaxObjective]:
    objective = problem(seed, **changes)
    return Data({"features": objective.design[:, :-1], "labels": objective.code}), objective


def fit(data: Data, checkpoint: Checkpoint | None = None, **params: Any) -> Fitted:
    return RMLR.fit(data, RMLR.Params(**params), checkpoint=checkpoint)


def weights_of(fitted: Fitted) -> np.ndarray:
    assert fitted.model is not None
    return fitted.model.arrays["weights"].astype(np.float64)


def descended(objective: SoftmaxObjective, name: str, acceleration: Acceleration) -> Minimum:
    effort = Effort(1e-9, 2000)
    return descend(objective, BOUNDS[name], acceleration, effort, silent, Checkpoint())


def values(fitted: Fitted, curve: str) -> np.ndarray:
    return np.array([value for _, value in fitted.curves[curve]])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("bound", EXACT)
def test_it_ends_at_the_weights_of_softmax_regression(bound: str, n_classes: int) -> None:
    data, objective = small_data(n_classes=n_classes)
    mlr = method("mlr")
    softmax = mlr.fit(data, mlr.Params(C=objective.C, tol=1e-10))
    fitted = fit(data, C=objective.C, bound=bound, tol=1e-10)
    assert fitted.warnings == ()
    np.testing.assert_allclose(weights_of(fitted), weights_of(softmax), atol=1e-4)
    expected = literal_objective(objective, weights_of(softmax))
    assert fitted.metrics["objective"] == pytest.approx(expected, rel=1e-9)
    assert fitted.metrics["bound"] == pytest.approx(expected, rel=1e-9)
    assert fitted.metrics["gap"] <= 1e-10
    assert values(fitted, "objective")[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("acceleration", ACCELERATIONS)
@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_bound_is_the_printed_one_and_never_rises(
    name: str, acceleration: Acceleration, seed: int
) -> None:
    data, objective = small_data(seed, n_classes=5, C=3.0)
    fitted = fit(data, C=3.0, bound=name, acceleration=acceleration, tol=1e-9)
    curve = values(fitted, "bound")
    assert len(curve) > 6
    assert (np.diff(curve) <= 1e-12 * np.abs(curve[:-1])).all()
    minimum = descended(objective, name, acceleration)
    tightened = BOUNDS[name].tightened(objective, minimum.weights, np.zeros(40), np.zeros(40))
    printed = literal_bound(objective, name, minimum.weights, tightened.shift)
    assert minimum.value == pytest.approx(printed, rel=1e-9)
    true = literal_objective(objective, minimum.weights)
    assert minimum.objective == pytest.approx(true, rel=1e-9)
    if name == "log-concavity":
        assert minimum.value == pytest.approx(minimum.objective, rel=1e-9)
    else:
        assert minimum.value > minimum.objective


@pytest.mark.parametrize("name", BOUNDS)
def test_accelerations_end_alike_in_fewer_sweeps(name: str) -> None:
    objective = problem(n_rows=80, n_classes=5, C=5.0)
    ends = [descended(objective, name, acceleration) for acceleration in ACCELERATIONS]
    assert all(end.converged for end in ends)
    for end in ends[1:]:
        assert end.value == pytest.approx(ends[0].value, rel=1e-8)
        np.testing.assert_allclose(end.weights, ends[0].weights, atol=1e-2)
    plain, centered, mixed = (end.n_iter for end in ends)
    assert mixed <= centered < plain / 2


def test_double_majorization_is_at_the_least_of_its_bound_and_says_that_it_is_loose() -> None:
    data, objective = small_data(n_classes=4)
    fitted = fit(data, C=objective.C, bound="double-majorization", tol=1e-9)
    exact = fit(data, C=objective.C, tol=1e-9)
    assert fitted.metrics["bound"] > fitted.metrics["objective"] > exact.metrics["objective"]
    assert "loose" in fitted.warnings[-1]
    minimum = descended(objective, "double-majorization", "anderson")
    tight = BOUNDS["double-majorization"].tightened
    rng = np.random.default_rng(1)
    for scale in (1e-2, 1e-1):
        weights = minimum.weights + scale * rng.normal(size=minimum.weights.shape)
        shift = tight(objective, weights, np.zeros(40), np.zeros(40)).shift
        assert literal_bound(objective, "double-majorization", weights, shift) > minimum.value


@pytest.mark.parametrize("acceleration", ["none", "anderson"])
@pytest.mark.parametrize("bound", [*BOUNDS, "admm", "lbfgs"])
def test_what_has_not_converged_says_so(bound: str, acceleration: str) -> None:
    data, _ = small_data(n_classes=4)
    fitted = fit(data, bound=bound, acceleration=acceleration, max_iter=2, tol=1e-9)
    assert "Not converged after 2 iteration(s)" in fitted.warnings[0]
    assert fitted.metrics["n_iter"] == 2
    assert fitted.metrics["gap"] > 1e-9
    ended = fit(data, bound=bound, acceleration="anderson", tol=1e-9)
    assert not any("Not converged" in warning for warning in ended.warnings)
    distance = fitted.metrics["bound"] - ended.metrics["bound"]
    assert 0 < distance <= fitted.metrics["gap"] * fitted.metrics["bound"]


@pytest.mark.parametrize("bound", [*BOUNDS, "admm", "lbfgs"])
def test_sparse_rows_give_the_same_as_dense_ones(bound: str) -> None:
    data, _ = small_data(n_rows=50, n_columns=6)
    features = data.values["features"]
    assert isinstance(features, np.ndarray)
    features[np.abs(features) < 0.7] = 0.0
    features[:, 0] += 0.01
    dense = fit(data, bound=bound, tol=1e-10)
    sparse = fit(Data({**data.values, "features": sp.csr_array(features)}), bound=bound, tol=1e-10)
    np.testing.assert_allclose(weights_of(sparse), weights_of(dense), atol=1e-4)
    assert sparse.metrics["bound"] == pytest.approx(dense.metrics["bound"], rel=1e-9)


@pytest.mark.parametrize("bound", [*BOUNDS, "lbfgs"])
def test_classes_in_many_blocks_give_the_same(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = small_data(n_classes=5)
    whole = fit(data, bound=bound, tol=1e-10)
    monkeypatch.setattr(objective_module, "BLOCK", 80)
    blocks = fit(data, bound=bound, tol=1e-10)
    np.testing.assert_allclose(weights_of(blocks), weights_of(whole), atol=1e-4)


@pytest.mark.parametrize("bound", [*BOUNDS, "admm", "lbfgs"])
def test_certain_classes_and_large_values_do_no_harm(bound: str) -> None:
    """Separable classes with hardly any penalty, features of very different size."""
    rng = np.random.default_rng(0)
    code = np.arange(30) % 3
    features = np.column_stack([code * 2000.0 + rng.normal(size=30), 1e-3 * rng.normal(size=30)])
    fitted = fit(Data({"features": features, "labels": code}), bound=bound, C=1e6, max_iter=60)
    assert np.isfinite(weights_of(fitted)).all()
    assert np.isfinite(list(fitted.metrics.values())).all()
    if "bound" in fitted.curves:
        curve = values(fitted, "bound")
        assert (np.diff(curve) <= 1e-12 * curve[0]).all()


@pytest.mark.parametrize("acceleration", ["none", "anderson"])
@pytest.mark.parametrize("bound", [*BOUNDS, "admm", "lbfgs"])
def test_a_lost_fit_resumes_and_ends_the_same(
    bound: str, acceleration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective_module, "ROUND", 5)
    data, _ = small_data(n_classes=5, n_rows=80, C=3.0)
    params = {"bound": bound, "acceleration": acceleration, "tol": 1e-9, "max_iter": 40}
    whole = MemoryCheckpoint()
    expected = fit(data, whole, **params)
    assert len(whole.states) >= 3
    for n_saved in (1, 3, len(whole.states)):
        lost = MemoryCheckpoint(lost_after=n_saved)
        with pytest.raises(WorkerLost):
            fit(data, lost, **params)
        again = MemoryCheckpoint(lost.state)
        assert_same(fit(data, again, **params), expected)
        assert len(again.states) <= len(whole.states) - n_saved + 1


def test_an_extrapolation_that_fails_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    def astray(steps: Anderson, point: np.ndarray, image: np.ndarray) -> np.ndarray:
        return image + 0.5 * np.random.default_rng(0).normal(size=image.size)

    objective = problem(n_classes=4)
    expected = descended(objective, "log-concavity", "centering")
    monkeypatch.setattr(Anderson, "mixed", astray)
    ended = descended(objective, "log-concavity", "anderson")
    assert ended.converged
    assert ended.value == pytest.approx(expected.value, rel=1e-8)
    curve = np.array([value for _, value in ended.curves["bound"]])
    assert (np.diff(curve) <= 1e-12 * np.abs(curve[:-1])).all()
    assert len(curve) < 2 * ended.n_iter, "no sweep was undone"


def test_too_many_weights_are_refused_with_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = small_data(n_classes=10)
    for bound in ("lbfgs", "admm", "log-concavity"):
        # The base's own estimate, of the features alone, is passed.
        room = 16 * 40 * 4 / budget.USABLE + 1
        monkeypatch.setattr(budget, "available", lambda room=room: int(room))
        with pytest.raises(UsageError) as caught:
            fit(data, bound=bound)
        assert caught.value.code == "too-large"


@pytest.mark.parametrize("bound", ["log-concavity", "lbfgs"])
@pytest.mark.parametrize("name", ["glass", "vehicle", "segment"])
def test_certified_optima(name: str, bound: str, real_data: Callable[[str], Path]) -> None:
    features, labels = real_rows(name, real_data)
    fitted = fit(Data({"features": features, "labels": labels}), bound=bound)
    assert fitted.metrics["objective"] == pytest.approx(CERTIFIED[name], rel=1e-6)
    assert fitted.warnings == ()


def test_plain_sweeps_on_glass(real_data: Callable[[str], Path]) -> None:
    """To 1e-4 within 300 sweeps without acceleration."""
    features, labels = real_rows("glass", real_data)
    data = Data({"features": features, "labels": labels})
    fitted = fit(data, acceleration="none", max_iter=300)
    reached = values(fitted, "objective") <= CERTIFIED["glass"] * (1 + 1e-4)
    assert reached.any()
    assert fitted.metrics["n_iter"] == 300
    assert "Not converged" in fitted.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["log-concavity", "lbfgs"])
def test_the_certified_optimum_of_medical_images(
    bound: str, real_data: Callable[[str], Path]
) -> None:
    features, labels = real_rows("ImCLEF07A", real_data)
    fitted = fit(Data({"features": features, "labels": labels}), bound=bound)
    assert fitted.metrics["objective"] == pytest.approx(CERTIFIED["ImCLEF07A"], rel=1e-6)
