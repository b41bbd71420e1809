"""Constraints of pairs of clusters against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.separability.pairs import Moments, Pairs
from models.methods.labelled.supervision.known import KnownClusters
from tests.models.methods.labelled.separability.separability_kit import drawn, literal


def test_moments_are_means_and_covariances() -> None:
    known = drawn(0)
    moments = Moments.of(known)
    for cluster in range(4):
        rows = known.points[known.code == cluster]
        assert moments.covariances[cluster] == pytest.approx(np.cov(rows.T, bias=True))
    assert not moments.covariances[4].any()
    assert moments.means == pytest.approx(known.means - known.means.mean(axis=0))


@pytest.mark.parametrize("gamma", [0.0, 0.7, 30.0])
def test_values_and_sums_are_those_of_the_matrices(gamma: float) -> None:
    known = drawn(1)
    expected = literal(known, gamma)
    expected /= np.linalg.norm(expected, axis=(1, 2))[:, None, None]
    pairs = Pairs(Moments.of(known), gamma)
    rng = np.random.default_rng(2)
    metric = rng.normal(size=(4, 4))
    metric += metric.T
    multipliers = rng.uniform(size=10)
    assert pairs.size == 10
    assert pairs.matrices(np.arange(10)) == pytest.approx(expected)
    assert pairs.values(metric) == pytest.approx(np.einsum("pde,de->p", expected, metric))
    assert pairs.combined(multipliers) == pytest.approx(
        np.einsum("p,pde->de", multipliers, expected)
    )


def test_the_identity_is_enough_up_to_the_least_separation() -> None:
    moments = Moments.of(drawn(3))
    least = moments.least_separation
    assert Pairs(moments, least * (1 - 1e-9)).values(np.eye(4)).min() >= 0.0
    assert Pairs(moments, least * (1 + 1e-9)).values(np.eye(4)).min() < 0.0


def test_clusters_without_spread_are_always_separable() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    moments = Moments.of(KnownClusters(points, np.array([0, 0, 1]), 2))
    assert moments.least_separation == np.inf


def test_two_equal_rows_ask_for_nothing() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    pairs = Pairs(Moments.of(KnownClusters(points, np.array([0, 1, 2, 2]), 3)), 1.0)
    assert pairs.values(np.eye(2))[0] == 0.0
    assert np.isfinite(pairs.values(np.eye(2))).all()
