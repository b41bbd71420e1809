"""The hierarchical mixture: its bound is its definition, never falls, and is flat at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, gammaln, logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import Concentrations, by_grid
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts
from models.methods.sphere.nested.hierarchical import Hierarchical
from models.methods.sphere.nested.hierarchy import Hierarchy, first_means, leaf_means
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import (
    mixture,
    random_hierarchy,
)
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

#      0
#   1     2
#  3 4   5  6
TWO = Hierarchy.complete(2, 2)


def priors(n_features: int, c0: float = 1.5) -> Priors:
    return Priors(1.2, np.eye(n_features)[0], c0, float(np.log(10.0)), 0.8)


def rows(features: np.ndarray) -> UnitRows:
    return UnitRows.of(Data({"features": features}))


def way_of(passes: Passes, tree: Hierarchy, form: Any, empirical: bool, **own: Any) -> Hierarchical:
    n_points, n_features = passes.points.shape
    options = {"priors": priors(n_features), "max_kappa": 1e6, "max_iter": 40, "tol": 0.0, **own}
    return Hierarchical(tree, passes, np.ones(n_points), form, empirical=empirical, **options)


def run(
    features: np.ndarray, tree: Hierarchy, form: Any, empirical: bool, **own: Any
) -> Climb[Any]:
    with Passes(rows(features)) as passes:
        algorithm = way_of(passes, tree, form, empirical, **own)
        means = partial(leaf_means, hierarchy=tree)
        restarts = Restarts(
            passes, algorithm.counted, 1, 0, means=lambda x, _, rng: means(x, rng=rng)
        )
        return restarts.best(algorithm, tree.leaves.size, silent)


def nested(n_points: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in two groups of two, the leaf of each, and the leaves' means."""
    rng = np.random.default_rng(seed)
    top = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:2]
    leaves = draw_vmf(np.repeat(top, 2, axis=0), 8.0 * n_features, rng)
    own = rng.permutation(np.arange(n_points) % 4)
    return draw_vmf(leaves[own], 60.0 * n_features, rng), own, leaves


def literal(
    features: np.ndarray,
    part: np.ndarray,
    tree: Hierarchy,
    rho: np.ndarray,
    theta: np.ndarray,
    kappas: Concentrations,
    given_priors: Priors,
) -> float:
    """E[log p(X, Z, mu, kappa, pi)] - E[log q], term by term; q(mu_n) by gamma_n psi_n = theta_n,
    q(z_i) by `part`."""
    n_features = features.shape[1]
    gamma = np.linalg.norm(theta, axis=1)
    mean_mu = sphere.ratio(n_features, gamma)[:, None] * theta / gamma[:, None]
    log_pi = digamma(rho) - digamma(rho.sum())
    value, alpha = 0.0, given_priors.alpha
    for k, leaf in enumerate(tree.leaves):
        value += part[:, k].sum() * (kappas.log_c[leaf] + log_pi[k])
        value += kappas.mean[leaf] * (part[:, k] @ features) @ mean_mu[leaf]
    value -= (part[part > 0] * np.log(part[part > 0])).sum()
    value += gammaln(len(rho) * alpha) - len(rho) * gammaln(alpha) + ((alpha - 1) * log_pi).sum()
    value -= gammaln(rho.sum()) - gammaln(rho).sum() + ((rho - 1) * log_pi).sum()
    for node, above in enumerate(tree.parent):
        if above < 0:
            c0, mu0 = given_priors.c0, given_priors.mu0
            value += float(sphere.log_c(n_features, c0)) + c0 * mu0 @ mean_mu[node]
        else:
            value += kappas.log_c[above] + kappas.mean[above] * mean_mu[above] @ mean_mu[node]
        value -= float(sphere.log_c(n_features, gamma[node])) + theta[node] @ mean_mu[node]
    return float(value - kappas.divergence_from(given_priors).sum())


def assigned(features: np.ndarray, result: Climb[Any]) -> np.ndarray:
    q = result.estimate
    joint = q.offsets + features @ q.weights.T
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.integers(1, 9),
    st.sampled_from(["grid", "bound"]),
    st.booleans(),
)
def test_the_bound_never_falls(
    seed: int, n_features: int, n_nodes: int, form: Any, empirical: bool
) -> None:
    features = uniform(30, n_features, np.random.default_rng(seed))
    features[:6] = features[0]
    result = run(features, random_hierarchy(seed, n_nodes), form, empirical, max_iter=7)
    # The bounding scheme's maximum is one of L-BFGS.
    slack = 1e-9 if form == "grid" else 1e-5
    assert (np.diff(result.objective) >= -slack * np.abs(result.objective[1:]) - slack).all()
    assert np.isfinite(result.objective).all()


