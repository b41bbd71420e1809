"""Moves that split or merge clusters, for Gibbs sampling of a Dirichlet process.

Sampling that moves one row at a time seldom splits or merges whole clusters. So two rows are drawn:
if they share a cluster, a split of it is proposed, else a merge of their two clusters. Jain and
Neal, "A Split-Merge Markov Chain Monte Carlo Procedure for the Dirichlet Process Mixture Model"
(2004), section 4: the affected rows first go to the nearer of the two and are then redrawn a few
times by Gibbs sampling restricted to these two clusters, independently of the proposal; the last
such scan is the proposal, and its probability is known. Concentrations follow as in Jain and Neal
(2007), but here from a normal distribution about the peak of the density of log kappa given a
cluster's rows; so these proposals have a known density, too.

`MoveScores` are the scores of clusters with their means integrated out, which these moves need.

Moves are accepted by Metropolis-Hastings. The probability of the reverse move is at most 1; a merge
that would be rejected even then is rejected without a scan. Cost of a split, or of a merge that
needs a scan: `SCANS` + 1 times 2 N_u D for N_u affected rows; of any other merge O(D).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, log_ndtr, ndtri

from models.arrays import Float, Int, Matrix
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.gibbs.gibbs import fields
from models.methods.sphere.mixture.mixture import Spread
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere

WIDER = 1.2
"""How much wider proposals of log kappa are than the peak of its density."""


@dataclass(frozen=True, slots=True)
class MoveScores:
    """Scores of clusters from the numbers and sums of their rows, size (K,) and total (K, D).

    priors : of a Dirichlet process. spread : whether clusters have a kappa each or share one.
    max_kappa : where the prior of kappa is cut off.
    """

    priors: Priors
    spread: Spread
    max_kappa: float
    n_features: int

    @property
    def most(self) -> float:
        """The largest log kappa."""
        return math.log(self.max_kappa)

    def drawn(self, n: int, rng: np.random.Generator) -> Float:
        """(n,) draws of log kappa from the prior, below `max_kappa`."""
        p = self.priors
        below = math.exp(self._log_inside)
        uniform = np.maximum(rng.random(n), 1e-300) * below
        return np.asarray(np.minimum(p.m + p.sigma * ndtri(uniform), self.most))

    def joint(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows, log kappa) of clusters, means integrated out; without the density of a
        shared log kappa."""
        from models.methods.sphere.mixture.loops import log_c

        n_features, p = total.shape[1], self.priors
        field = np.exp(log_kappa)[:, None] * total + p.c0 * p.mu0
        lengths = np.append(np.sqrt(np.einsum("kd,kd->k", field, field)), p.c0)
        of_means = log_c(n_features, lengths)
        joint = size * log_c(n_features, np.exp(log_kappa)) + of_means[-1] - of_means[:-1]
        if self.spread == "own":
            joint += p.log_densities(log_kappa) - self._log_inside
        return np.asarray(joint)

    def change(
        self,
        whole: float,
        whole_total: Float,
        whole_kappa: float,
        size: Float,
        total: Float,
        log_kappa: Float,
    ) -> float:
        """The log of how much likelier two clusters are than one of all their rows."""
        prior = math.log(self.priors.alpha) + float(gammaln(size).sum() - gammaln(whole))
        parts = float(self.joint(size, total, log_kappa).sum())
        joined = self.joint(np.array([whole]), whole_total[None], np.array([whole_kappa]))
        return prior + parts - float(joined[0])

    def evidence(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows) of clusters; log kappa is integrated out by Laplace's method, or stays
        fixed where it is shared."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        return self.evidence_by(size, length, along, log_kappa)

    def evidence_by(self, size: Float, length: Float, along: Float, log_kappa: Float) -> Float:
        """As `evidence`, by `length` |S_k|^2 and `along` S_k . mu0, (K,)."""
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops import table

        p, n_features = self.priors, self.n_features
        added = np.full(len(size), float(sphere.log_c(n_features, p.c0)))
        if self.spread == "own":
            peaks = self._peaks(size, length, along)
            log_kappa = peaks[:, 0]
            added += np.log(peaks[:, 1] / p.sigma) - self._log_inside
        else:
            added += 0.5 * ((log_kappa - p.m) / p.sigma) ** 2
        values = loops.log_densities(
            log_kappa, size, length, along, p.c0, p.m, p.sigma, table(n_features)
        )
        return np.asarray(values + added)

    def peaks(self, size: Float, total: Float) -> tuple[Float, Float]:
        """(K,) each: the centre and width of the proposals of log kappa."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        peaks = self._peaks(size, length, along)
        return peaks[:, 0], WIDER * peaks[:, 1]

    def log_proposal(self, log_kappa: Float, size: Float, total: Float) -> float:
        """The log density of proposing these log kappas, (K,)."""
        return float(log_normal(log_kappa, *self.peaks(size, total)).sum())

    def _peaks(self, size: Float, length: Float, along: Float) -> Float:
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops import table

        p, n_features = self.priors, self.n_features
        return np.asarray(
            loops.peaks(
                size, length, along, p.c0, p.m, p.sigma, self.most, n_features, table(n_features)
            )
        )

    @property
    def _log_inside(self) -> float:
        """The log of the prior's probability that a kappa is below `max_kappa`."""
        return float(log_ndtr((self.most - self.priors.m) / self.priors.sigma))


