"""tcs-cs on figure 6.1's data and on rows drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.labelled.tcs_cs import TCSCS, TCSCSParams
from tests.models.methods.labelled.bimodal_kit import bimodal, half_known


def fitted(data: Data, **params: Any) -> Fitted:
    return TCSCS().fit(data, TCSCSParams(n_init=5, **params))


def metric_of(result: Fitted) -> np.ndarray:
    """A on rows as they came, up to the scale of preparation."""
    assert result.model is not None
    projection = result.model.arrays["projection"]
    return projection @ projection.T


def scattered(n_clusters: int = 5) -> Data:
    """Clusters apart in three columns of six, spread in all; two more are not labelled."""
    rng = np.random.default_rng(0)
    code = np.arange(20 * (n_clusters + 2)) % (n_clusters + 2)
    means = np.zeros((n_clusters + 2, 6))
    means[:, :3] = 4.0 * rng.normal(size=(n_clusters + 2, 3))
    points = means[code] + rng.normal(size=(code.size, 6)) * [1, 1, 1, 3, 3, 3]
    return Data({"features": points, "labels": np.where(code < n_clusters, code, -1)})


@pytest.mark.parametrize(
    "solver",
    [
        "dual",
        pytest.param("clarabel", marks=pytest.mark.needs("cvxpy", "clarabel")),
        pytest.param("scs", marks=pytest.mark.needs("cvxpy")),
    ],
)
def test_figure_6_1_is_solved_by_a_gamma_that_ends_the_modes(solver: str) -> None:
    # The trace of a cluster's covariance counts the modes' 144, so that A shrinks along them: the
    # means, 4 apart, have 16 a >= 4 (0.5 a + 288 b) for A = diag(a, b), so b <= a / 82, where the
    # modes are 24 / 9 apart.
    data, code = half_known(0)
    result = fitted(data, n_clusters=3, gamma=4.0, solver=solver)
    metric = metric_of(result)
    assert metric[0, 0] > 70 * metric[1, 1]
    cluster = result.logits.argmax(axis=1)
    assert adjusted_rand_score(code[code < 3], cluster[code < 3]) == 1.0


def test_figure_6_1_is_not_solved_by_a_gamma_that_changes_nothing() -> None:
    data, code = half_known(0)
    result = fitted(data, n_clusters=3, gamma=1e-3)
    metric = metric_of(result)
    assert metric == pytest.approx(metric[0, 0] * np.eye(2), rel=1e-9, abs=1e-12)
    assert result.metrics["least_separation"] == pytest.approx(16 / 288, rel=0.1)
    assert adjusted_rand_score(code[code < 3], result.logits.argmax(axis=1)[code < 3]) < 0.5


def test_a_gamma_that_no_metric_keeps_is_refused() -> None:
    # At A = diag(a, 0) gamma is at most 16 / 0.5.
    data, _ = half_known(0)
    with pytest.raises(UsageError, match="transformation is 0") as caught:
        fitted(data, n_clusters=3, gamma=100.0)
    assert caught.value.where == {"parameter": "gamma"}


def test_known_clusters_are_as_separable_as_requested() -> None:
    data = scattered()
    result = fitted(data, n_clusters=2, gamma=1.0)
    metric, points, labels = metric_of(result), data.values["features"], data.values["labels"]
    assert result.metrics["n_active"] >= 1
    assert result.metrics["violation"] <= 1e-6
    for one in range(5):
        for other in range(one):
            first, second = points[labels == one], points[labels == other]
            apart = first.mean(axis=0) - second.mean(axis=0)
            spread = np.cov(first.T, bias=True) + np.cov(second.T, bias=True)
            assert apart @ metric @ apart >= (1 - 1e-5) * np.trace(metric @ spread)


def test_gamma_is_chosen_by_validation_where_four_clusters_are_known() -> None:
    result = fitted(scattered(), n_clusters=2)
    assert "Chosen by validation" in result.warnings[0]
    # Doing nothing, and each of the seven multiples for which A is not 0.
    assert len(result.curves["validation_nmi"]) == 4
    least = result.metrics["least_separation"]
    assert result.metrics["gamma"] / least in (0.0, *(2.0**power for power in range(1, 8)))


def test_gamma_without_validation_is_twice_what_changes_nothing() -> None:
    data, _ = half_known(0)
    result = fitted(data, n_clusters=3)
    assert result.metrics["gamma"] == 2.0 * result.metrics["least_separation"]
    assert "too few to validate" in result.warnings[0]


def test_only_directions_that_known_rows_span_change() -> None:
    # Six known rows of nine columns: the metric is the identity in four directions.
    points = np.random.default_rng(0).normal(size=(20, 9))
    labels = np.append(np.repeat([0, 1], 3), np.full(14, -1))
    result = fitted(Data({"features": points, "labels": labels}), n_clusters=2, gamma=2.0)
    eigenvalues = np.linalg.eigvalsh(metric_of(result))
    unchanged = np.isclose(eigenvalues, np.median(eigenvalues), rtol=1e-9).sum()
    assert 4 <= unchanged < 9


def test_equal_means_leave_nothing_to_try() -> None:
    points, code = bimodal(0, 3, 4)
    points = np.round(points)
    points[4:8] = points[:4]
    data = Data({"features": points, "labels": np.where(code < 2, code, -1)})
    result = fitted(data, n_clusters=1)
    assert "same mean" in result.warnings[0]
    metric = metric_of(result)
    assert metric == pytest.approx(metric[0, 0] * np.eye(2), abs=1e-12)


@pytest.mark.parametrize("gamma", ["auto", 5.0])
def test_known_clusters_without_spread_are_separable_as_they_are(gamma: Any) -> None:
    points, code = bimodal(0, 3, 4)
    points[:4], points[4:8] = points[0], points[4]
    data = Data({"features": points, "labels": np.where(code < 2, code, -1)})
    result = fitted(data, n_clusters=1, gamma=gamma)
    assert np.isfinite(list(result.metrics.values())).all()
    metric = metric_of(result)
    assert metric == pytest.approx(metric[0, 0] * np.eye(2), abs=1e-12)


@pytest.mark.parametrize("gamma", [0.0, -1.0, "largest", float("inf")])
def test_gamma_is_a_positive_number_or_auto(gamma: Any) -> None:
    with pytest.raises(ValueError, match="gamma"):
        TCSCSParams(gamma=gamma)


def test_an_interior_point_that_would_not_fit_is_refused_before_it_starts() -> None:
    # 16 * 200^4 bytes are 25.6 GB.
    shapes, room = {"features": (1000, 200)}, 4_000_000_000
    TCSCS().check_size(shapes, TCSCSParams(solver="dual"), room)
    TCSCS().check_size(shapes, TCSCSParams(solver="clarabel", n_components=30), room)
    with pytest.raises(UsageError, match="'solver'"):
        TCSCS().check_size(shapes, TCSCSParams(solver="clarabel"), room)
