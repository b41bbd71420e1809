"""Merges of clusters: out of the optima in which coordinate ascent leaves too many.

Rows cut in two by a pair of clusters keep each other there, though the bound is higher with them in
one (Hughes and Sudderth, "Memoized Online Variational Inference for Dirichlet Process Mixture
Models", 2013, section 4). Where a run has ended, each pair's change of the bound is exact: all
factors at their optimum for the pair's posteriors added up, less what the entropy of the
assignments loses. (A kappa that all clusters share is held meanwhile, so that changes of several
pairs add up; the update that follows only raises the bound.) Disjoint pairs that raise it merge,
and the ascent goes on, until none does; so the bound never falls. Where none does by itself, the
best few are tried with some iterations after.

Cost: of a round two passes over the rows, grids for the pairs (each cluster's `PARTNERS` most alike
ones), 8 N K bytes; rounds are few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.clusters.placing import normalize
from models.methods.sphere.bayes import ascent
from models.methods.sphere.bayes.priors import vmf_divergence
from models.methods.sphere.bayes.variational import Ascent, Posterior, Variational, directions
from models.methods.sphere.mixture.passes import Sums, log_joint
from models.numerics import bessel
from models.progress import Progress, subprogress

PARTNERS = 10
"""Of each cluster those most like it are looked at."""

OCCUPIED = 0.01
"""Expected rows from which on a cluster is there to be merged."""

LEAST_PART = 1e-15
"""A smaller posterior than this tells nothing of how a row is torn."""

LEAST_GAIN = 1e-3
"""Nats by which a merge must raise the bound."""

TRIALS, PASSES = 6, 5
"""Pairs that are tried where none raises the bound by itself, and passes that each is given."""

REACH = 8.0
"""A trial is given up where it lacks more than so many times what the last pass gave."""

VALUES = 1 << 22
"""Of sums over pairs that are held at a time."""


@dataclass(frozen=True, slots=True)
class Merging(Variational):
    """As it is, and merges where it has ended."""

    def climb(self, one: Ascent, progress: Progress, save: Callable[[Ascent], None]) -> Ascent:
        """Until no merge raises the bound, or `max_iter` iterations are done."""
        while True:
            one = Variational.climb(self, one, progress, save)
            if not one.ended:
                return one
            at = len(one.objective) / (self.max_iter + 1)
            merged = self.merged(one.posterior, subprogress(progress, at, at, "merges"))
            if merged is None:
                return one
            one = ascent.Ascent(merged, one.objective)
            save(one)

    def merged(self, posterior: Posterior, progress: Progress) -> Posterior | None:
        """After merges that raise the bound; None where none does."""
        sums, bound = self._expected(posterior, progress)
        pairs = self.pairs(posterior, sums)
        return self._at_once(posterior, sums, pairs) or self._tried(
            posterior, sums, pairs, bound, progress
        )

    def _at_once(self, posterior: Posterior, sums: Sums, pairs: Pairs) -> Posterior | None:
        """All disjoint pairs that raise the bound by themselves."""
        free, value = np.ones(len(sums.size), dtype=bool), pairs.value
        joined = sums
        for at in np.argsort(-pairs.gain, kind="stable").tolist():
            into, gone = int(pairs.first[at]), int(pairs.second[at])
            if not (free[into] and free[gone]):
                continue
            after = _joined(joined, into, gone)
            then = _value(posterior, after.size)
            # The weights' part is not the sum of the pairs'.
            if pairs.parts[at] - pairs.lost[at] + then - value > LEAST_GAIN:
                joined, value = after, then
                free[[into, gone]] = False
        return None if free.all() else self._updated(posterior, joined)

    def _tried(
        self, posterior: Posterior, sums: Sums, pairs: Pairs, bound: float, progress: Progress
    ) -> Posterior | None:
        """A pair that raises it with the passes that follow: each cluster, if it is among the
        `TRIALS` that lose least, with the partner by which it does."""
        order = np.argsort(-pairs.gain, kind="stable")
        _, at = np.unique(pairs.second[order], return_index=True)
        for pair in order[np.sort(at)[:TRIALS]].tolist():
            joined = _joined(sums, int(pairs.first[pair]), int(pairs.second[pair]))
            then, before = posterior, -np.inf
            for _ in range(PASSES):
                then = self._updated(then, joined)
                joined, now = self._expected(then, progress)
                if now > bound + LEAST_GAIN:
                    return then
                if bound - now > REACH * (now - before):
                    break
                before = now
        return None

    def pairs(self, posterior: Posterior, sums: Sums) -> Pairs:
        """Of pairs of clusters what the bound gains at least by their merge."""
        first, second = _pairs(sums)
        alone = self._parts(posterior, sums, np.arange(len(sums.size)))
        parts = -alone[first] - alone[second]
        step = max(1, VALUES // posterior.n_features)
        for start in range(0, len(first), step):
            i, j = first[start : start + step], second[start : start + step]
            both = Sums(sums.size[i] + sums.size[j], sums.total[i] + sums.total[j], sums.evidence)
            parts[start : start + step] += self._parts(posterior, both, i)
        value = _value(posterior, sums.size)
        then = [
            _value(posterior, _joined(sums, i, j).size)
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        gain = parts + np.array(then) - value
        entropy = self._lost(posterior, first, second)
        return Pairs(first, second, parts, entropy, gain - entropy, value)

    def _lost(self, posterior: Posterior, first: Int, second: Int) -> Float:
        """(P,) by how much the entropy of the assignments falls as two clusters become one."""
        lost = np.zeros(len(first))
        if not len(first):
            return lost
        part = log_joint(self.passes.points, posterior.weights, posterior.offsets)
        normalize(part)
        np.exp(part, out=part)
        for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            one, other = part[:, i], part[:, j]
            both = np.flatnonzero((np.minimum(one, other) > LEAST_PART) & (self.counted > 0))
            one, other = one[both], other[both]
            lost[at] = self.counted[both] @ (
                one * np.log1p(other / one) + other * np.log1p(one / other)
            )
        return lost

    def _parts(self, before: Posterior, sums: Sums, begun: Int) -> Float:
        """(K,) what each cluster has of the bound besides its weight, at its optimum for `sums`,
        from that of cluster `begun[k]` on; q of a shared kappa, of which all have a part, stays."""
        psi, kappas = before.psi[begun], before.kappas.reordered(begun)
        shared = self.spread == "shared"
        if shared:
            psi, gamma = directions(psi, kappas, before.priors, sums)
        else:
            psi, gamma, kappas = self._components(psi, kappas, before.priors, sums)
        means = bessel.ratio(psi.shape[1], gamma)[:, None] * psi
        likely = sums.size * kappas.log_c + kappas.mean * np.einsum("kd,kd->k", means, sums.total)
        priors = before.priors
        divergence = vmf_divergence(psi, gamma, priors.mu0, priors.c0)
        own = 0.0 if shared else kappas.divergence_from(priors)
        return np.asarray(likely - divergence - own)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of clusters that might merge, and the bound's change by each.

    first, second : (P,), the larger one first. parts : the change of what clusters have of it
    alone. lost : the entropy that the assignments lose. gain : the whole change. value : what the
    weights have of it before.
    """

    first: Int
    second: Int
    parts: Float
    lost: Float
    gain: Float
    value: float


