"""Draws from von Mises-Fisher distributions: moments and whole distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from models.numerics import sphere
from models.numerics import sphere as bessel

N = 20_000


@pytest.mark.parametrize("n_features", [2, 3, 10, 384, 100_000])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 30.0, 1e3, 1e6, 1e9])
def test_the_cosine_has_the_mean_and_variance_of_its_distribution(
    n_features: int, kappa: float
) -> None:
    rng = np.random.default_rng([n_features, int(kappa * 1000)])
    cosine, sine = sphere.draw_cosines(n_features, np.full(N, kappa), rng)
    _, rest, slope = bessel.ratios(bessel.order_of(n_features), np.array(kappa))
    gap = sine**2 / (1 + cosine)
    assert abs(gap.mean() - rest) < 4.5 * np.sqrt(slope / N)
    # Heaviest in two dimensions, where the gap is a squared normal: kurtosis 15.
    assert gap.var() == pytest.approx(slope, rel=0.15)
    assert cosine**2 + sine**2 == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("n_features", "kappa"), [(2, 0.7), (3, 4.0), (6, 25.0), (40, 3.0)])
def test_the_cosine_has_its_distribution(n_features: int, kappa: float) -> None:
    """A Kolmogorov-Smirnov test against the density (1 - w^2)^((D-3)/2) e^(kappa w)."""
    rng = np.random.default_rng(3)
    cosine, _ = sphere.draw_cosines(n_features, np.full(4000, kappa), rng)

    def density(angle: float) -> float:
        return np.sin(angle) ** (n_features - 2) * np.exp(kappa * (np.cos(angle) - 1))

    angles = np.linspace(0, np.pi, 2001)
    whole = integrate.cumulative_simpson(density(angles), x=angles, initial=0)
    agreement = stats.kstest(np.arccos(cosine), lambda a: np.interp(a, angles, whole / whole[-1]))
    assert agreement.pvalue > 1e-3


def test_draws_lie_around_their_own_means() -> None:
    rng = np.random.default_rng(0)
    means = sphere.uniform(3, 5, rng)
    kappa = np.array([2.0, 20.0, 200.0])
    which = np.repeat(np.arange(3), 4000)
    drawn = sphere.draw_vmf(means[which], kappa[which], rng)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1.0, abs=1e-14)
    for cluster in range(3):
        own = drawn[which == cluster].mean(axis=0)
        expected = bessel.ratio(5, kappa[cluster]) * means[cluster]
        assert own == pytest.approx(expected, abs=5 / np.sqrt(4000 * max(1, kappa[cluster])))
    one = sphere.draw_vmf(means[:1].repeat(7, axis=0), 1e8, rng)
    assert one @ means[0] == pytest.approx(1.0, abs=1e-6)


def test_around_the_mean_no_direction_is_preferred() -> None:
    rng = np.random.default_rng(1)
    mean = np.array([0.0, 0.0, 1.0])
    drawn = sphere.draw_vmf(np.tile(mean, (4000, 1)), 5.0, rng)
    angle = np.arctan2(drawn[:, 1], drawn[:, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


def test_unit_rows_of_any_scale() -> None:
    rows = sphere.unit(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]))


def test_uniform_directions_have_no_mean() -> None:
    directions = sphere.uniform(N, 4, np.random.default_rng(2))
    assert np.linalg.norm(directions.mean(axis=0)) < 4 / np.sqrt(N)
    assert (directions.T @ directions / N) == pytest.approx(np.eye(4) / 4, abs=0.02)
