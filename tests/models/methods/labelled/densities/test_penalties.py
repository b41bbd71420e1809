"""What holds a transformation: the definitions and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.densities.penalties import PENALTIES, penalized
from tests.models.methods.labelled.gradient_kit import numeric_gradient

MATRIX = np.eye(3) + 0.3 * np.random.default_rng(0).normal(size=(3, 3))
DIAGONAL = np.array([0.5, -2.0, 1.5])


def test_the_values_are_the_definitions() -> None:
    for matrix in (MATRIX, np.diag(DIAGONAL)):
        metric = matrix.T @ matrix
        assert PENALTIES["identity"](matrix)[0] == pytest.approx(((matrix - np.eye(3)) ** 2).sum())
        expected = np.trace(metric) - np.log(np.linalg.det(metric))
        assert PENALTIES["logdet"](matrix)[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", PENALTIES)
def test_gradients_and_diagonals(name: str) -> None:
    penalty = PENALTIES[name]
    for point in (MATRIX, DIAGONAL):
        np.testing.assert_allclose(
            penalty(point)[1], numeric_gradient(penalty, point), rtol=1e-6, atol=1e-6
        )
    assert penalty(DIAGONAL)[0] == pytest.approx(penalty(np.diag(DIAGONAL))[0])


@pytest.mark.parametrize("singular", [np.array([1.0, 0.0]), np.diag([1.0, 0.0])])
def test_a_singular_transformation_is_infinitely_far_by_logdet(singular: np.ndarray) -> None:
    assert PENALTIES["logdet"](singular)[0] == np.inf


def test_a_loss_and_its_penalty() -> None:
    objective = penalized(PENALTIES["logdet"], PENALTIES["identity"], 3.0)
    value, gradient = objective(MATRIX)
    expected = PENALTIES["logdet"](MATRIX)[0] + 3.0 * PENALTIES["identity"](MATRIX)[0]
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, numeric_gradient(objective, MATRIX), rtol=1e-6)
