"""The likelihood of directions: the definition, the gradient, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float
from models.errors import UsageError
from models.methods.labelled.densities.minimum import Effort
from models.methods.labelled.densities.vmf import DirectionLikelihood, fitted, require_directions
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import silent
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient

EFFORT = Effort(1e-8, 500)


def of(known: KnownClusters, kappa: float = 10.0) -> DirectionLikelihood:
    return DirectionLikelihood(known.points, known.code, known.n_clusters, kappa)


def literal(known: KnownClusters, matrix: Float, kappa: float) -> float:
    turned = [matrix @ row / np.linalg.norm(matrix @ row) for row in known.points]
    means = []
    for cluster in range(known.n_clusters):
        total = sum(n for n, code in zip(turned, known.code, strict=True) if code == cluster)
        means.append(total / np.linalg.norm(total))
    value = 0.0
    for n, code in zip(turned, known.code, strict=True):
        density = [np.exp(kappa * mean @ n) for mean in means]
        value -= np.log(density[code] / sum(density))
    return float(value)


@pytest.mark.parametrize("kappa", [1.0, 10.0])
def test_the_value_is_the_definition(kappa: float) -> None:
    known = clusters(0)
    matrix = np.random.default_rng(1).normal(size=(2, 4))
    value, _ = of(known, kappa).of_matrix(matrix)
    assert value == pytest.approx(literal(known, matrix, kappa), rel=1e-12)
    diagonal = np.array([0.5, -1.0, 2.0, 0.1])
    value, _ = of(known, kappa).of_diagonal(diagonal)
    assert value == pytest.approx(literal(known, np.diag(diagonal), kappa), rel=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (2, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_goes_through_the_mean_directions(seed: int, shape: tuple[int, int]) -> None:
    likelihood = of(clusters(seed))
    matrix = np.random.default_rng(seed).normal(size=shape)
    _, gradient = likelihood.of_matrix(matrix)
    expected = numeric_gradient(likelihood.of_matrix, matrix)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * abs(gradient).max())
    # No length of L changes anything.
    assert np.vdot(gradient, matrix) == pytest.approx(0, abs=1e-9 * abs(gradient).max())


def test_the_gradient_of_a_diagonal() -> None:
    likelihood, diagonal = of(clusters(0)), np.array([0.5, 1.0, 2.0, 0.1])
    _, gradient = likelihood.of_diagonal(diagonal)
    expected = numeric_gradient(likelihood.of_diagonal, diagonal)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * abs(gradient).max())
    _, whole = likelihood.of_matrix(np.diag(diagonal))
    np.testing.assert_allclose(gradient, np.diag(whole), atol=1e-9 * abs(whole).max())


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("penalty", ["identity", "logdet"])
def test_the_objective_never_rises_and_ends_at_a_stationary_point(
    penalty: str, diagonal: bool
) -> None:
    known = clusters(3, n_rows=100)
    minimum = fitted(known, 10.0, diagonal, penalty, 1.0, EFFORT, silent)
    assert minimum.converged
    assert (np.diff(minimum.objectives) <= 0).all()
    assert minimum.objectives[-1] < minimum.objectives[0] - 1
    if penalty == "identity" and not diagonal:
        # No rotation of L changes the likelihood, and the symmetric one is nearest to I.
        np.testing.assert_allclose(minimum.point, minimum.point.T, atol=1e-3)


def test_columns_that_tell_clusters_by_their_angle_are_stretched() -> None:
    rng = np.random.default_rng(4)
    code = np.arange(120) % 3
    angle = 2 * np.pi * code / 3 + rng.normal(0, 0.3, 120)
    noise = rng.normal(size=(120, 2))
    points = np.column_stack([np.cos(angle), np.sin(angle), noise])
    diagonal = fitted(KnownClusters(points, code, 3), 10.0, True, "identity", 0.01, EFFORT, silent)
    assert abs(diagonal.point[:2]).min() > 3 * abs(diagonal.point[2:]).max()


def test_directions_that_cancel_out_are_refused() -> None:
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    likelihood = DirectionLikelihood(points, np.array([0, 0, 1, 1]), 2, 10.0)
    with pytest.raises(UsageError, match="known cluster 0"):
        likelihood.of_matrix(np.eye(2))


def test_rows_turned_to_zeros_are_refused() -> None:
    likelihood = DirectionLikelihood(np.eye(2), np.array([0, 1]), 2, 10.0)
    with pytest.raises(UsageError, match="turns a known row to zeros"):
        likelihood.of_diagonal(np.array([1.0, 0.0]))


def test_rows_without_a_direction_are_refused() -> None:
    with pytest.raises(UsageError, match="one column"):
        require_directions(np.ones((3, 1)))
    with pytest.raises(UsageError, match="Row 1 ") as caught:
        require_directions(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert caught.value.where["row"] == 1
    require_directions(np.eye(2))