@pytest.mark.parametrize("form", ["grid", "bound"])
def test_the_bound_by_its_definition(form: Any) -> None:
    features = nested(40, 5, 0)[0]
    result = run(features, TWO, form, True, max_iter=5)
    q = result.estimate
    part, theta = assigned(features, result), q.gamma[:, None] * q.psi
    value = literal(features, part, TWO, q.rho, theta, q.kappas, q.priors)
    assert result.objective[-1] == pytest.approx(value, rel=1e-10)


def test_every_factor_ends_where_the_literal_bound_is_flat() -> None:
    """By finite differences: no update has a wrong term, or lacks one."""
    features, own, _ = nested(60, 4, 1)
    features = features[np.concatenate([np.flatnonzero(own == k)[: 4 + 3 * k] for k in range(4)])]
    # One of the leaves lies at depth 1, and a node has a single child:
    #      0
    #   1  2  3
    #      4  5 6
    tree = Hierarchy(np.array([-1, 0, 0, 0, 2, 3, 3], dtype=np.int32))
    result = run(features, tree, "grid", True, max_iter=150)
    q = result.estimate
    part, theta, kappas = assigned(features, result), q.gamma[:, None] * q.psi, q.kappas
    base = literal(features, part, tree, q.rho, theta, kappas, q.priors)
    assert base == pytest.approx(result.objective[-1], rel=1e-12)

    def slope(value_at: Any, step: float) -> float:
        """The slope of the literal bound over its curvature, which is negative."""
        up, down = value_at(step), value_at(-step)
        curve = (up - 2 * base + down) / step**2
        assert curve < 0
        return abs((up - down) / (2 * step) / curve) / step

    def at(**changed: Any) -> float:
        options = {"rho": q.rho, "theta": theta, "kappas": kappas, "given_priors": q.priors}
        return literal(features, part, tree, **{**options, **changed})

    # How far the maximum lies from where the updates end, in steps of finite differences.
    for node in range(tree.n_nodes):
        for d in range(4):
            move = np.zeros_like(theta)
            move[node, d] = 0.05 * q.gamma[node] ** 0.5
            assert slope(lambda h, m=move: at(theta=theta + h * m), 1.0) < 0.02
    for k in range(len(q.rho)):
        move = np.eye(len(q.rho))[k]
        assert slope(lambda h, m=move: at(rho=q.rho + h * m), 0.05) < 0.8
    mean_mu = q.means
    size = tree.n_children.astype(float)
    size[tree.leaves] = part.sum(axis=0)
    pull = tree.below @ mean_mu
    pull[tree.leaves] = part.T @ features
    along = np.einsum("nd,nd->n", pull, mean_mu)
    prior = Priors(1.0, q.priors.mu0, 0.0, kappas.m, kappas.sigma)
    same = by_grid(size, along, 4, prior)
    assert same.mean == pytest.approx(kappas.mean, rel=1e-4)
    for node in (0, 3, 5):
        for by_size, by_along in ((1.0, 0.0), (0.0, 1.0)):
            e = np.zeros(tree.n_nodes)
            e[node] = 1e-2 * (size[node] - along[node])

            def value_at(h: float, e: Any = e, s: float = by_size, a: float = by_along) -> float:
                # Another member of the family that q lies in; its divergence from the prior is
                # counted for its own size and along.
                nearby = by_grid(size + h * s * e, along + h * a * e, 4, prior)
                return at(kappas=nearby)

            assert slope(value_at, 1.0) < 0.05
    for name in ("alpha", "m", "sigma"):
        here = getattr(q.priors, name)

        def prior_at(h: float, name: str = name, here: float = here) -> float:
            return at(given_priors=replace(q.priors, **{name: here + h}))

        assert slope(prior_at, 1e-3 * max(here, 0.1)) < 0.5, name


