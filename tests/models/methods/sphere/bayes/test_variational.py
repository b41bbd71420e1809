"""Variational inference: the bound is what it claims, never falls, and lies below the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.numerics import sphere
from models.numerics.sphere import uniform
from models.running.progress import silent
from tests.models.methods.sphere.exact_kit import log_joints
from tests.models.methods.sphere.sphere_kit import (
    mixture,
    priors,
)
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def run(
    features: np.ndarray, n_clusters: int, form: Any, empirical: bool, **own: Any
) -> Climb[Any]:
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(len(features))
        options = {"max_iter": 40, "tol": 0.0, **own}
        algorithm = Variational(
            passes, counted, form, priors(features.shape[1]), empirical, 1e6, **options
        )
        return Restarts(passes, counted, 1, 0).best(algorithm, n_clusters, silent)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.integers(1, 4),
    st.sampled_from(["grid", "bound"]),
    st.booleans(),
)
def test_the_bound_never_falls(
    seed: int, n_features: int, n_clusters: int, form: Any, empirical: bool
) -> None:
    features = uniform(30, n_features, np.random.default_rng(seed))
    features[:6] = features[0]
    result = run(features, n_clusters, form, empirical, max_iter=12)
    # The bounding scheme's maximum is one of L-BFGS.
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(result.objective) >= -slack * np.abs(result.objective[1:]) - slack).all()
    assert np.isfinite(result.objective).all()


@pytest.mark.parametrize("form", ["grid", "bound"])
def test_the_bound_by_its_definition(form: Any) -> None:
    """E[log p(X, Z, mu, kappa, pi)] - E[log q], each term as section 5.3.1 writes it."""
    features = mixture((20, 15), 6, 15.0)[0]
    result = run(features, 2, form, True, max_iter=5)
    q = result.estimate
    given_priors, kappas, n_features = q.priors, q.kappas, 6
    log_pi = q.log_weights
    mean_mu = sphere.ratio(n_features, q.gamma)[:, None] * q.psi
    joint = log_pi + kappas.log_c + (features @ mean_mu.T) * kappas.mean
    part = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    value = (part * (kappas.log_c + (features @ mean_mu.T) * kappas.mean)).sum()
    value += (part * log_pi).sum() - (part * np.log(part)).sum()
    alpha = given_priors.alpha
    rho = q.proportions.rho
    value += gammaln(2 * alpha) - 2 * gammaln(alpha) + ((alpha - 1) * log_pi).sum()
    value -= gammaln(rho.sum()) - gammaln(rho).sum() + ((rho - 1) * log_pi).sum()
    value += (sphere.log_c(6, given_priors.c0) + given_priors.c0 * mean_mu @ given_priors.mu0).sum()
    own = np.einsum("kd,kd->k", q.psi, mean_mu)
    value -= (sphere.log_c(6, q.gamma) + q.gamma * own).sum()
    value -= kappas.divergence_from(given_priors).sum()
    assert result.objective[-1] == pytest.approx(float(value), rel=1e-10)


@pytest.mark.parametrize("n_features", [3, 8])
def test_the_bounds_lie_below_the_evidence_in_their_order(n_features: int) -> None:
    features = mixture((3, 2), n_features, 30.0, seed=1)[0]
    _, log_joint = log_joints(features, 2, priors(n_features))
    evidence = float(logsumexp(log_joint))
    grid = run(features, 2, "grid", False, max_iter=200)
    bound = run(features, 2, "bound", False, max_iter=200)
    assert bound.objective[-1] < grid.objective[-1] < evidence
    assert grid.estimate.proportions.rho.sum() == pytest.approx(5 + 2 * 1.2, rel=1e-9)
    # Labels alone lose about log 2!, which a mean field does not see.
    assert evidence - grid.objective[-1] < 4.0


def test_clusters_and_priors_are_recovered() -> None:
    kappa = [30.0, 60.0, 120.0, 40.0]
    features, own, means = mixture((400, 300, 200, 100), 12, kappa, seed=2, upright=True)
    q = run(features, 4, "grid", True).estimate
    match = (q.psi @ means.T).argmax(axis=0)
    assert sorted(match.tolist()) == [0, 1, 2, 3]
    for cluster, at in enumerate(match):
        assert q.kappas.low[at] * 0.93 < kappa[cluster] < q.kappas.high[at] * 1.07
        assert q.proportions.rho[at] == pytest.approx((own == cluster).sum(), abs=12)
    assert np.exp(q.priors.m) == pytest.approx(np.exp(np.log(kappa).mean()), rel=0.1)
    assert q.priors.sigma == pytest.approx(np.log(kappa).std(), rel=0.3)
    # They are at right angles, so their mean is of length 1/2.
    assert sphere.ratio(12, q.priors.c0) == pytest.approx(0.5, abs=0.03)


def test_a_run_resumes_from_its_checkpoint() -> None:
    features = mixture((40, 30), 5, 8.0)[0]
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        counted = np.ones(70)
        algorithm = Variational(passes, counted, "grid", priors(5), True, 1e6, 6, 0.0)
        whole = Restarts(passes, counted, 2, 0).best(algorithm, 2, silent)
        cut = MemoryCheckpoint(lost_after=7)
        with pytest.raises(WorkerLost):
            Restarts(passes, counted, 2, 0, cut).best(algorithm, 2, silent)
        again = Restarts(passes, counted, 2, 0, MemoryCheckpoint(state=cut.state)).best(
            algorithm, 2, silent
        )
    assert again.objective == whole.objective
    assert (again.estimate.psi == whole.estimate.psi).all()
