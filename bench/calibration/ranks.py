"""Simulation-based calibration of the Gibbs sampler of the Bayesian mixture of vMF distributions.

Parameters are drawn from the priors, rows from those, and a chain with known priors runs on them.
If it draws from the posterior, the rank of a true value among its draws is uniform, for any
function of parameters and rows. Labels have no order, so the functions here are invariant to it;
means and weights, which the chain has integrated out, are drawn from their exact conditionals.

Source: Talts et al., "Validating Bayesian Inference Algorithms with Simulation-Based Calibration"
(2018), algorithm 2; functions of the rows as well, after Modrak et al. (2023); the envelope of the
empirical distribution: Sailynoja, Buerkner and Vehtari (2022), section 2. Cost of a seed: the
sweeps of one chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy import stats
from scipy.special import xlogy

from bench.calibration.worlds import Float, Int, Plan, State, World
from models.inputs.data import Data
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.gibbs.dirichlet_process import DirichletProcess, ProcessChain
from models.methods.sphere.gibbs.gibbs import Chain, Gibbs
from models.methods.sphere.mixture.loops import log_c
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts
from models.numerics.sphere import draw_vmf
from models.running.progress import silent

N_BINS = 8
"""Number of bins for the chi-squared test of ranks."""

N_NULL = 20_000
"""Number of draws of uniform ranks that determine the p-value of the envelope."""


Maker: TypeAlias = Callable[[Passes, Float, World, Plan], Gibbs]


def sampler(passes: Passes, counted: Float, world: World, plan: Plan) -> Gibbs:
    """The unmodified sampler, with known priors."""
    n_samples = plan.n_draws * plan.thin
    arguments = (passes, counted, world.priors, False, 1e9, plan.burn_in, n_samples, world.spread)
    return (
        DirichletProcess(*arguments, most=world.n_clusters) if world.process else Gibbs(*arguments)
    )


def invariants(rows: Float, state: State, priors: Priors) -> dict[str, float]:
    """Functions of parameters and rows that do not depend on the order of clusters."""
    n_clusters, n_features = state.means.shape
    kappa, own = np.exp(state.log_kappa), state.cluster
    size = np.bincount(own, minlength=n_clusters).astype(np.float64)
    total = np.zeros((n_clusters, n_features))
    np.add.at(total, own, rows)
    share = size / size.sum()
    offsets = np.log(state.weights) + log_c(n_features, kappa)
    joint = offsets + rows @ (kappa[:, None] * state.means).T
    cosines = (state.means @ state.means.T)[np.triu_indices(n_clusters, 1)]
    off = (state.log_kappa - priors.m) / priors.sigma
    towards = state.means @ priors.mu0
    log_prior = float(
        ((priors.alpha - 1.0) * np.log(state.weights) + priors.c0 * towards - 0.5 * off**2).sum()
    )
    return {
        "clusters with rows": float((size > 0).sum()),
        "pairs together": float((size * (size - 1.0)).sum()),
        "largest cluster": float(size.max()),
        "entropy of sizes": -float(xlogy(share, share).sum()),
        "entropy of weights": -float(xlogy(state.weights, state.weights).sum()),
        "log kappa over rows": float(share @ state.log_kappa),
        "log kappa over clusters": float(state.log_kappa.mean()),
        "least log kappa": float(state.log_kappa.min()),
        "greatest log kappa": float(state.log_kappa.max()),
        "spread of log kappa": float(state.log_kappa.std()),
        "resultant lengths": float(np.linalg.norm(total, axis=1).sum()),
        "|sum n_k mu_k|": float(np.linalg.norm(size @ state.means)),
        "mean mu_k . mu0": float(towards.mean()),
        "closest means": float(cosines.max()) if n_clusters > 1 else 0.0,
        "log joint density": float(joint[np.arange(len(own)), own].sum()) + log_prior,
        "log likelihood": float(np.logaddexp.reduce(joint, axis=1).sum()),
    }


def completed(chain: Chain, rows: Float, priors: Priors, rng: np.random.Generator) -> State:
    """A chain's state, with weights and means drawn from their conditionals given it."""
    own, log_kappa, alpha = chain.cluster[: len(rows)], chain.log_kappa, priors.alpha
    if isinstance(chain, ProcessChain):
        occupied, own = np.unique(own, return_inverse=True)
        log_kappa, alpha = log_kappa[occupied], 0.0
    n_clusters = len(log_kappa)
    size = np.bincount(own, minlength=n_clusters)
    total = np.zeros((n_clusters, rows.shape[1]))
    np.add.at(total, own, rows)
    field = np.exp(log_kappa)[:, None] * total + priors.c0 * priors.mu0
    gamma = np.linalg.norm(field, axis=1)
    psi = field / np.where(gamma > 0, gamma, 1.0)[:, None]
    psi[gamma == 0] = priors.mu0
    weights = rng.dirichlet(alpha + size)
    return State(weights, log_kappa, draw_vmf(psi, gamma, rng), own)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of a seed, by statistic: the rank of the true value among the draws, with ties
    broken at random, and the lag-1 autocorrelation of the draws (nan for constant draws)."""

    rank: dict[str, int]
    lag: dict[str, float]


def ranked(world: World, plan: Plan, seed: int, maker: Maker = sampler) -> Ranked:
    """The ranks for one seed: of a truth, for its rows, by a chain that starts as in the method."""
    rng = np.random.default_rng([2018, seed])
    truth, rows = world.drawn(rng)
    # Rows that do not count lie elsewhere, so that counting them would change the ranks.
    extra = draw_vmf(np.tile(-world.priors.mu0, (world.n_out, 1)), 50.0, rng)
    points: Any = np.concatenate([rows, extra])
    counted = np.repeat([1.0, 0.0], [len(rows), len(extra)])
    features = sp.csr_array(points) if world.sparse else points
    drawn: list[dict[str, float]] = []

    def keep(chain: Chain) -> None:
        after = chain.turn - plan.burn_in
        if after > 0 and after % plan.thin == 0:
            state = completed(chain, rows, world.priors, rng)
            drawn.append(invariants(rows, state, world.priors))

    with Passes(UnitRows.of(Data({"features": features}))) as passes:
        way = maker(passes, counted, world, plan)
        runs = Restarts(passes, counted, 1, seed)
        within = runs.rows(world.n_clusters, rng)
        start = way.start(*runs.seeded(world.n_clusters, within, seed), seed)
        way.climb(start, silent, keep)
    rank, lag = {}, {}
    for name, value in invariants(rows, truth, world.priors).items():
        column = np.array([values[name] for values in drawn])
        # Sums in different order differ by rounding.
        same = np.isclose(column, value, rtol=1e-12, atol=1e-12)
        below = int(((column < value) & ~same).sum())
        rank[name] = below + int(rng.integers(int(same.sum()) + 1))
        off = column - column.mean()
        square = float(off @ off)
        varied = square > 1e-20 * float(column @ column)
        lag[name] = float(off[1:] @ off[:-1]) / square if varied else math.nan
    return Ranked(rank, lag)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The p-values of uniform ranks of one statistic, by both tests, and the lag-1 autocorrelation
    of its draws, averaged over seeds; 0 for seeds whose draws are constant."""

    statistic: str
    chi_squared: float
    envelope: float
    lag: float

    @property
    def least(self) -> float:
        return min(self.chi_squared, self.envelope)


