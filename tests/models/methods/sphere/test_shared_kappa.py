"""One concentration for all clusters, in every form of the Bayesian mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import Concentrations, by_grid
from models.methods.sphere.bayes.merging import Merging
from models.methods.sphere.bayes.priors import LEAST_SIGMA, Dirichlet, Priors, Sticks
from models.methods.sphere.bayes.variational import Posterior, StochasticVariational, Variational
from models.methods.sphere.gibbs.gibbs import Gibbs
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.methods.sphere.mixture.stochastic import Steps
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from models.running.progress import silent
from tests.models.methods.sphere.exact_kit import log_partitions
from tests.models.methods.sphere.sphere_kit import mixture
from tests.pairwise_kit import pairwise
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

WAYS: dict[str, Any] = {"dirichlet": (Variational, Dirichlet), "stick-breaking": (Merging, Sticks)}
each_weights = pytest.mark.parametrize("weights", WAYS)
each_form = pytest.mark.parametrize("form", ["grid", "bound"])


def priors(n_features: int = 3, m: float = np.log(10.0), sigma: float = 0.8) -> Priors:
    return Priors(1.2, np.eye(n_features)[0], 1.5, float(m), sigma)


def way_of(passes: Passes, weights: str, form: Any, empirical: bool = True, **own: Any) -> Any:
    kind, proportions = WAYS[weights]
    n_points, n_features = passes.points.shape
    options = {"max_iter": 40, "tol": 1e-6, "proportions": proportions, "spread": "shared", **own}
    counted = np.ones(n_points)
    return kind(passes, counted, form, priors(n_features), empirical, 1e6, **options)


def passes_of(features: Any) -> Passes:
    return Passes(UnitRows.of(Data({"features": features})))


def run(features: Any, most: int, weights: str, form: Any, empirical: bool, **own: Any) -> Any:
    with passes_of(features) as passes:
        algorithm = way_of(passes, weights, form, empirical, **own)
        return Restarts(passes, algorithm.counted, 1, 0).best(algorithm, most, silent)


def divergence(q: Posterior) -> float:
    """KL of all but the assignments, each term by itself; that of kappa once."""
    result = q.proportions.divergence(q.priors)
    along = sphere.ratio(q.n_features, q.gamma)
    result += (sphere.log_c(q.n_features, q.gamma) + q.gamma * along).sum()
    result -= len(q.psi) * sphere.log_c(q.n_features, q.priors.c0)
    result -= q.priors.c0 * (along * (q.psi @ q.priors.mu0)).sum()
    assert q.kappas.mean.shape == (1,)
    return float(result + q.kappas.divergence_from(q.priors)[0])


@pytest.mark.parametrize(
    ("form", "weights", "most"), pairwise(("grid", "bound"), list(WAYS), (1, 3))
)
def test_the_bound_by_its_definition(form: Any, weights: str, most: int) -> None:
    features = mixture((20, 15, 12), 6, 15.0)[0]
    result = run(features, most, weights, form, True, max_iter=5)
    q = result.estimate
    joint = q.log_weights + q.kappas.log_c + q.kappas.mean * (features @ q.means.T)
    part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    value = (part * joint).sum() - (part * np.log(part)).sum() - divergence(q)
    assert result.objective[-1] == pytest.approx(float(value), rel=1e-10)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.integers(1, 5),
    st.sampled_from(["grid", "bound"]),
    st.sampled_from(list(WAYS)),
    st.booleans(),
)
def test_the_bound_never_falls(
    seed: int, n_features: int, most: int, form: Any, weights: str, empirical: bool
) -> None:
    features = uniform(30, n_features, np.random.default_rng(seed))
    features[:6] = features[0]
    result = run(features, most, weights, form, empirical, max_iter=15, tol=1e-3)
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(result.objective) >= -slack * np.abs(result.objective[1:]) - slack).all()
    assert np.isfinite(result.objective).all()


def test_it_is_the_optimum_of_all_rows_together() -> None:
    """q(kappa) is proportional to exp(N log C(kappa) + sum_k s_k kappa) times the prior."""
    features, _, _ = mixture((300, 200, 100), 12, 50.0, seed=2, upright=True)
    q = run(features, 3, "dirichlet", "grid", False, tol=1e-9).estimate
    along = np.array([(q.means @ features.T).max(axis=0).sum()])
    expected = by_grid(np.array([600.0]), along, 12, q.priors)
    assert q.kappas.mean == pytest.approx(expected.mean, rel=1e-3)
    assert q.kappas.log_sd == pytest.approx(expected.log_sd, rel=1e-2)
    assert q.kappas.low[0] < 50.0 < q.kappas.high[0]
    # As precise as all rows make it.
    assert q.kappas.log_sd[0] == pytest.approx((0.5 * 600 * 11) ** -0.5, rel=0.1)


@each_form
def test_empirical_bayes_moves_the_median_alone(form: Any) -> None:
    features = mixture((60, 50), 8, 40.0, upright=True)[0]
    q = run(features, 2, "dirichlet", form, True).estimate
    assert q.priors.sigma == 0.8
    assert q.priors.m == pytest.approx(q.kappas.log_mean[0], abs=1e-4)

    def bound(sigma: float) -> float:
        prior = Priors(1.0, q.priors.mu0, 1.0, q.priors.m, sigma)
        return -float(q.kappas.divergence_from(prior)[0])

    # The bound would take the least of all sigmas.
    assert bound(0.8) < bound(0.4) < bound(2 * LEAST_SIGMA)


def test_a_merge_changes_the_bound_by_its_gain() -> None:
    """With q(kappa) held: the pair's posteriors added up, means and weights at their optimum."""
    features = mixture((30, 25), 8, 20.0, seed=2)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, "stick-breaking", "grid", False, max_iter=30)
        climb = algorithm.start(
            *Restarts(passes, algorithm.counted, 1, 0).seeded(4, np.arange(55), 5)
        )
        climb = Variational.climb(algorithm, climb, silent, lambda _: None)
        q = climb.estimate
        sums, _ = algorithm.expected(q, silent)
        pairs = algorithm.pairs(q, sums)
        joint = features @ q.weights.T + q.offsets
        part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

        def bound(part: np.ndarray) -> float:
            size, total = part.sum(axis=0), part.T @ features
            field = q.kappas.mean * total + q.priors.c0 * q.priors.mu0
            gamma = np.linalg.norm(field, axis=1)
            psi, proportions = field / gamma[:, None], q.proportions.updated(size, q.priors)
            at = Posterior(proportions, psi, gamma, q.kappas, q.priors)
            log_part = np.log(np.where(part > 0, part, 1.0))
            joint = features @ at.weights.T + at.offsets
            return float((part * (joint - log_part)).sum()) - divergence(at)

        before = bound(part)
        assert len(pairs.first) >= 3
        for at, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            merged = part.copy()
            merged[:, i] += merged[:, j]
            merged[:, j] = 0.0
            assert bound(merged) - before == pytest.approx(pairs.gain[at], abs=1e-8)


