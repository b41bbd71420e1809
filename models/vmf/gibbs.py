"""Collapsed Gibbs sampling of the Bayesian mixture of vMF distributions.

Means and weights are integrated out; a sweep draws the cluster of every row, in turn, and then each
log kappa by some steps of Metropolis (thesis, section 5.3.2, with two things put right: in its last
line x_i is added for each candidate, and a walk in log kappa needs the factor kappa' / kappa).
Empirical Bayes, during the burn-in only: each prior parameter maximises the mean over sweeps of its
expected log density (Casella, "Empirical Bayes Gibbs sampling", 2001), older sweeps weighing less.

What is served are moments over the sweeps after the burn-in, their clusters matched to those at its
end. Cost of a sweep: O(N D K), sparse rows their stored values times K, and N (K + 1) log C_D at
some tens of nanoseconds; it runs on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln

from models.contract import Arrays, Progress
from models.numerics import bessel
from models.partitions.points import Float, Int
from models.vmf.concentrations import Concentrations
from models.vmf.passes import Passes, Sums, log_joint
from models.vmf.priors import Priors
from models.vmf.proportions import Dirichlet
from models.vmf.variational import Posterior

STEPS = 10
"""Of Metropolis for each log kappa in a sweep."""

MOST_GAMMA = 1e12

_ENDS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain as far as it is.

    cluster : (n_points,) of each row. log_kappa : (K,). turn : sweeps done. seed : of its draws.
    learned : what empirical Bayes goes by: means over clusters of log kappa, its square,
    E[log pi_k] and E[mu_k], (3 + D,).
    reference : (n_points,) the clusters that those of later sweeps are matched to.
    size, means, log_c : over the sweeps kept sums of n_k, E[mu_k] and log C_D(kappa_k).
    draws : (n_kept, K) log kappa of each. trace : the log joint density after each sweep.
    """

    cluster: Int
    log_kappa: Float
    priors: Priors
    seed: int
    turn: int
    learned: Float
    reference: Int
    size: Float
    means: Float
    log_c: Float
    draws: Float
    trace: Float

    @property
    def objective(self) -> tuple[float, ...]:
        """The mean log joint density of the sweeps kept."""
        kept = self.trace[len(self.trace) - len(self.draws) :]
        return (float(kept.mean()) if kept.size else -np.inf,)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[np.float64]]:
        own = {name: getattr(self, name) for name in _ARRAYS}
        return {
            **{prefix + name: array for name, array in own.items()},
            **self.priors.arrays(prefix),
            f"{prefix}counts": np.array([self.seed, self.turn]),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> Chain | None:
        if f"{prefix}cluster" not in arrays:
            return None
        seed, turn = arrays[f"{prefix}counts"].tolist()
        own = {name: np.array(arrays[prefix + name]) for name in _ARRAYS}
        return cls(priors=Priors.of(arrays, prefix), seed=int(seed), turn=int(turn), **own)

    def posterior(self) -> Posterior:
        """The moments over the sweeps kept, in the form of a variational posterior.

        q(mu_k) is the vMF with the posterior mean of mu_k.
        """
        n_kept, n_features = len(self.draws), self.means.shape[1]
        means = self.means / n_kept
        length = np.sqrt(np.einsum("kd,kd->k", means, means))
        there = length > 0
        psi = np.where(there[:, None], means / np.where(there, length, 1.0)[:, None], 0.0)
        psi[~there] = self.priors.mu0
        gamma = bessel.concentration(n_features, np.minimum(length, 1.0))
        low, high = np.quantile(np.exp(self.draws), _ENDS, axis=0)
        kappas = Concentrations(
            np.exp(self.draws).mean(axis=0),
            self.log_c / n_kept,
            self.draws.mean(axis=0),
            (self.draws**2).mean(axis=0),
            np.zeros(len(low)),
            low,
            high,
            self.priors.m,
            self.priors.sigma,
        )
        rho = self.priors.alpha + self.size / n_kept
        return Posterior(Dirichlet(rho), psi, np.minimum(gamma, MOST_GAMMA), kappas, self.priors)


_ARRAYS = (
    "cluster",
    "log_kappa",
    "learned",
    "reference",
    "size",
    "means",
    "log_c",
    "draws",
    "trace",
)


@dataclass(frozen=True, slots=True)
class Gibbs:
    """How a chain runs (`runs.Way`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    priors : to begin with. empirical : whether they are estimated.
    burn_in, n_samples : sweeps before and while moments are taken.
    """

    passes: Passes
    counted: Float
    priors: Priors
    empirical: bool
    max_kappa: float
    burn_in: int
    n_samples: int

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Chain:
        """Each row in the cluster of the nearest seed."""
        n_clusters, n_features = means.shape
        cluster = log_joint(self.passes.points, means, np.zeros(n_clusters)).argmax(axis=1)
        length = np.sqrt(np.einsum("kd,kd->k", sums.total, sums.total))
        r = min(1.0, float(length.sum() / sums.size.sum()))
        kappa = min(float(bessel.concentration(n_features, r)), self.max_kappa)
        m = float(np.log(max(kappa, 1e-12)))
        priors = self.priors
        if self.empirical and n_clusters > 1:
            priors = replace(priors.of_means(means.mean(axis=0), self.max_kappa), m=m)
        return self.chain(cluster, np.full(n_clusters, m), priors, seed)

    def chain(self, cluster: Int, log_kappa: Float, priors: Priors, seed: int) -> Chain:
        """A chain that begins so."""
        n_clusters, n_features = len(log_kappa), self.passes.points.shape[1]
        return Chain(
            cluster=cluster.astype(np.int64),
            log_kappa=log_kappa.astype(np.float64),
            priors=priors,
            seed=seed,
            turn=0,
            learned=np.zeros(3 + n_features),
            reference=cluster.astype(np.int64),
            size=np.zeros(n_clusters),
            means=np.zeros((n_clusters, n_features)),
            log_c=np.zeros(n_clusters),
            draws=np.zeros((0, n_clusters)),
            trace=np.zeros(0),
        )

    def restored(self, arrays: Arrays, prefix: str) -> Chain | None:
        return Chain.of(arrays, prefix)

    def climb(self, one: Chain, progress: Progress, save: Callable[[Chain], None]) -> Chain:
        """All sweeps."""
        whole = self.burn_in + self.n_samples
        chain, step = one, max(1, whole // 200)
        while chain.turn < whole:
            if chain.turn % step == 0:
                progress(chain.turn / whole, "sampling", f"sweep {chain.turn + 1} of {whole}")
            chain = self._swept(chain)
            save(chain)
        return chain

    def _swept(self, chain: Chain) -> Chain:
        """After one more sweep; its draws hang on the chain's seed and the sweep's number alone."""
        rng = np.random.default_rng([chain.seed, chain.turn])
        cluster = chain.cluster.copy()
        log_kappa, priors = chain.log_kappa.copy(), chain.priors
        size, total = self.step(cluster, log_kappa, priors, rng)
        field = np.exp(log_kappa)[:, None] * total + priors.c0 * priors.mu0
        gamma = np.sqrt(np.einsum("kd,kd->k", field, field))
        trace = np.append(chain.trace, self.log_density(size, log_kappa, gamma, priors))
        after = replace(
            chain, cluster=cluster, log_kappa=log_kappa, turn=chain.turn + 1, trace=trace
        )
        if chain.turn >= self.burn_in:
            return self._kept(after, size, _means(field, gamma))
        after = replace(after, reference=cluster.copy())
        if not self.empirical or len(size) == 1:
            return after
        return self._learned(after, size, _means(field, gamma))

    def step(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> tuple[Float, Float]:
        """One sweep, in place; the number and the sum of each cluster's rows after it."""
        self._assign(cluster, log_kappa, priors, rng)
        size, total = self._sums(cluster, len(log_kappa))
        self._walk(log_kappa, size, total, priors, rng)
        return size, total

    def _assign(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> None:
        from models.vmf import gibbs_sweeps
        from models.vmf.constants import log_c, table

        n_features = self.passes.points.shape[1]
        kappa = np.exp(log_kappa)
        size, total = self._sums(cluster, len(kappa))
        field = np.ascontiguousarray((kappa[:, None] * total + priors.c0 * priors.mu0).T)
        square = np.einsum("dk,dk->k", field, field)
        state = (
            kappa,
            field,
            size,
            log_c(n_features, kappa),
            square,
            log_c(n_features, np.sqrt(square)),
            priors.alpha,
        )
        for rows in self.passes.points.slices():
            block = self.passes.points.block(rows)
            at = np.flatnonzero(self.counted[rows] > 0)
            uniform, own = rng.random(len(at)), cluster[rows]
            known = table(n_features)
            if isinstance(block, sp.csr_array):
                arrays = (block.indptr, block.indices, block.data)
                gibbs_sweeps.sweep_sparse(*arrays, at, own, *state, uniform, known)
            else:
                gibbs_sweeps.sweep(block, at, own, *state, uniform, known)

    def _sums(self, cluster: Int, n_clusters: int) -> tuple[Float, Float]:
        """Rows of each cluster that count: their number and their sum."""
        from models.vmf import sweeps

        size = np.zeros(n_clusters)
        total = np.zeros((n_clusters, self.passes.points.shape[1]))
        for rows in self.passes.points.slices():
            block, own = self.passes.points.block(rows), cluster[rows]
            counted = self.counted[rows]
            if isinstance(block, sp.csr_array):
                arrays = (block.indptr, block.indices, block.data)
                sweeps.add_sparse_rows(*arrays, own, counted, size, total)
            else:
                sweeps.add_rows(block, own, counted, size, total)
        return size, total

    def _walk(
        self,
        log_kappa: Float,
        size: Float,
        total: Float,
        priors: Priors,
        rng: np.random.Generator,
    ) -> None:
        from models.vmf import gibbs_sweeps
        from models.vmf.constants import table

        n_features = total.shape[1]
        shape = (STEPS, len(log_kappa))
        gibbs_sweeps.walk(
            log_kappa,
            size,
            np.einsum("kd,kd->k", total, total),
            total @ priors.mu0,
            priors.c0,
            priors.m,
            priors.sigma,
            math.log(self.max_kappa),
            n_features,
            rng.standard_normal(shape),
            rng.standard_exponential(shape),
            table(n_features),
        )

    def log_density(self, size: Float, log_kappa: Float, gamma: Float, priors: Priors) -> float:
        """log p(X, z, log kappa | priors), means and weights integrated out."""
        from models.vmf.constants import log_c

        n_features, n_clusters = self.passes.points.shape[1], len(size)
        alpha = priors.alpha
        found = gammaln(n_clusters * alpha) - gammaln(n_clusters * alpha + size.sum())
        found += float((gammaln(alpha + size) - gammaln(alpha)).sum())
        found += float((size * log_c(n_features, np.exp(log_kappa))).sum())
        of_means = log_c(n_features, np.append(gamma, priors.c0))
        found += float(n_clusters * of_means[-1] - of_means[:-1].sum())
        off = (log_kappa - priors.m) / priors.sigma
        found -= float((0.5 * off * off + np.log(priors.sigma)).sum())
        return float(found - 0.5 * n_clusters * np.log(2.0 * np.pi))

    def _learned(self, chain: Chain, size: Float, means: Float) -> Chain:
        """A sweep of the burn-in: empirical Bayes."""
        rho = chain.priors.alpha + size
        log_weights = digamma(rho) - digamma(rho.sum())
        numbers = [chain.log_kappa.mean(), (chain.log_kappa**2).mean(), log_weights.mean()]
        now = np.concatenate([numbers, means.mean(axis=0)])
        # The last half of the burn-in is averaged.
        gain = 1.0 / max(1.0, chain.turn - 0.5 * self.burn_in)
        learned = chain.learned + gain * (now - chain.learned)
        priors = (
            chain.priors.of_kappa(float(learned[0]), float(learned[1]))
            .of_means(learned[3:], self.max_kappa)
            .of_weights(float(learned[2]), len(size))
        )
        return replace(chain, learned=learned, priors=priors)

    def _kept(self, chain: Chain, size: Float, means: Float) -> Chain:
        """A sweep that counts, its clusters in the order of the reference's."""
        from models.vmf.constants import log_c

        n_clusters = len(size)
        fitted = self.counted > 0
        both = chain.reference[fitted] * n_clusters + chain.cluster[fitted]
        shared = np.bincount(both, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
        _, order = linear_sum_assignment(-shared)
        log_kappa = chain.log_kappa[order]
        return replace(
            chain,
            size=chain.size + size[order],
            means=chain.means + means[order],
            log_c=chain.log_c + log_c(means.shape[1], np.exp(log_kappa)),
            draws=np.concatenate([chain.draws, log_kappa[None]]),
        )


def _means(field: Float, gamma: Float) -> Float:
    """(K, D) E[mu_k] given the rest, vMF along `field` with its length `gamma`."""
    direction = field / np.where(gamma > 0, gamma, 1.0)[:, None]
    return np.asarray(bessel.ratio(field.shape[1], gamma)[:, None] * direction)
