"""The quality of the posteriors of `bvmf`, on rows drawn from the model with known priors.

An exact posterior is right on average over truths drawn from the prior: its means are unbiased, its
standard deviation is that of its error, its 95% intervals contain the truth 19 times in 20. These
properties are measured here for each method of inference: the two variational ones, and Gibbs as
the control. Clusters are matched with the true ones by the rows they share.

Concentrations and weights are judged by their logarithm. A mean is judged by its angle: its
distance 1 - cos from the posterior's direction, against the posterior expectation, and whether it
lies within the cap that holds 95%; its bias is that of its cosine with mu0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, polygamma
from scipy.stats import beta

from bench.calibration.worlds import Float, Int, State, World
from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import Form
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.gibbs.gibbs import Chain, Gibbs
from models.methods.sphere.mixture.passes import Passes, log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts
from models.numerics import sphere
from models.numerics.sphere import draw_cosines, draw_vmf
from models.running.progress import silent

How: TypeAlias = Literal["variational-sampling", "variational-bounding", "gibbs"]

LEVEL = 0.95

N_CAP = 1999
"""Number of draws that determine the cap with 95% of a vMF distribution."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A posterior's mean, standard deviation and 95% interval of K numbers, (K,) each."""

    mean: Float
    sd: Float
    low: Float
    high: Float


@dataclass(frozen=True, slots=True)
class Belief:
    """A posterior.

    psi : (K, D) the direction of E[mu_k]; towards : (K,) E[mu_k] . mu0; gap, cap : (K,) E[1 - mu_k
    . psi_k] and its 95% quantile. cluster : (n_points,) the most likely cluster of each row.
    """

    log_kappa: Numbers
    log_weights: Numbers
    psi: Float
    towards: Float
    gap: Float
    cap: Float
    cluster: Int


@dataclass(frozen=True, slots=True)
class Judged:
    """Quality over fits and clusters, for concentrations, weights or means.

    bias : the mean error, with its standard error. ratio : the posterior's standard deviation over
    the root mean square error (of means, the roots of expected and of actual 1 - cos). coverage :
    of the 95% intervals.
    """

    bias: float
    bias_se: float
    ratio: float
    coverage: float


def believed(how: How, world: World, rows: Float, seed: int, n_init: int) -> Belief:
    """The posterior by one method of inference, run as in `bvmf` by default."""
    with Passes(UnitRows.of(Data({"features": rows}))) as passes:
        if how == "gibbs":
            return _by_gibbs(passes, world, seed, n_init)
        form: Form = "grid" if how == "variational-sampling" else "bound"
        counted = np.ones(len(rows))
        way = Variational(passes, counted, form, world.priors, False, 1e9, 200, 1e-4)
        q = Restarts(passes, counted, n_init, seed).best(way, world.n_clusters, silent).estimate
        joint = log_joint(passes.points, q.weights, q.offsets)
    rho, kappas, rng = q.arrays()["rho"], q.kappas, np.random.default_rng([seed, 1])
    total = rho.sum()
    weights = Numbers(
        digamma(rho) - digamma(total),
        np.sqrt(polygamma(1, rho) - polygamma(1, total)),
        np.log(beta.ppf(0.5 * (1.0 - LEVEL), rho, total - rho)),
        np.log(beta.ppf(0.5 * (1.0 + LEVEL), rho, total - rho)),
    )
    gaps = 1.0 - draw_cosines(rows.shape[1], np.repeat(q.gamma, N_CAP), rng)[0]
    return Belief(
        Numbers(kappas.log_mean, kappas.log_sd, np.log(kappas.low), np.log(kappas.high)),
        weights,
        q.psi,
        q.means @ world.priors.mu0,
        1.0 - sphere.ratio(rows.shape[1], q.gamma),
        np.quantile(gaps.reshape(-1, N_CAP), LEVEL, axis=1),
        joint.argmax(axis=1),
    )