@pytest.mark.parametrize(("n_clusters", "most"), [(3, 12), (8, 24)])
def test_merges_find_the_number_of_clusters(n_clusters: int, most: int) -> None:
    rows = tuple(range(30, 30 + 5 * n_clusters, 5))
    features, own, _ = mixture(rows, 30, 60.0, seed=3)
    result = run(features, most, "stick-breaking", "grid", True, max_iter=400, tol=1e-4)
    q = result.estimate
    assert (q.proportions.size > 0.5).sum() == n_clusters
    cluster = (features @ q.weights.T + q.offsets).argmax(axis=1)
    assert len(set(zip(own.tolist(), cluster.tolist(), strict=True))) <= n_clusters + 2


@each_weights
def test_batches_come_to_the_same(weights: str) -> None:
    features = mixture((500, 300, 200), 25, 80.0, seed=4, upright=True)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, weights, "grid")
        runs = Restarts(passes, algorithm.counted, 1, 0)
        whole = runs.best(algorithm, 3, silent)
        result = runs.best(StochasticVariational.of(algorithm, Steps(200, 10.0, 0.7)), 3, silent)
    assert result.estimate.kappas.mean == pytest.approx(whole.estimate.kappas.mean, rel=0.01)
    assert result.objective[-1] == pytest.approx(whole.objective[-1], rel=1e-3)


