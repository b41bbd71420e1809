"""EM of Gaussians by rows: the naive one, whoever computes the pieces, and after a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models import registry
from models.clusters import row_sums
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.partitions.gmm import GMMParams
from models.methods.partitions.mixtures import gaussian_rows
from models.methods.partitions.mixtures.gaussian import Covariance, Gaussians
from tests.models.methods.partitions.mixtures.by_rows_kit import assert_same_whoever_computes

METHOD = registry.method("gmm")
KINDS: tuple[Covariance, ...] = ("full", "tied", "diag", "spherical")


def start_of(kind: Covariance, rows: np.ndarray) -> Gaussians:
    """Three Gaussians somewhere among the rows."""
    n_features = rows.shape[1]
    square = np.eye(n_features) * np.array([1.0, 2.0, 3.0])[:, None, None]
    spread: dict[Covariance, Any] = {
        "full": square,
        "tied": square[1],
        "diag": np.diagonal(square, axis1=1, axis2=2),
        "spherical": np.array([1.0, 2.0, 3.0]),
    }
    return Gaussians(kind, np.array([0.5, 0.3, 0.2]), rows[:3].astype(float), spread[kind])


def naive(mixture: Gaussians, rows: np.ndarray, reg_covar: float) -> tuple[Gaussians, float]:
    """The next mixture and the mean log-likelihood, row by row."""
    n_points, n_features = rows.shape
    spreads = {
        "full": lambda k: mixture.covariances[k],
        "tied": lambda k: mixture.covariances,
        "diag": lambda k: np.diag(mixture.covariances[k]),
        "spherical": lambda k: mixture.covariances[k] * np.eye(n_features),
    }
    share, likelihood = np.zeros((n_points, 3)), 0.0
    for i in range(n_points):
        for k in range(3):
            density = multivariate_normal.pdf(rows[i], mixture.means[k], spreads[mixture.kind](k))
            share[i, k] = mixture.weights[k] * density
        likelihood += np.log(share[i].sum())
        share[i] /= share[i].sum()
    size = share.sum(axis=0)
    means = np.array([sum(share[i, k] * rows[i] for i in range(n_points)) for k in range(3)])
    means /= size[:, None]
    own = []
    for k in range(3):
        products = [
            share[i, k] * np.outer(rows[i] - means[k], rows[i] - means[k]) for i in range(n_points)
        ]
        own.append(sum(products))
    square = np.array(own)
    eye = reg_covar * np.eye(n_features)
    each = square / size[:, None, None] + eye
    kinds = {
        "full": each,
        "tied": square.sum(axis=0) / n_points + eye,
        "diag": np.diagonal(each, axis1=1, axis2=2),
        "spherical": np.diagonal(each, axis1=1, axis2=2).mean(axis=1),
    }
    after = Gaussians(mixture.kind, size / n_points, means, kinds[mixture.kind])
    return after, likelihood / n_points


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_an_iteration_is_the_naive_one(kind: Covariance, dtype: str) -> None:
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(60, 3)) * 4 + 30 * rng.integers(2, size=(60, 1))).astype(dtype)
    mixture = start_of(kind, rows)
    cut = [(0, 25), (25, 60)]
    parts = (gaussian_rows.sums_of(ArrayRows(rows), mixture, *share) for share in cut)
    sums = row_sums.total(dict(part) for part in parts)
    found = gaussian_rows.updated(mixture, sums, 0.01)
    truth, likelihood = naive(mixture, rows.astype(float), 0.01)
    for name, array in truth.arrays.items():
        assert found.arrays[name] == pytest.approx(array, rel=1e-9, abs=1e-12)
    assert sums["evidence"][0] / 60 == pytest.approx(likelihood, rel=1e-12)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is clustered as a whole is next to nothing, and shares are short."""
    for name, value in (("WHOLE", 100), ("SAMPLE", 300), ("LARGEST_SAMPLE", 900)):
        monkeypatch.setattr(gaussian_rows, name, value)
    monkeypatch.setattr(row_sums, "LEAST_VALUES", 64)


def groups(n_points: int = 700) -> np.ndarray:
    rng = np.random.default_rng(2)
    centers = np.array([[0, 0, 0], [6, 0, 2], [0, 7, 1]])
    return rng.normal(size=(n_points, 3)) + centers[rng.choice(3, n_points, p=[0.5, 0.3, 0.2])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_lost_workers_and_a_lost_fit_change_no_bit(kind: Covariance) -> None:
    data = Data({"features": ArrayRows(groups().astype(np.float32))})
    params = GMMParams(n_clusters=3, covariance=kind, tol=1e-6, max_iter=12)

    assert_same_whoever_computes(METHOD, data, params)


@pytest.mark.parametrize("choose", [None, "bic"])
@pytest.mark.usefixtures("small")
def test_by_rows_the_same_mixture_is_found(choose: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = groups()
    params = GMMParams(n_clusters=3, tol=1e-8, max_iter=300, choose=choose, max_clusters=4)
    by_rows = METHOD.fit(Data({"features": ArrayRows(rows)}), params)
    (note,) = (text for text in by_rows.warnings if "on a sample of" in text)
    assert "of 700 rows" in note
    monkeypatch.undo()
    whole = METHOD.fit(Data({"features": rows}), params)
    assert by_rows.metrics["log_likelihood"] == pytest.approx(whole.metrics["log_likelihood"])
    for name, array in whole.model.arrays.items():
        assert by_rows.model.arrays[name] == pytest.approx(array, abs=1e-2)


@pytest.mark.usefixtures("small")
def test_a_far_value_and_a_flat_covariance_by_rows_are_refused() -> None:
    rows = groups()
    rows[690, 1] = np.nan
    with pytest.raises(Exception, match="row 690"):
        METHOD.fit(Data({"features": ArrayRows(rows)}), GMMParams(n_clusters=3))
    flat = groups()
    flat[:, 2] = flat[:, 0]
    with pytest.raises(Exception, match="singular with 2 clusters"):
        METHOD.fit(Data({"features": ArrayRows(flat)}), GMMParams(n_clusters=2, reg_covar=0.0))