def test_a_flat_hierarchy_is_the_bayesian_mixture() -> None:
    """Whose prior of means has the root's posterior for its parameters: one fixed point."""
    features = mixture((40, 30, 20), 6, [20.0, 40.0, 60.0], seed=2, upright=True)[0]
    root = run(features, Hierarchy.complete(1, 3), "grid", False, max_iter=300).estimate
    mean = root.means[0]
    length = float(np.linalg.norm(mean))
    known = priors(6)
    same = Priors(known.alpha, mean / length, root.kappas.mean[0] * length, known.m, known.sigma)
    with Passes(rows(features)) as passes:
        algorithm = Variational(passes, np.ones(90), "grid", same, False, 1e6, 300, 0.0)
        flat = Restarts(passes, algorithm.counted, 1, 0).best(algorithm, 3, silent).estimate
    match = (root.psi[1:] @ flat.psi.T).argmax(axis=1)
    assert sorted(match.tolist()) == [0, 1, 2]
    assert root.psi[1:] == pytest.approx(flat.psi[match], abs=1e-6)
    assert root.gamma[1:] == pytest.approx(flat.gamma[match], rel=1e-6)
    assert root.rho == pytest.approx(flat.proportions.rho[match], rel=1e-6)
    assert root.kappas.mean[1:] == pytest.approx(flat.kappas.mean[match], rel=1e-6)


def test_the_tree_is_recovered() -> None:
    """Leaves in their groups, their means, and concentrations of leaves and of inner nodes."""
    rng = np.random.default_rng(5)
    n_features, kappa = 12, (40.0, 120.0, 600.0)
    top = draw_vmf(np.tile(np.eye(n_features)[0], (5, 1)), kappa[0], rng)
    leaves = draw_vmf(np.repeat(top, 12, axis=0), kappa[1], rng)
    own = rng.permutation(np.arange(3000) % 60)
    features = draw_vmf(leaves[own], kappa[2], rng)
    above = [-1, *[0] * 5, *np.repeat(np.arange(1, 6), 12).tolist()]
    tree = Hierarchy(np.array(above, dtype=np.int32))
    with Passes(rows(features)) as passes:
        algorithm = way_of(passes, tree, "grid", True, tol=1e-5)
        # Runs from k-means can end at another optimum; this is a test of the model.
        sums = passes.expect(leaves, np.zeros(60), algorithm.counted, silent, hard=True)
        result = algorithm.climb(algorithm.start(leaves, sums), silent, lambda one: None)
    q = result.estimate
    assert (np.einsum("kd,kd->k", q.psi[tree.leaves], leaves) > 0.99).all()
    assert (assigned(features, result).argmax(axis=1) == own).mean() > 0.95
    assert (np.einsum("kd,kd->k", q.psi[1:6], top) > 0.95).all()
    assert q.kappas.mean[tree.leaves].mean() == pytest.approx(kappa[2], rel=0.05)
    # A dozen means around their own mean seem closer than they are.
    assert q.kappas.mean[1:6].mean() == pytest.approx(kappa[1] * 12 / 11, rel=0.15)


def test_siblings_share_strength() -> None:
    """A leaf with one row lies nearer to its parent than its row alone would have it."""
    features, own, _ = nested(400, 10, 7)
    few = np.concatenate([np.flatnonzero(own != 3), np.flatnonzero(own == 3)[:1]])
    q = run(features[few], TWO, "grid", True).estimate
    at = int((q.psi[TWO.leaves] @ features[few[-1]]).argmax())
    leaf = int(TWO.leaves[at])
    assert q.rho[at] - q.priors.alpha == pytest.approx(1.0, abs=0.2)
    parent = q.psi[TWO.parent[leaf]]
    assert q.psi[leaf] @ parent > features[few[-1]] @ parent


def test_the_order_of_nodes_does_not_change_the_bound() -> None:
    features = nested(60, 5, 2)[0]
    result = run(features, TWO, "grid", True, max_iter=4)
    q = result.estimate
    order = np.array([0, 2, 1, 6, 5, 3, 4])
    turned = q.reordered(order)
    assert (turned.psi == q.psi[order]).all()
    assert (turned.rho == q.rho[[3, 2, 0, 1]]).all()
    assert turned.divergence() == pytest.approx(q.divergence())


def test_a_run_resumes_from_its_checkpoint() -> None:
    features = nested(70, 4, 3)[0]
    with Passes(rows(features)) as passes:
        algorithm = way_of(passes, TWO, "grid", True, max_iter=6)

        def means(rows: Any, number: int, rng: np.random.Generator) -> np.ndarray:
            return first_means(rows, TWO, number, rng)

        def restarts(*kept: Any) -> Restarts:
            return Restarts(passes, algorithm.counted, 2, 0, *kept, means=means)

        whole = restarts().best(algorithm, 4, silent)
        cut = MemoryCheckpoint(lost_after=7)
        with pytest.raises(WorkerLost):
            restarts(cut).best(algorithm, 4, silent)
        again = restarts(MemoryCheckpoint(state=cut.state)).best(algorithm, 4, silent)
    assert again.objective == whole.objective
    assert (again.estimate.psi == whole.estimate.psi).all()