@each_weights
def test_a_run_resumes_from_its_checkpoint(weights: str) -> None:
    features = mixture((40, 30), 5, 8.0)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, weights, "grid", max_iter=6, tol=0.0)
        whole = Restarts(passes, algorithm.counted, 2, 0).best(algorithm, 3, silent)
        cut = MemoryCheckpoint(lost_after=7)
        with pytest.raises(WorkerLost):
            Restarts(passes, algorithm.counted, 2, 0, cut).best(algorithm, 3, silent)
        again = Restarts(passes, algorithm.counted, 2, 0, MemoryCheckpoint(state=cut.state)).best(
            algorithm, 3, silent
        )
    assert isinstance(again, Climb)
    assert again.objective == whole.objective
    assert (again.estimate.psi == whole.estimate.psi).all()
    assert again.estimate.kappas.mean.shape == (1,)


def test_each_cluster_has_it() -> None:
    shared = Concentrations.at(np.array([5.0]), 4, priors())
    assert shared.per_cluster(3).mean.tolist() == [5.0] * 3
    assert shared.reordered(np.array([2, 0, 1])) is shared
    own = Concentrations.at(np.array([5.0, 6.0]), 4, priors())
    assert own.per_cluster(2) is own


def gibbs(passes: Passes, empirical: bool = False, burn_in: int = 0, n: int = 0) -> Gibbs:
    n_points, n_features = passes.points.shape
    counted = np.ones(n_points)
    return Gibbs(passes, counted, priors(n_features), empirical, 1e6, burn_in, n, "shared")


def test_sweeps_visit_partitions_as_often_as_they_are_likely() -> None:
    features = draw_vmf(np.eye(3)[[0, 0, 1, 1]], 6.0, np.random.default_rng(4))
    prior, n = priors(), 4000
    ways, log_joint = log_partitions(features, 2, prior, True, 1e6)
    # In place of the process's probability of a partition the Dirichlet's, of both its labellings.
    for at, z in enumerate(ways):
        size = np.bincount(z, minlength=2)
        log_joint[at] -= sum(np.log(prior.alpha) + gammaln(k) for k in size if k)
        log_joint[at] += gammaln(prior.alpha + size).sum()
    expected = np.exp(log_joint - logsumexp(log_joint))
    rng, counts = np.random.default_rng(5), dict.fromkeys(ways, 0)
    with passes_of(features) as passes:
        sampler = gibbs(passes)
        cluster, log_kappa = np.zeros(4, dtype=np.int64), np.full(2, prior.m)
        for _ in range(n):
            sampler.step(cluster, log_kappa, prior, rng)
            assert log_kappa[0] == log_kappa[1]
            counts[tuple((cluster != cluster[0]).astype(int).tolist())] += 1
    result = np.array(list(counts.values())) / n
    assert 0.5 * np.abs(result - expected).sum() < 0.04


def test_gibbs_and_the_variational_form_agree() -> None:
    features = mixture((60, 40, 30), 8, 30.0, seed=3, upright=True)[0]
    with passes_of(features) as passes:
        sampler = gibbs(passes, True, 60, 200)
        q = Restarts(passes, sampler.counted, 1, 0).best(sampler, 3, silent).posterior()
    posterior = run(features, 3, "dirichlet", "grid", True).estimate
    assert q.kappas.mean.shape == (1,)
    assert q.kappas.mean == pytest.approx(posterior.kappas.mean, rel=0.02)
    assert q.kappas.log_sd == pytest.approx(posterior.kappas.log_sd, rel=0.25)
    assert q.priors.m == pytest.approx(posterior.priors.m, abs=0.02)
    assert q.priors.sigma == 0.8


def test_sums_that_are_empty_leave_the_others_be() -> None:
    """A cluster without rows has no part in kappa."""
    features = mixture((30, 25), 5, 20.0)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, "dirichlet", "grid", False)
        climb = algorithm.start(
            *Restarts(passes, algorithm.counted, 1, 0).seeded(2, np.arange(55), 5)
        ).estimate
        sums = Sums(np.array([30.0, 25.0]), np.eye(5)[:2] * [[27.0], [22.0]], np.empty(0))
        more = Sums(
            np.append(sums.size, 0.0), np.append(sums.total, np.zeros((1, 5)), 0), sums.size
        )
        wide = climb.selected(np.array([0, 1, 1]))
        result = algorithm.components(climb.psi, climb.kappas, climb.priors, sums)[2]
        same = algorithm.components(wide.psi, wide.kappas, wide.priors, more)[2]
    assert same.mean == pytest.approx(result.mean, rel=1e-12)