def _pairs(sums: Sums) -> tuple[Int, Int]:
    """Each occupied cluster with those whose rows point most alike."""
    there = np.flatnonzero(sums.size > OCCUPIED)
    there = there[np.argsort(-sums.size[there], kind="stable")]
    total = sums.total[there]
    length = np.sqrt(np.einsum("kd,kd->k", total, total))
    unit = total / np.where(length > 0, length, 1.0)[:, None]
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    n_partners = min(PARTNERS, len(there) - 1)
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :n_partners]
    own = np.repeat(np.arange(len(there)), n_partners)
    both = np.sort(np.stack([own, near.ravel()]), axis=0)
    both = np.unique(both, axis=1)
    return there[both[0]], there[both[1]]


def _value(posterior: Posterior, size: Float) -> float:
    """What the weights have of the bound, at their optimum for `size`."""
    found = posterior.proportions.given(size, posterior.priors)
    return float(found.log_means @ size) - found.divergence(posterior.priors)


def _joined(sums: Sums, into: int, gone: int) -> Sums:
    """With the rows of one cluster given to another."""
    size, total = sums.size.copy(), sums.total.copy()
    size[into] += size[gone]
    total[into] += total[gone]
    size[gone], total[gone] = 0.0, 0.0
    return Sums(size, total, sums.evidence)
