"""The generative models of calibrations: priors, parameters and rows; and the length of chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.mixture import Spread
from models.numerics.sphere import draw_vmf


@dataclass(frozen=True, slots=True)
class State:
    """All latent variables: weights, log_kappa (K,), means (K, D), cluster (n_points,)."""

    weights: Float
    log_kappa: Float
    means: Float
    cluster: Int


@dataclass(frozen=True, slots=True)
class World:
    """A generative model: `n_points` rows of `n_clusters` clusters under `priors`.

    spread : whether each cluster has its own kappa or all share one. process : whether `n_clusters`
    is the bound of a Dirichlet process, whose states have only clusters with rows, and their
    weights. sparse : whether the chain gets sparse rows. n_out : the number of additional rows that
    do not count.
    """

    n_points: int
    n_clusters: int
    priors: Priors
    sparse: bool = False
    n_out: int = 0
    spread: Spread = "own"
    process: bool = False

    @property
    def n_features(self) -> int:
        return len(self.priors.mu0)

    def drawn(self, rng: np.random.Generator) -> tuple[State, Float]:
        """A truth, and the rows drawn from it."""
        p, n_clusters = self.priors, self.n_clusters
        if self.process:
            cluster = self._seated(rng)
            size = np.bincount(cluster)
            n_clusters, weights = len(size), rng.dirichlet(size)
        else:
            weights = rng.dirichlet(np.full(n_clusters, p.alpha))
        n_kappas = 1 if self.spread == "shared" else n_clusters
        log_kappa = rng.normal(p.m, p.sigma, n_kappas)
        log_kappa = np.broadcast_to(log_kappa, n_clusters)
        means = draw_vmf(np.tile(p.mu0, (n_clusters, 1)), p.c0, rng)
        if not self.process:
            cluster = rng.choice(n_clusters, self.n_points, p=weights)
        rows = draw_vmf(means[cluster], np.exp(log_kappa)[cluster], rng)
        return State(weights, log_kappa, means, cluster), rows

    def _seated(self, rng: np.random.Generator) -> Int:
        """Clusters by the Chinese restaurant process, drawn again if there are too many."""
        while True:
            cluster = np.zeros(self.n_points, dtype=np.int64)
            size = [1.0]
            for i in range(1, self.n_points):
                part = np.array([*size, self.priors.alpha])
                cluster[i] = rng.choice(len(part), p=part / part.sum())
                if cluster[i] == len(size):
                    size.append(0.0)
                size[cluster[i]] += 1.0
            if len(size) <= self.n_clusters:
                return cluster


@dataclass(frozen=True, slots=True)
class Plan:
    """The length of a chain: `burn_in` sweeps, then `n_draws` draws, `thin` sweeps apart."""

    burn_in: int
    n_draws: int
    thin: int
