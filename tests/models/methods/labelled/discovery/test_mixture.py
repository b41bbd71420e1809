"""Mixtures of one spread against literal densities, and EM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, vonmises_fisher

from models.errors import UsageError
from models.methods.labelled.discovery.mixture import (
    Clusterer,
    Mixture,
    PartlyLabelledRows,
    beyond,
    climb,
    directions,
    expected,
    maximized,
)
from models.numerics import sphere

KINDS: tuple[Clusterer, ...] = ("gmm", "vmf")


def rows(seed: int, kind: Clusterer, n_rows: int = 40) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n_rows, 3))
    return directions(values) if kind == "vmf" else values


def mixture(seed: int, kind: Clusterer) -> Mixture:
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(4, 3))
    if kind == "vmf":
        means /= np.linalg.norm(means, axis=1)[:, None]
    return Mixture(kind, means, rng.dirichlet(np.ones(4)), 0.3)


def literal(some: Mixture, values: np.ndarray) -> np.ndarray:
    """(n_rows, K) weight times density."""
    if some.kind == "gmm":
        densities = [
            multivariate_normal(mean, some.variance * np.eye(3)).pdf(values) for mean in some.means
        ]
    else:
        densities = [vonmises_fisher(mean, 1 / some.variance).pdf(values) for mean in some.means]
    return np.stack(densities, axis=1) * some.weights


@pytest.mark.parametrize("kind", KINDS)
def test_posteriors_and_likelihood_are_those_of_the_densities(kind: Clusterer) -> None:
    values, some = rows(0, kind), mixture(1, kind)
    expected = literal(some, values)
    joint = some.log_joint(values)
    posterior = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior, expected / expected.sum(axis=1, keepdims=True))
    evidence = np.log(np.exp(joint).sum(axis=1)).sum()
    total = evidence + some.common(float((values**2).sum()), len(values))
    assert total == pytest.approx(np.log(expected.sum(axis=1)).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_the_m_step_is_the_maximum_of_the_expected_likelihood(kind: Clusterer) -> None:
    values = rows(2, kind)
    posterior = np.random.default_rng(3).dirichlet(np.ones(4), len(values))
    code = np.full(len(values), -1)
    best = maximized(
        mixture(4, kind),
        PartlyLabelledRows.of(values, code),
        posterior.sum(axis=0),
        posterior.T @ values,
    )
    reached = float((posterior * np.log(literal(best, values))).sum())
    rng = np.random.default_rng(5)
    for _ in range(20):
        means = best.means + rng.normal(0, 0.01, best.means.shape)
        if kind == "vmf":
            means /= np.linalg.norm(means, axis=1)[:, None]
        weights = best.weights * np.exp(rng.normal(0, 0.01, 4))
        other = Mixture(
            kind, means, weights / weights.sum(), best.variance * rng.uniform(0.98, 1.02)
        )
        assert float((posterior * np.log(literal(other, values))).sum()) < reached


@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_never_falls_and_known_rows_stay(kind: Clusterer) -> None:
    values, start = rows(6, kind, 200), mixture(7, kind)
    code = np.where(np.arange(200) < 30, np.arange(200) % 4, -1)
    some = PartlyLabelledRows.of(values, code)
    reached = [climb(some, start, max_iter, -np.inf).log_likelihood for max_iter in range(1, 15)]
    assert np.diff(reached).min() > -1e-8
    fit = climb(some, start, 500, 1e-9)
    assert fit.converged
    densities = literal(fit.mixture, values)
    own = densities[np.arange(30), code[:30]]
    expected = np.log(own).sum() + np.log(densities[30:].sum(axis=1)).sum()
    assert fit.log_likelihood == pytest.approx(expected)


def test_a_cluster_without_rows_does_no_harm() -> None:
    values = rows(8, "gmm")
    means = np.array([[0.0, 0, 0], [1e6, 0, 0]])
    fit = climb(
        PartlyLabelledRows.of(values, np.full(40, -1)),
        Mixture("gmm", means, np.full(2, 0.5), 1.0),
        50,
        1e-6,
    )
    assert np.isfinite(fit.log_likelihood)
    np.testing.assert_allclose(fit.mixture.means[0], values.mean(axis=0))


def test_parameters_are_counted() -> None:
    assert mixture(0, "gmm").n_parameters == 4 * 3 + 3 + 1
    assert mixture(0, "vmf").n_parameters == 4 * 2 + 3 + 1


def test_equal_directions_have_a_bounded_concentration() -> None:
    values = np.tile([[0.0, 1.0, 0.0]], (10, 1))
    fit = climb(
        PartlyLabelledRows.of(values, np.full(10, -1)),
        Mixture("vmf", values[:1], np.ones(1), 1.0),
        50,
        1e-6,
    )
    assert fit.mixture.variance > 0
    assert np.isfinite(sphere.log_c(3, 1 / fit.mixture.variance))


def test_rows_without_a_direction_are_refused() -> None:
    with pytest.raises(UsageError, match="Row 1"):
        directions(np.array([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(UsageError, match="one column"):
        directions(np.ones((3, 1)))


def plain(given: PartlyLabelledRows, some: Mixture, tol: float) -> tuple[float, int]:
    """The log-likelihood at which EM alone ends, and its E-steps."""
    before, n_steps = -np.inf, 0
    while True:
        evidence, mass, sums = expected(some, given)
        n_steps += 1
        if evidence - before <= tol * len(given.code):
            return evidence, n_steps
        before, some = evidence, maximized(some, given, mass, sums)


@pytest.mark.parametrize("kind", KINDS)
def test_overlapping_clusters_take_fewer_steps_than_em_alone(kind: Clusterer) -> None:
    rng = np.random.default_rng(11)
    values = np.repeat(mixture(6, kind).means, 300, axis=0) + rng.normal(0, 0.7, (1200, 3))
    values = directions(values) if kind == "vmf" else values
    given, start = PartlyLabelledRows.of(values, np.full(1200, -1)), mixture(7, kind)
    evidence, n_steps = plain(given, start, 1e-9)
    fit = climb(given, start, 5000, 1e-9)
    assert fit.converged
    assert fit.n_iter < n_steps / 2
    assert fit.log_likelihood > evidence - 1e-3
    if kind == "vmf":
        np.testing.assert_allclose(np.linalg.norm(fit.mixture.means, axis=1), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_beyond_no_stretch_is_the_last_step(kind: Clusterer) -> None:
    steps = mixture(1, kind), mixture(2, kind), mixture(3, kind)
    assert beyond(*steps, 1.0) == (steps[2], True)


def test_beyond_steps_that_shrink_alike_is_their_limit() -> None:
    """Steps by the factor 0.9 shrink to nothing after ten times the first."""
    some, away = mixture(1, "gmm"), np.random.default_rng(2).normal(size=(4, 3))
    steps = [replace(some, means=some.means + away * (1.0 - 0.9**n)) for n in range(3)]
    limit, at_most = beyond(steps[0], steps[1], steps[2], 1000.0)
    assert not at_most
    np.testing.assert_allclose(limit.means, some.means + away, rtol=1e-6)
    np.testing.assert_allclose(limit.weights, some.weights)
    halfway, at_most = beyond(steps[0], steps[1], steps[2], 4.0)
    assert at_most
    expected_share = 2 * 4.0 * 0.1 - 4.0**2 * 0.01
    np.testing.assert_allclose(halfway.means, some.means + away * expected_share, rtol=1e-6)
