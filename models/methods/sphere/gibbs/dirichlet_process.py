"""Collapsed Gibbs sampling of the Dirichlet process mixture of vMF distributions.

The model is that of `bayes.priors`, a stick broken with alpha into infinitely many pieces,
conditioned on the rows occupying at most K of them. With the pieces integrated out and their order
ignored, the probability of a partition into J clusters is alpha^J prod_k Gamma(n_k) up to a factor
that depends only on N and alpha (the Chinese restaurant process). So labels are exchangeable, and
moves between labels are not needed, unlike with sticks truncated at K, whose pieces have an order
(Ishwaran and James 2001; Papaspiliopoulos and Roberts 2008).

A row joins a cluster of n_k others with a probability proportional to n_k, and an empty cluster in
proportion to alpha, which the empty clusters share evenly, each with a kappa drawn from the prior
in every sweep: Neal, "Markov Chain Sampling Methods for Dirichlet Process Mixture Models" (2000),
algorithm 8, with all empty clusters as auxiliary ones. Splits and merges (`split_merge`) make moves
that sampling single rows does not. Before each sweep in the first half of the burn-in, clusters
that are likelier as one are merged. Empirical Bayes during the burn-in is that of `gibbs`, over the
clusters with rows: alpha solves alpha (digamma(alpha + N) - digamma(alpha)) = J, their mean number,
and the other parameters are estimated only while J is at least `SEVERAL`.

Since alpha is a point estimate, the posterior of the number of clusters leaves out the uncertainty
of alpha. The sweeps after the burn-in are kept, `MOST_KEPT` evenly spaced ones if there are more.
The result is the likeliest partition among those with the most frequent number of clusters.

Clusters of other sweeps are matched to its clusters by rows in common; moments are means over the
sweeps in which a cluster has a match, its number of rows is a mean over all sweeps. Cost of a
sweep: that of a sweep of `gibbs` with K clusters, and of the splits. Memory: N labels for each kept
sweep, 1 byte each up to K = 255.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.priors import LEAST_ALPHA, MOST_ALPHA, Priors
from models.methods.sphere.bayes.variational import Posterior
from models.methods.sphere.gibbs.gibbs import Chain, Gibbs, expected_means, matched, moments
from models.methods.sphere.gibbs.split_merge import MoveScores, Partition, SplitMerge
from models.methods.sphere.mixture.passes import Sums
from models.running.progress import Progress, silent

MOST_KEPT = 500

ROWS_EACH = 5
"""The least mean number of rows per seed.

