"""Clusters with covariances against literal densities, EM, and what `find` takes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models.arrays import Float, Int
from models.methods.labelled.discovery.finding import find
from models.methods.labelled.discovery.mixture import (
    Mixture,
    PartlyLabelledRows,
    climb,
)
from models.methods.labelled.discovery.shapes import Covariance, covariance_of, shaped
from models.metrics.flat import ari, contingency
from models.running.progress import silent

SHAPES: tuple[Covariance, ...] = ("tied", "full")


def long_clusters(seed: int, n_rows: int = 60) -> tuple[Float, Int]:
    """Two clusters that are long in one direction and lie side by side in the other."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], n_rows)
    values = rng.normal(size=(2 * n_rows, 3)) * [6.0, 0.4, 1.0]
    values[:, 1] += 3.0 * truth
    return values - values.mean(axis=0), truth


def start(values: Float, n_clusters: int = 3) -> Mixture:
    rng = np.random.default_rng(4)
    means = values[rng.choice(len(values), n_clusters, replace=False)]
    return Mixture("gmm", means, rng.dirichlet(np.ones(n_clusters)), 0.5)


def covariances(mixture: Mixture) -> list[Float]:
    assert mixture.factors is not None
    each = [np.linalg.inv(factor.T @ factor) for factor in mixture.factors]
    return each if mixture.has_each else each * len(mixture.means)


def literal(mixture: Mixture, values: Float) -> Float:
    """(n_rows, K) weight times density."""
    pairs = zip(mixture.means, covariances(mixture), strict=True)
    densities = [multivariate_normal(mean, spread).pdf(values) for mean, spread in pairs]
    return np.stack(densities, axis=1) * mixture.weights


def literal_posterior(mixture: Mixture, rows: PartlyLabelledRows) -> float:
    """Log likelihood, and log prior of each covariance: n more rows of v I, n = r + 2."""
    joint = literal(mixture, rows.values)
    known = np.flatnonzero(rows.code >= 0)
    likelihood = joint.sum(axis=1)
    likelihood[known] = joint[known, rows.code[known]]
    n = rows.values.shape[1] + 2
    spreads = covariances(mixture) if mixture.has_each else covariances(mixture)[:1]
    prior = sum(
        -n / 2 * np.linalg.slogdet(spread)[1]
        - n * mixture.variance * np.trace(np.linalg.inv(spread)) / 2
        for spread in spreads
    )
    return float(np.log(likelihood).sum() + prior)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_known", [0, 10])
def test_it_ends_at_a_maximum_of_the_posterior_which_never_falls(
    shape: Covariance, n_known: int
) -> None:
    values, truth = long_clusters(0)
    code = np.full(len(values), -1)
    code[:n_known] = truth[:n_known]
    rows = PartlyLabelledRows.of(values, code)
    first = start(values)
    end = shaped(rows, first, shape)
    assert np.diff(end.log_posteriors).min() > -1e-9
    last = end.fit.mixture
    assert last.weights.sum() == pytest.approx(1.0)
    assert end.log_posteriors[-1] == pytest.approx(literal_posterior(last, rows))
    best = end.log_posteriors[-1]
    rng = np.random.default_rng(1)
    assert last.factors is not None
    for _ in range(30):
        moved = Mixture(
            "gmm",
            last.means + rng.normal(0, 0.3, last.means.shape),
            last.weights,
            last.variance,
            last.factors * np.exp(rng.normal(0, 0.1, last.factors.shape)),
            last.has_each,
        )
        assert literal_posterior(moved, rows) < best


@pytest.mark.parametrize("shape", SHAPES)
def test_an_iteration_is_the_literal_one(shape: Covariance) -> None:
    values, _ = long_clusters(2)
    rows = PartlyLabelledRows.of(values, np.full(len(values), -1))
    first = start(values)
    end = shaped(rows, first, shape).fit.mixture
    # At the end the M-step of the literal posteriors gives the mixture again.
    joint = literal(end, values)
    share = joint / joint.sum(axis=1, keepdims=True)
    mass = share.sum(axis=0)
    means = share.T @ values / mass[:, None]
    n = values.shape[1] + 2
    scatter = [
        (values - mean).T @ (one[:, None] * (values - mean))
        for mean, one in zip(means, share.T, strict=True)
    ]
    extra = n * first.variance * np.eye(3)
    if shape == "full":
        wanted = [(own + extra) / (count + n) for own, count in zip(scatter, mass, strict=True)]
    else:
        wanted = [(np.sum(scatter, axis=0) + extra) / (len(values) + n)] * len(means)
    np.testing.assert_allclose(end.means, means, atol=0.05)
    np.testing.assert_allclose(covariances(end), wanted, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_log_joint_and_the_number_of_parameters(shape: Covariance) -> None:
    values, _ = long_clusters(3)
    rows = PartlyLabelledRows.of(values, np.full(len(values), -1))
    mixture = shaped(rows, climb(rows, start(values), 50, 1e-6).mixture, shape).fit.mixture
    np.testing.assert_allclose(np.exp(mixture.log_joint(values)), literal(mixture, values))
    assert covariance_of(mixture) == shape
    assert mixture.n_parameters == 3 * 3 + 2 + 6 * (3 if shape == "full" else 1)
    some = mixture.some(np.array([2, 0]))
    wanted = literal(mixture, values)[:, [2, 0]] / mixture.weights[[2, 0]].sum()
    np.testing.assert_allclose(np.exp(some.log_joint(values)), wanted)


def found(values: Float, code: Int, **options: Any) -> Any:
    return find(
        values,
        code,
        2,
        clusterer="gmm",
        n_init=20,
        rng=np.random.default_rng(0),
        progress=silent,
        **options,
    )


@pytest.mark.parametrize("may_join", [False, True])
def test_long_clusters_are_found_with_a_covariance_and_not_with_a_spread(may_join: bool) -> None:
    values, truth = long_clusters(5)
    known = np.random.default_rng(6).normal(size=(30, 3)) * [1.0, 0.4, 1.0] + [0.0, -20.0, 0.0]
    points = np.concatenate([values, known])
    code = np.concatenate([np.full(len(values), -1), np.zeros(30, dtype=np.int64)])
    reached = {}
    for covariance in ("spherical", *SHAPES):
        discovery = found(points, code, may_join=may_join, covariance=covariance)
        cluster = discovery.cluster[: len(values)]
        reached[covariance] = ari(contingency(cluster, truth, 3, 2)) or 0.0
        assert discovery.mixture.weights.sum() == pytest.approx(1.0)
        assert (discovery.cluster[len(values) :] == 0).all()
        if may_join:
            continue
        # Known clusters have a shape too, which new rows are compared with.
        joint = discovery.mixture.log_joint(known)
        assert (joint.argmax(axis=1) == 0).all()
    assert reached["spherical"] < 0.5
    assert min(reached["tied"], reached["full"]) > 0.9


@pytest.mark.parametrize("shape", ["spherical", *SHAPES])
def test_the_bic_counts_the_parameters_of_the_shape(shape: Covariance) -> None:
    values, _ = long_clusters(7)
    one = found(values, np.full(len(values), -1), may_join=False, covariance=shape)
    penalty = one.mixture.n_parameters * np.log(len(values))
    assert one.bic == pytest.approx(penalty - 2 * one.log_likelihood)


def test_directions_keep_one_spread() -> None:
    values, _ = long_clusters(8)
    rows = find(
        values,
        np.full(len(values), -1),
        2,
        clusterer="vmf",
        may_join=False,
        n_init=3,
        rng=np.random.default_rng(0),
        progress=silent,
        covariance="full",
    )
    assert rows.mixture.factors is None
