"""The bound with weights by breaking a stick, and merges that raise it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.merging import Merging
from models.methods.sphere.bayes.priors import Sticks
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.numerics import sphere
from models.numerics.sphere import uniform
from models.running.progress import silent
from tests.models.methods.sphere.exact_kit import log_joints
from tests.models.methods.sphere.sphere_kit import mixture, priors
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def run(
    features: np.ndarray, most: int, form: Any, empirical: bool, kind: Any = Merging, **own: Any
) -> Climb[Any]:
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(len(features))
        options = {"max_iter": 60, "tol": 1e-6, "proportions": Sticks, **own}
        algorithm = kind(
            passes, counted, form, priors(features.shape[1]), empirical, 1e6, **options
        )
        return Restarts(passes, counted, 1, 0).best(algorithm, most, silent)


@pytest.mark.parametrize("form", ["grid", "bound"])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_bound_by_its_definition(form: Any, most: int) -> None:
    """E[log p(X, Z, mu, kappa, v)] - E[log q], every term by its formula."""
    features = mixture((20, 15), 6, 15.0)[0]
    result = run(features, most, form, True, max_iter=5)
    q = result.estimate
    proportions, kappas, prior = q.proportions, q.kappas, q.priors
    assert isinstance(proportions, Sticks)
    mean_mu = sphere.ratio(6, q.gamma)[:, None] * q.psi
    likely = kappas.log_c + (features @ mean_mu.T) * kappas.mean
    joint = likely + proportions.log_means
    part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    total = (part * likely).sum() - (part * np.log(part)).sum()
    # E[log p(z | v)] - KL(q(v) || p(v)), stick by stick.
    size, (a, b) = part.sum(axis=0)[proportions.order], proportions.beta
    for k, (first, second) in enumerate(zip(a, b, strict=True)):
        log_v, log_rest = (stats.beta(*ab) for ab in ((first, second), (second, first)))
        broken, left = log_v.expect(np.log), log_rest.expect(np.log)
        total += size[k] * broken + size[k + 1 :].sum() * left
        total += np.log(prior.alpha) + (prior.alpha - 1) * left
        total += log_v.entropy()
    total += (sphere.log_c(6, prior.c0) + prior.c0 * mean_mu @ prior.mu0).sum()
    own = np.einsum("kd,kd->k", q.psi, mean_mu)
    total -= (sphere.log_c(6, q.gamma) + q.gamma * own).sum()
    total -= kappas.divergence_from(prior).sum()
    assert result.objective[-1] == pytest.approx(float(total), rel=1e-6)


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
    result = run(features, most, form, empirical, max_iter=20, tol=1e-3)
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(result.objective) >= -slack * np.abs(result.objective[1:]) - slack).all()
    assert np.isfinite(result.objective).all()


def test_the_bound_lies_below_the_evidence() -> None:
    """The evidence with all rows in the first two clusters, which is below the whole process's."""
    features, alpha = mixture((3, 2), 3, 30.0, seed=1)[0], 1.2
    ways, log_joint = log_joints(features, 2, priors())
    n = np.array([[z.count(0), z.count(1)] for z in map(list, ways)])
    # In place of the Dirichlet's probability of z the pieces'; rows beyond them are left out.
    log_joint -= gammaln(2 * alpha) - gammaln(2 * alpha + 5)
    log_joint -= (gammaln(alpha + n) - gammaln(alpha)).sum(axis=1)
    log_joint += [
        betaln(1 + one, alpha + two) + betaln(1 + two, alpha) - 2 * betaln(1, alpha)
        for one, two in n.tolist()
    ]
    evidence = float(logsumexp(log_joint))
    result = run(features, 2, "grid", False, max_iter=300)
    assert evidence - 4.0 < result.objective[-1] < evidence


