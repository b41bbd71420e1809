"""Weights that change with time: q against the Gaussian's definition, its bound, its updates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from models.methods.sphere.time.temporal import WeightPaths


def precision(n_periods: int, first_sd: float, sd: float) -> np.ndarray:
    """The precision of the prior of one cluster's walk, from its steps."""
    steps = np.eye(n_periods) - np.eye(n_periods, k=-1)
    scale = np.full(n_periods, sd**-2)
    scale[0] = first_sd**-2
    return steps.T @ (scale[:, None] * steps)


def literal(paths: WeightPaths, size: np.ndarray) -> float:
    """sum_tk n_tk (m_tk - log sum_j exp(m_tj + v_tj / 2)) - KL of dense Gaussians."""
    n_periods, n_clusters = paths.mean.shape
    prior = precision(n_periods, paths.first_sd, paths.sd)
    value, variance = 0.0, np.empty_like(paths.mean)
    for k in range(n_clusters):
        cov = np.linalg.inv(prior + np.diag(paths.precision[:, k]))
        variance[:, k] = np.diag(cov)
        m = paths.mean[:, k]
        value -= 0.5 * (np.trace(prior @ cov) + m @ prior @ m - n_periods)
        value += 0.5 * (np.linalg.slogdet(cov)[1] + np.linalg.slogdet(prior)[1])
    high = logsumexp(paths.mean + variance / 2, axis=1, keepdims=True)
    return float(value + (size * (paths.mean - high)).sum())


def drawn(seed: int, n_periods: int, n_clusters: int) -> tuple[WeightPaths, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (n_periods, n_clusters)
    paths = WeightPaths.of_precision(
        rng.normal(size=shape), rng.gamma(1.0, 5.0, size=shape), 1.3, 0.4
    )
    return paths, rng.gamma(0.5, 20.0, size=shape) * (rng.random(shape) < 0.8)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 4))
def test_the_bound_by_its_definition_and_its_updates(
    seed: int, n_periods: int, n_clusters: int
) -> None:
    paths, size = drawn(seed, n_periods, n_clusters)
    assert paths.gain(size) == pytest.approx(literal(paths, size), rel=1e-9)
    cov = np.linalg.inv(precision(n_periods, 1.3, 0.4) + np.diag(paths.precision[:, 0]))
    assert paths.variance[:, 0] == pytest.approx(np.diag(cov))
    assert paths.link[:, 0] == pytest.approx(np.diag(cov, 1))
    after = paths.updated(size)
    assert after.gain(size) >= paths.gain(size)
    estimated = after.estimated()
    assert estimated.gain(size) >= after.gain(size) - 1e-9


def test_an_update_ends_where_the_literal_bound_is_flat() -> None:
    paths, size = drawn(3, 5, 3)
    for _ in range(30):
        paths = paths.updated(size)
    for t in range(5):
        for k in range(3):
            e = np.zeros((5, 3))
            e[t, k] = 1e-2

            def at(h: float, e: Any = e) -> float:
                return literal(replace(paths, mean=paths.mean + h * e), size)

            curve = at(1) - 2 * at(0) + at(-1)
            assert abs(at(1) - at(-1)) < 0.2 * abs(curve)

            def with_precision(h: float, e: Any = e) -> float:
                moved = paths.precision * np.exp(10 * h * e)
                return literal(replace(paths, precision=moved), size)

            # A change of a tenth in w: the loss is of second order.
            assert with_precision(1) <= with_precision(0) + 1e-4
            assert with_precision(-1) <= with_precision(0) + 1e-4


def test_the_spreads_are_at_their_maximum() -> None:
    paths, size = drawn(1, 6, 4)
    paths = paths.updated(size)
    result = paths.estimated()
    dense = [
        np.linalg.inv(precision(6, paths.first_sd, paths.sd) + np.diag(paths.precision[:, k]))
        for k in range(4)
    ]

    def divergence(first_sd: float, sd: float) -> float:
        prior, value = precision(6, first_sd, sd), 0.0
        for k, cov in enumerate(dense):
            m = paths.mean[:, k]
            value += np.trace(prior @ cov) + m @ prior @ m - np.linalg.slogdet(prior)[1]
        return 0.5 * value

    here = divergence(result.first_sd, result.sd)
    for factor in (0.98, 1.02):
        assert divergence(result.first_sd * factor, result.sd) > here
        assert divergence(result.first_sd, result.sd * factor) > here


def test_walks_are_recovered() -> None:
    rng = np.random.default_rng(0)
    eta = np.cumsum(np.vstack([rng.normal(size=5), 0.3 * rng.normal(size=(59, 5))]), axis=0)
    size = np.array([rng.multinomial(40, softmax(row)) for row in eta]).astype(float)
    paths = WeightPaths.of_precision(np.zeros((60, 5)), np.full((60, 5), 8.0), 1.0, 1.0)
    for _ in range(60):
        paths = paths.updated(size).estimated()
    truth = softmax(eta, axis=1)
    assert np.abs(paths.weights - truth).mean() < 0.7 * np.abs(size / 40 - truth).mean()
    assert paths.sd == pytest.approx(0.3, rel=0.25)


def test_a_period_without_rows_lies_between_its_neighbours() -> None:
    size = np.array([[90.0, 10.0], [0.0, 0.0], [10.0, 90.0]])
    paths = WeightPaths.of_precision(np.zeros((3, 2)), np.ones((3, 2)), 1.0, 1.0).updated(size)
    assert paths.mean[1] == pytest.approx((paths.mean[0] + paths.mean[2]) / 2, abs=0.05)
    assert (paths.variance[1] > paths.variance[[0, 2]]).all()


def test_one_cluster_has_all_the_weight() -> None:
    paths = WeightPaths.of_precision(np.zeros((3, 1)), np.ones((3, 1)), 1.0, 1.0)
    size = np.array([[3.0], [0.0], [5.0]])
    assert paths.updated(size).estimated() is paths
    assert paths.gain(size) == 0.0
    assert (paths.weights == 1.0).all()
