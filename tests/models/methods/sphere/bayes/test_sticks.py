"""Weights by breaking a stick: moments, divergence and order by their definitions; the bound."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma, gammaln, logsumexp

from models.data import Data
from models.methods.sphere.bayes.bayesian import occupied
from models.methods.sphere.bayes.merging import Merging
from models.methods.sphere.bayes.priors import LEAST_ALPHA, MOST_ALPHA, Priors
from models.methods.sphere.bayes.proportions import Sticks, value
from models.methods.sphere.bayes.variational import Ascent, Variational
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts
from models.numerics import bessel
from models.numerics.sphere import uniform
from models.progress import silent
from tests.models.methods.sphere.drawn import mixture
from tests.models.methods.sphere.em.test_em import Kept, Stop
from tests.models.methods.sphere.exact import log_joints

sizes = st.lists(st.floats(0.0, 50.0), min_size=1, max_size=5).map(np.array)
alphas = st.floats(0.05, 20.0)


def priors(n_features: int = 3, alpha: float = 1.2, c0: float = 1.5) -> Priors:
    return Priors(alpha, np.eye(n_features)[0], c0, float(np.log(10.0)), 0.8)


def run(
    features: np.ndarray, most: int, form: Any, empirical: bool, kind: Any = Merging, **own: Any
) -> Ascent:
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(len(features))
        given_to = {"max_iter": 60, "tol": 1e-6, "weighing": Sticks, **own}
        way = kind(passes, counted, form, priors(features.shape[1]), empirical, 1e6, **given_to)
        return Restarts(passes, counted, 1, 0).best(way, most, silent)


def drawn(q: Sticks, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, K) draws of pi, of one piece after the other."""
    a, b = q.beta
    left, out = np.ones(n), np.zeros((n, len(q.size)))
    for one, other, cluster in zip(a, b, q.place, strict=True):
        piece = rng.beta(one, other, n)
        out[:, cluster], left = left * piece, left * (1 - piece)
    return out


def test_moments_are_those_of_broken_sticks() -> None:
    q = Sticks.first(np.array([3.0, 40.0, 0.0, 12.5]), priors(alpha=2.5))
    pi = drawn(q, 200_000, np.random.default_rng(0))
    assert q.means == pytest.approx(pi.mean(axis=0) / pi.sum(axis=1).mean(), abs=2e-3)
    assert q.log_means == pytest.approx(np.log(pi).mean(axis=0), abs=2e-2)
    assert q.place.tolist() == [1, 3, 0, 2]
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
    for one, two in zip(a, b, strict=True):
        log_own = one * log_v + two * log_rest - _log_beta(one, two)
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
    by_order = value(size[q.place], alpha)
    assert highest == pytest.approx(by_order, rel=1e-9, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = Sticks(size * np.exp(0.3 * rng.standard_normal(len(size))), alpha)
        assert float(other.log_means @ size) - other.divergence(prior) <= highest + 1e-9
        other = Sticks(size, alpha * 1.3)
        assert float(other.log_means @ size) - other.divergence(prior) <= highest + 1e-9


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
    q, found = Sticks(n, start).learned(n, priors(alpha=start))
    assert q.alpha == found.alpha

    def bound(alpha: float) -> float:
        other = Sticks(n, alpha)
        return float(other.log_means @ n) - other.divergence(priors(alpha=alpha))

    tried = np.geomspace(LEAST_ALPHA, MOST_ALPHA, 1001)
    assert bound(q.alpha) >= max(map(bound, tried)) - 1e-9
    assert q.divergence(found) <= min(q.divergence(priors(alpha=a)) for a in tried) + 1e-9
    slope = (bound(q.alpha * 1.0001) - bound(q.alpha / 1.0001)) / 2e-4
    assert abs(slope) < 1e-3


@pytest.mark.parametrize("form", ["grid", "bound"])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_bound_by_its_definition(form: Any, most: int) -> None:
    """E[log p(X, Z, mu, kappa, v)] - E[log q], every term as it is written."""
    features = mixture((20, 15), 6, 15.0)[0]
    found = run(features, most, form, True, max_iter=5)
    q = found.posterior
    proportions, kappas, prior = q.proportions, q.kappas, q.priors
    assert isinstance(proportions, Sticks)
    mean_mu = bessel.ratio(6, q.gamma)[:, None] * q.psi
    likely = kappas.log_c + (features @ mean_mu.T) * kappas.mean
    joint = likely + proportions.log_means
    part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    total = (part * likely).sum() - (part * np.log(part)).sum()
    # E[log p(z | v)] - KL(q(v) || p(v)), stick by stick.
    size, (a, b) = part.sum(axis=0)[proportions.place], proportions.beta
    for k, (one, two) in enumerate(zip(a, b, strict=True)):
        log_v, log_rest = (stats.beta(*ab) for ab in ((one, two), (two, one)))
        broken, left = log_v.expect(np.log), log_rest.expect(np.log)
        total += size[k] * broken + size[k + 1 :].sum() * left
        total += np.log(prior.alpha) + (prior.alpha - 1) * left
        total += log_v.entropy()
    total += (bessel.log_c(6, prior.c0) + prior.c0 * mean_mu @ prior.mu0).sum()
    own = np.einsum("kd,kd->k", q.psi, mean_mu)
    total -= (bessel.log_c(6, q.gamma) + q.gamma * own).sum()
    total -= kappas.divergence_from(prior).sum()
    assert found.objective[-1] == pytest.approx(float(total), rel=1e-6)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.integers(1, 6),
    st.sampled_from(["grid", "bound"]),
    st.booleans(),
)
def test_the_bound_never_falls_through_updates_and_merges(
    seed: int, n_features: int, most: int, form: Any, empirical: bool
) -> None:
    features = uniform(30, n_features, np.random.default_rng(seed))
    features[:6] = features[0]
    found = run(features, most, form, empirical, max_iter=20, tol=1e-3)
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(found.objective) >= -slack * np.abs(found.objective[1:]) - slack).all()
    assert np.isfinite(found.objective).all()


