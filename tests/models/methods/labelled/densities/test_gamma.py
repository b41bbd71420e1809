"""The likelihood of gamma distributed columns: shapes, the definition, gradients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, softmax
from scipy.stats import gamma as gamma_density

from models.arrays import Float
from models.errors import UsageError
from models.methods.labelled.densities.gamma import (
    LARGEST_SHAPE,
    GammaLikelihood,
    fitted,
    least_entries,
    require_positive,
    shapes,
)
from models.methods.labelled.densities.minimum import Effort
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import silent
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient


def positive(seed: int) -> KnownClusters:
    known = clusters(seed, n_columns=3)
    return KnownClusters(np.exp(0.5 * known.points), known.code, known.n_clusters)


def of(known: KnownClusters) -> GammaLikelihood:
    return GammaLikelihood(known.points, known.code, known.n_clusters)


def mixing(seed: int) -> Float:
    return np.random.default_rng(seed).uniform(0.1, 1.0, size=(3, 3))


@given(st.floats(-6, 4))
def test_a_shape_solves_its_equation(exponent: float) -> None:
    spread = 10.0**exponent
    (shape,) = shapes(np.array([spread]))
    assert np.log(shape) - digamma(shape) == pytest.approx(spread, rel=1e-8)


def likeliest(image: Float, known: KnownClusters) -> tuple[Float, Float]:
    """(K, P) shapes and rates by SciPy's own maximum likelihood."""
    fits = np.array(
        [
            [gamma_density.fit(image[known.code == k, p], floc=0) for p in range(image.shape[1])]
            for k in range(known.n_clusters)
        ]
    )
    return fits[:, :, 0], 1.0 / fits[:, :, 2]


def log_densities(image: Float, shape: Float, rate: Float) -> Float:
    return gamma_density.logpdf(image[:, None], shape, scale=1.0 / rate).sum(axis=2)


def test_the_value_is_the_definition() -> None:
    known, matrix = positive(0), mixing(0)
    image = known.points @ matrix.T
    logs = log_densities(image, *likeliest(image, known))
    own = logs[np.arange(known.code.size), known.code]
    expected = float((np.log(np.exp(logs).sum(axis=1)) - own).sum())
    assert of(known).of_matrix(matrix)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_goes_through_means_and_shapes(seed: int) -> None:
    likelihood, matrix = of(positive(seed)), mixing(seed)
    _, gradient = likelihood.of_matrix(matrix)
    expected = numeric_gradient(likelihood.of_matrix, matrix)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * abs(gradient).max())
    # No length of a row of L changes anything.
    np.testing.assert_allclose((gradient * matrix).sum(axis=1), 0, atol=1e-9 * abs(gradient).max())


def test_the_gradient_for_given_shapes_is_the_corrected_one() -> None:
    known, matrix = positive(1), mixing(1)
    shape = np.random.default_rng(2).uniform(0.5, 5.0, size=(3, 3))
    points, code = known.points, known.code

    def at(matrix: Float) -> tuple[float, Float]:
        shaped = of(known).shaped(points @ matrix.T, shape)
        return shaped.value, shaped.of_rows.T @ points

    _, gradient = at(matrix)
    np.testing.assert_allclose(gradient, numeric_gradient(at, matrix), atol=1e-6)

    # -(a/(L.m)) (n - z) m + (a - 1) J - (a/(L.m)) s + a (L.s)/(L.m)^2 m, of the log likelihood.
    image = points @ matrix.T
    means = np.array([points[code == k].mean(axis=0) for k in range(3)])
    probability = softmax(log_densities(image, shape, shape / (means @ matrix.T)), axis=1)
    excess = np.eye(3)[code] - probability
    literal = np.zeros_like(matrix)
    for k in range(3):
        s = excess[:, k] @ points
        for p in range(3):
            mean, a = matrix[p] @ means[k], shape[k, p]
            j = (excess[:, k] / image[:, p]) @ points
            literal[p] += -(a / mean) * excess[:, k].sum() * means[k] + (a - 1.0) * j
            literal[p] += -(a / mean) * s + a * (matrix[p] @ s) / mean**2 * means[k]
    np.testing.assert_allclose(gradient, -literal, atol=1e-9)


def test_the_derivative_in_shapes() -> None:
    known, matrix = positive(2), mixing(2)
    image, shape = known.points @ matrix.T, np.full((3, 3), 2.0)

    def at(shape: Float) -> tuple[float, Float]:
        shaped = of(known).shaped(image, shape)
        return shaped.value, shaped.of_shapes

    np.testing.assert_allclose(at(shape)[1], numeric_gradient(at, shape), atol=1e-6)


def test_equal_rows_have_the_largest_shape() -> None:
    """A known cluster of one row, or of equal ones, has no spread."""
    points = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [4.0, 2.0]])
    likelihood = GammaLikelihood(points, np.array([0, 0, 1, 1]), 2)
    matrix = np.eye(2) + 0.1
    value, gradient = likelihood.of_matrix(matrix)
    assert np.isfinite(value)
    expected = numeric_gradient(likelihood.of_matrix, matrix)
    np.testing.assert_allclose(gradient, expected, atol=1e-5 * max(abs(gradient).max(), 1))
    (shape,) = shapes(np.array([np.log(LARGEST_SHAPE) - digamma(LARGEST_SHAPE)]))
    assert shape == pytest.approx(LARGEST_SHAPE, rel=1e-6)


def test_columns_that_tell_clusters_by_their_sum_are_added() -> None:
    """Clusters differ in the sum of two columns, of which each row has another share."""
    rng = np.random.default_rng(3)
    code = np.arange(300) % 3
    total, share = rng.gamma(20.0, 1 / 20, 300) * 3.0**code, rng.uniform(size=300)
    points = np.column_stack([total * share, total * (1 - share)])
    minimum = fitted(KnownClusters(points, code, 3), 0.1, Effort(1e-8, 500), silent)
    assert minimum.converged
    assert (np.diff(minimum.objectives) <= 0).all()
    assert (minimum.point >= least_entries(2)).all()
    # One row adds both columns in about equal parts.
    ratio = minimum.point.min(axis=1) / minimum.point.max(axis=1)
    assert ratio.max() > 0.8


@pytest.mark.parametrize("sparse", [False, True])
def test_only_positive_rows_are_taken(sparse: bool) -> None:
    features = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    with pytest.raises(UsageError, match="not above 0 in row 1 ") as caught:
        require_positive(sp.csr_array(features) if sparse else features)
    assert caught.value.where["row"] == 1
    require_positive(sp.csr_array(features + 1) if sparse else features + 1)
