"""The predictive density: one over the sphere, and what draws of the parameters give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import log_predictive
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform

RNG = np.random.default_rng(0)


def evidence(features: np.ndarray, *posterior: np.ndarray) -> np.ndarray:
    return log_predictive(UnitRows.of(Data({"features": features})), *posterior)[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_it_integrates_to_one(threads: int) -> None:
    # Points spread evenly on the sphere, by the golden angle.
    n = 20_000
    height = 1 - (2 * np.arange(n) + 1) / n
    angle = np.arange(n) * np.pi * (3 - np.sqrt(5))
    ring = np.sqrt(1 - height**2)
    spread = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    posterior = (
        np.log([0.3, 0.7]),
        uniform(2, 3, RNG),
        np.array([40.0, 3.0]),
        np.log([20.0, 5.0]),
        np.array([0.5, 0.1]),
    )
    points = UnitRows.of(Data({"features": spread}))
    logits, result = log_predictive(points, *posterior, threads)
    assert np.exp(result).mean() * 4 * np.pi == pytest.approx(1.0, abs=1e-4)
    assert np.exp(logits).sum(axis=1) == pytest.approx(1.0)


def test_it_is_the_mean_density_over_draws() -> None:
    psi, gamma, log_mean, log_sd = uniform(1, 6, RNG), 30.0, np.log(15.0), 0.3
    features = draw_vmf(np.repeat(psi, 5, axis=0), 8.0, RNG)
    mu = draw_vmf(np.repeat(psi, 60_000, axis=0), gamma, RNG)
    kappa = np.exp(log_mean + log_sd * RNG.standard_normal(60_000))
    log_density = sphere.log_c(6, kappa) + kappa * (features @ mu.T)
    expected = logsumexp(log_density, axis=1) - np.log(60_000)
    result = evidence(
        features, np.zeros(1), psi, np.array([gamma]), np.array([log_mean]), np.array([log_sd])
    )
    assert result == pytest.approx(expected, abs=0.05)


def test_a_sure_posterior_is_the_density_itself() -> None:
    psi = uniform(2, 9, RNG)
    features = uniform(50, 9, RNG)
    kappa = np.array([4.0, 90.0])
    log_weights = np.log([0.4, 0.6])
    joint = log_weights + sphere.log_c(9, kappa) + kappa * (features @ psi.T)
    result = evidence(features, log_weights, psi, np.full(2, 1e9), np.log(kappa), np.zeros(2))
    assert result == pytest.approx(logsumexp(joint, axis=1), abs=1e-5)
