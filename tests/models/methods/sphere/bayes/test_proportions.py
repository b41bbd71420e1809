"""Weights by breaking a stick: moments, divergence and order by their definitions; the bound."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma, gammaln

from models.methods.sphere.bayes.priors import LEAST_ALPHA, MOST_ALPHA, Sticks, value
from tests.models.methods.sphere.sphere_kit import priors

sizes = st.lists(st.floats(0.0, 50.0), min_size=1, max_size=5).map(np.array)
alphas = st.floats(0.05, 20.0)


def drawn(q: Sticks, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, K) draws of pi, of one piece after the other."""
    a, b = q.beta
    left, out = np.ones(n), np.zeros((n, len(q.size)))
    for first, second, cluster in zip(a, b, q.order, strict=True):
        piece = rng.beta(first, second, n)
        out[:, cluster], left = left * piece, left * (1 - piece)
    return out


def test_moments_are_those_of_broken_sticks() -> None:
    q = Sticks.first(np.array([3.0, 40.0, 0.0, 12.5]), priors(alpha=2.5))
    pi = drawn(q, 200_000, np.random.default_rng(0))
    assert q.means == pytest.approx(pi.mean(axis=0) / pi.sum(axis=1).mean(), abs=2e-3)
    assert q.log_means == pytest.approx(np.log(pi).mean(axis=0), abs=2e-2)
    assert q.order.tolist() == [1, 3, 0, 2]
    a, b = q.beta
    assert a.tolist() == [41.0, 13.5, 4.0, 1.0]
    assert b.tolist() == [18.0, 5.5, 2.5, 2.5]


@settings(max_examples=50, deadline=None)
@given(sizes, alphas, alphas)
def test_divergence_is_that_of_the_pieces(size: np.ndarray, alpha: float, other: float) -> None:
    q = Sticks.first(size, priors(alpha=alpha))
    a, b = q.beta
    x = np.linspace(-600.0, 600.0, 60_001)
    # In the logit of v, where the densities of both are smooth and fall to 0.
    log_v, log_rest, step = -np.logaddexp(0, -x), -np.logaddexp(0, x), x[1] - x[0]
    expected = 0.0
    for first, second in zip(a, b, strict=True):
        log_own = first * log_v + second * log_rest - _log_beta(first, second)
        log_prior = log_v + other * log_rest + np.log(other)
        expected += (np.exp(log_own) * (log_own - log_prior)).sum() * step
    assert q.divergence(priors(alpha=other)) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def _log_beta(a: float, b: float) -> float:
    return float(gammaln(a) + gammaln(b) - gammaln(a + b))


@settings(max_examples=50, deadline=None)
@given(sizes, alphas)
def test_no_pieces_are_better_for_given_rows(size: np.ndarray, alpha: float) -> None:
    """sum_k n_k E[log pi_k] - KL is highest at q, and there `value`."""
    prior = priors(alpha=alpha)
    q = Sticks.first(size, prior)
    highest = float(q.log_means @ size) - q.divergence(prior)
    by_order = value(size[q.order], alpha)
    assert highest == pytest.approx(by_order, rel=1e-9, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        changed = Sticks(size * np.exp(0.3 * rng.standard_normal(len(size))), alpha)
        assert float(changed.log_means @ size) - changed.divergence(prior) <= highest + 1e-9
        changed = Sticks(size, alpha * 1.3)
        assert float(changed.log_means @ size) - changed.divergence(prior) <= highest + 1e-9


def test_the_bound_is_level_in_each_piece() -> None:
    """Numerical differences of the literal bound in every a_k and b_k."""
    size, alpha = np.array([12.0, 7.5, 0.3, 0.0]), 1.7
    after = np.array([7.8, 0.3, 0.0, 0.0])

    def bound(a: np.ndarray, b: np.ndarray) -> float:
        broken, kept = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
        likely = size * broken + after * kept + np.log(alpha) + (alpha - 1) * kept
        return float((likely + stats.beta(a, b).entropy()).sum())

    a, b = Sticks.first(size, priors(alpha=alpha)).beta
    for k, step in enumerate(1e-4 * np.eye(4)):
        assert bound(a + step, b) - bound(a - step, b) == pytest.approx(0.0, abs=1e-9), k
        assert bound(a, b + step) - bound(a, b - step) == pytest.approx(0.0, abs=1e-9), k
        assert bound(a + 100 * step, b) < bound(a, b) > bound(a, b + 100 * step)
    assert bound(a, b) == pytest.approx(value(size, alpha), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(sizes, alphas)
def test_the_larger_first_is_the_best_order(size: np.ndarray, alpha: float) -> None:
    best = max(value(size[list(order)], alpha) for order in permutations(range(len(size))))
    assert value(np.sort(size)[::-1], alpha) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("start", [0.01, 1.0, 300.0])
@pytest.mark.parametrize(
    "size", [[30.0, 20.0, 5.0, 0.0], [0.2, 7.0], [5.0, 30.0, 20.0], [1.0, 0.0, 0.0, 90.0]]
)
def test_alpha_is_the_highest_under_q_and_with_it(start: float, size: list[float]) -> None:
    n = np.array(size)
    q, result = Sticks(n, start).updated_with_alpha(n, priors(alpha=start))
    assert q.alpha == result.alpha

    def bound(alpha: float) -> float:
        changed = Sticks(n, alpha)
        return float(changed.log_means @ n) - changed.divergence(priors(alpha=alpha))

    tried = np.geomspace(LEAST_ALPHA, MOST_ALPHA, 301)
    assert bound(q.alpha) >= max(map(bound, tried)) - 1e-9
    assert q.divergence(result) <= min(q.divergence(priors(alpha=a)) for a in tried) + 1e-9
    slope = (bound(q.alpha * 1.0001) - bound(q.alpha / 1.0001)) / 2e-4
    assert abs(slope) < 1e-3
