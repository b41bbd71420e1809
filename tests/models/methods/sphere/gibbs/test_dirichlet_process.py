"""Gibbs sampling of the Dirichlet process: visits of partitions against their posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln, logsumexp
from sklearn.metrics import adjusted_rand_score

from models.inputs.data import Data
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.gibbs.dirichlet_process import (
    DirichletProcess,
    ProcessChain,
    likeliest_alpha,
)
from models.methods.sphere.gibbs.split_merge import MoveScores, Partition, SplitMerge
from models.methods.sphere.mixture.loops import log_c
from models.methods.sphere.mixture.mixture import Spread
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts
from models.numerics.sphere import draw_vmf
from models.running.progress import silent
from tests.models.methods.sphere.exact_kit import log_partitions
from tests.models.methods.sphere.sphere_kit import mixture
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

PRIORS = Priors(1.3, np.eye(3)[0], 1.0, float(np.log(8.0)), 0.7)


def passes_of(features: Any) -> Passes:
    return Passes(UnitRows.of(Data({"features": features})))


def named(cluster: np.ndarray) -> tuple[int, ...]:
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(k, len(seen)) for k in cluster.tolist())


CASES = [(5, 5, 1e6, False), (3, 5, 20.0, True), (5, 0, 1e6, False), (2, 5, 1e6, False)]
each_spread = pytest.mark.parametrize("spread", ["own", "shared"])


def apart(spread: Any, most: int, max_kappa: float, sparse: bool, n: int) -> float:
    """Half the sum of absolute differences of how often partitions come and how likely they are."""
    features = draw_vmf(np.eye(3)[[0, 0, 1, 1, 2]], 6.0, np.random.default_rng(4))
    ways, log_joint = log_partitions(features, most, PRIORS, spread == "shared", max_kappa)
    expected = np.exp(log_joint - logsumexp(log_joint))
    rows: Any = np.concatenate([features, -np.eye(3)])
    counted, rng = np.repeat([1.0, 0.0], [5, 3]), np.random.default_rng(5)
    counts = dict.fromkeys(ways, 0)
    with passes_of(sp.csr_array(rows) if sparse else rows) as passes:
        algorithm = DirichletProcess(
            passes, counted, PRIORS, False, max_kappa, 0, 0, spread, most=most
        )
        cluster, log_kappa = np.zeros(8, dtype=np.int64), np.full(most, PRIORS.m)
        for _ in range(n):
            algorithm.step(cluster, log_kappa, PRIORS, rng)
            counts[named(cluster[:5])] += 1
    assert (cluster[5:] == 0).all()
    return 0.5 * float(np.abs(np.array([counts[z] for z in ways]) / n - expected).sum())


@each_spread
@pytest.mark.parametrize(("most", "moves", "max_kappa", "sparse"), CASES[:2])
def test_partitions_are_visited_as_often_as_they_are_likely(
    spread: Any, most: int, moves: int, max_kappa: float, sparse: bool
) -> None:
    assert apart(spread, most, max_kappa, sparse, 400) < 0.15


@pytest.mark.slow
@pytest.mark.timeout(600)
@each_spread
@pytest.mark.parametrize(("most", "moves", "max_kappa", "sparse"), CASES)
def test_partitions_over_many_sweeps(
    spread: Any, most: int, moves: int, max_kappa: float, sparse: bool, monkeypatch: Any
) -> None:
    """With splits and merges and without, all clusters allowed or fewer, kappa cut off."""
    monkeypatch.setattr("models.methods.sphere.gibbs.split_merge.MOVES", moves)
    assert apart(spread, most, max_kappa, sparse, 12_000) < 0.03


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("n_clusters", "n_features"), [(3, 10), (8, 10), (8, 50), (20, 50)])
def test_clusters_planted_are_found(n_clusters: int, n_features: int) -> None:
    """Except for outlying rows, which have clusters of their own."""
    rows = tuple(np.linspace(30, 70, n_clusters).astype(int).tolist())
    for seed in range(4):
        kappa = 60.0 if n_features == 10 else 100.0
        features, own, _ = mixture(rows, n_features, kappa, seed=seed)
        with passes_of(features) as passes:
            algorithm = way_of(passes, most=2 * n_clusters + 4, burn_in=150, n_samples=100)
            runs = Restarts(passes, algorithm.counted, 2, seed, halving=True)
            chain = runs.best(algorithm, algorithm.most, silent)
            assert isinstance(chain, ProcessChain)
            partition = chain.partitions[algorithm.reference(chain)]
        low, high = np.quantile(chain.numbers, [0.025, 0.975])
        assert low <= n_clusters <= high
        assert adjusted_rand_score(own, partition) > 0.97


def way_of(passes: Passes, spread: Spread = "own", most: int = 6, **own: Any) -> DirichletProcess:
    n_features = passes.points.shape[1]
    priors = Priors(1.0, np.eye(n_features)[0], 1.0, float(np.log(20.0)), 1.0)
    options = {"empirical": True, "max_kappa": 1e6, "burn_in": 40, "n_samples": 20, **own}
    counted = np.ones(passes.points.shape[0])
    return DirichletProcess(passes, counted, priors, spread=spread, most=most, **options)


@each_spread
def test_a_chain_goes_on_from_its_checkpoint(spread: Any) -> None:
    features = mixture((15, 15), 3, 20.0)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, spread, burn_in=6, n_samples=5)
        whole = Restarts(passes, algorithm.counted, 2, 0).best(algorithm, 4, silent)
        for stop in (4, 15):
            cut = MemoryCheckpoint(lost_after=stop)
            with pytest.raises(WorkerLost):
                Restarts(passes, algorithm.counted, 2, 0, cut).best(algorithm, 4, silent)
            kept = MemoryCheckpoint(state=cut.state)
            again = Restarts(passes, algorithm.counted, 2, 0, kept).best(algorithm, 4, silent)
            for name in ("trace", "partitions", "heights", "draws", "cluster"):
                assert (getattr(again, name) == getattr(whole, name)).all()
            assert (
                algorithm.posterior(again).arrays().keys()
                == algorithm.posterior(whole).arrays().keys()
            )
            assert (algorithm.posterior(again).psi == algorithm.posterior(whole).psi).all()


@each_spread
def test_what_is_kept_does_not_change_afterwards(spread: Any) -> None:
    """Threads share an algorithm, and checkpoints hold arrays that it returned before."""
    features = mixture((12, 12), 3, 10.0)[0]
    seen: list[tuple[ProcessChain, dict[str, np.ndarray]]] = []
    with passes_of(features) as passes:
        algorithm = way_of(passes, spread, burn_in=4, n_samples=4)

        def keep(chain: Any) -> None:
            seen.append((chain, {name: a.copy() for name, a in chain.arrays("").items()}))

        runs = Restarts(passes, algorithm.counted, 1, 0)
        algorithm.climb(algorithm.start(*runs.seeded(4, np.arange(24), 3), 3), silent, keep)
    for chain, arrays in seen:
        assert all((array == arrays[name]).all() for name, array in chain.arrays("").items())


@each_spread
@pytest.mark.parametrize("sparse", [False, True])
def test_moments_are_those_of_the_clusters_planted(spread: Any, sparse: bool) -> None:
    kappa = [40.0, 40.0, 40.0] if spread == "shared" else [30.0, 60.0, 120.0]
    features, own, means = mixture((60, 45, 30), 10, kappa, seed=2, upright=True)
    rows: Any = sp.csr_array(features) if sparse else features.astype(np.float32)
    with passes_of(rows) as passes:
        algorithm = way_of(passes, spread, most=9)
        chain = Restarts(passes, algorithm.counted, 1, 0).best(algorithm, 9, silent)
        assert isinstance(chain, ProcessChain)
        q = algorithm.posterior(chain)
    assert np.median(chain.numbers) == 3.0
    match = (q.psi @ means.T).argmax(axis=0)
    assert sorted(match.tolist()) == list(range(len(q.psi))) == [0, 1, 2]
    each = q.kappas.per_cluster(3)
    assert len(q.kappas.mean) == (1 if spread == "shared" else 3)
    for cluster, at in enumerate(match):
        assert each.low[at] * 0.9 < kappa[cluster] < each.high[at] * 1.1
        assert q.proportions.arrays()["rho"][at] == pytest.approx((own == cluster).sum(), abs=2)
        assert q.gamma[at] == pytest.approx(each.mean[at] * (own == cluster).sum(), rel=0.2)
    assert chain.objective[0] == pytest.approx(chain.trace[40:].mean())


def test_moments_are_means_over_sweeps_that_have_the_cluster() -> None:
    """Labels that change, a cluster that comes and goes: by hand."""
    features = np.eye(4)[[0, 0, 0, 1, 1, 2]]
    with passes_of(features) as passes:
        algorithm = way_of(passes, most=4, empirical=False)
        started = algorithm.chain(
            np.zeros(6, dtype=int), np.log([5.0, 6.0, 7.0, 8.0]), algorithm.priors, 0
        )
        partitions = np.array(
            [[0, 0, 0, 1, 1, 2], [2, 2, 2, 0, 0, 1], [3, 3, 3, 1, 1, 1]], dtype=np.uint8
        )
        draws = np.log([[5.0, 6.0, 7.0, 1.0], [8.0, 9.0, 10.0, 1.0], [1.0, 11.0, 1.0, 12.0]])
        heights = np.array([-1.0, -2.0, -0.5])
        own = {name: getattr(started, name) for name in started.__dataclass_fields__}
        own |= {"partitions": partitions, "draws": draws, "heights": heights}
        chain = ProcessChain(**own)
        # The likeliest of the commonest number, not of all.
        assert algorithm.reference(chain) == 0
        q = algorithm.posterior(chain)
    assert q.kappas.mean == pytest.approx([(5 + 10 + 12) / 3, (6 + 8 + 11) / 3, (7 + 9) / 2])
    assert q.proportions.arrays()["rho"] == pytest.approx([3.0, 7 / 3, 2 / 3])
    log = np.log([7.0, 9.0])
    assert q.kappas.log_mean[2] == pytest.approx(log.mean())
    assert q.kappas.log_c[2] == pytest.approx(log_c(4, np.array([7.0, 9.0])).mean())


def test_more_sweeps_than_are_kept_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.methods.sphere.gibbs.dirichlet_process.MOST_KEPT", 10)
    features = mixture((6, 6), 3, 20.0)[0]
    with passes_of(features) as passes:
        algorithm = way_of(passes, burn_in=2, n_samples=21, empirical=False)
        runs = Restarts(passes, algorithm.counted, 1, 0)
        chain = algorithm.climb(
            algorithm.start(*runs.seeded(2, np.arange(12), 3), 3), silent, lambda _: None
        )
    assert len(chain.partitions) == len(chain.heights) == len(chain.draws) == 7
    assert (chain.heights == chain.trace[2::3]).all()


def test_the_joint_density_by_its_definition() -> None:
    """Against a sum over kappa on a grid: Laplace's method is about right, and alike for all."""
    features = draw_vmf(np.eye(3)[[0, 0, 1, 1, 2]], 20.0, np.random.default_rng(4))
    ways, log_joint = log_partitions(features, 5, PRIORS, False, 1e6)
    _, alike = log_partitions(features, 5, PRIORS, True, 1e6)
    with passes_of(features) as passes:
        for spread, expected in (("own", log_joint), ("shared", alike)):
            algorithm = DirichletProcess(
                passes, np.ones(5), PRIORS, False, 1e6, 0, 0, spread, most=5
            )  # type: ignore[arg-type]
            constant = gammaln(PRIORS.alpha) - gammaln(PRIORS.alpha + 5)
            for at in range(0, len(ways), 5):
                cluster = np.array(ways[at])
                if spread == "own":
                    result = algorithm.log_density(
                        *algorithm._sums(cluster, 5), np.zeros(5), PRIORS
                    )
                else:
                    # Summed over a grid of the kappa that it is given.
                    t = np.linspace(PRIORS.m - 6, PRIORS.m + 6, 201)
                    each = [
                        algorithm.log_density(*algorithm._sums(cluster, 5), np.full(5, one), PRIORS)
                        for one in t
                    ]
                    result = float(logsumexp(each) + np.log(t[1] - t[0]))
                assert result - constant == pytest.approx(
                    expected[at], abs=0.3 if spread == "own" else 1e-3
                )


