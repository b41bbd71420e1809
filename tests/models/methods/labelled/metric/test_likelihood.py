"""The conditional likelihood of Gaussian clusters against its literal pairs."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.supervision.inputs import KnownClusters
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient


def semidefinite(seed: int, n_columns: int = 4) -> Float:
    root = np.random.default_rng(seed).normal(size=(n_columns, n_columns))
    return np.asarray(root @ root.T) / n_columns


def literal(known: KnownClusters, metric: Float, weight: Float) -> tuple[float, Float]:
    """Minus the log likelihood and its gradient, pair by pair: 1/2 sum (y - p) d d'."""
    value, gradient = 0.0, np.zeros_like(metric)
    for row, code, share in zip(known.points, known.code, weight, strict=True):
        away = row - known.means
        density = np.array([np.exp(-0.5 * d @ metric @ d) for d in away])
        density /= density.sum()
        value -= share * np.log(density[code])
        for cluster, d in enumerate(away):
            excess = float(cluster == code) - density[cluster]
            gradient += 0.5 * share * excess * np.outer(d, d)
    return value, gradient


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_literal_pairs(seed: int, weighted: bool) -> None:
    known, metric = clusters(seed), semidefinite(seed)
    weight = np.random.default_rng(seed).uniform(size=known.code.size)
    weight = weight if weighted else np.ones_like(weight)
    likelihood = ConditionalLikelihood(
        known.points, known.code, known.n_clusters, weight if weighted else None
    )
    value, gradient = likelihood.of_matrix(metric)
    expected, slope = literal(known, metric, weight)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-10)
    diagonal = np.diag(metric).copy()
    value, along = likelihood.of_diagonal(diagonal)
    expected, slope = literal(known, np.diag(diagonal), weight)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(along, np.diag(slope), atol=1e-10)


def test_gradients_by_finite_differences() -> None:
    known, metric = clusters(4), semidefinite(4)
    likelihood = ConditionalLikelihood(known.points, known.code, known.n_clusters)
    numeric = numeric_gradient(likelihood.of_matrix, metric)
    gradient = likelihood.of_matrix(metric)[1]
    # As a function of all matrices, whose symmetric part counts.
    np.testing.assert_allclose(gradient, 0.5 * (numeric + numeric.T), atol=1e-6)
    diagonal = np.diag(metric).copy()
    numeric = numeric_gradient(likelihood.of_diagonal, diagonal)
    np.testing.assert_allclose(likelihood.of_diagonal(diagonal)[1], numeric, atol=1e-6)


def test_far_clusters_do_not_overflow() -> None:
    points = np.array([[0.0], [1.0], [1e4], [1e4 + 1]])
    likelihood = ConditionalLikelihood(points, np.array([0, 0, 1, 1]), 2)
    value, gradient = likelihood.of_matrix(np.eye(1))
    assert value == pytest.approx(0, abs=1e-9)
    assert np.isfinite(gradient).all()


def test_rows_in_single_precision_have_exact_gradients() -> None:
    known = clusters(5)
    rows = known.points.astype(np.float32)
    single, exact = (
        ConditionalLikelihood(points, known.code, known.n_clusters)
        for points in (rows, rows.astype(np.float64))
    )
    np.testing.assert_array_equal(single.of_matrix(np.eye(4))[1], exact.of_matrix(np.eye(4))[1])
