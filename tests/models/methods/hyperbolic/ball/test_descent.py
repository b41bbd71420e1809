"""Steps on the ball against the equations."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.hyperbolic.ball.descent import Descent
from models.numerics import poincare
from tests.models.methods.hyperbolic.ball.points_kit import scattered

pytestmark = pytest.mark.needs("torch")


def test_a_step_is_eq_18_to_20() -> None:
    points, gradient = scattered(6, 3, 0), 0.01 * scattered(6, 3, 1)
    moved = points.clone()
    Descent(moved, "sgd", 0.5, 0.95).step(gradient)
    for before, slope, after in zip(points, gradient, moved, strict=True):
        expected = before - 0.5 * (1 - float(before @ before)) ** 2 / 4 * slope
        assert after.numpy() == pytest.approx(expected.numpy(), rel=1e-14)


@pytest.mark.parametrize("kind", ["sgd", "adam"])
@pytest.mark.parametrize("max_norm", [0.95, 0.99999])
def test_a_step_out_of_the_ball_is_brought_back_on_its_ray(kind: str, max_norm: float) -> None:
    """The printed formula takes eps from each coordinate, which leaves the ray."""
    points = scattered(6, 3, 0).float()
    moved = points.clone()
    Descent(moved, kind, 1e6, max_norm).step(-points)
    length = moved.double().norm(dim=1)
    assert (length <= max_norm).all()
    assert length.numpy() == pytest.approx(max_norm, rel=1e-5)
    cosine = (moved * points).sum(dim=1) / moved.norm(dim=1) / points.norm(dim=1)
    assert cosine.numpy() == pytest.approx(1.0, rel=1e-5)


def test_adam_is_the_definition() -> None:
    points = scattered(4, 3, 0)
    slopes = [scattered(4, 3, seed) for seed in range(1, 6)]
    moved = points.clone()
    adam = Descent(moved, "adam", 0.02, 0.95)
    for slope in slopes:
        adam.step(slope)
    z, m, v = points.numpy().copy(), np.zeros((4, 3)), np.zeros(4)
    for step, slope in enumerate(slopes, 1):
        for row in range(4):
            inside = 1 - z[row] @ z[row]
            g = inside**2 / 4 * slope[row].numpy()
            m[row] = 0.9 * m[row] + 0.1 * g
            v[row] = 0.999 * v[row] + 0.001 * ((2 / inside) ** 2 * (g @ g) + 1e-16)
            z[row] -= 0.02 * (m[row] / (1 - 0.9**step)) / np.sqrt(v[row] / (1 - 0.999**step))
    assert moved.numpy() == pytest.approx(z, rel=1e-8)


def test_adams_first_step_is_as_long_as_the_learning_rate_on_the_ball() -> None:
    points, gradient = scattered(6, 3, 0), scattered(6, 3, 1)
    moved = points.clone()
    Descent(moved, "adam", 1e-4, 0.95).step(gradient)
    assert poincare.distance(points, moved).numpy() == pytest.approx(1e-4, rel=1e-3)


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_it_resumes_from_its_checkpoint(kind: str) -> None:
    slopes = [scattered(4, 3, seed).float() for seed in range(1, 6)]
    whole, part = scattered(4, 3, 0).float(), scattered(4, 3, 0).float()
    uninterrupted, interrupted = Descent(whole, kind, 0.02, 0.95), Descent(part, kind, 0.02, 0.95)
    for slope in slopes:
        uninterrupted.step(slope)
    for slope in slopes[:3]:
        interrupted.step(slope)
    rest = part.clone()
    resumed = Descent(rest, kind, 0.02, 0.95)
    resumed.restore({name: array.copy() for name, array in interrupted.arrays().items()})
    for slope in slopes[3:]:
        resumed.step(slope)
    assert (rest == whole).all()
