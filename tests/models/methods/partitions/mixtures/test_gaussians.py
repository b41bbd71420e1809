"""Mixture densities against SciPy's, for every shape of covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from models.errors import UsageError
from models.methods.partitions.mixtures.gaussian import Covariance, Gaussians

KINDS: tuple[Covariance, ...] = ("full", "tied", "diag", "spherical")


def mixture(kind: Covariance, seed: int = 0, n_clusters: int = 3, n_features: int = 4) -> Gaussians:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_clusters, n_features, n_features))
    full = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(n_features)
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": np.diagonal(full, axis1=1, axis2=2),
        "spherical": full[:, 0, 0],
    }[kind]
    weights = rng.dirichlet(np.ones(n_clusters))
    return Gaussians(kind, weights, rng.normal(size=(n_clusters, n_features)), covariances)


def covariance(of: Gaussians, cluster: int) -> np.ndarray:
    """The whole matrix of one component."""
    n_features = of.means.shape[1]
    if of.kind == "tied":
        return of.covariances
    values = of.covariances[cluster]
    return values if of.kind == "full" else values * np.eye(n_features)


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_is_scipys_density(kind: Covariance, offset: float) -> None:
    gaussians = mixture(kind)
    gaussians.means[:] += offset
    features = np.random.default_rng(1).normal(size=(30, 4)) * 3 + offset
    expected = [
        np.log(gaussians.weights[k])
        + multivariate_normal.logpdf(features, gaussians.means[k], covariance(gaussians, k))
        for k in range(3)
    ]
    assert gaussians.log_joint(features) == pytest.approx(
        np.transpose(expected), rel=1e-7, abs=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_components_are_reordered_with_all_that_is_theirs(kind: Covariance) -> None:
    gaussians, order = mixture(kind), np.array([2, 0, 1])
    features = np.random.default_rng(2).normal(size=(9, 4))
    log_joint = gaussians.reordered(order).log_joint(features)
    assert log_joint == pytest.approx(gaussians.log_joint(features)[:, order], rel=1e-12)
    again = Gaussians.of(kind, gaussians.arrays)
    assert (again.log_joint(features) == gaussians.log_joint(features)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_bic_counts_parameters_as_scikit_learn_does(kind: Covariance) -> None:
    features = np.random.default_rng(3).normal(size=(60, 4))
    library = GaussianMixture(3, covariance_type=kind, random_state=0).fit(features)
    fields = ("weights", "means", "covariances")
    gaussians = Gaussians.of(kind, {name: getattr(library, f"{name}_") for name in fields})
    likelihood = float(library.score_samples(features).sum())
    assert gaussians.bic(likelihood, 60) == pytest.approx(library.bic(features))


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_variance_is_what_earlier_features_leave(kind: Covariance) -> None:
    gaussians = mixture(kind)
    variances = gaussians.least_variance()
    shared = kind == "tied"
    assert len(variances) == (1 if shared else 3)
    for at, least in enumerate(variances):
        whole = covariance(gaussians, at)
        left = [whole[0, 0]]
        for last in range(1, 4):
            before, with_it = whole[:last, :last], whole[:last, last]
            left.append(whole[last, last] - with_it @ np.linalg.solve(before, with_it))
        assert least == pytest.approx(min(left))


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_is_not_finite_is_named(kind: Covariance) -> None:
    features = np.zeros((6, 4))
    features[4, 2] = np.nan
    with pytest.raises(UsageError, match="NaN at row 4, column 2"):
        mixture(kind).log_joint(features)
