"""Local minima by L-BFGS: the minimum, bounds, how they end.

What holds a transformation: the definitions and their gradients.
"""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float
from models.errors import Cancelled
from models.methods.labelled.densities.minimum import PENALTIES, Effort, local_minimum, penalized
from models.running.progress import silent
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


START = np.array([[-1.2, 1.0], [-1.0, 2.0]])


def rosenbrock(point: Float) -> tuple[float, Float]:
    """Values and gradients by row; the minimum is at ones."""
    x, y = point.T
    steep = y - x * x
    gradient = np.stack([-400.0 * x * steep - 2.0 * (1.0 - x), 200.0 * steep], axis=1)
    return float((100.0 * steep**2 + (1.0 - x) ** 2).sum()), gradient


def test_the_minimum_of_a_curved_valley() -> None:
    minimum = local_minimum(rosenbrock, START, effort=Effort(1e-12, 1000), progress=silent)
    assert minimum.converged
    assert minimum.warnings == ()
    np.testing.assert_allclose(minimum.point, np.ones((2, 2)), atol=1e-4)
    assert (np.diff(minimum.objectives) <= 0).all()
    assert minimum.objectives[0] == rosenbrock(START)[0]
    assert minimum.objectives[-1] == pytest.approx(rosenbrock(minimum.point)[0])


def test_bounds_hold() -> None:
    least = np.array([[-2.0, 2.0], [-2.0, -2.0]])
    start = np.array([[-1.2, 2.0], [0.0, 0.0]])
    effort = Effort(1e-12, 1000)
    minimum = local_minimum(rosenbrock, start, least=least, effort=effort, progress=silent)
    assert (minimum.point >= least).all()
    assert minimum.point[0, 1] == 2.0
    np.testing.assert_allclose(minimum.point[1], 1.0, atol=1e-4)


def test_an_end_before_the_minimum_is_a_warning() -> None:
    minimum = local_minimum(rosenbrock, START, effort=Effort(1e-12, 3), progress=silent)
    assert not minimum.converged
    (warning,) = minimum.warnings
    assert "Not converged after 3 steps" in warning


def test_a_cancelled_fit_ends() -> None:
    def cancelled(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        local_minimum(rosenbrock, START, effort=Effort(1e-12, 100), progress=cancelled)