def test_the_bound_lies_below_the_evidence() -> None:
    """Of the process with all rows in its first two clusters, which is below the whole one's."""
    features, alpha = mixture((3, 2), 3, 30.0, seed=1)[0], 1.2
    ways, log_joint = log_joints(features, 2, priors())
    n = np.array([[z.count(0), z.count(1)] for z in map(list, ways)])
    # In place of the Dirichlet's probability of z the pieces'; rows beyond them are left out.
    log_joint -= gammaln(2 * alpha) - gammaln(2 * alpha + 5)
    log_joint -= (gammaln(alpha + n) - gammaln(alpha)).sum(axis=1)
    log_joint += [
        _log_beta(1 + one, alpha + two) + _log_beta(1 + two, alpha) - 2 * _log_beta(1, alpha)
        for one, two in n.tolist()
    ]
    evidence = float(logsumexp(log_joint))
    found = run(features, 2, "grid", False, max_iter=300)
    assert evidence - 4.0 < found.objective[-1] < evidence


@pytest.mark.parametrize(("n_clusters", "most"), [(3, 12), (8, 24)])
def test_merges_find_the_number_of_clusters(n_clusters: int, most: int) -> None:
    rows = tuple(range(30, 30 + 5 * n_clusters, 5))
    features, own, _ = mixture(rows, 30, 60.0, seed=3)
    found = run(features, most, "grid", True, max_iter=400, tol=1e-4)
    plain = run(features, most, "grid", True, kind=Variational, max_iter=400, tol=1e-4)
    q = found.posterior
    assert found.objective[-1] > plain.objective[-1] + 1.0
    assert (q.proportions.size > 0.5).sum() == n_clusters
    assert (plain.posterior.proportions.size > 0.5).sum() > n_clusters
    cluster = (features @ q.weights.T + q.offsets).argmax(axis=1)
    pairs = {(a, b) for a, b in zip(own.tolist(), cluster.tolist(), strict=True)}
    assert len(pairs) <= n_clusters + 2