@pytest.mark.parametrize(("n_clusters", "most"), [(3, 12), (8, 24)])
def test_merges_find_the_number_of_clusters(n_clusters: int, most: int) -> None:
    rows = tuple(range(30, 30 + 5 * n_clusters, 5))
    features, own, _ = mixture(rows, 30, 60.0, seed=3)
    result = run(features, most, "grid", True, max_iter=400, tol=1e-4)
    plain = run(features, most, "grid", True, kind=Variational, max_iter=400, tol=1e-4)
    q = result.estimate
    assert result.objective[-1] > plain.objective[-1] + 1.0
    assert (q.proportions.size > 0.5).sum() == n_clusters
    assert (plain.estimate.proportions.size > 0.5).sum() > n_clusters
    cluster = (features @ q.weights.T + q.offsets).argmax(axis=1)
    pairs = {(a, b) for a, b in zip(own.tolist(), cluster.tolist(), strict=True)}
    assert len(pairs) <= n_clusters + 2


def test_a_merge_changes_the_bound_by_its_gain() -> None:
    """With the pair's posteriors added up and all else fixed, by a literal bound."""
    features = mixture((30, 25), 8, 20.0, seed=2)[0]
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        algorithm = Merging(
            passes, np.ones(55), "grid", priors(8), False, 1e6, 30, 0.0, proportions=Sticks
        )
        climb = algorithm.start(
            *Restarts(passes, algorithm.counted, 1, 0).seeded(4, np.arange(55), 5)
        )
        climb = Variational.climb(algorithm, climb, silent, lambda _: None)
        sums, bound = algorithm.expected(climb.estimate, silent)
        pairs = algorithm.pairs(climb.estimate, sums)
        q = climb.estimate
        joint = features @ q.weights.T + q.offsets
        part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        before = _bound_at(algorithm, q, features, part)
        assert before == pytest.approx(bound, abs=1e-2)
        assert len(pairs.first) >= 3
        for at, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            merged = part.copy()
            merged[:, i] += merged[:, j]
            merged[:, j] = 0.0
            assert _bound_at(algorithm, q, features, merged) - before == pytest.approx(
                pairs.gain[at], abs=5e-3
            )


def _bound_at(algorithm: Merging, q: Any, features: np.ndarray, part: np.ndarray) -> float:
    """The lower bound for given posteriors of the rows, all else at its optimum for them."""
    from models.methods.sphere.mixture.passes import Sums

    sums = Sums(part.sum(axis=0), part.T @ features, np.zeros(len(part)))
    after = q
    for _ in range(30):
        after = algorithm.updated(after, sums)
    joint = features @ after.weights.T + after.offsets
    log_part = np.log(np.where(part > 0, part, 1.0))
    return float((part * (joint - log_part)).sum()) - after.divergence()


def test_a_run_resumes_from_its_checkpoint() -> None:
    features = mixture((40, 30), 5, 30.0)[0]
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(70)
        algorithm = Merging(
            passes, counted, "grid", priors(5), True, 1e6, 60, 1e-3, proportions=Sticks
        )
        whole = Restarts(passes, counted, 2, 0).best(algorithm, 6, silent)
        for stop in (3, 20):
            cut = MemoryCheckpoint(lost_after=stop)
            with pytest.raises(WorkerLost):
                Restarts(passes, counted, 2, 0, cut).best(algorithm, 6, silent)
            again = Restarts(passes, counted, 2, 0, MemoryCheckpoint(state=cut.state)).best(
                algorithm, 6, silent
            )
            assert again.objective == whole.objective
            assert (again.estimate.psi == whole.estimate.psi).all()
            assert (again.estimate.log_weights == whole.estimate.log_weights).all()


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


def test_the_result_is_not_one_cluster_per_point() -> None:
    """Where each point begins as a cluster, concentrations diverge and keep it so."""
    features = uniform(40, 5, np.random.default_rng(0))
    used = BVMF()
    params = {"n_clusters": 40, "weights": "stick-breaking", "n_init": 2, "max_iter": 60}
    result = used.fit(Data({"features": features}), used.Params(**params))
    assert result.tree.n_leaves < 20