def calibrated(
    world: World, plan: Plan, n_seeds: int, maker: Maker = sampler, n_bins: int = N_BINS
) -> list[Calibrated]:
    """Each statistic over `n_seeds` seeds; n_bins divides n_draws + 1."""
    results = [ranked(world, plan, seed, maker) for seed in range(n_seeds)]
    tested = []
    for name in results[0].rank:
        ranks = np.array([result.rank[name] for result in results])
        lags = np.array([result.lag[name] for result in results])
        tested.append(
            Calibrated(
                name,
                chi_squared(ranks, plan.n_draws, n_bins),
                envelope(ranks, plan.n_draws),
                float(np.nan_to_num(lags).mean()),
            )
        )
    return tested


def chi_squared(ranks: Int, n_draws: int, n_bins: int = N_BINS) -> float:
    """p-value of uniform ranks 0 to n_draws, by counts in bins; n_bins divides n_draws + 1."""
    counts = np.bincount(ranks * n_bins // (n_draws + 1), minlength=n_bins)
    return float(stats.chisquare(counts).pvalue)


def envelope(ranks: Int, n_draws: int) -> float:
    """p-value of uniform ranks 0 to n_draws, by the least likely value of their empirical
    distribution function: its two-sided p-value, against the smallest one of uniform ranks."""
    counts = np.bincount(ranks, minlength=n_draws + 1)
    null = _null(len(ranks), n_draws)
    return float((np.searchsorted(null, _least(counts[None]), side="right")[0] + 1) / (N_NULL + 1))


@lru_cache(maxsize=8)
def _null(n: int, n_draws: int) -> Float:
    """Draws of `_least` for n uniform ranks, ascending."""
    flat = np.full(n_draws + 1, 1.0 / (n_draws + 1))
    return np.sort(_least(np.random.default_rng(0).multinomial(n, flat, size=N_NULL)))


def _least(counts: Int) -> Float:
    """(n,) for each row of counts by rank the smallest p-value of its cumulative sums."""
    n_ranks = counts.shape[1]
    own = _two_sided(int(counts[0].sum()), n_ranks)
    return np.asarray(own[np.cumsum(counts, axis=1)[:, :-1], np.arange(n_ranks - 1)].min(axis=1))


@lru_cache(maxsize=8)
def _two_sided(n: int, n_ranks: int) -> Float:
    """(n + 1, n_ranks - 1) two-sided p-value of a number of n uniform ranks up to each rank."""
    level = np.arange(1, n_ranks) / n_ranks
    below = stats.binom.cdf(np.arange(n + 1)[:, None], n, level)
    above = stats.binom.sf(np.arange(-1, n)[:, None], n, level)
    # Rounded, so that ties remain ties.
    return np.asarray(np.round(np.minimum(2.0 * np.minimum(below, above), 1.0), 12))