def _by_gibbs(passes: Passes, world: World, seed: int, n_init: int) -> Belief:
    """The posterior from the draws of the chain with the highest mean joint density."""
    p, rng = world.priors, np.random.default_rng([seed, 2])
    way = Gibbs(passes, np.ones(world.n_points), p, False, 1e9, 150, 150)
    runs = Restarts(passes, way.counted, n_init, seed)
    within = runs.rows(world.n_clusters, rng)
    best: list[Chain] = []
    for own in rng.integers(2**31, size=n_init).tolist():
        states: list[Chain] = []

        def keep(chain: Chain, states: list[Chain] = states) -> None:
            if chain.turn >= way.burn_in:
                states.append(chain)

        way.climb(way.start(*runs.seeded(world.n_clusters, within, own), own), silent, keep)
        if not best or states[-1].objective > best[-1].objective:
            best = states
    # The increment of a sweep is its own state, with clusters in the reference's order.
    size = np.diff([chain.size for chain in best], axis=0)
    means = np.diff([chain.means for chain in best], axis=0)
    weights = np.log([rng.dirichlet(p.alpha + own) for own in size])
    length = np.minimum(np.linalg.norm(means, axis=2), 1.0)
    directions = means / np.where(length > 0, length, 1.0)[:, :, None]
    gamma = sphere.concentration(world.n_features, length)
    mu = draw_vmf(directions.reshape(-1, world.n_features), gamma.ravel(), rng)
    psi = means.mean(axis=0)
    psi /= np.linalg.norm(psi, axis=1)[:, None]
    gaps = 1.0 - np.einsum("skd,kd->sk", mu.reshape(means.shape), psi)
    return Belief(
        _numbers(best[-1].draws),
        _numbers(weights),
        psi,
        means.mean(axis=0) @ p.mu0,
        gaps.mean(axis=0),
        np.quantile(gaps, LEVEL, axis=0),
        best[-1].reference,
    )


def _numbers(draws: Float) -> Numbers:
    ends = (0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL))
    low, high = np.quantile(draws, ends, axis=0)
    return Numbers(draws.mean(axis=0), draws.std(axis=0), low, high)


def judged(world: World, how: How, seeds: range, n_init: int) -> dict[str, Judged]:
    """The quality of concentrations, weights and means, over truths drawn with these seeds."""
    records: dict[str, list[Float]] = {"concentrations": [], "weights": [], "means": []}
    for seed in seeds:
        truth, rows = world.drawn(np.random.default_rng([2014, seed]))
        belief = believed(how, world, rows, seed, n_init)
        at = _matched(belief.cluster, truth)
        for name, numbers, true in (
            ("concentrations", belief.log_kappa, truth.log_kappa),
            ("weights", belief.log_weights, np.log(truth.weights)),
        ):
            inside = (numbers.low[at] <= true) & (true <= numbers.high[at])
            error = numbers.mean[at] - true
            records[name].append(np.stack([error, numbers.sd[at] ** 2, error**2, inside]))
        gap = 1.0 - np.einsum("kd,kd->k", belief.psi[at], truth.means)
        off = belief.towards[at] - truth.means @ world.priors.mu0
        records["means"].append(np.stack([off, belief.gap[at], gap, gap <= belief.cap[at]]))
    return {name: _judged(np.array(parts)) for name, parts in records.items()}


def _judged(parts: Float) -> Judged:
    """The quality from (n_seeds, 4, K) errors, expected and actual squares, and interval hits."""
    seed_bias = parts[:, 0].mean(axis=1)
    mean = parts.mean(axis=(0, 2))
    return Judged(
        bias=float(mean[0]),
        # Errors of clusters in the same fit are dependent.
        bias_se=float(seed_bias.std(ddof=1) / np.sqrt(len(seed_bias))),
        ratio=float(np.sqrt(mean[1] / mean[2])),
        coverage=float(mean[3]),
    )


def _matched(cluster: Int, truth: State) -> Int:
    """(K,) for each true cluster the cluster that shares most rows with it, in a 1:1 matching."""
    n_clusters = len(truth.weights)
    shared = np.bincount(truth.cluster * n_clusters + cluster, minlength=n_clusters**2)
    return np.asarray(linear_sum_assignment(-shared.reshape(n_clusters, n_clusters))[1])


def mixed_up(world: World, seeds: range) -> float:
    """The share of rows whose most likely cluster, given all parameters, is not their own."""
    wrong = []
    for seed in seeds:
        truth, rows = world.drawn(np.random.default_rng([2014, seed]))
        kappa = np.exp(truth.log_kappa)
        offsets = np.log(truth.weights) + sphere.log_c(rows.shape[1], kappa)
        joint = rows @ (kappa[:, None] * truth.means).T + offsets
        wrong.append(float((joint.argmax(axis=1) != truth.cluster).mean()))
    return float(np.mean(wrong))
