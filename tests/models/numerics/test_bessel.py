"""Bessel functions, ratios, their inverse and the vMF's constant against mpmath over the grid."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.numerics import sphere

if TYPE_CHECKING:
    from torch import Tensor

DIMENSIONS = (2, 3, 4, 5, 7, 10, 16, 31, 41, 42, 43, 64, 128, 384, 1536, 20_000, 99_999, 100_000)
KAPPA = np.concatenate([10.0 ** np.arange(-6, 6.5), [0.3, 17.0, 55.5, 777.0, 4.4e4, 5.7323e5]])
EPS = float(np.finfo(np.float64).eps)


@cache
def exact_log_iv(order: float, a: float) -> mp.mpf:
    """log I_v(a) to 40 digits: mpmath's own, or where that converges too slowly its integral."""
    with mp.workdps(60):
        if order < 500 or a < 5e3:
            return mp.log(mp.besseli(mp.mpf(order), mp.mpf(a)))
        return integral(mp.mpf(order), mp.mpf(a))


def integral(order: mp.mpf, a: mp.mpf) -> mp.mpf:
    """DLMF 10.32.2, I_v(a) = (a/2)^v / (sqrt(pi) Gamma(v + 1/2)) times the integral over [-1, 1] of
    (1 - t^2)^(v - 1/2) e^(a t), with t = tanh u, by the trapezoidal rule about its peak."""
    m = order + mp.mpf(1) / 2

    def log_of(u: mp.mpf) -> mp.mpf:
        return -2 * m * mp.log(mp.cosh(u)) + a * mp.tanh(u)

    t = a / (m + mp.sqrt(m * m + a * a))
    top, width = mp.atanh(t), 1 / mp.sqrt(2 * (m + a * t) * (1 - t * t))
    highest, step = log_of(top), width / 6
    total = mp.fsum(mp.exp(log_of(top + i * step) - highest) for i in range(-100, 101))
    lead = order * mp.log(a / 2) - mp.log(mp.pi) / 2 - mp.loggamma(m)
    return lead + mp.log(total * step) + highest