@each_spread
def test_merges_by_density_join_halves_and_nothing_else(spread: Any) -> None:
    features, own, _ = mixture((60, 60), 10, 60.0, seed=2, upright=True)
    with passes_of(features) as passes:
        algorithm = way_of(passes, spread)
        halves = 2 * own + (np.arange(120) % 2)
        at = Partition(halves, np.full(6, np.log(60.0)), *algorithm._sums(halves, 6))
        worths = MoveScores(algorithm.priors, spread, 1e6, 10)
        SplitMerge(passes.points, algorithm.counted, worths).merge_likelier(at)
    assert named(at.cluster) == named(own)
    assert sorted(at.size.tolist()) == [0.0, 0.0, 0.0, 0.0, 60.0, 60.0]


@pytest.mark.parametrize("n_points", [10.0, 1e6])
def test_alpha_is_the_likeliest(n_points: float) -> None:
    for n in (1.001, 3.0, 9.0):
        alpha = likeliest_alpha(n, n_points)
        if alpha * (1 - 1e-9) > 1e-3 and alpha < 999:
            expected = alpha * (digamma(alpha + n_points) - digamma(alpha))
            assert expected == pytest.approx(n, rel=1e-6)
    assert likeliest_alpha(1.0, n_points) == pytest.approx(1e-3)
    assert likeliest_alpha(n_points, n_points) == pytest.approx(1e3)