Clusters of single rows carry no information on the priors; if all clusters are like that, alpha
grows without limit and keeps them so.
"""

SEVERAL = 1.5
"""The mean number of clusters above which priors of clusters can be estimated."""


@dataclass(frozen=True, slots=True)
class ProcessChain(Chain):
    """A chain of the process, under way or ended.

    learned : sums over clusters with rows of 1, log kappa, its square and E[mu_k].
    draws : (n_kept, K) log kappa of each, also where it is shared.
    partitions : (n_kept, n_counted) the clusters of the fitted rows in each kept sweep.
    heights : (n_kept,) the log density of rows and partition.
    """

    partitions: npt.NDArray[Any]
    heights: Float

    @property
    def objective(self) -> tuple[float, ...]:
        return (float(self.heights.mean()) if self.heights.size else -np.inf,)

    @property
    def numbers(self) -> Int:
        """(n_kept,) the number of clusters that have rows."""
        return np.array([len(np.unique(own)) for own in self.partitions], dtype=np.int64)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[np.float64]]:
        own = {f"{prefix}{name}": getattr(self, name) for name in _ARRAYS}
        return {**Chain.arrays(self, prefix), **own}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> ProcessChain | None:
        chain = Chain.of(arrays, prefix)
        if chain is None:
            return None
        own: dict[str, Any] = {name: np.array(arrays[prefix + name]) for name in _ARRAYS}
        return cls(**_fields(chain), **own)


_ARRAYS = ("partitions", "heights")


def _fields(chain: Chain) -> dict[str, Any]:
    return {field.name: getattr(chain, field.name) for field in fields(chain)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DirichletProcess(Gibbs):
    """How a chain of the process starts and runs (`runs.Algorithm`). most : K."""

    most: int

    def n_seeds(self, n_clusters: int) -> int:
        return max(1, min(n_clusters, int(np.count_nonzero(self.counted)) // ROWS_EACH))

    def start(self, means: Float, sums: Sums, seed: int = 0) -> ProcessChain:
        """Each row in the cluster of the nearest seed; there may be fewer seeds than K."""
        return cast(ProcessChain, Gibbs.start(self, means, sums, seed))

    def chain(self, cluster: Int, log_kappa: Float, priors: Priors, seed: int) -> ProcessChain:
        # All seeds have one kappa.
        log_kappa = np.append(log_kappa, np.repeat(log_kappa[:1], self.most - len(log_kappa)))
        chain = Gibbs.chain(self, cluster, log_kappa, priors, seed)
        n_counted, none = int(np.count_nonzero(self.counted)), np.zeros((0, self.most))
        kind = np.min_scalar_type(self.most)
        partitions = np.zeros((0, n_counted), dtype=kind)
        chain = replace(chain, draws=none)
        return ProcessChain(**_fields(chain), partitions=partitions, heights=np.zeros(0))

    def restored(self, arrays: Arrays, prefix: str) -> ProcessChain | None:
        return ProcessChain.of(arrays, prefix)

    def climb(self, run: Chain, progress: Progress, save: Callable[[Chain], None]) -> ProcessChain:
        return cast(ProcessChain, Gibbs.climb(self, run, progress, save))

    def _swept(self, chain: Chain) -> Chain:
        if 2 * chain.turn < self.burn_in:
            partition = self._partition(chain.cluster.copy(), chain.log_kappa.copy())
            self._moves(chain.priors).merge_likelier(partition)
            chain = replace(chain, cluster=partition.cluster, log_kappa=partition.log_kappa)
        return Gibbs._swept(self, chain)

    def step(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> tuple[Float, Float]:
        moves = self._moves(priors)
        if self.spread == "own":
            empty = np.flatnonzero(self._sums(cluster, len(log_kappa))[0] == 0)
            log_kappa[empty] = moves.scores.drawn(len(empty), rng)
        self._assign(cluster, log_kappa, priors, rng)
        partition = self._partition(cluster, log_kappa)
        moves.move(partition, rng)
        self._walk(log_kappa, partition.size, partition.total, priors, rng)
        return partition.size, partition.total

    def log_density(self, size: Float, total: Float, log_kappa: Float, priors: Priors) -> float:
        """log p(X, partition | priors), comparable between different numbers of clusters.

        Own kappas of clusters are integrated out by Laplace's method; the density of a shared kappa
        is included.
        """
        occupied, alpha = size > 0, priors.alpha
        n = size[occupied]
        density = len(n) * math.log(alpha) + gammaln(alpha) - gammaln(alpha + n.sum())
        density += float(gammaln(n).sum())
        scores = self._moves(priors).scores
        density += float(scores.evidence(n, total[occupied], log_kappa[occupied]).sum())
        if self.spread == "shared":
            density += float(priors.log_densities(log_kappa[:1])[0])
        return float(density)

    def posterior(self, chain: Chain, progress: Progress = silent) -> Posterior:
        from models.methods.sphere.mixture.loops import log_c as constants

        assert isinstance(chain, ProcessChain)
        priors, most, shared = chain.priors, self.most, self.spread == "shared"
        own, reference = np.unique(chain.partitions[self.reference(chain)], return_inverse=True)
        counted = np.flatnonzero(self.counted > 0)
        sizes, n = np.zeros(len(own)), np.zeros(len(own))
        sums = np.zeros((len(own), self.passes.points.shape[1]))
        draws = np.full((len(chain.draws), len(own)), np.nan)
        log_c = np.zeros(len(own))
        cluster = chain.cluster.copy()
        for sweep, kept in enumerate(chain.partitions):
            progress(sweep / len(chain.partitions), "sampling", "moments")
            cluster[counted] = kept
            size, total = self._sums(cluster, most)
            log_kappa = chain.draws[sweep]
            field = np.exp(log_kappa)[:, None] * total + priors.c0 * priors.mu0
            means = expected_means(field, np.sqrt(np.einsum("kd,kd->k", field, field)))
            others, labels = np.unique(kept, return_inverse=True)
            order, common = matched(reference, labels, max(len(own), len(others)))
            has_match = common[: len(own)] > 0
            order = others[order[: len(own)][has_match]]
            sizes[has_match] += size[order]
            n[has_match] += 1.0
            sums[has_match] += means[order]
            draws[sweep, has_match] = log_kappa[order]
            log_c[has_match] += constants(means.shape[1], np.exp(log_kappa[order]))
        if shared:
            draws = chain.draws[:, :1]
            log_c = constants(sums.shape[1], np.exp(draws)).sum(axis=0)
        # The weight of clusters without rows is left out.
        without = replace(priors, alpha=0.0)
        posterior = moments(sizes / len(draws), sums, log_c, n, draws, without)
        return replace(posterior, priors=priors)

    def reference(self, chain: ProcessChain) -> int:
        """The number of the kept sweep whose partition is the result."""
        numbers = chain.numbers
        values, times = np.unique(numbers, return_counts=True)
        commonest = values[times.argmax()]
        return int(np.where(numbers == commonest, chain.heights, -np.inf).argmax())

    def _prior(self, priors: Priors) -> tuple[float, float]:
        return 0.0, priors.alpha

    def _partition(self, cluster: Int, log_kappa: Float) -> Partition:
        return Partition(cluster, log_kappa, *self._sums(cluster, len(log_kappa)))

    def _moves(self, priors: Priors) -> SplitMerge:
        points = self.passes.points
        scores = MoveScores(priors, self.spread, self.max_kappa, points.shape[1])
        return SplitMerge(points, self.counted, scores)

    def _learned(self, chain: Chain, size: Float, means: Float) -> Chain:
        occupied = size > 0
        log_kappa = chain.log_kappa[occupied]
        numbers = [len(log_kappa), log_kappa.sum(), (log_kappa**2).sum()]
        now = np.concatenate([numbers, means[occupied].sum(axis=0)])
        gain = 1.0 / max(1.0, chain.turn - 0.5 * self.burn_in)
        learned = chain.learned + gain * (now - chain.learned)
        n = float(learned[0])
        priors = replace(chain.priors, alpha=likeliest_alpha(n, float(size.sum())))
        if n >= SEVERAL:
            log_mean, log_square = (learned[1:3] / n).tolist()
            if self.spread == "shared":
                priors = priors.of_shared_kappa(log_mean)
            else:
                priors = priors.of_kappas(log_mean, log_square)
            priors = priors.of_means(learned[3:] / n, self.max_kappa)
        return replace(chain, learned=learned, priors=priors)

    def _kept(self, chain: Chain, size: Float, means: Float) -> Chain:
        assert isinstance(chain, ProcessChain)
        every = -(-self.n_samples // MOST_KEPT)
        if (chain.turn - 1 - self.burn_in) % every:
            return chain
        own = chain.cluster[self.counted > 0].astype(chain.partitions.dtype)
        return replace(
            chain,
            draws=np.concatenate([chain.draws, chain.log_kappa[None]]),
            partitions=np.concatenate([chain.partitions, own[None]]),
            heights=np.append(chain.heights, chain.trace[-1]),
        )


def likeliest_alpha(n_clusters: float, n_points: float) -> float:
    """alpha within its bounds, where n_clusters = alpha (digamma(alpha + N) - digamma(alpha))."""
    low, high = math.log(LEAST_ALPHA), math.log(MOST_ALPHA)
    for _ in range(60):
        alpha = math.exp(0.5 * (low + high))
        expected = alpha * float(digamma(alpha + n_points) - digamma(alpha))
        low, high = (low, math.log(alpha)) if expected > n_clusters else (math.log(alpha), high)
    return math.exp(0.5 * (low + high))