@cache
def exact(n_features: int, kappa: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """log C_D, A_D and its derivative to about 35 digits."""
    with mp.workdps(60):
        k, order = mp.mpf(kappa), mp.mpf(n_features) / 2 - 1
        lower = exact_log_iv(float(order), kappa)
        own = mp.exp(exact_log_iv(float(order) + 1.0, kappa) - lower)
        constant = order * mp.log(k) - (order + 1) * mp.log(2 * mp.pi) - lower
        return constant, own, 1 - own**2 - (n_features - 1) * own / k


def far(value: float, true: mp.mpf) -> float:
    """Error, relative where the value is above 1."""
    return float(abs(mp.mpf(float(value)) - true) / max(mp.mpf(1), abs(true)))


def off(value: float, true: mp.mpf) -> float:
    """Relative error."""
    return float(abs(mp.mpf(float(value)) - true) / abs(true))


def test_the_integral_is_the_function() -> None:
    with mp.workdps(60):
        for order, a in ((1000, 1e5), (499, 1e6), (60, 40.0)):
            assert abs(integral(mp.mpf(order), mp.mpf(a)) - mp.log(mp.besseli(order, a))) < 1e-30


@pytest.mark.parametrize("n_features", DIMENSIONS)
def test_everything_on_the_grid(n_features: int) -> None:
    order = 0.5 * n_features - 1.0
    log_i, log_c = sphere.log_iv(order, KAPPA), sphere.log_c(n_features, KAPPA)
    own, rest, rise = sphere.ratios(order, KAPPA)
    grown = sphere.log_growth(order, KAPPA)
    for at, kappa in enumerate(KAPPA.tolist()):
        constant, ratio, slope = exact(n_features, kappa)
        value = exact_log_iv(order, kappa)
        with mp.workdps(60):
            growth = value - order * mp.log(mp.mpf(kappa) / 2) + mp.loggamma(order + 1)
            assert far(log_i[at], value) < 1e-13
            assert far(log_c[at], constant) < 1e-10
            assert off(own[at], ratio) < 1e-14
            assert off(rest[at], 1 - ratio) < 1e-12
            assert off(rise[at], slope) < 1e-12
            assert off(grown[at], growth) < 1e-14
    assert (sphere.ratio(n_features, KAPPA) == own).all()
    assert (sphere.slope(n_features, KAPPA) == rise).all()


@pytest.mark.parametrize("n_features", DIMENSIONS)
def test_the_inverse_on_the_grid(n_features: int) -> None:
    for kappa in KAPPA.tolist():
        _, ratio, slope = exact(n_features, kappa)
        r = float(ratio)
        result = float(sphere.concentration(n_features, r))
        with mp.workdps(60):
            # What r, rounded, is the ratio of; one Newton step from kappa is exact enough.
            expected = mp.mpf(kappa) + (mp.mpf(r) - ratio) / slope
            assert off(result, expected) < max(1e-12, 4 * EPS / (1 - r))


def test_orders_that_are_no_dimension() -> None:
    rng = np.random.default_rng(0)
    for order in [*rng.uniform(0, 60, size=40), 77_777.7, 100_000.0]:
        for a in 10.0 ** rng.uniform(-6, 6, size=6):
            assert far(sphere.log_iv(order, a), exact_log_iv(float(order), float(a))) < 1e-13


@pytest.mark.parametrize("n_features", [19, 30, 128, 1536, 99_999])
def test_the_constant_where_it_is_about_one(n_features: int) -> None:
    kappa = 10.0 ** np.linspace(-3, 6, 4000)
    at = int(np.flatnonzero(np.diff(np.sign(sphere.log_c(n_features, kappa))))[0])
    for near in kappa[at] * np.linspace(1, 1.001, 7):
        assert far(sphere.log_c(n_features, near), exact(n_features, float(near))[0]) < 1e-10


@pytest.mark.parametrize("n_features", [2, 3, 20, 43, 1000])
def test_concentration_zero_is_uniform(n_features: int) -> None:
    area = (
        2 * math.pi ** (n_features / 2) / math.gamma(n_features / 2) if n_features < 300 else None
    )
    if area is not None:
        assert float(sphere.log_c(n_features, 0.0)) == pytest.approx(-math.log(area), abs=1e-12)
    assert float(sphere.log_c(n_features, 0.0)) == pytest.approx(
        sphere.log_uniform(n_features), rel=1e-13
    )
    assert float(sphere.ratio(n_features, 0.0)) == 0.0
    assert float(sphere.slope(n_features, 0.0)) == pytest.approx(1 / n_features, rel=1e-14)
    assert float(sphere.concentration(n_features, 0.0)) == 0.0
    assert float(sphere.concentration(n_features, 1.0)) == math.inf
    assert float(sphere.log_iv(0.5 * n_features, 0.0)) == -math.inf
    assert float(sphere.log_iv(0.0, 0.0)) == 0.0


def test_three_dimensions_in_closed_form() -> None:
    kappa = np.array([0.5, 2.0, 30.0])
    assert sphere.log_c(3, kappa) == pytest.approx(
        np.log(kappa / (4 * np.pi * np.sinh(kappa))), rel=1e-14
    )
    assert sphere.ratio(3, kappa) == pytest.approx(1 / np.tanh(kappa) - 1 / kappa, rel=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 100_000), st.floats(1e-6, 1e6))
def test_inverse_and_ratio_undo_each_other(n_features: int, kappa: float) -> None:
    r = float(sphere.ratio(n_features, kappa))
    result = float(sphere.concentration(n_features, r))
    assert result == pytest.approx(kappa, rel=max(1e-12, 4 * EPS / (1 - r)))


def test_shapes_are_kept() -> None:
    kappa = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for values in (
        sphere.log_iv(2.0, kappa),
        sphere.log_c(5, kappa),
        sphere.ratio(5, kappa),
        sphere.slope(5, kappa),
        sphere.concentration(5, kappa / 10),
    ):
        assert values.shape == (2, 3)
        assert values.dtype == np.float64
    assert sphere.log_c(5, 3).shape == ()


