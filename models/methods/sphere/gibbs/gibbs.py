"""Collapsed Gibbs sampling of the Bayesian mixture of vMF distributions.

Means and weights are integrated out; a sweep draws the cluster of every row, in turn, and then each
log kappa, or the one that clusters share, by some steps of Metropolis (thesis, section 5.3.2, with
two corrections: in its last line x_i is added for each candidate, and a walk in log kappa needs the
factor kappa' / kappa). Empirical Bayes runs during the burn-in only: each prior parameter maximises
the mean over sweeps of its expected log density (Casella, "Empirical Bayes Gibbs sampling", 2001),
with less weight on older sweeps.

`Chain` is the state of a chain. The posterior consists of moments over the sweeps after the
burn-in, with clusters matched to those at the end of the burn-in (`moments`). Cost of a sweep: O(N
D K), for sparse rows their stored values times K, and N (K + 1) log C_D at some tens of
nanoseconds; it runs on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import digamma, gammaln

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.concentrations import Concentrations
from models.methods.sphere.bayes.priors import Dirichlet, Priors
from models.methods.sphere.bayes.variational import Posterior
from models.methods.sphere.mixture.mixture import Spread
from models.methods.sphere.mixture.passes import Passes, Sums, log_joint
from models.numerics import sphere
from models.running.progress import Progress, silent

MOST_GAMMA = 1e12

_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, under way or ended.

    cluster : (n_points,) of each row. log_kappa : (K,), all equal where it is shared.
    turn : number of sweeps done. seed : seeds the draws.
    learned : (3 + D,) the means over clusters that empirical Bayes uses: of log kappa, its square,
        E[log pi_k] and E[mu_k].
    reference : (n_points,) the clusters to which later sweeps are matched.
    size, means, log_c : sums of n_k, E[mu_k] and log C_D(kappa_k) over the kept sweeps.
    draws : (n_kept, K) log kappa of each, (n_kept, 1) of a shared one.
    trace : the log joint density after each sweep.
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
        """The mean log joint density over the kept sweeps."""
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
        """The moments over the kept sweeps, in the form of a variational posterior."""
        n_kept = len(self.draws)
        n = np.full(len(self.size), float(n_kept))
        return moments(self.size / n_kept, self.means, self.log_c, n, self.draws, self.priors)


def moments(
    size: Float, means: Float, log_c: Float, n: Float, draws: Float, priors: Priors
) -> Posterior:
    """Sums over sweeps in the form of a variational posterior.

    size : (K,) the mean number of rows. means, log_c : sums over n_k sweeps of E[mu_k] and of log
    C_D(kappa_k). draws : (n_sweeps, K), nan where a sweep has no such cluster; for a shared kappa
    (n_sweeps, 1) with `log_c` (1,). q(mu_k) is the vMF with the posterior mean of mu_k.
    """
    n_features = means.shape[1]
    means = means / n[:, None]
    length = np.sqrt(np.einsum("kd,kd->k", means, means))
    positive = length > 0
    psi = np.where(positive[:, None], means / np.where(positive, length, 1.0)[:, None], 0.0)
    psi[~positive] = priors.mu0
    gamma = sphere.concentration(n_features, np.minimum(length, 1.0))
    kappa = np.exp(draws)
    low, high = np.nanquantile(kappa, _INTERVAL, axis=0)
    kappas = Concentrations(
        np.nanmean(kappa, axis=0),
        log_c / (n if len(log_c) == len(n) else len(draws)),
        np.nanmean(draws, axis=0),
        np.nanmean(draws**2, axis=0),
        np.zeros(len(low)),
        low,
        high,
        priors.m,
        priors.sigma,
    )
    rho = priors.alpha + size
    return Posterior(Dirichlet(rho), psi, np.minimum(gamma, MOST_GAMMA), kappas, priors)


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


STEPS = 10
"""Metropolis steps for each log kappa in a sweep."""


@dataclass(frozen=True, slots=True)
class Gibbs:
    """How a chain starts and runs (`runs.Algorithm`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    priors : at the start. empirical : whether they are estimated.
    burn_in, n_samples : numbers of sweeps before and while moments are collected.
    spread : whether clusters have a kappa each or share one; with a shared one sigma is not
    estimated (`Priors.of_shared_kappa`).
    """

    passes: Passes
    counted: Float
    priors: Priors
    empirical: bool
    max_kappa: float
    burn_in: int
    n_samples: int
    spread: Spread = "own"

    def n_seeds(self, n_clusters: int) -> int:
        """The number of seeds that a run starts from."""
        return n_clusters

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Chain:
        """Each row in the cluster of the nearest seed."""
        n_clusters, n_features = means.shape
        cluster = log_joint(self.passes.points, means, np.zeros(n_clusters)).argmax(axis=1)
        length = np.sqrt(np.einsum("kd,kd->k", sums.total, sums.total))
        r = min(1.0, float(length.sum() / sums.size.sum()))
        kappa = min(float(sphere.concentration(n_features, r)), self.max_kappa)
        m = float(np.log(max(kappa, 1e-12)))
        priors = self.priors
        if self.empirical and n_clusters > 1:
            priors = replace(priors.of_means(means.mean(axis=0), self.max_kappa), m=m)
        return self.chain(cluster, np.full(n_clusters, m), priors, seed)

    def chain(self, cluster: Int, log_kappa: Float, priors: Priors, seed: int) -> Chain:
        """The chain that starts from these clusters and log kappas."""
        n_clusters, n_features = len(log_kappa), self.passes.points.shape[1]
        n_kappas = 1 if self.spread == "shared" else n_clusters
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
            log_c=np.zeros(n_kappas),
            draws=np.zeros((0, n_kappas)),
            trace=np.zeros(0),
        )

    def posterior(self, chain: Chain, progress: Progress = silent) -> Posterior:
        """The posterior from a chain that has ended."""
        return chain.posterior()

    def restored(self, arrays: Arrays, prefix: str) -> Chain | None:
        return Chain.of(arrays, prefix)

    def climb(self, run: Chain, progress: Progress, save: Callable[[Chain], None]) -> Chain:
        """The chain after all sweeps."""
        n_sweeps = self.burn_in + self.n_samples
        chain, step = run, max(1, n_sweeps // 200)
        while chain.turn < n_sweeps:
            if chain.turn % step == 0:
                progress(chain.turn / n_sweeps, "sampling", f"sweep {chain.turn + 1} of {n_sweeps}")
            chain = self._swept(chain)
            save(chain)
        return chain

    def _swept(self, chain: Chain) -> Chain:
        """The chain after one more sweep, whose draws depend only on the seed and its number."""
        rng = np.random.default_rng([chain.seed, chain.turn])
        cluster = chain.cluster.copy()
        log_kappa, priors = chain.log_kappa.copy(), chain.priors
        size, total = self.step(cluster, log_kappa, priors, rng)
        field = np.exp(log_kappa)[:, None] * total + priors.c0 * priors.mu0
        gamma = np.sqrt(np.einsum("kd,kd->k", field, field))
        trace = np.append(chain.trace, self.log_density(size, total, log_kappa, priors))
        after = replace(
            chain, cluster=cluster, log_kappa=log_kappa, turn=chain.turn + 1, trace=trace
        )
        if chain.turn >= self.burn_in:
            return self._kept(after, size, expected_means(field, gamma))
        after = replace(after, reference=cluster.copy())
        if not self.empirical or len(size) == 1:
            return after
        return self._learned(after, size, expected_means(field, gamma))

    def step(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> tuple[Float, Float]:
        """Makes one sweep in place; returns the number and the sum of each cluster's rows."""
        self._assign(cluster, log_kappa, priors, rng)
        size, total = self._sums(cluster, len(log_kappa))
        self._walk(log_kappa, size, total, priors, rng)
        return size, total

    def _assign(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> None:
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops import table

        kappa = np.exp(log_kappa)
        state = (
            *fields(kappa, *self._sums(cluster, len(kappa)), priors),
            self._prior(priors),
        )
        known = table(self.passes.points.shape[1])
        for rows in self.passes.points.slices():
            block = self.passes.points.block(rows)
            at = np.flatnonzero(self.counted[rows] > 0)
            uniform, own = rng.random(len(at)), cluster[rows]
            free = np.full(len(at), -1)
            if isinstance(block, sp.csr_array):
                arrays = (block.indptr, block.indices, block.data)
                loops.sweep_sparse(*arrays, at, own, *state, uniform, free, known)
            else:
                loops.sweep(block, at, own, *state, uniform, free, known)

    def _prior(self, priors: Priors) -> tuple[float, float]:
        """The prior of the clusters as `loops.sweep` takes it."""
        return priors.alpha, 0.0

    def _sums(self, cluster: Int, n_clusters: int) -> tuple[Float, Float]:
        """The number and the sum of the fitted rows in each cluster."""
        from models.methods.sphere.mixture import loops as sweeps

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
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops import table

        n_features = total.shape[1]
        shared = self.spread == "shared"
        walked = log_kappa[:1].copy() if shared else log_kappa
        shape = (STEPS, len(walked))
        walk = loops.walk_together if shared else loops.walk
        walk(
            walked,
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
        log_kappa[:] = walked

    def log_density(self, size: Float, total: Float, log_kappa: Float, priors: Priors) -> float:
        """log p(X, z, log kappa | priors), means and weights integrated out."""
        from models.methods.sphere.mixture.loops import log_c

        n_features, n_clusters = self.passes.points.shape[1], len(size)
        alpha = priors.alpha
        density = gammaln(n_clusters * alpha) - gammaln(n_clusters * alpha + size.sum())
        density += float((gammaln(alpha + size) - gammaln(alpha)).sum())
        density += float((size * log_c(n_features, np.exp(log_kappa))).sum())
        field = np.exp(log_kappa)[:, None] * total + priors.c0 * priors.mu0
        gamma = np.sqrt(np.einsum("kd,kd->k", field, field))
        of_means = log_c(n_features, np.append(gamma, priors.c0))
        density += float(n_clusters * of_means[-1] - of_means[:-1].sum())
        drawn = log_kappa[:1] if self.spread == "shared" else log_kappa
        return float(density + priors.log_densities(drawn).sum())

    def _learned(self, chain: Chain, size: Float, means: Float) -> Chain:
        """The chain after a sweep of the burn-in, with priors by empirical Bayes."""
        rho = chain.priors.alpha + size
        log_weights = digamma(rho) - digamma(rho.sum())
        numbers = [chain.log_kappa.mean(), (chain.log_kappa**2).mean(), log_weights.mean()]
        now = np.concatenate([numbers, means.mean(axis=0)])
        # The last half of the burn-in is averaged.
        gain = 1.0 / max(1.0, chain.turn - 0.5 * self.burn_in)
        learned = chain.learned + gain * (now - chain.learned)
        log_mean, log_square, of_weights = learned[:3].tolist()
        if self.spread == "shared":
            priors = chain.priors.of_shared_kappa(log_mean)
        else:
            priors = chain.priors.of_kappas(log_mean, log_square)
        priors = priors.of_means(learned[3:], self.max_kappa).of_weights(of_weights, len(size))
        return replace(chain, learned=learned, priors=priors)

    def _kept(self, chain: Chain, size: Float, means: Float) -> Chain:
        """The chain with a sweep after the burn-in, its clusters in the reference's order."""
        from models.methods.sphere.mixture.loops import log_c

        fitted = self.counted > 0
        order, _ = matched(chain.reference[fitted], chain.cluster[fitted], len(size))
        log_kappa = chain.log_kappa[order][: chain.draws.shape[1]]
        return replace(
            chain,
            size=chain.size + size[order],
            means=chain.means + means[order],
            log_c=chain.log_c + log_c(means.shape[1], np.exp(log_kappa)),
            draws=np.concatenate([chain.draws, log_kappa[None]]),
        )


def matched(reference: Int, cluster: Int, n_clusters: int) -> tuple[Int, Int]:
    """(K,) the cluster that shares most rows with each cluster of the reference, and how many.

    Each is used once.
    """
    from scipy.optimize import linear_sum_assignment

    both = np.bincount(reference * n_clusters + cluster, minlength=n_clusters**2)
    shared = both.reshape(n_clusters, n_clusters)
    own, order = linear_sum_assignment(-shared)
    return order, shared[own, order]


def fields(
    kappa: Float, size: Float, total: Float, priors: Priors
) -> tuple[Float, Float, Float, Float, Float, Float]:
    """The state that compiled sweeps update.

    It holds kappa, (D, K) fields of the means, sizes, log C_D of each kappa, the squared lengths of
    the fields and log C_D of their lengths.
    """
    from models.methods.sphere.mixture.loops import log_c

    n_features = total.shape[1]
    field = np.ascontiguousarray((kappa[:, None] * total + priors.c0 * priors.mu0).T)
    square = np.einsum("dk,dk->k", field, field)
    own, of_means = log_c(n_features, kappa), log_c(n_features, np.sqrt(square))
    return kappa, field, size, own, square, of_means


def expected_means(field: Float, gamma: Float) -> Float:
    """(K, D) E[mu_k] given the rest: the mean of the vMF along `field`, of length `gamma`."""
    direction = field / np.where(gamma > 0, gamma, 1.0)[:, None]
    return np.asarray(sphere.ratio(field.shape[1], gamma)[:, None] * direction)
