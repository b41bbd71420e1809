"""The temporal mixture: its bound is its definition, never falls, and is flat at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import Concentrations, by_grid
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.methods.sphere.time.periods import TimedRows
from models.methods.sphere.time.temporal import Temporal, WeightPaths
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import mixture
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def priors(n_features: int) -> Priors:
    return Priors(1.2, np.eye(n_features)[0], 1.5, float(np.log(10.0)), 0.8)


def run(
    features: np.ndarray,
    period: np.ndarray,
    n_clusters: int,
    form: Any = "grid",
    empirical: bool = True,
    n_init: int = 1,
    kept: Any = None,
    **own: Any,
) -> Climb[Any]:
    n_points, n_features = features.shape
    points = UnitRows.of(Data({"features": features}))
    timed = TimedRows.of(points, period, int(period.max()) + 1)
    counted = np.ones(n_points)
    options = {"c0": 30.0, "sd": 0.5, "max_kappa": 1e6, "max_iter": 40, "tol": 0.0, **own}
    with Passes(timed.points) as passes:
        algorithm = Temporal(
            [passes.over(part) for part in timed.parts()],
            np.split(counted, timed.start[1:-1]),
            form,
            priors(n_features),
            empirical=empirical,
            **options,
        )
        restarts = Restarts(passes, counted, n_init, 0, *([] if kept is None else [kept]))
        return restarts.best(algorithm, n_clusters, silent)


def moving(
    n_points: int, n_features: int, n_clusters: int, n_periods: int, c0: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(points, the period and the cluster of each, paths (T, K, D))."""
    rng = np.random.default_rng(seed)
    path = [np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:n_clusters]]
    for _ in range(n_periods - 1):
        path.append(draw_vmf(path[-1], c0, rng))
    paths = np.array(path)
    period = rng.integers(n_periods, size=n_points)
    own = rng.integers(n_clusters, size=n_points)
    return draw_vmf(paths[period, own], 15.0 * n_features, rng), period, own, paths


def literal(
    features: np.ndarray,
    period: np.ndarray,
    part: np.ndarray,
    theta: np.ndarray,
    kappas: Concentrations,
    walk: WeightPaths,
    given_priors: Priors,
    c0: float,
) -> float:
    """The lower bound term by term; q(mu_tk) by gamma_tk psi_tk = theta_tk, q(z_i) by `part`."""
    n_periods, n_clusters, n_features = theta.shape
    gamma = np.linalg.norm(theta, axis=2)
    mean_mu = (sphere.ratio(n_features, gamma) / gamma)[..., None] * theta
    value = -(part[part > 0] * np.log(part[part > 0])).sum()
    size = np.zeros((n_periods, n_clusters))
    for row, t in enumerate(period):
        value += part[row] @ (kappas.log_c + kappas.mean * (mean_mu[t] @ features[row]))
        size[t] += part[row]
    # `test_weight_paths` has its definition.
    value += walk.gain(size)
    for t in range(n_periods):
        for k in range(n_clusters):
            before = given_priors.mu0 if t == 0 else mean_mu[t - 1, k]
            held = given_priors.c0 if t == 0 else c0
            value += float(sphere.log_c(n_features, held)) + held * before @ mean_mu[t, k]
            value -= float(sphere.log_c(n_features, gamma[t, k])) + theta[t, k] @ mean_mu[t, k]
    return float(value - kappas.divergence_from(given_priors).sum())


def assigned(features: np.ndarray, period: np.ndarray, result: Climb[Any]) -> np.ndarray:
    q = result.estimate
    means = q.lengths[..., None] * q.psi
    joint = q.walk.log_weights[period] + q.kappas.log_c
    joint = joint + q.kappas.mean * np.einsum("nd,nkd->nk", features, means[period])
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from(["grid", "bound"]),
    st.booleans(),
)
def test_the_bound_never_falls(
    seed: int, n_features: int, n_clusters: int, n_periods: int, form: Any, empirical: bool
) -> None:
    rng = np.random.default_rng(seed)
    features = uniform(30, n_features, rng)
    features[:6] = features[0]
    # The first of more than two periods is empty.
    period = rng.integers(min(1, n_periods - 1), n_periods, size=30)
    result = run(features, period, n_clusters, form, empirical, max_iter=7)
    # The bounding scheme's maximum is one of L-BFGS.
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(result.objective) >= -slack * np.abs(result.objective[1:]) - slack).all()
    assert np.isfinite(result.objective).all()


@pytest.mark.parametrize("form", ["grid", "bound"])
def test_the_bound_by_its_definition(form: Any) -> None:
    features, period, _, _ = moving(40, 5, 2, 3, 60.0)
    result = run(features, period, 2, form, max_iter=5)
    q = result.estimate
    part, theta = assigned(features, period, result), q.gamma[..., None] * q.psi
    value = literal(features, period, part, theta, q.kappas, q.walk, q.priors, q.c0)
    assert result.objective[-1] == pytest.approx(value, rel=1e-10)