def test_what_is_outside_is_refused() -> None:
    for r in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="lies in"):
            sphere.concentration(3, [0.5, r])
    with pytest.raises(ValueError, match="two dimensions"):
        sphere.log_c(1, 1.0)
    with pytest.raises(ValueError, match="negative"):
        sphere.log_iv(-1.0, 1.0)


def gradient(values: Tensor, at: Tensor) -> Tensor:
    import torch

    return torch.autograd.grad(values.sum(), at, create_graph=True)[0]


@pytest.mark.parametrize("n_features", [2, 3, 20, 41, 43, 384, 100_000])
@pytest.mark.needs("torch")
def test_tensors_have_the_same_values_and_exact_gradients(n_features: int) -> None:
    import torch

    from models.numerics import bessel_torch

    order = 0.5 * n_features - 1.0
    kappa = torch.tensor(KAPPA, requires_grad=True)
    log_i, log_c = bessel_torch.log_iv(order, kappa), bessel_torch.log_c(n_features, kappa)
    own = bessel_torch.ratio(n_features, kappa)
    assert log_i.detach().numpy() == pytest.approx(sphere.log_iv(order, KAPPA), rel=1e-14)
    # log C cancels where it is about 1: each processor rounds its largest term in its own way.
    largest = order * np.log1p(np.hypot(order, KAPPA) / order) if order else np.zeros(KAPPA.size)
    apart = np.abs(log_c.detach().numpy() - sphere.log_c(n_features, KAPPA))
    assert (apart <= 1e-14 * np.abs(sphere.log_c(n_features, KAPPA)) + EPS * largest).all()
    assert own.detach().numpy() == pytest.approx(sphere.ratio(n_features, KAPPA), rel=1e-14)
    falls, steps = gradient(log_c, kappa), gradient(log_i, kappa)
    curve, rise = gradient(falls, kappa), gradient(own, kappa)
    falls, steps, curve, rise = (one.detach() for one in (falls, steps, curve, rise))
    for at, value in enumerate(KAPPA.tolist()):
        _, ratio, slope = exact(n_features, value)
        assert off(float(falls[at]), -ratio) < 1e-13
        assert off(float(steps[at]), ratio + order / mp.mpf(value)) < 1e-13
        assert off(float(curve[at]), -slope) < 1e-12
        assert off(float(rise[at]), slope) < 1e-12
    r = torch.tensor([1e-6, 0.1, 0.5, 0.9, 0.999], dtype=torch.float64, requires_grad=True)
    values = bessel_torch.concentration(n_features, r)
    expected = sphere.concentration(n_features, r.detach().numpy())
    assert values.detach().numpy() == pytest.approx(expected, rel=1e-12)
    assert gradient(values, r).detach().numpy() == pytest.approx(
        1 / sphere.slope(n_features, expected), rel=1e-11
    )


@pytest.mark.needs("torch")
def test_gradients_against_differences() -> None:
    import torch

    from models.numerics import bessel_torch

    kappa = torch.tensor([0.5, 4.0, 60.0], dtype=torch.float64, requires_grad=True)
    r = torch.tensor([0.05, 0.4, 0.95], dtype=torch.float64, requires_grad=True)
    for n_features in (2, 5, 60):
        for function, at in (
            (lambda x, d=n_features: bessel_torch.log_c(d, x), kappa),
            (lambda x, d=n_features: bessel_torch.log_iv(d / 2, x), kappa),
            (lambda x, d=n_features: bessel_torch.ratio(d, x), kappa),
            (lambda x, d=n_features: bessel_torch.concentration(d, x), r),
        ):
            assert torch.autograd.gradcheck(function, (at,))


@pytest.mark.needs("torch")
def test_tensors_in_single_precision_stay_so() -> None:
    import torch

    from models.numerics import bessel_torch

    values = bessel_torch.log_c(300, torch.tensor([10.0, 1e5]))
    assert values.dtype == torch.float32
    assert values.numpy() == pytest.approx(sphere.log_c(300, [10.0, 1e5]), rel=1e-6)
