"""Posteriors of kappa: against fine sums, the bound of the Bessel function, gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.methods.sphere.bayes import concentrations
from models.methods.sphere.bayes.concentrations import (
    Concentrations,
    by_bound,
    by_grid,
    log_c_bound,
)
from models.methods.sphere.bayes.priors import Priors
from models.numerics import sphere

SIZE = np.array([0.0, 0.5, 3.0, 400.0, 1e5])
KAPPA = np.array([5.0, 9.0, 50.0, 500.0, 2000.0])


def priors(n_features: int, m: float = np.log(30.0), sigma: float = 1.3) -> Priors:
    return Priors(1.0, np.eye(n_features)[0], 1.0, float(m), sigma)


def literal(size: float, along: float, n_features: int, normal: Priors) -> dict[str, float]:
    """By a sum over 20,000 points."""
    low, high = normal.m - 12 * normal.sigma, normal.m + 12 * normal.sigma
    if size > 0:
        peak = float(np.log(sphere.concentration(n_features, along / size)))
        width = 10 / np.sqrt(size * (n_features - 1) / 2)
        low, high = (peak - width, peak + width) if size >= 100 else (min(low, peak - 2), high)
    t = np.linspace(low, high, 20_001)
    kappa = np.exp(t)
    log_c = sphere.log_c(n_features, kappa)
    prior = -0.5 * ((t - normal.m) / normal.sigma) ** 2
    prior -= 0.5 * np.log(2 * np.pi * normal.sigma**2)
    joint = size * log_c + along * kappa + prior
    mass = np.exp(joint - joint.max())
    log_z = joint.max() + np.log(mass.sum() * (t[1] - t[0]))
    mass /= mass.sum()
    below = np.cumsum(mass)
    return {
        "mean": float(mass @ kappa),
        "log_c": float(mass @ log_c),
        "log_mean": float(mass @ t),
        "log_square": float(mass @ t**2),
        "divergence": float(size * (mass @ log_c) + along * (mass @ kappa) - log_z),
        "low": float(kappa[np.searchsorted(below, 0.025)]),
        "high": float(kappa[np.searchsorted(below, 0.975)]),
    }


@pytest.mark.parametrize("n_features", [2, 20, 400])
@pytest.mark.parametrize(("m", "sigma"), [(np.log(30.0), 1.3), (9.0, 0.2), (1.0, 2.5)])
def test_expectations_by_the_grid(n_features: int, m: float, sigma: float) -> None:
    prior = priors(n_features, m, sigma)
    along = SIZE * sphere.ratio(n_features, KAPPA)
    result = by_grid(SIZE, along, n_features, prior)
    for k, size in enumerate(SIZE):
        expected = literal(float(size), float(along[k]), n_features, prior)
        for name in ("mean", "log_mean", "log_square"):
            assert getattr(result, name)[k] == pytest.approx(expected[name], rel=1e-6)
        assert result.log_c[k] == pytest.approx(expected["log_c"], rel=1e-6, abs=1e-6)
        assert result.divergence[k] == pytest.approx(expected["divergence"], rel=1e-6, abs=1e-5)
        for name in ("low", "high"):
            assert np.log(getattr(result, name)[k]) == pytest.approx(
                np.log(expected[name]), abs=0.01 * sigma
            )


def test_the_divergence_from_other_priors() -> None:
    along = SIZE * sphere.ratio(10, KAPPA)
    prior, other_prior = priors(10), priors(10, 2.0, 0.7)
    result = by_grid(SIZE, along, 10, prior)
    # KL(q || other) - KL(q || one) is the mean of the log of the densities' ratio.
    change = result.divergence_from(other_prior) - result.divergence_from(prior)
    for k in range(len(SIZE)):
        mean, square = result.log_mean[k], result.log_square[k]
        by_hand = [
            np.log(p.sigma) + (square - 2 * p.m * mean + p.m**2) / (2 * p.sigma**2)
            for p in (other_prior, prior)
        ]
        assert change[k] == pytest.approx(by_hand[0] - by_hand[1], rel=1e-12)


@pytest.mark.parametrize("n_features", [2, 3, 4, 10, 50, 400, 5000, 100_000])
def test_the_bound_is_one_on_the_whole_grid(n_features: int) -> None:
    kappa = 10.0 ** np.linspace(-6, 6, 241)
    gap = sphere.log_c(n_features, kappa) - log_c_bound(n_features, kappa)
    assert (gap >= -1e-12 * np.abs(sphere.log_c(n_features, kappa)) - 1e-12).all()
    assert (np.diff(gap) >= -1e-9 * np.abs(sphere.log_c(n_features, kappa[1:]))).all()
    # The thesis's equation 5.8, with its integral corrected.
    v = n_features / 2 - 1
    if v > 0:
        root = np.sqrt(kappa**2 + v**2)
        log_i = root + v * np.log(kappa / (v + root)) + v * np.log(v) - v
        log_i -= math.lgamma(v + 1)
        printed = v * np.log(kappa) - (v + 1) * np.log(2 * np.pi) - log_i
        assert log_c_bound(n_features, kappa) == pytest.approx(printed, rel=1e-9, abs=1e-8)


def test_slopes_of_the_bounding_scheme() -> None:
    n_features, prior = 12, priors(12)
    along = SIZE * sphere.ratio(n_features, KAPPA)
    a, b = np.log(KAPPA) + 0.1, np.full(5, 0.2)
    _, by_a, by_b = concentrations.log_normal_bound(a, b, SIZE, along, n_features, prior)
    step = 1e-6
    for slope, da, db in ((by_a, step, 0.0), (by_b, 0.0, step)):
        up = concentrations.log_normal_bound(a + da, b + db, SIZE, along, n_features, prior)[0]
        down = concentrations.log_normal_bound(a - da, b - db, SIZE, along, n_features, prior)[0]
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("n_features", [3, 40])
def test_the_bounding_scheme_is_at_its_best_and_below_the_exact_one(n_features: int) -> None:
    prior = priors(n_features)
    along = SIZE * sphere.ratio(n_features, KAPPA)

    def value(one: Concentrations) -> np.ndarray:
        return SIZE * one.log_c + along * one.mean - one.divergence

    result = by_bound(SIZE, along, n_features, prior, None)
    again = by_bound(SIZE, along, n_features, prior, result)
    assert value(again) == pytest.approx(value(result), rel=1e-9, abs=1e-5)
    a, b = result.log_mean, result.log_sd
    best = concentrations.log_normal_bound(a, b, SIZE, along, n_features, prior)[0]
    for da, db in ((0.05, 1.0), (-0.05, 1.0), (0.0, 1.05), (0.0, 0.95)):
        bound = concentrations.log_normal_bound(a + da * b, b * db, SIZE, along, n_features, prior)[
            0
        ]
        assert (bound <= best + 1e-9 * np.abs(best)).all()
    exact = by_grid(SIZE, along, n_features, prior)
    assert (value(result) <= value(exact) + 1e-6 * np.abs(value(exact))).all()
    # It shrinks kappa, by about one part in D - 1.
    assert result.mean[-1] / exact.mean[-1] == pytest.approx(1 - 1 / (n_features - 1), abs=0.02)
