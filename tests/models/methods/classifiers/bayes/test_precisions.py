"""Priors from data and the posteriors of precisions, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import norm

from models.methods.classifiers.bayes.precisions import (
    Precisions,
    information_of,
    shares_of,
    spread_of,
)
from tests.models.methods.classifiers.bayes.bayes_kit import TREE, small

ALL = ("M1", "M2", "M3")


def test_the_prior_of_a_leaf_is_its_information_and_that_of_an_inner_node_the_sum() -> None:
    problem = small()
    n_columns = problem.rows.shape[1]
    b = np.zeros((8, n_columns))
    for class_, leaf in enumerate(TREE.node):
        share = np.mean(problem.code == class_)
        for column in range(n_columns):
            information = sum(share * (1 - share) * x[column] ** 2 for x in problem.rows)
            b[leaf, column] = 1 / information
    b[1], b[2] = b[3] + b[4], b[5] + b[6] + b[7]
    b[0] = b[1] + b[2]
    a = np.array([5.0, 2, 3, 1, 1, 1, 1, 1])
    by_family = problem.precisions("M2")
    np.testing.assert_allclose(by_family.b, b[[0, 1, 2]])
    np.testing.assert_array_equal(by_family.a[:, 0], a[[0, 1, 2]])
    np.testing.assert_array_equal(by_family.group, [0, 0, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(by_family.tau[:, 0], [5 + 1, 2 + 1, 3 + 1.5])
    shared = problem.precisions("M1")
    np.testing.assert_allclose(shared.b[:, 0], b[[0, 1, 2]].sum(axis=1))
    np.testing.assert_array_equal(shared.tau[:, 0], [5 + n_columns, 2 + n_columns, 3 + 4.5])
    own = problem.precisions("M3")
    np.testing.assert_allclose(own.b[:, 0], b[1:].sum(axis=1))
    np.testing.assert_array_equal(own.group, np.arange(7))
    np.testing.assert_array_equal(own.tau[:, 0], a[1:] + n_columns / 2)
    for precisions in (by_family, shared, own):
        np.testing.assert_allclose(precisions.mean, precisions.a / precisions.b)


@pytest.mark.parametrize("covariance", ALL)
def test_the_posterior_is_where_the_bound_is_highest(covariance: str) -> None:
    problem = small(1)
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(8, 3))
    variance = rng.uniform(0.1, 1.0, (8, 3))
    spread = spread_of(TREE, mean, variance)
    best = problem.precisions(covariance).updated(spread)
    highest = best.bound(spread)
    for factor in (0.9, 0.999, 1.001, 1.1):
        for group in range(best.b.shape[0]):
            nu = best.nu.copy()
            nu[group, -1] *= factor
            assert best.with_rates(nu).bound(spread) < highest


def test_the_bound_is_the_expectation_under_the_posterior() -> None:
    """One inner node, two leaves, two features: each precision integrated by quadrature."""
    problem = small(3, n_columns=2)
    rng = np.random.default_rng(4)
    mean, variance = rng.normal(size=(8, 2)), rng.uniform(0.1, 1.0, (8, 2))
    spread = spread_of(TREE, mean, variance)
    precisions = problem.precisions("M3").updated(spread)
    expected = 0.0
    for column in range(2):
        square = mean[0, column] ** 2 + variance[0, column]
        expected += norm.logpdf(0) - 0.5 * square
    for node in range(1, 8):
        tau, nu = precisions.tau[node - 1, 0], precisions.nu[node - 1, 0]
        a, b = precisions.a[node - 1, 0], precisions.b[node - 1, 0]
        squares = sum(
            (mean[node, column] - mean[TREE.parent[node], column]) ** 2
            + variance[node, column]
            + variance[TREE.parent[node], column]
            for column in range(2)
        )

        def integrand(
            value: float,
            tau: float = tau,
            nu: float = nu,
            a: float = a,
            b: float = b,
            squares: float = squares,
        ) -> float:
            log_q = tau * np.log(nu) - gammaln(tau) + (tau - 1) * np.log(value) - nu * value
            log = np.log(value / (2 * np.pi)) - 0.5 * value * squares - log_q
            log += a * np.log(b) - gammaln(a) + (a - 1) * np.log(value) - b * value
            return float(np.exp(log_q) * log)

        expected += quad(integrand, 0, 20 * (tau + 1) / nu, limit=200)[0]
    assert precisions.bound(spread) == pytest.approx(expected, rel=1e-6)


def test_information_has_the_precision_around_the_parent_and_of_each_child() -> None:
    problem = small()
    for covariance in ALL:
        precisions = problem.precisions(covariance)
        of_nodes = np.broadcast_to(precisions.of_nodes, (8, 3))
        np.testing.assert_array_equal(of_nodes[0], 1.0)
        expected = of_nodes.copy()
        for node in range(1, 8):
            expected[TREE.parent[node]] += of_nodes[node]
        np.testing.assert_allclose(information_of(TREE, precisions), expected)


def test_a_class_of_all_rows_or_none_has_a_prior() -> None:
    share = shares_of(np.array([0, 1, 4, 2, 2]), 4)
    np.testing.assert_allclose(share, [0.2, 0.25, 0.8, 0.5, 0.5])
    assert np.isfinite(Precisions.of("M1", TREE, share, np.ones(3)).mean).all()
