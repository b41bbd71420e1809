"""Empirical Bayes: estimates are the maxima they claim to be; divergences by their definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import digamma, gammaln

from models.methods.sphere.bayes.priors import (
    LEAST_ALPHA,
    MOST_ALPHA,
    Priors,
    dirichlet_divergence,
    vmf_divergence,
)
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform

PRIORS = Priors(1.0, np.eye(4)[0], 2.0, 3.0, 0.5)


@pytest.mark.parametrize("rho", [[2.0, 3.0], [0.3, 0.4, 5.0], [200.0, 190.0, 205.0], [1e-3, 50.0]])
def test_alpha_is_the_highest(rho: list[float]) -> None:
    log_weights = digamma(rho) - digamma(np.sum(rho))
    n, mean = len(rho), float(log_weights.mean())

    def value(alpha: float) -> float:
        return float(gammaln(n * alpha) - n * gammaln(alpha) + (alpha - 1) * n * mean)

    for start in (0.01, 1.0, 500.0):
        result = replace(PRIORS, alpha=start).of_weights(mean, n).alpha
        tried = np.geomspace(LEAST_ALPHA, MOST_ALPHA, 400)
        assert value(result) >= max(map(value, tried)) - 1e-9 * abs(value(result))


def test_weights_all_alike_take_alpha_to_its_bound() -> None:
    assert PRIORS.of_weights(float(np.log(0.25)), 4).alpha == pytest.approx(MOST_ALPHA, rel=1e-6)
    assert PRIORS.of_weights(-1e5, 4).alpha == pytest.approx(LEAST_ALPHA, rel=1e-6)


def test_the_normal_of_log_kappa_is_the_likeliest() -> None:
    logs, squares = np.array([1.0, 2.0, 4.0]), np.array([1.3, 4.1, 16.2])
    result = PRIORS.of_kappas(float(logs.mean()), float(squares.mean()))

    def value(m: float, sigma: float) -> float:
        return -np.log(sigma) - float((squares - 2 * m * logs + m * m).mean()) / (2 * sigma**2)

    best = value(result.m, result.sigma)
    for m, sigma in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
        assert value(result.m + m, result.sigma + sigma) < best


def test_the_vmf_of_means_is_the_likeliest() -> None:
    means = 0.9 * uniform(6, 4, np.random.default_rng(0)) + 0.3
    result = PRIORS.of_means(means.mean(axis=0), 1e6)

    def value(mu0: np.ndarray, c0: float) -> float:
        return float(sphere.log_c(4, c0)) + c0 * float(mu0 @ means.mean(axis=0))

    best = value(result.mu0, result.c0)
    for direction in uniform(20, 4, np.random.default_rng(1)):
        direction_nearby = result.mu0 + 0.05 * direction
        direction_nearby /= np.linalg.norm(direction_nearby)
        assert value(direction_nearby, result.c0) < best
    assert value(result.mu0, result.c0 * 1.02) < best
    assert value(result.mu0, result.c0 * 0.98) < best
    assert PRIORS.of_means(np.zeros(4), 1e6).c0 == 0.0
    assert PRIORS.of_means(np.eye(4)[1], 1e6).c0 == 1e6


def test_divergence_of_two_dirichlets() -> None:
    rho, alpha = np.array([2.5, 4.0]), 0.7
    own, prior = stats.beta(*rho), stats.beta(alpha, alpha)
    expected, _ = integrate.quad(
        lambda x: own.pdf(x) * (own.logpdf(x) - prior.logpdf(x)), 1e-9, 1 - 1e-9
    )
    assert dirichlet_divergence(rho, alpha) == pytest.approx(expected, rel=1e-6)
    assert dirichlet_divergence(np.full(5, 0.4), 0.4) == pytest.approx(0.0, abs=1e-12)


def test_divergence_of_two_vmf_distributions() -> None:
    rng = np.random.default_rng(0)
    psi, mu0 = uniform(1, 5, rng), uniform(1, 5, rng)[0]
    drawn = draw_vmf(np.repeat(psi, 40_000, axis=0), 9.0, rng)
    own = sphere.log_c(5, 9.0) + 9.0 * (drawn @ psi[0])
    prior = sphere.log_c(5, 2.0) + 2.0 * (drawn @ mu0)
    result = vmf_divergence(psi, np.array([9.0]), mu0, 2.0)
    assert result[0] == pytest.approx(float((own - prior).mean()), abs=0.03)
    assert vmf_divergence(mu0[None], np.array([2.0]), mu0, 2.0) == pytest.approx(0.0, abs=1e-12)


def test_the_spread_of_concentrations_is_bounded_but_never_cut_below_what_it_was() -> None:
    known = Priors(1.0, np.eye(3)[0], 1.0, 0.0, 1.0)
    assert known.of_kappas(2.0, 5.0).sigma == pytest.approx(1.0)
    assert known.of_kappas(2.0, 4.0).sigma == 0.05
    assert known.of_kappas(2.0, 904.0).sigma == 4.0
    # Beyond the limit, the best value that does not move further away.
    wide = Priors(1.0, np.eye(3)[0], 1.0, 0.0, 7.0)
    assert [wide.of_kappas(0.0, square).sigma for square in (900.0, 25.0)] == [7.0, 5.0]
