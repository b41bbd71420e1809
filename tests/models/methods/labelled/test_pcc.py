"""The metric in closed form: its minimum, and the shift where there is none.

Means over rows and pairs, by the double loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.arrays import Float
from models.inputs.data import Data
from models.method import Fitted
from models.methods.labelled.pcc import pair_scatter
from models.methods.labelled.supervision.inputs import KnownClusters
from models.metrics.flat import ari, contingency
from models.registry import method
from tests.models.methods.labelled.bimodal_kit import half_known


def literal(known: KnownClusters, cross_weight: float) -> Float:
    points, code = known.points, known.code
    means = [points[code == k].mean(axis=0) for k in range(known.n_clusters)]
    about_means = [np.outer(x - means[k], x - means[k]) for x, k in zip(points, code, strict=True)]
    same: list[Float] = []
    cross: list[Float] = []
    for i in range(code.size):
        for j in range(i + 1, code.size):
            product = np.outer(points[i] - points[j], points[i] - points[j])
            (same if code[i] == code[j] else cross).append(product)
    mean = [np.mean(products, axis=0) for products in (about_means, same, cross)]
    return np.asarray(mean[0] + mean[1] - cross_weight * mean[2])


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=4).filter(lambda sizes: max(sizes) > 1),
    st.integers(1, 4),
    st.floats(0, 3),
)
def test_the_scatter_is_that_of_all_pairs(
    sizes: list[int], n_columns: int, cross_weight: float
) -> None:
    rng = np.random.default_rng(sum(sizes))
    code = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    points = rng.normal(size=(code.size, n_columns)) + 3.0 * code[:, None]
    known = KnownClusters(points, code, len(sizes))
    before = points.copy()
    scatter = pair_scatter(known, cross_weight)
    assert scatter == pytest.approx(literal(known, cross_weight), rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(points, before)


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
