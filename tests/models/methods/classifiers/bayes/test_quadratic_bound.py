"""The quadratic bounds: below the likelihood, and as tight as they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.classifiers.bayes.likelihood import (
    Logistic,
    QuadraticBound,
    Softmax,
    best_beta,
    slope,
)

ROW, CODE = np.arange(5), np.array([0, 3, 1, 1, 2])
KINDS = st.sampled_from(["softmax", "logistic"])


def drawn(seed: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of scores."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 4), scale=size), rng.gamma(1.0, size, (5, 4))


@given(kind=KINDS, seed=st.integers(0, 10_000), size=st.floats(1e-3, 100.0))
def test_it_is_below_the_likelihood_at_any_scores(kind: str, seed: int, size: float) -> None:
    mean, variance = drawn(seed, size)
    bound = QuadraticBound.first(kind, ROW, CODE, 5, 4).tightened(mean, variance)
    likelihood = Softmax(ROW, CODE) if kind == "softmax" else Logistic(ROW, CODE)
    rng = np.random.default_rng(seed + 1)
    for _ in range(20):
        scores = rng.normal(mean, np.sqrt(variance))
        value = bound.value(scores, np.zeros_like(scores))
        log_likelihood = -likelihood.at(scores.copy()).loss
        assert value <= log_likelihood + 1e-9 * (1 + abs(value))


@given(kind=KINDS, seed=st.integers(0, 10_000), size=st.floats(1e-3, 100.0))
def test_no_other_beta_or_xi_is_tighter(kind: str, seed: int, size: float) -> None:
    mean, variance = drawn(seed, size)
    best = QuadraticBound.first(kind, ROW, CODE, 5, 4).tightened(mean, variance)
    highest = best.value(mean, variance)
    rng = np.random.default_rng(seed + 1)
    for scale in (1e-3, 0.1, 1.0):
        other = replace(best, xi=best.xi * np.exp(scale * rng.normal(size=best.xi.shape)))
        assert other.value(mean, variance) <= highest + 1e-9 * abs(highest)
        if kind == "softmax":
            moved = best.beta + scale * size * rng.normal(size=5)
            other = replace(best, beta=moved)
            assert other.value(mean, variance) <= highest + 1e-9 * abs(highest)


def test_beta_and_xi_are_those_of_the_appendix() -> None:
    """A.14, and A.13 with x^T Psi x."""
    mean, variance = drawn(5, 2.0)
    best = QuadraticBound.first("softmax", ROW, CODE, 5, 4).tightened(mean, variance)
    weight = slope(best.xi)
    beta = (0.5 * (0.5 * 4 - 1) + (weight * mean).sum(axis=1)) / weight.sum(axis=1)
    np.testing.assert_allclose(best.beta, beta, rtol=1e-6)
    np.testing.assert_allclose(best.xi**2, variance + (best.beta[:, None] - mean) ** 2)
    assert (QuadraticBound.first("logistic", ROW, CODE, 5, 4).beta == 0).all()


@pytest.mark.parametrize("spread", [0.0, 1e-8, 1.0, 1e6])
def test_beta_is_found_from_any_start(spread: float) -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(300, 40)) * rng.choice([1e-3, 1.0, 1e3], size=(300, 1))
    variance = np.full(mean.shape, spread)
    for start in (0.0, -1e9, 1e9):
        beta = best_beta(np.full(300, start), mean, variance)
        centred = mean - beta[:, None]
        total = 0.5 * 40 + (2 * slope(np.sqrt(variance + centred**2)) * centred).sum(axis=1)
        np.testing.assert_allclose(total, 1.0, atol=1e-6)