def test_a_merge_changes_the_bound_by_what_is_said() -> None:
    """With the pair's posteriors added up and all else fixed, by a literal bound."""
    features = mixture((30, 25), 8, 20.0, seed=2)[0]
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        way = Merging(passes, np.ones(55), "grid", priors(8), False, 1e6, 30, 0.0, weighing=Sticks)
        one = way.start(*Restarts(passes, way.counted, 1, 0).seeded(4, np.arange(55), 5))
        one = Variational.climb(way, one, silent, lambda _: None)
        sums, bound = way._expected(one.posterior, silent)
        pairs = way.pairs(one.posterior, sums)
        q = one.posterior
        joint = features @ q.weights.T + q.offsets
        part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        before = _bound_at(way, q, features, part)
        assert before == pytest.approx(bound, abs=1e-2)
        assert len(pairs.first) >= 3
        for at, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            merged = part.copy()
            merged[:, i] += merged[:, j]
            merged[:, j] = 0.0
            assert _bound_at(way, q, features, merged) - before == pytest.approx(
                pairs.gain[at], abs=5e-3
            )


def _bound_at(way: Merging, q: Any, features: np.ndarray, part: np.ndarray) -> float:
    """The lower bound for given posteriors of the rows, all else at its optimum for them."""
    from models.methods.sphere.mixture.passes import Sums

    sums = Sums(part.sum(axis=0), part.T @ features, np.zeros(len(part)))
    after = q
    for _ in range(30):
        after = way._updated(after, sums)
    joint = features @ after.weights.T + after.offsets
    log_part = np.log(np.where(part > 0, part, 1.0))
    return float((part * (joint - log_part)).sum()) - after.divergence()


def test_a_run_goes_on_from_its_checkpoint() -> None:
    features = mixture((40, 30), 5, 30.0)[0]
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(70)
        way = Merging(passes, counted, "grid", priors(5), True, 1e6, 60, 1e-3, weighing=Sticks)
        whole = Restarts(passes, counted, 2, 0).best(way, 6, silent)
        for stop in (3, 20):
            cut = Kept(stop)
            with pytest.raises(Stop):
                Restarts(passes, counted, 2, 0, cut).best(way, 6, silent)
            again = Restarts(passes, counted, 2, 0, Kept(state=cut.state)).best(way, 6, silent)
            assert again.objective == whole.objective
            assert (again.posterior.psi == whole.posterior.psi).all()
            assert (again.posterior.log_weights == whole.posterior.log_weights).all()


def test_clusters_without_rows_are_left_out_and_the_rest_keep_their_proportions() -> None:
    features = mixture((30, 25), 8, 20.0, seed=2)[0]
    q = run(features, 4, "grid", True, kind=Variational).posterior
    means = q.proportions.means
    cluster = np.repeat([0, 2, 3], [5, 4, 3])
    served, choice = occupied(q, cluster, -12.0, 4)
    assert (served.psi == q.psi[[0, 2, 3]]).all()
    expected = means[[0, 2, 3]] / means[[0, 2, 3]].sum()
    assert served.proportions.means == pytest.approx(expected, rel=1e-12)
    assert choice.metrics == {"n_clusters": 3.0, "lower_bound": -12.0}
    assert means[1] > 0.01
    assert (
        f"1 cluster(s) that are the likeliest of no row were left out, with {100 * means[1]:.1f}%"
        in (choice.warnings[0])
    )
    everyone, choice = occupied(q, np.arange(4), -12.0, 4)
    assert everyone is q
    assert "ask for more" in choice.warnings[0]
    # Of a run that had fewer to begin with.
    assert not occupied(q, np.arange(4), -12.0, 8)[1].warnings


def test_every_second_run_has_fewer_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    features, started = mixture((30, 25), 8, 20.0, seed=2)[0], []
    seeded = Restarts.seeded

    def counting(self: Restarts, n_clusters: int, *rest: Any) -> Any:
        started.append(n_clusters)
        return seeded(self, n_clusters, *rest)

    monkeypatch.setattr(Restarts, "seeded", counting)
    params = {"n_clusters": 12, "weights": "stick-breaking", "n_init": 7, "max_iter": 2}
    used = BVMF()
    used.fit(Data({"features": features}), used.Params(**params))
    assert started == [12, 6, 12, 3, 12, 2, 12]


def test_as_many_clusters_as_points_are_no_way_out() -> None:
    """Where each point begins as a cluster, concentrations run off and hold it there."""
    features = uniform(40, 5, np.random.default_rng(0))
    used = BVMF()
    params = {"n_clusters": 40, "weights": "stick-breaking", "n_init": 2, "max_iter": 60}
    found = used.fit(Data({"features": features}), used.Params(**params))
    assert found.tree.n_leaves < 20
