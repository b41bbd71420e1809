"""Gibbs sampling: its steps leave the posterior alone; `test_calibration` has the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import logsumexp

from models.inputs.data import Data
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.gibbs import loops
from models.methods.sphere.gibbs.gibbs import Gibbs
from models.methods.sphere.mixture.loops import log_c, table
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from models.running.progress import silent
from tests.models.methods.sphere.exact_kit import log_joints
from tests.models.methods.sphere.sphere_kit import mixture
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

PRIORS = Priors(1.5, np.eye(3)[0], 2.0, float(np.log(8.0)), 0.7)


def passes_of(features: Any) -> Passes:
    return Passes(UnitRows.of(Data({"features": features})))


def gibbs(passes: Passes, empirical: bool = False, burn_in: int = 0, n: int = 0) -> Gibbs:
    counted = np.ones(passes.points.shape[0])
    return Gibbs(passes, counted, PRIORS, empirical, 1e6, burn_in, n)


def density(sampler: Gibbs, cluster: np.ndarray, log_kappa: np.ndarray) -> float:
    size, total = sampler._sums(cluster, len(log_kappa))
    return sampler.log_density(size, total, log_kappa, PRIORS)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_is_drawn_by_the_joint_density(sparse: bool) -> None:
    """The chosen cluster over all uniform numbers against p(X, z, kappa) with each one tried."""
    features = uniform(12, 3, np.random.default_rng(0))
    cluster = np.random.default_rng(1).integers(3, size=12)
    cluster[5] = 2
    log_kappa = np.log([2.0, 3.0, 4.0])
    with passes_of(sp.csr_array(features) if sparse else features) as passes:
        sampler = gibbs(passes)
        tried = []
        for k in range(3):
            moved = cluster.copy()
            moved[5] = k
            tried.append(density(sampler, moved, log_kappa))
        expected = np.exp(tried - logsumexp(tried))
        assert expected.min() > 0.05
        size, total = sampler._sums(cluster, 3)
    kappa = np.exp(log_kappa)
    field = np.ascontiguousarray((kappa[:, None] * total + PRIORS.c0 * PRIORS.mu0).T)
    drawn = []
    for u in (np.arange(400) + 0.5) / 400:
        state = [cluster.copy(), kappa, field.copy(), size.copy(), log_c(3, kappa)]
        square = (field**2).sum(axis=0)
        state += [square, log_c(3, np.sqrt(square)), (PRIORS.alpha, 0.0), np.array([u])]
        state += [np.array([-1]), table(3)]
        if sparse:
            rows = sp.csr_array(features)
            arrays = (rows.indptr, rows.indices, rows.data)
            loops.sweep_sparse(*arrays, np.array([5]), *state)
        else:
            loops.sweep(features, np.array([5]), *state)
        new = state[0]
        drawn.append(new[5])
        # The running sums equal those computed anew.
        own = np.array([features[new == k].sum(axis=0) for k in range(3)])
        after = (kappa[:, None] * own + PRIORS.c0 * PRIORS.mu0).T
        assert state[2] == pytest.approx(after, abs=1e-12)
        assert state[3] == pytest.approx(np.bincount(new, minlength=3))
        assert state[5] == pytest.approx((after**2).sum(axis=0), rel=1e-12)
        assert state[6] == pytest.approx(log_c(3, np.sqrt((after**2).sum(axis=0))), rel=1e-10)
    assert np.bincount(drawn, minlength=3) / 400 == pytest.approx(expected, abs=5.1e-3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_row_alone_is_drawn_by_its_own_length(sparse: bool, kind: Any) -> None:
    """Rows are unit within 1e-5, and kappa^2 times that is not little against C0."""
    angle = np.array([0.0, 0.001, -0.001, 0.0005, -0.0005, 0.0495])
    features = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    if kind is np.float64:
        features *= 1 + 8e-6
    features = features.astype(kind)
    cluster, log_kappa = np.array([0, 0, 0, 0, 0, 1]), np.log([1e4, 2e5])
    with passes_of(sp.csr_array(features) if sparse else features) as passes:
        sampler = gibbs(passes)
        tried = [density(sampler, np.append(cluster[:5], k), log_kappa) for k in (0, 1)]
        expected = np.exp(tried - logsumexp(tried))
        assert expected.min() > 0.1
        # The last of the uniform numbers is the row's; the others stay where they are.
        stayed, rng = 0, np.random.default_rng(0)
        for _ in range(600):
            own = cluster.copy()
            sampler._assign(own, log_kappa, PRIORS, rng)
            assert own[:5].tolist() == [0] * 5
            stayed += own[5] == 1
    assert stayed / 600 == pytest.approx(expected[1], abs=0.08)


def test_kappa_walks_to_its_conditional_distribution() -> None:
    features = draw_vmf(np.tile(np.eye(3)[1], (15, 1)), 12.0, np.random.default_rng(2))
    size, total = np.array([15.0]), features.sum(axis=0)
    rng = np.random.default_rng(3)
    log_kappa, seen = np.array([0.0]), []
    for turn in range(4200):
        loops.walk(
            log_kappa,
            size,
            np.array([total @ total]),
            np.array([total @ PRIORS.mu0]),
            PRIORS.c0,
            PRIORS.m,
            PRIORS.sigma,
            20.0,
            3,
            rng.standard_normal((10, 1)),
            rng.standard_exponential((10, 1)),
            table(3),
        )
        if turn >= 200:
            seen.append(log_kappa[0])
    t = np.linspace(-1, 6, 4001)
    kappa = np.exp(t)
    length = np.linalg.norm(kappa[:, None] * total + PRIORS.c0 * PRIORS.mu0, axis=1)
    # The density of kappa with its log-normal prior; times kappa, that of its logarithm.
    log_density = 15 * log_c(3, kappa) - log_c(3, length) - t
    log_density += t - 0.5 * ((t - PRIORS.m) / PRIORS.sigma) ** 2
    mass = np.exp(log_density - log_density.max())
    below = np.cumsum(mass) / mass.sum()
    # Neighbours are alike, so every second one is compared.
    assert stats.kstest(seen[::2], lambda x: np.interp(x, t, below)).pvalue > 1e-3


def test_sweeps_visit_partitions_as_often_as_they_are_likely() -> None:
    features = draw_vmf(np.eye(3)[[0, 0, 1, 1]], 6.0, np.random.default_rng(4))
    ways, log_joint = log_joints(features, 2, PRIORS)
    expected = np.exp(log_joint - logsumexp(log_joint))
    rng = np.random.default_rng(5)
    with passes_of(features) as passes:
        sampler = gibbs(passes)
        cluster, log_kappa = np.zeros(4, dtype=np.int64), np.full(2, PRIORS.m)
        counts = dict.fromkeys(ways, 0)
        for _ in range(4000):
            sampler.step(cluster, log_kappa, PRIORS, rng)
            counts[tuple(cluster.tolist())] += 1
    result = np.array(list(counts.values())) / 4000
    assert np.abs(result - expected).max() < 0.03
    assert 0.5 * np.abs(result - expected).sum() < 0.06


def test_moments_priors_and_intervals() -> None:
    kappa = [30.0, 60.0, 120.0]
    features, own, means = mixture((150, 100, 80), 10, kappa, seed=2, upright=True)
    with passes_of(features.astype(np.float32)) as passes:
        sampler = Gibbs(passes, np.ones(330), Priors(1.0, np.eye(10)[0], 1.0, 1.0, 1.0), True,
                        1e6, 60, 60)  # fmt: skip
        chain = Restarts(passes, sampler.counted, 1, 0).best(sampler, 3, silent)
    q = chain.posterior()
    match = (q.psi @ means.T).argmax(axis=0)
    assert sorted(match.tolist()) == [0, 1, 2]
    for cluster, at in enumerate(match):
        assert q.kappas.low[at] * 0.9 < kappa[cluster] < q.kappas.high[at] * 1.1
        assert q.proportions.rho[at] - q.priors.alpha == pytest.approx(
            (own == cluster).sum(), abs=3
        )
    assert np.exp(q.priors.m) == pytest.approx(np.exp(np.log(kappa).mean()), rel=0.15)
    assert sphere.ratio(10, q.priors.c0) == pytest.approx(1 / np.sqrt(3), abs=0.05)
    assert len(chain.trace) == 120
    assert chain.objective[0] == pytest.approx(chain.trace[60:].mean())


def test_a_chain_goes_on_from_its_checkpoint() -> None:
    features = mixture((20, 20), 3, 5.0)[0]
    with passes_of(features) as passes:
        sampler = gibbs(passes, True, 6, 5)
        whole = Restarts(passes, sampler.counted, 2, 0).best(sampler, 2, silent)
        cut = MemoryCheckpoint(lost_after=15)
        with pytest.raises(WorkerLost):
            Restarts(passes, sampler.counted, 2, 0, cut).best(sampler, 2, silent)
        kept = MemoryCheckpoint(state=cut.state)
        again = Restarts(passes, sampler.counted, 2, 0, kept).best(sampler, 2, silent)
    assert (again.trace == whole.trace).all()
    assert (again.means == whole.means).all()


def test_labels_that_swap_are_matched() -> None:
    features = mixture((20, 20), 3, 50.0)[0]
    with passes_of(features) as passes:
        sampler = gibbs(passes, False, 0, 2)
        cluster = (features @ features[0] > 0.5).astype(np.int64)
        start = sampler.chain(cluster, np.log([40.0, 60.0]), PRIORS, 0)
        means, size = np.eye(3)[:2], np.array([15.0, 25.0])
        straight = sampler._kept(start, size, means)
        swapped = sampler.chain(1 - cluster, np.log([60.0, 40.0]), PRIORS, 0)
        mirrored = sampler._kept(
            swapped.__class__(**{**vars_of(swapped), "reference": cluster}), size[::-1], means[::-1]
        )
    assert (straight.draws == mirrored.draws).all()
    assert (straight.size == mirrored.size).all()
    assert (straight.means == mirrored.means).all()


def vars_of(chain: Any) -> dict[str, Any]:
    return {name: getattr(chain, name) for name in chain.__dataclass_fields__}
