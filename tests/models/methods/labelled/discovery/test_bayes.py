"""The mixture with priors, by its literal posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from models.arrays import Float, Int
from models.methods.labelled.discovery.bayes import Prior, PriorFit, Sample, climb

PRIOR = Prior(variance=4.0, spread=0.5, n_rows=3.0)


def rows(seed: int, n_known: int = 2) -> tuple[Float, Int]:
    """Rows of four clusters with one oblique covariance, a third of the known ones' unlabelled."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 12)
    spread = rng.normal(size=(2, 2))
    points = 2.0 * rng.normal(size=(4, 2))[truth] + rng.normal(size=(48, 2)) @ spread
    code = np.where((truth < n_known) & (np.arange(48) % 3 > 0), truth, -1)
    return points - points.mean(axis=0), code


def literal(
    points: Float, code: Int, means: Float, covariance: Float, first: int
) -> tuple[float, float]:
    """The log likelihood and the log posterior."""
    density = [multivariate_normal(mean, covariance) for mean in means]
    total = 0.0
    for row, known in zip(points, code, strict=True):
        if known >= 0:
            total += density[known].logpdf(row)
        else:
            logs = [one.logpdf(row) - np.log(len(means) - first) for one in density[first:]]
            total += float(logsumexp(logs))
    n_columns = points.shape[1]
    of_means = multivariate_normal(np.zeros(n_columns), PRIOR.variance * np.eye(n_columns))
    prior = sum(float(of_means.logpdf(mean)) for mean in means)
    spread = PRIOR.spread * np.trace(np.linalg.inv(covariance))
    prior -= 0.5 * PRIOR.n_rows * (np.linalg.slogdet(covariance)[1] + spread)
    return total, total + prior


def climbed(
    points: Float, code: Int, seed: int, first: int, n_clusters: int = 4, **how: Any
) -> PriorFit:
    rng = np.random.default_rng(seed)
    means = points[rng.choice(points.shape[0], n_clusters, replace=False)]
    settings = {"max_iter": 1000, "tol": 1e-10, **how}
    sample = Sample.of(points, code, 2)
    return climb(sample, means, np.cov(points.T), PRIOR, first=first, **settings)


@pytest.mark.parametrize("first", [0, 2])
def test_the_posterior_is_the_literal_one(first: int) -> None:
    for seed in range(3):
        points, code = rows(seed)
        fit = climbed(points, code, seed, first, max_iter=seed)
        log_likelihood, log_posterior = literal(
            points, code, fit.means, np.asarray(np.linalg.inv(fit.precision)), first
        )
        assert fit.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)
        assert fit.log_posteriors[-1] == pytest.approx(log_posterior, rel=1e-10)
        assert len(fit.log_posteriors) == seed + 1


def iterated(
    points: Float, code: Int, means: Float, covariance: Float, first: int, n_iter: int
) -> tuple[Float, Float]:
    """Means and covariance after some iterations, row by row: posteriors, then each mean, then the
    covariance about the new means."""
    n_clusters, n_columns = means.shape
    for _ in range(n_iter):
        share = np.zeros((len(points), n_clusters))
        for row, known in enumerate(code):
            if known >= 0:
                share[row, known] = 1.0
            else:
                for k in range(first, n_clusters):
                    share[row, k] = multivariate_normal(means[k], covariance).pdf(points[row])
                share[row] /= share[row].sum()
        inverse = np.linalg.inv(covariance)
        new = np.zeros_like(means)
        for k in range(n_clusters):
            own = np.linalg.inv(share[:, k].sum() * inverse + np.eye(n_columns) / PRIOR.variance)
            new[k] = own @ inverse @ sum(w * x for w, x in zip(share[:, k], points, strict=True))
        means = new
        squares = PRIOR.n_rows * PRIOR.spread * np.eye(n_columns)
        for row, point in enumerate(points):
            for k in range(n_clusters):
                squares += share[row, k] * np.outer(point - means[k], point - means[k])
        covariance = squares / (len(points) + PRIOR.n_rows)
    return means, covariance


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_iterations_are_the_literal_ones(seed: int, first: int) -> None:
    points, code = rows(seed)
    start = points[np.random.default_rng(seed).choice(len(points), 4, replace=False)]
    for n_iter in (1, 4):
        fit = climbed(points, code, seed, first, max_iter=n_iter, tol=0.0)
        means, covariance = iterated(points, code, start, np.cov(points.T), first, n_iter)
        np.testing.assert_allclose(fit.means, means, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(np.linalg.inv(fit.precision), covariance, rtol=1e-8, atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0, 2]), st.integers(3, 8))
def test_the_posterior_never_falls(seed: int, first: int, n_clusters: int) -> None:
    points, code = rows(seed)
    fit = climbed(points, code, seed, first, n_clusters)
    assert np.diff(fit.log_posteriors).min() >= -1e-9 * abs(fit.log_posteriors[-1])


@pytest.mark.parametrize("first", [0, 2])
def test_it_ends_at_a_mode(first: int) -> None:
    points, code = rows(1)
    fit = climbed(points, code, 1, first, tol=1e-13)
    assert fit.converged
    covariance = np.asarray(np.linalg.inv(fit.precision), dtype=np.float64)
    top = literal(points, code, fit.means, covariance, first)[1]
    rng = np.random.default_rng(0)
    for _ in range(10):
        way, turn = 1e-4 * rng.normal(size=(4, 2)), 1e-4 * rng.normal(size=(2, 2))
        up, down = (
            literal(
                points,
                code,
                fit.means + sign * way,
                covariance + sign * (turn + turn.T) @ covariance @ (turn + turn.T).T,
                first,
            )[1]
            for sign in (1, -1)
        )
        assert up - top <= 1e-6
        assert abs(up - down) <= 1e-5


def test_the_prior_is_that_of_the_known_clusters() -> None:
    points, code = rows(2)
    sample = Sample.of(points, code, 2)
    within, means = np.zeros((2, 2)), []
    for cluster in range(2):
        own = points[code == cluster]
        means.append(own.mean(axis=0))
        within += (own - means[-1]).T @ (own - means[-1])
    prior, covariance = sample.empirical(1.5, within)
    n_labelled = int((code >= 0).sum())
    assert prior.variance == pytest.approx(np.mean(np.square(means)))
    assert prior.spread == pytest.approx(np.trace(within) / (2 * (n_labelled - 2)))
    assert prior.n_rows == 3
    expected = (within + 3 * prior.spread * np.eye(2)) / (n_labelled + 3)
    np.testing.assert_allclose(covariance, expected)


def test_an_empty_cluster_goes_to_the_prior_s_mean() -> None:
    points, code = rows(3)
    sample = Sample.of(points, code, 2)
    means = np.concatenate([points[:4], [[1e3, 1e3]]])
    fit = climb(sample, means, 0.01 * np.eye(2), PRIOR, first=0, max_iter=1, tol=0.0)
    np.testing.assert_allclose(fit.means[4], 0, atol=1e-9)
