"""Depths of lowest common ancestors against the nearest of many points of the geodesic."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

from models.methods.hyperbolic.leaves.decoding import Sphere, depth
from models.numerics import poincare
from tests.models.tensors_kit import assert_close

pytestmark = pytest.mark.needs("torch")


def nearest_of_geodesic(x: np.ndarray, y: np.ndarray) -> float:
    """The least distance from the origin along the geodesic from x to y, sought by number."""
    velocity = poincare.log_map(x, y)

    def at(time: float) -> float:
        return float(poincare.hyperbolic_norm(poincare.exp_map(x, time * velocity))[0])

    times = np.linspace(0.0, 1.0, 21)
    best = times[int(np.argmin([at(time) for time in times]))]
    around = (max(0.0, best - 0.05), min(1.0, best + 0.05))
    nearest = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-12})
    return min(nearest.fun, at(0.0), at(1.0))


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("largest", [0.3, 0.99])
def test_the_ancestor_is_the_geodesics_point_nearest_to_the_origin(
    dimension: int, largest: float
) -> None:
    rng = np.random.default_rng(dimension)
    for _ in range(15):
        x, y = rng.normal(size=(2, dimension))
        x *= largest * rng.random() / np.linalg.norm(x)
        y *= largest * rng.random() / np.linalg.norm(y)
        result = float(depth(torch.from_numpy(x), torch.from_numpy(y)))
        assert result == pytest.approx(nearest_of_geodesic(x, y), abs=1e-7)


def test_a_point_above_another_is_their_ancestor() -> None:
    x, y = torch.tensor([0.2, 0.1]).double(), torch.tensor([0.8, 0.4]).double()
    above = float(poincare.hyperbolic_norm(x)[0])
    assert float(depth(x, y)) == pytest.approx(above)
    assert float(depth(y, x)) == pytest.approx(above)
    assert float(depth(x, x)) == pytest.approx(above)
    assert float(depth(x, -y)) == pytest.approx(0.0, abs=1e-7)
    assert float(depth(x, 0 * y)) == 0.0


@pytest.mark.parametrize("radius", [0.05, 1.0, 7.6, 14.0])
def test_on_a_sphere_the_short_formula_is_the_long_one(radius: float) -> None:
    sphere = Sphere(radius)
    angle = torch.tensor([1e-3, 0.01, 0.5, 1.5, 2.5, 3.1]).double()
    x = sphere.norm * torch.tensor([[1.0, 0.0]]).double().expand(6, 2)
    y = sphere.norm * torch.stack([angle.cos(), angle.sin()], dim=1)
    assert poincare.hyperbolic_norm(x)[0, 0] == pytest.approx(radius)
    depths, _ = sphere.depths((angle / 2).sin() ** 2)
    assert_close(depths, depth(x, y), rtol=1e-6, atol=1e-9)
    middle = math.tanh(radius) * math.cos(0.25)
    assert float(depths[2]) == pytest.approx(math.atanh(middle))


def test_depths_run_from_the_radius_to_the_centre_and_their_slope_is_right() -> None:
    sphere = Sphere(5.0)
    ends, _ = sphere.depths(torch.tensor([0.0, 1.0]).double())
    assert ends.tolist() == pytest.approx([5.0, 0.0], abs=1e-5)
    quarter = torch.linspace(0.0, 0.99, 30).double().requires_grad_()
    depths, slope = sphere.depths(quarter)
    (literal,) = torch.autograd.grad(depths.sum(), quarter)
    assert_close(slope, literal)
    assert (depths.diff() < 0).all()
