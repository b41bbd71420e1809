"""R-hat and effective sample sizes of chains whose mixing is known."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.classifiers.sampling.diagnostics import (
    autocovariances,
    effective_sample_size,
    split_rhat,
)


def autoregressive(rng: np.random.Generator, factor: float, n_draws: int) -> np.ndarray:
    """(4, n_draws) of variance 1 with autocorrelation factor^lag."""
    chains = np.empty((4, n_draws))
    chains[:, 0] = rng.normal(size=4)
    for draw in range(1, n_draws):
        noise = np.sqrt(1.0 - factor**2) * rng.normal(size=4)
        chains[:, draw] = factor * chains[:, draw - 1] + noise
    return chains


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_chain(factor: float) -> None:
    chains = autoregressive(np.random.default_rng(0), factor, 4000)
    expected = 16_000 * (1.0 - factor) / (1.0 + factor)
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.15)
    assert split_rhat(chains) == pytest.approx(1.0, abs=0.02)


def test_chains_that_lie_apart_or_drift_are_seen() -> None:
    rng = np.random.default_rng(1)
    apart = rng.normal(size=(4, 500)) + np.array([[0.0], [0.0], [0.0], [3.0]])
    drifting = rng.normal(size=(1, 500)) + np.linspace(0.0, 4.0, 500)
    for chains in (apart, drifting):
        assert split_rhat(chains) > 1.2
        assert effective_sample_size(chains) < 30
    assert split_rhat(np.ones((2, 10))) == 1.0
    assert split_rhat(np.repeat([[0.0], [1.0]], 10, axis=1)) == float("inf")


def test_r_hat_is_the_literal_ratio() -> None:
    chains = np.random.default_rng(2).normal(size=(2, 9))
    halves = [chains[0, :4], chains[0, 5:], chains[1, :4], chains[1, 5:]]
    within = np.mean([np.var(half, ddof=1) for half in halves])
    between = np.var([np.mean(half) for half in halves], ddof=1)
    assert split_rhat(chains) == pytest.approx(np.sqrt((3 / 4 * within + between) / within))


def test_autocovariances_are_the_literal_sums() -> None:
    chains = np.random.default_rng(3).normal(size=(2, 7))
    centered = chains - chains.mean(axis=1, keepdims=True)
    for chain, row in zip(centered, autocovariances(chains), strict=True):
        expected = [sum(chain[i] * chain[i + lag] for i in range(7 - lag)) / 6 for lag in range(7)]
        assert row == pytest.approx(expected)
