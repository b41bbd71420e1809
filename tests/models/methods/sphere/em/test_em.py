"""EM on the sphere: its objective, its end, and clusters that lose their rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from models.method import Checkpoint
from models.methods.sphere.mixture.em import EM
from models.methods.sphere.mixture.mixture import Constraints, Mixture, pooled_kappa
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.numerics import sphere
from models.numerics.sphere import uniform
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import (
    mixture,
    unit_rows,
)
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def em(passes: Passes, shape: Constraints, **options: Any) -> EM:
    own = {"hard": False, "max_iter": 60, "tol": 0.0, **options}
    return EM(passes, np.ones(passes.points.shape[0]), shape, **own)


def climb(algorithm: EM, start: Climb) -> Climb:
    return algorithm.climb(start, silent, lambda one: None)


def best(
    algorithm: EM, n_clusters: int, n_init: int = 1, checkpoint: Checkpoint | None = None
) -> Climb:
    kept = checkpoint or Checkpoint()
    return Restarts(algorithm.passes, algorithm.counted, n_init, 0, kept).best(
        algorithm, n_clusters, silent
    )


def literal(features: np.ndarray, result: Mixture, hard: bool) -> float:
    """The objective by its definition."""
    constant = [float(sphere.log_c(features.shape[1], k)) for k in result.kappa]
    joint = result.log_weights + constant + result.kappa * (features @ result.means.T)
    return float((joint.max(axis=1) if hard else logsumexp(joint, axis=1)).sum())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 6),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["shared", "own"]),
    st.booleans(),
)
def test_the_objective_never_falls_and_is_the_likelihood(
    seed: int, n_features: int, n_clusters: int, hard: bool, spread: Any, equal: bool
) -> None:
    rng = np.random.default_rng(seed)
    features = uniform(40, n_features, rng)
    features[:8] = features[0]
    with Passes(unit_rows(features)) as passes:
        shape = Constraints(spread, 1e4, equal)
        result = best(em(passes, shape, hard=hard, max_iter=15), n_clusters)
    steps = np.diff(result.objective)
    assert (steps >= -1e-9 * np.abs(result.objective[1:])).all()
    assert np.isfinite(result.objective).all()
    assert result.objective[-1] == pytest.approx(literal(features, result.estimate, hard), rel=1e-9)
    assert np.linalg.norm(result.estimate.means, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.exp(result.estimate.log_weights).sum() == pytest.approx(1.0, rel=1e-9)


def test_single_precision_climbs_as_well() -> None:
    features = mixture((300, 200, 100, 400), 40, 60.0)[0].astype(np.float32)
    for sparse in (False, True):
        rows = sp.csr_array(features) if sparse else features
        with Passes(unit_rows(rows)) as passes:
            result = best(em(passes, Constraints("shared", 1e6), max_iter=30), 4)
        assert (np.diff(result.objective) >= -1e-6 * np.abs(result.objective[1:])).all()


@pytest.mark.parametrize("kappa", [[30.0, 30.0, 30.0], [10.0, 40.0, 160.0]])
@pytest.mark.parametrize("n_features", [3, 20])
def test_parameters_are_recovered(kappa: list[float], n_features: int) -> None:
    sizes = (3000, 1500, 500)
    features, _, means = mixture(sizes, n_features, kappa, seed=3, upright=True)
    spread = "shared" if len(set(kappa)) == 1 else "own"
    with Passes(unit_rows(features)) as passes:
        result = best(em(passes, Constraints(spread, 1e6), tol=1e-8, max_iter=500), 3, 3)
    match = (result.estimate.means @ means.T).argmax(axis=0)
    assert sorted(match.tolist()) == [0, 1, 2]
    for cluster, own in enumerate(match):
        k, size = kappa[cluster], sizes[cluster]
        # Standard errors of a vMF's estimates; mixing makes them somewhat larger.
        error = 1.0 / (k * np.sqrt(sphere.slope(n_features, k) * size))
        assert result.estimate.kappa[own] == pytest.approx(k, rel=6 * error + 0.02)
        off = np.sqrt((n_features - 1) / (size * k * sphere.ratio(n_features, k)))
        assert np.linalg.norm(result.estimate.means[own] - means[cluster]) < 3 * off
        assert np.exp(result.estimate.log_weights[own]) == pytest.approx(size / 5000, abs=0.03)


def test_hard_with_shared_kappa_is_spherical_k_means() -> None:
    features = mixture((60, 60, 60, 60), 5, 4.0, seed=1)[0]
    with Passes(unit_rows(features)) as passes:
        algorithm = em(passes, Constraints("shared", 1e6, equal=True), hard=True, max_iter=100)
        start = algorithm.start(
            *Restarts(passes, algorithm.counted, 1, 0).seeded(4, np.arange(240), 7)
        )
        result = climb(algorithm, start)
    means = start.estimate.means
    for _ in range(len(result.objective) - 1):
        own = (features @ means.T).argmax(axis=1)
        means = np.array([features[own == k].sum(axis=0) for k in range(4)])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
    assert result.estimate.means == pytest.approx(means, abs=1e-9)


def test_a_cluster_that_lost_its_rows_goes_to_one_that_is_least_likely() -> None:
    features, _, means = mixture((100, 100, 100), 4, 200.0, seed=2)
    # All means at two clusters, one of them twice and hidden behind the other.
    start = np.stack([means[0], means[1], -(means[0] + means[1] + means[2])])
    start[2] /= np.linalg.norm(start[2])
    with Passes(unit_rows(features)) as passes:
        for hard in (False, True):
            shape = Constraints("shared", 1e6, equal=hard)
            started = Mixture(np.full(3, -np.log(3)), start, np.full(3, 500.0))
            result = climb(em(passes, shape, hard=hard), Climb(started, reseeded=0))
            assert result.reseeded == 1
            assert (np.diff(result.objective) >= -1e-9 * np.abs(result.objective[1:])).all()
            assert sorted((result.estimate.means @ means.T).argmax(axis=1).tolist()) == [0, 1, 2]


def test_seeds_that_do_not_pay_are_taken_back() -> None:
    """Two distinct rows and three clusters: no seed helps, and the run ends nevertheless."""
    features = np.repeat(np.eye(3)[:2], 10, axis=0)
    started = Mixture(np.full(3, -np.log(3)), np.eye(3), np.full(3, 300.0))
    ended = Mixture(np.log([0.5, 0.5, 1e-300]), np.eye(3), np.full(3, 1e4))
    with Passes(unit_rows(features)) as passes:
        for start, hard, spread in product((started, ended), (False, True), ("shared", "own")):
            result = climb(
                em(passes, Constraints(spread, 1e4, equal=hard), hard=hard),
                Climb(start, reseeded=0),
            )
            assert (np.diff(result.objective) >= -1e-9).all()
            assert np.isfinite(result.estimate.means).all()
            assert np.isfinite(result.estimate.kappa).all()
            if start is ended and not hard:
                assert result.reseeded == 0


def test_rows_held_out_change_nothing() -> None:
    features = mixture((80, 70), 5, 30.0)[0]
    extra = uniform(30, 5, np.random.default_rng(9))
    counted = np.concatenate([np.ones(150), np.zeros(30)])
    start = Climb(Mixture(np.log([0.5, 0.5]), features[:2], np.array([5.0, 5.0])))
    shape = Constraints("own", 1e6)
    with Passes(unit_rows(features)) as passes:
        alone = climb(em(passes, shape), start)
    with Passes(unit_rows(np.concatenate([features, extra]))) as passes:
        both = climb(EM(passes, counted, shape, False, 60, 0.0), start)
    assert both.objective == pytest.approx(alone.objective, rel=1e-12)
    assert both.estimate.means == pytest.approx(alone.estimate.means, abs=1e-12)


@pytest.mark.parametrize("stop", [1, 4, 9])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_fit_goes_on_from_its_checkpoint(stop: int, threads: int) -> None:
    features = mixture((50, 50, 50), 4, 5.0)[0]
    with Passes(unit_rows(features), threads) as passes:
        algorithm = em(passes, Constraints("own", 1e6), max_iter=6)
        whole = best(algorithm, 3, 3)
        cut = MemoryCheckpoint(lost_after=stop)
        with pytest.raises(WorkerLost):
            best(algorithm, 3, 3, cut)
        result = best(algorithm, 3, 3, MemoryCheckpoint(state=cut.state))
        # A checkpoint with another number of clusters is ignored.
        assert len(best(algorithm, 2, 3, MemoryCheckpoint(state=cut.state)).estimate.kappa) == 2
    assert result.objective == whole.objective
    assert (result.estimate.means == whole.estimate.means).all()


def test_all_together_of_one_cluster_is_its_own_kappa() -> None:
    result = Mixture(np.zeros(1), np.eye(4)[:1], np.array([7.0]))
    assert pooled_kappa(result, 1e6) == pytest.approx(7.0, rel=1e-12)
    both = Mixture(
        np.log([0.5, 0.5]), np.stack([np.eye(4)[0], -np.eye(4)[0]]), np.array([7.0, 7.0])
    )
    assert pooled_kappa(both, 1e6) == pytest.approx(0.0, abs=1e-12)
