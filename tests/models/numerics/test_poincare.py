"""The Poincaré ball against mpmath, literal formulas, finite differences and geoopt."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.numerics import poincare as ball

mpmath.mp.dps = 60

NEAR = (0.5, 1e-2, 1e-5, 1e-9, 1e-12)
"""How far from the boundary points lie."""


def points(n: int, n_features: int, near: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_features))
    return values / np.linalg.norm(values, axis=1, keepdims=True) * (1 - near)


def exactly(x: np.ndarray) -> list[Any]:
    return [mpmath.mpf(float(value)) for value in x]


def literal_distance(x: np.ndarray, y: np.ndarray) -> float:
    """arcosh(1 + 2 |x - y|^2 / ((1 - |x|^2) (1 - |y|^2))) of the very same numbers."""
    a, b = exactly(x), exactly(y)
    apart = sum((u - v) ** 2 for u, v in zip(a, b, strict=True))
    gaps = (1 - sum(u * u for u in a)) * (1 - sum(v * v for v in b))
    return float(mpmath.acosh(1 + 2 * apart / gaps))


def literal_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """((1 + 2 x.y + |y|^2) x + (1 - |x|^2) y) / (1 + 2 x.y + |x|^2 |y|^2)."""
    a, b = exactly(x), exactly(y)
    dot = sum(u * v for u, v in zip(a, b, strict=True))
    xx, yy = sum(u * u for u in a), sum(v * v for v in b)
    below = 1 + 2 * dot + xx * yy
    return np.array(
        [float(((1 + 2 * dot + yy) * u + (1 - xx) * v) / below) for u, v in zip(a, b, strict=True)]
    )


@pytest.mark.parametrize("of_x", NEAR)
@pytest.mark.parametrize("of_y", NEAR)
def test_distance_is_the_literal_one_to_the_boundary(of_x: float, of_y: float) -> None:
    x, y = points(5, 4, of_x), points(5, 4, of_y, seed=1)
    y[0] = -x[0] * (1 - of_y) / (1 - of_x)
    expected = [literal_distance(a, b) for a, b in zip(x, y, strict=True)]
    # 1 - |x|^2 has an absolute error of about 1e-15, the distance is its logarithm.
    slack = 1e-13 + 1e-15 / min(of_x, of_y)
    assert ball.distance(x, y) == pytest.approx(expected, rel=slack)
    assert np.diag(ball.distances(x, y)) == pytest.approx(expected, rel=slack)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("of_x", NEAR)
@pytest.mark.parametrize("of_y", NEAR)
def test_the_distance_of_tensors_is_the_literal_one(of_x: float, of_y: float) -> None:
    import torch

    x, y = points(5, 4, of_x), points(5, 4, of_y, seed=1)
    y[0] = -x[0] * (1 - of_y) / (1 - of_x)
    expected = [literal_distance(a, b) for a, b in zip(x, y, strict=True)]
    slack = 1e-13 + 1e-15 / min(of_x, of_y)
    torch_x, torch_y = torch.from_numpy(x), torch.from_numpy(y)
    assert ball.distance(torch_x, torch_y).numpy() == pytest.approx(expected, rel=slack)
    assert ball.distances(torch_x, torch_y).diagonal().numpy() == pytest.approx(expected, rel=slack)


@pytest.mark.parametrize("near", [0.5, 1e-2, 1e-4, 1e-5])
def test_single_precision_is_right_for_its_own_numbers(near: float) -> None:
    x = points(6, 5, near).astype(np.float32)
    y = points(6, 5, near, seed=1).astype(np.float32)
    x, y = ball.project(x), ball.project(y)
    expected = [literal_distance(a, b) for a, b in zip(x, y, strict=True)]
    distance = ball.distance(x, y)
    assert distance.dtype == np.float32
    assert distance == pytest.approx(expected, rel=2e-6)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("near", [0.5, 1e-2, 1e-4, 1e-5])
def test_tensors_in_single_precision_are_right_for_their_own_numbers(near: float) -> None:
    import torch

    x = ball.project(points(6, 5, near).astype(np.float32))
    y = ball.project(points(6, 5, near, seed=1).astype(np.float32))
    expected = [literal_distance(a, b) for a, b in zip(x, y, strict=True)]
    torch_x, torch_y = torch.from_numpy(x), torch.from_numpy(y)
    for distance in (
        ball.distance(torch_x, torch_y).numpy(),
        ball.distances(torch_x, torch_y).diagonal().numpy(),
    ):
        assert distance.dtype == np.float32
        assert distance == pytest.approx(expected, rel=2e-6)


def test_near_points_keep_their_digits() -> None:
    x = points(4, 3, 1e-3)
    y = x + 1e-13 * points(4, 3, 0.0, seed=2)
    expected = [literal_distance(a, b) for a, b in zip(x, y, strict=True)]
    assert min(expected) < 1e-9
    # The differences of the coordinates are exact, 1 - |x|^2 has twelve digits.
    assert ball.distance(x, y) == pytest.approx(expected, rel=1e-10)


@given(
    st.integers(1, 6),
    st.sampled_from([0.9, 0.3, 1e-3, 1e-7, 1e-12]),
    st.sampled_from([0.9, 0.3, 1e-3, 1e-7, 1e-12]),
    st.integers(0, 1000),
)
def test_it_is_a_metric(n_features: int, near: float, far: float, seed: int) -> None:
    x, y = points(3, n_features, near, seed), points(3, n_features, far, seed + 1)
    z = points(3, n_features, 0.5, seed + 2)
    there, back = ball.distance(x, y), ball.distance(y, x)
    assert there == pytest.approx(back, rel=1e-14)
    assert (ball.distance(x, x) == 0).all()
    assert (there <= (ball.distance(x, z) + ball.distance(z, y)) * (1 + 1e-12)).all()
    origin = np.zeros_like(x)
    assert ball.distance(x, origin) == pytest.approx(ball.hyperbolic_norm(x)[:, 0], rel=1e-12)


@pytest.mark.parametrize("near", NEAR)
def test_the_hyperbolic_norm_is_twice_artanh(near: float) -> None:
    x = points(5, 3, near)
    for row, norm in zip(x, ball.hyperbolic_norm(x)[:, 0], strict=True):
        length = mpmath.sqrt(sum(value * value for value in exactly(row)))
        assert norm == pytest.approx(float(2 * mpmath.atanh(length)), rel=1e-13 + 1e-15 / near)
    assert ball.hyperbolic_norm(np.full((1, 3), 1e-200))[0, 0] == pytest.approx(0.0, abs=1e-150)


@pytest.mark.parametrize("near", [0.5, 1e-2, 1e-4])
def test_gradients_are_those_of_finite_differences(near: float) -> None:
    x, y = points(4, 3, near), points(4, 3, 0.3, seed=1)
    step = 1e-6 * near
    gradient = ball.distance_gradient(x, y)
    for column in range(3):
        move = np.zeros_like(x)
        move[:, column] = step
        slope = (ball.distance(x + move, y) - ball.distance(x - move, y)) / (2 * step)
        assert gradient[:, column] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.needs("torch")
def test_the_norms_gradient_is_torchs(near: float) -> None:
    import torch

    x = torch.tensor(points(5, 4, near), requires_grad=True)
    (expected,) = torch.autograd.grad(ball.hyperbolic_norm(x).sum(), x)
    gradient = ball.hyperbolic_norm_gradient(x.detach().numpy())
    assert gradient == pytest.approx(expected.numpy(), rel=1e-9)
    assert (ball.hyperbolic_norm_gradient(np.zeros((1, 3))) == 0).all()


@pytest.mark.parametrize("of_x", NEAR)
@pytest.mark.parametrize("of_y", NEAR)
@pytest.mark.needs("torch")
def test_torchs_gradient_is_the_explicit_one(of_x: float, of_y: float) -> None:
    import torch

    x = torch.tensor(points(4, 3, of_x), requires_grad=True)
    y = torch.from_numpy(points(4, 3, of_y, seed=1))
    (gradient,) = torch.autograd.grad(ball.distance(x, y).sum(), x)
    assert torch.isfinite(gradient).all()
    expected = ball.distance_gradient(x.detach(), y)
    assert gradient.numpy() == pytest.approx(expected.numpy(), rel=1e-9)
    (gradient,) = torch.autograd.grad(ball.distances(x, y).diagonal().sum(), x)
    assert gradient.numpy() == pytest.approx(expected.numpy(), rel=1e-6)


@pytest.mark.needs("torch")
def test_other_functions_gradients_by_gradcheck() -> None:
    import torch

    x = torch.tensor(points(3, 4, 0.4), requires_grad=True)
    y = torch.tensor(points(3, 4, 0.2, seed=1), requires_grad=True)
    for function in (ball.distance, ball.distances, ball.add, ball.exp_map, ball.log_map):
        assert torch.autograd.gradcheck(function, (x, y))
    for function in (ball.norm, ball.hyperbolic_norm, ball.gap, ball.conformal):
        assert torch.autograd.gradcheck(function, (x,))


@pytest.mark.needs("torch")
def test_where_there_is_no_gradient_it_is_zero() -> None:
    import torch

    x = torch.zeros((2, 3), dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.1, 0.2, 0.3]] * 2, dtype=torch.float64, requires_grad=True)
    values = (
        ball.norm(x).sum(),
        ball.hyperbolic_norm(x).sum(),
        ball.distance(y, y.detach()).sum(),
        ball.distances(y, y.detach()).sum(),
        ball.exp_map(y.detach(), x).sum() - 3 * x.sum(),
    )
    for value in values:
        of = x if value is values[0] or value is values[1] or value is values[4] else y
        (gradient,) = torch.autograd.grad(value, of)
        assert torch.isfinite(gradient).all()
    assert (ball.distance_gradient(np.zeros((1, 2)), np.zeros((1, 2))) == 0).all()


@pytest.mark.parametrize("near", NEAR)
def test_addition_is_the_literal_one(near: float) -> None:
    x, y = points(5, 4, near), points(5, 4, 0.4, seed=1)
    for a, b in ((x, y), (y, x)):
        expected = np.array([literal_sum(u, v) for u, v in zip(a, b, strict=True)])
        assert ball.add(a, b) == pytest.approx(expected, abs=1e-12)
    assert ball.add(np.zeros_like(y), y) == pytest.approx(y, rel=1e-15)
    assert ball.add(-x, x) == pytest.approx(np.zeros_like(x), abs=1e-15)
    # |(-x) (+) y| = tanh(d(x, y) / 2)
    way = np.linalg.norm(ball.add(-x, y), axis=1)
    assert way == pytest.approx(np.tanh(ball.distance(x, y) / 2), rel=1e-12)


@pytest.mark.parametrize("near", [0.9, 0.5, 1e-2, 1e-4])
def test_the_maps_undo_each_other(near: float) -> None:
    x, y = points(5, 4, near), points(5, 4, 0.3, seed=1)
    v = ball.log_map(x, y)
    # The rounding error grows exponentially with their distance.
    slack = 1e-13 * np.exp(ball.distance(x, y).max())
    assert ball.exp_map(x, v) == pytest.approx(y, abs=slack)
    assert ball.conformal(x)[:, 0] * np.linalg.norm(v, axis=1) == pytest.approx(
        ball.distance(x, y), rel=1e-12
    )
    assert (ball.log_map(x, x) == 0).all()
    assert ball.exp_map(x, np.zeros_like(x)) == pytest.approx(x, rel=1e-15)


def test_a_far_step_ends_at_the_margin() -> None:
    for kind, least in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x = points(5, 4, 0.1).astype(kind)
        for velocity in (1e3, 1e30):
            for end in (
                ball.exp_map(x, kind(velocity) * x),
                ball.retract(x, kind(velocity) * x),
            ):
                ends_at_the_margin(end, kind, least)


@pytest.mark.needs("torch")
def test_a_far_step_of_tensors_ends_at_the_margin() -> None:
    import torch

    for kind, least in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x = points(5, 4, 0.1).astype(kind)
        for velocity in (1e3, 1e30):
            step = torch.from_numpy(kind(velocity) * x)
            ends_at_the_margin(ball.exp_map(torch.from_numpy(x), step).numpy(), kind, least)


def ends_at_the_margin(end: np.ndarray, kind: type, least: float) -> None:
    length = np.linalg.norm(end.astype(np.float64), axis=1)
    assert end.dtype == kind
    assert (length <= 1 - least).all()
    assert (length >= 1 - 1.2 * least).all()


def test_projection_moves_only_what_lies_outside() -> None:
    inside, outside = points(4, 3, 0.2), 7 * points(4, 3, 0.0)
    assert (ball.project(inside) == inside).all()
    assert (np.linalg.norm(ball.project(outside, 0.1), axis=1) <= 0.9).all()
    assert np.linalg.norm(ball.project(outside, 0.1), axis=1) == pytest.approx(0.9)
    assert (ball.project(np.zeros((2, 3))) == 0).all()


def test_retraction_is_the_exponential_map_to_first_order() -> None:
    x, v = points(5, 4, 0.3), points(5, 4, 0.0, seed=1)
    errors = [
        np.abs(ball.exp_map(x, length * v) - ball.retract(x, length * v)).max()
        for length in (1e-3, 1e-4)
    ]
    assert errors[1] < 0.011 * errors[0]


def test_the_riemannian_gradient_is_the_metrics() -> None:
    x, g = points(5, 4, 0.3), points(5, 4, 0.0, seed=1)
    assert ball.riemannian(x, g) * ball.conformal(x) ** 2 == pytest.approx(g)


@pytest.mark.needs("torch")
def test_far_beyond_the_boundary_nothing_breaks() -> None:
    import torch

    x = torch.tensor([[3.0, 0.0], [1.0, 0.0]], requires_grad=True)
    y = torch.tensor([[0.0, 0.5], [0.0, 1.0]])
    distance = ball.distance(x, y)
    (gradient,) = torch.autograd.grad(distance.sum(), x)
    assert torch.isfinite(distance).all()
    assert torch.isfinite(gradient).all()
    assert torch.isfinite(ball.distances(x, y)).all()


@pytest.mark.needs("torch", "geoopt")
def test_geoopt_agrees() -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import geoopt
    theirs = geoopt.PoincareBall()
    x = torch.tensor(points(20, 5, 0.3), requires_grad=True)
    y = torch.from_numpy(points(20, 5, 0.05, seed=1))
    v = torch.from_numpy(points(20, 5, 0.6, seed=2))
    pairs = {
        "distance": (ball.distance(x, y), theirs.dist(x, y)),
        "norm": (ball.hyperbolic_norm(x)[:, 0], theirs.dist0(x)),
        "sum": (ball.add(x, y), theirs.mobius_add(x, y)),
        "exp": (ball.exp_map(x, v), theirs.expmap(x, v)),
        "log": (ball.log_map(x, y), theirs.logmap(x, y)),
        "gradient": (ball.riemannian(x, v), theirs.egrad2rgrad(x, v)),
        "conformal": (ball.conformal(x), theirs.lambda_x(x, keepdim=True)),
    }
    for name, (ours, geoopts) in pairs.items():
        assert ours.detach().numpy() == pytest.approx(geoopts.detach().numpy(), rel=1e-9), name
        (a,) = torch.autograd.grad(ours.sum(), x, retain_graph=True)
        (b,) = torch.autograd.grad(geoopts.sum(), x, retain_graph=True)
        assert a.numpy() == pytest.approx(b.numpy(), rel=1e-8, abs=1e-9), name