def test_every_factor_ends_where_the_literal_bound_is_flat() -> None:
    """By finite differences: no update has a wrong term, or lacks one."""
    features, period, _, _ = moving(50, 4, 2, 4, 60.0, seed=1)
    # The third of four periods is empty.
    features, period = features[period != 2], period[period != 2]
    result = run(features, period, 2, "grid", True, max_iter=80)
    q = result.estimate
    part, theta = assigned(features, period, result), q.gamma[..., None] * q.psi

    def at(**changed: Any) -> float:
        options = {"theta": theta, "kappas": q.kappas, "given_priors": q.priors}
        rest = {"walk": q.walk, "c0": q.c0}
        return literal(features, period, part, **{**options, **rest, **changed})

    base = at()

    def off(value_at: Any) -> float:
        """How far the maximum lies, in steps of the finite difference."""
        up, down = value_at(1.0), value_at(-1.0)
        assert up - 2 * base + down < 0
        return abs((up - down) / 2 / (up - 2 * base + down))

    for t in range(4):
        for k in range(2):
            for d in range(4):
                move = np.zeros_like(theta)
                move[t, k, d] = 0.05 * q.gamma[t, k] ** 0.5
                assert off(lambda h, m=move: at(theta=theta + h * m)) < 0.1
            move = np.zeros((4, 2))
            move[t, k] = 0.05
            walk_at = lambda h, m=move: at(walk=replace(q.walk, mean=q.walk.mean + h * m))  # noqa: E731
            assert off(walk_at) < 1.0
    total = np.zeros_like(theta)
    for row, t in enumerate(period):
        total[t] += part[row][:, None] * features[row]
    along = np.einsum("tkd,tkd->k", total, q.lengths[..., None] * q.psi)
    size = part.sum(axis=0)
    prior = Priors(1.0, q.priors.mu0, 0.0, q.kappas.m, q.kappas.sigma)
    for k in range(2):
        for by_size, by_along in ((1.0, 0.0), (0.0, 1.0)):
            e = 1e-2 * (size[k] - along[k]) * np.eye(2)[k]

            def kappas_at(h: float, e: Any = e, s: float = by_size, a: float = by_along) -> float:
                return at(kappas=by_grid(size + h * s * e, along + h * a * e, 4, prior))

            assert off(kappas_at) < 0.1
    for name, step in (("m", 1e-3), ("sigma", 1e-3), ("c0", 0.05)):
        here = getattr(q.priors, name)

        def prior_at(h: float, name: str = name, here: float = here, s: float = step) -> float:
            return at(given_priors=replace(q.priors, **{name: here + h * s}))

        assert off(prior_at) < 2.0, name


def test_one_period_is_the_bayesian_mixture() -> None:
    """With the prior of its means; the weights' prior is another, so they are compared loosely."""
    features = mixture((200, 150, 100), 6, [20.0, 40.0, 60.0], seed=2, upright=True)[0]
    ours = run(features, np.zeros(450, dtype=int), 3, empirical=False, max_iter=80).estimate
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        algorithm = Variational(passes, np.ones(450), "grid", priors(6), False, 1e6, 80, 0.0)
        flat = Restarts(passes, algorithm.counted, 1, 0).best(algorithm, 3, silent).estimate
    match = (ours.psi[0] @ flat.psi.T).argmax(axis=1)
    assert sorted(match.tolist()) == [0, 1, 2]
    assert ours.psi[0] == pytest.approx(flat.psi[match], abs=1e-3)
    assert ours.gamma[0] == pytest.approx(flat.gamma[match], rel=0.01)
    assert ours.kappas.mean == pytest.approx(flat.kappas.mean[match], rel=0.01)
    assert ours.walk.weights[0] == pytest.approx(flat.proportions.means[match], abs=0.01)


def test_clusters_that_may_not_move_are_those_of_all_time() -> None:
    features = mixture((200, 150), 6, [20.0, 40.0], seed=3, upright=True)[0]
    period = np.random.default_rng(0).integers(4, size=350)
    held = run(features, period, 2, c0=1e7, max_iter=60).estimate
    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        algorithm = Variational(passes, np.ones(350), "grid", priors(6), True, 1e6, 60, 0.0)
        flat = Restarts(passes, algorithm.counted, 1, 0).best(algorithm, 2, silent).estimate
    match = (held.psi[0] @ flat.psi.T).argmax(axis=1)
    for t in range(4):
        assert held.psi[t] == pytest.approx(flat.psi[match], abs=0.02)
    assert held.kappas.mean == pytest.approx(flat.kappas.mean[match], rel=0.03)


def test_paths_are_recovered() -> None:
    features, period, own, paths = moving(1800, 10, 3, 9, 120.0, seed=4)
    result = run(features, period, 3, c0=120.0, tol=1e-5)
    q = result.estimate
    match = (q.psi[0] @ paths[0].T).argmax(axis=0)
    assert sorted(match.tolist()) == [0, 1, 2]
    cosine = np.einsum("tkd,tkd->tk", q.psi[:, match], paths)
    assert cosine.min() > 0.985
    # Clusters do move: no standing mean is near all of a path.
    assert np.einsum("kd,tkd->tk", paths[0], paths).min() < 0.85
    assert (assigned(features, period, result)[:, match].argmax(axis=1) == own).mean() > 0.99
    assert q.kappas.mean == pytest.approx(150.0, rel=0.1)


def test_an_empty_period_lies_between_its_neighbours() -> None:
    features, period, _, _ = moving(300, 6, 2, 3, 60.0)
    kept = period != 1
    q = run(features[kept], period[kept], 2, c0=60.0).estimate
    between = q.psi[0] + q.psi[2]
    between /= np.linalg.norm(between, axis=1, keepdims=True)
    assert np.einsum("kd,kd->k", q.psi[1], between).min() > 0.999
    assert (q.gamma[1] < q.gamma[0]).all()


def test_a_run_resumes_from_its_checkpoint() -> None:
    features, period, _, _ = moving(60, 4, 2, 3, 60.0)
    options = {"n_init": 2, "max_iter": 6}
    whole = run(features, period, 2, **options)
    cut = MemoryCheckpoint(lost_after=7)
    with pytest.raises(WorkerLost):
        run(features, period, 2, kept=cut, **options)
    again = run(features, period, 2, kept=MemoryCheckpoint(state=cut.state), **options)
    assert again.objective == whole.objective
    assert (again.estimate.psi == whole.estimate.psi).all()