def log_normal(values: Float, centre: Float, width: Float) -> Float:
    off = (values - centre) / width
    return np.asarray(-0.5 * off * off - np.log(width) - 0.5 * math.log(2.0 * math.pi))


MOVES = 5
"""Moves tried in a sweep."""

SCANS = 3
"""Scans before the one that is proposed."""

PARTNERS = 10
"""Each cluster is paired with this many of its most similar clusters for merges by density."""


@dataclass(slots=True)
class Partition:
    """The current clusters; changed in place.

    cluster : (n_points,). log_kappa : (K,), also of clusters without rows. size, total : (K,) and
    (K, D) the number and the sum of their rows.
    """

    cluster: Int
    log_kappa: Float
    size: Float
    total: Float


@dataclass(frozen=True, slots=True)
class SplitMerge:
    """counted : (n_points,) 1 for rows that are in clusters."""

    points: UnitRows
    counted: Float
    scores: MoveScores

    def move(self, partition: Partition, rng: np.random.Generator) -> None:
        """Tries `MOVES` splits or merges."""
        fitted = np.flatnonzero(self.counted > 0)
        if len(fitted) < 2 or len(partition.size) < 2:
            return
        for _ in range(MOVES):
            i, j = (int(row) for row in fitted[rng.choice(len(fitted), 2, replace=False)])
            if partition.cluster[i] == partition.cluster[j]:
                self._split(partition, i, j, rng)
            else:
                self._merge(partition, i, j, rng)

    def merge_likelier(self, partition: Partition) -> None:
        """Makes all merges that raise the likelihood of clusters.

        Concentrations of the clusters are integrated out by Laplace's method. This is not a step of
        a Markov chain; it leads the chain away from too many clusters.
        """
        while True:
            occupied = np.flatnonzero(partition.size > 0)
            if len(occupied) < 2:
                return
            first, second, gain = self._gains(partition, occupied)
            free = np.ones(len(partition.size), dtype=bool)
            for pair in np.argsort(-gain, kind="stable"):
                into, gone = int(first[pair]), int(second[pair])
                if gain[pair] <= 0.0:
                    break
                if free[into] and free[gone]:
                    free[[into, gone]] = False
                    self._join(partition, into, gone, float(partition.log_kappa[into]))
                    if self.scores.spread == "own":
                        partition.log_kappa[into] = self.scores.peaks(
                            partition.size[[into]], partition.total[[into]]
                        )[0][0]
            if free.all():
                return

    def _split(self, partition: Partition, i: int, j: int, rng: np.random.Generator) -> None:
        whole, empty = int(partition.cluster[i]), np.flatnonzero(partition.size == 0)
        if not empty.size:
            return
        new = int(rng.choice(empty))
        rows = np.flatnonzero((partition.cluster == whole) & (self.counted > 0))
        block = self.points.take(rows)
        own, log_q = self._divided(block, rows, i, j, partition.log_kappa[whole], None, rng)
        size, total = _sums(block, own)
        log_kappa = np.repeat(partition.log_kappa[whole], 2)
        log_h = 0.0
        if self.scores.spread == "own":
            centre, width = self.scores.peaks(size, total)
            log_kappa = centre + width * rng.standard_normal(2)
            if log_kappa.max() > self.scores.most:
                return
            log_h = float(log_normal(log_kappa, centre, width).sum())
            log_h -= self._log_back(partition, [whole])
        joined = (partition.size[whole], partition.total[whole], partition.log_kappa[whole])
        change = self.scores.change(*joined, size, total, log_kappa)
        if math.log(max(rng.random(), 1e-300)) > change - log_q - log_h:
            return
        both = [whole, new]
        partition.cluster[rows[own == 1]] = new
        partition.size[both], partition.total[both], partition.log_kappa[both] = (
            size,
            total,
            log_kappa,
        )

    def _merge(self, partition: Partition, i: int, j: int, rng: np.random.Generator) -> None:
        first, second = int(partition.cluster[i]), int(partition.cluster[j])
        both = [first, second]
        size, total = partition.size[both], partition.total[both]
        log_kappa, log_h = float(partition.log_kappa[first]), 0.0
        if self.scores.spread == "own":
            centre, width = self.scores.peaks(size.sum(keepdims=True), total.sum(axis=0)[None])
            proposed = centre + width * rng.standard_normal(1)
            if proposed[0] > self.scores.most:
                return
            log_kappa = float(proposed[0])
            log_h = self._log_back(partition, both)
            log_h -= float(log_normal(proposed, centre, width)[0])
        whole = (size.sum(), total.sum(axis=0), log_kappa)
        change = self.scores.change(*whole, size, total, partition.log_kappa[both])
        log_uniform = math.log(max(rng.random(), 1e-300))
        if log_uniform > log_h - change:
            return
        in_either = (partition.cluster == first) | (partition.cluster == second)
        rows = np.flatnonzero(in_either & (self.counted > 0))
        own = (partition.cluster[rows] == second).astype(np.int64)
        _, log_q = self._divided(self.points.take(rows), rows, i, j, log_kappa, own, rng)
        if log_uniform <= log_h - change + log_q:
            self._join(partition, first, second, log_kappa)
            if self.scores.spread == "own":
                partition.log_kappa[second] = self.scores.drawn(1, rng)[0]

    def _join(self, partition: Partition, into: int, gone: int, log_kappa: float) -> None:
        partition.cluster[(partition.cluster == gone) & (self.counted > 0)] = into
        partition.size[into] += partition.size[gone]
        partition.total[into] += partition.total[gone]
        partition.size[gone], partition.total[gone] = 0.0, 0.0
        partition.log_kappa[into] = log_kappa

    def _log_back(self, partition: Partition, clusters: list[int]) -> float:
        return self.scores.log_proposal(
            partition.log_kappa[clusters], partition.size[clusters], partition.total[clusters]
        )

    def _divided(
        self,
        block: Matrix,
        rows: Int,
        i: int,
        j: int,
        log_kappa: float,
        wanted: Int | None,
        rng: np.random.Generator,
    ) -> tuple[Int, float]:
        """0 or 1 for each of the rows, 0 with row i and 1 with row j, and the log probability.

        log_kappa : used where it is shared. wanted : the division to score; None: it is drawn.
        """
        ends = np.searchsorted(rows, [i, j])
        near = block @ _dense(block[ends]).T
        own = (near[:, 1] > near[:, 0]).astype(np.int64)
        own[ends] = [0, 1]
        at = np.delete(np.arange(len(rows)), ends)
        free, log_q = np.full(len(at), -1), 0.0
        for scan in range(SCANS + 1):
            size, total = _sums(block, own)
            if self.scores.spread == "shared":
                kappa = np.exp(np.repeat(log_kappa, 2))
            elif scan == 0:
                kappa = np.exp(
                    self.scores.peaks(size.sum(keepdims=True), total.sum(axis=0)[None])[0]
                )
                kappa = np.repeat(kappa, 2)
            else:
                kappa = np.exp(self.scores.peaks(size, total)[0])
            last = scan == SCANS and wanted is not None
            fixed = wanted[at] if last and wanted is not None else free
            log_q = self._scan(block, at, own, kappa, size, total, fixed, rng.random(len(at)))
        return own, log_q

    def _scan(
        self,
        block: Matrix,
        at: Int,
        own: Int,
        kappa: Float,
        size: Float,
        total: Float,
        wanted: Int,
        uniform: Float,
    ) -> float:
        """Redraws the rows `at` between two clusters, in place; returns the log probability."""
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops import table

        state = (
            *fields(kappa, size, total, self.scores.priors),
            (0.0, 0.0),
            uniform,
            wanted,
            table(total.shape[1]),
        )
        if isinstance(block, sp.csr_array):
            arrays = (block.indptr, block.indices, block.data)
            return float(loops.sweep_sparse(*arrays, at, own, *state))
        return float(loops.sweep(block, at, own, *state))

    def _gains(self, partition: Partition, occupied: Int) -> tuple[Int, Int, Float]:
        """(P,) each: pairs of similar clusters, and the log of how much likelier their merge is."""
        size, total = partition.size[occupied], partition.total[occupied]
        product = total @ total.T
        length = np.diag(product)
        root = np.sqrt(np.maximum(length, 1e-300))
        cosine = product / (root[:, None] * root)
        np.fill_diagonal(cosine, -np.inf)
        near = np.argsort(-cosine, axis=1, kind="stable")[:, : min(PARTNERS, len(occupied) - 1)]
        pairs = np.stack([np.repeat(np.arange(len(occupied)), near.shape[1]), near.ravel()])
        first, second = np.unique(np.sort(pairs, axis=0), axis=1)
        along = total @ self.scores.priors.mu0
        alone = self.scores.evidence_by(size, length, along, partition.log_kappa[occupied])
        both = self.scores.evidence_by(
            size[first] + size[second],
            np.maximum(0.0, length[first] + length[second] + 2.0 * product[first, second]),
            along[first] + along[second],
            partition.log_kappa[occupied[first]],
        )
        prior = gammaln(size[first] + size[second]) - gammaln(size[first]) - gammaln(size[second])
        gain = both - alone[first] - alone[second] + prior - math.log(self.scores.priors.alpha)
        return occupied[first], occupied[second], np.asarray(gain)


def _sums(block: Matrix, own: Int) -> tuple[Float, Float]:
    """(2,), (2, D): the number and the sum of the rows in 0 and in 1."""
    part = np.stack([own == 0, own == 1], axis=1).astype(np.float64)
    return part.sum(axis=0), np.ascontiguousarray((block.T @ part).T)


def _dense(block: Matrix) -> Float:
    return np.asarray(block.toarray() if isinstance(block, sp.csr_array) else block)
