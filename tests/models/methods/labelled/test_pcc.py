"""The metric in closed form: its minimum, and the shift where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.arrays import Float
from models.inputs.data import Data
from models.method import Fitted
from models.methods.labelled.metric.scatter import pair_scatter
from models.methods.labelled.supervision.known import KnownClusters
from models.metrics.flat import ari, contingency
from models.registry import method
from tests.models.methods.labelled.bimodal_kit import half_known

METHOD = method("pcc")


def fitted(data: Data, **params: Any) -> Fitted:
    return METHOD.fit(data, METHOD.Params(**{"n_clusters": 3, "n_init": 5, **params}))


def metric_and_scatter(data: Data, cross_weight: float = 1.0) -> tuple[Float, Float]:
    """A of rows on the common scale, and M."""
    points, labels = data.dense("features"), np.asarray(data.values["labels"])
    fit = fitted(data, cross_weight=cross_weight)
    assert fit.model is not None
    away = points - points.mean(axis=0)
    scale = np.sqrt(np.square(away).mean())
    rows = np.flatnonzero(labels >= 0)
    _, code = np.unique(labels[rows], return_inverse=True)
    known = KnownClusters(away[rows] / scale, code, int(code.max()) + 1)
    projection = np.asarray(fit.model.arrays["projection"]) * scale
    return projection @ projection.T, pair_scatter(known, cross_weight)


def objective(metric: Float, scatter: Float) -> float:
    return float(np.trace(metric @ scatter) - np.linalg.slogdet(metric)[1])


@pytest.mark.parametrize("cross_weight", [0.0, 0.2, 1.0])
def test_the_gradient_is_0_at_the_answer(cross_weight: float) -> None:
    data, _ = half_known(0)
    metric, scatter = metric_and_scatter(data, cross_weight)
    fit = fitted(data, cross_weight=cross_weight)
    shifted = scatter + fit.metrics["shift"] * np.eye(2)
    assert fit.metrics["objective"] == pytest.approx(objective(metric, shifted))
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = rng.normal(size=(2, 2))
        way = 1e-4 * float(np.linalg.eigvalsh(metric)[0]) * (way + way.T)
        up, down = (objective(metric + step, shifted) for step in (way, -way))
        assert up - down == pytest.approx(0, abs=1e-9)
        assert min(up, down) > objective(metric, shifted)


def test_the_shift_is_the_smallest_that_reaches_the_floor() -> None:
    data, _ = half_known(0)
    _, scatter = metric_and_scatter(data)
    least = float(np.linalg.eigvalsh(scatter)[0])
    assert least < 0
    fit = fitted(data, floor=0.03)
    assert fit.metrics["shift"] == pytest.approx(0.03 - least)
    (note,) = [note for note in fit.warnings if "identity" in note]
    assert f"{fit.metrics['shift']:.4g} times" in note


def test_a_definite_matrix_is_not_shifted() -> None:
    data, _ = half_known(0)
    metric, scatter = metric_and_scatter(data, cross_weight=0.0)
    np.testing.assert_allclose(metric @ scatter, np.eye(2), atol=1e-9)
    fit = fitted(data, cross_weight=0.0)
    assert fit.metrics["shift"] == 0
    assert not any("identity" in note for note in fit.warnings)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_two_modes_are_found(seed: int) -> None:
    data, code = half_known(seed)
    new = code < 3
    cluster = fitted(data).tree.leaf_of_point[new] - 4
    assert ari(contingency(cluster, code[new], 3, 3)) == 1
