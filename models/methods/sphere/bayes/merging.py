"""The number of clusters: variational inference that merges them, and how many hold rows.

Coordinate ascent ends with too many. Rows divided between a pair of clusters hold each other in
place, even if the bound is higher with all in one (Hughes and Sudderth, "Memoized Online
Variational Inference for Dirichlet Process Mixture Models", 2013, section 4). When a run has ended,
the change of the bound by merging a pair is computed exactly: all factors at their optimum for the
added posteriors of the pair, minus the entropy that the assignments lose. (A shared kappa is held
fixed meanwhile, so that the changes of several pairs add up; the following update only raises the
bound.) Disjoint pairs that raise the bound are merged and the ascent continues, until no pair does;
so the bound never falls. If no pair raises it at once, the best few merges are tried with some
iterations after each.

Cost: a round takes two passes over the rows and a grid for each pair (each cluster with the
`PARTNERS` most like it), and 8 N K bytes; there are few rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float, Int
from models.clusters.choosing import Choice
from models.clusters.placing import normalize
from models.methods.sphere.bayes.priors import vmf_divergence
from models.methods.sphere.bayes.variational import Posterior, Variational, directions
from models.methods.sphere.mixture.passes import Sums, log_joint
from models.methods.sphere.mixture.runs import Climb
from models.numerics import sphere
from models.running.progress import Progress, subprogress

PARTNERS = 10
"""Each cluster is paired with this many of its most similar clusters."""

OCCUPIED = 0.01
"""The least expected number of rows of a cluster that takes part in merges."""

LEAST_PART = 1e-15
"""A smaller posterior adds nothing to the entropy of a row."""

LEAST_GAIN = 1e-3
"""Nats by which a merge must raise the bound."""

TRIALS, PASSES = 6, 5
"""Pairs that are tried if none raises the bound at once, and passes for each."""

REACH = 8.0
"""A trial ends when the bound is short by more than this many times the gain of its last pass."""

VALUES = 1 << 22
"""Values in the sums over pairs that are held at a time."""


@dataclass(frozen=True, slots=True)
class Merging(Variational):
    """Variational inference with merges whenever a run has converged."""

    def climb(
        self,
        run: Climb[Posterior],
        progress: Progress,
        save: Callable[[Climb[Posterior]], None],
    ) -> Climb[Posterior]:
        """The run until no merge raises the bound, or for `max_iter` iterations."""
        while True:
            run = Variational.climb(self, run, progress, save)
            if not run.ended:
                return run
            share = len(run.objective) / (self.max_iter + 1)
            merged = self.merged(run.estimate, subprogress(progress, share, share, "merges"))
            if merged is None:
                return run
            run = replace(run, estimate=merged, ended=False)
            save(run)

    def merged(self, posterior: Posterior, progress: Progress) -> Posterior | None:
        """The posterior after merges that raise the bound; None if no merge does."""
        sums, bound = self.expected(posterior, progress)
        pairs = self.pairs(posterior, sums)
        return self._disjoint(posterior, sums, pairs) or self._tried(
            posterior, sums, pairs, bound, progress
        )

    def _disjoint(
        self, posterior: Posterior, sums: Sums, pairs: MergeCandidates
    ) -> Posterior | None:
        """The posterior after merging all disjoint pairs that raise the bound at once."""
        free, value = np.ones(len(sums.size), dtype=bool), pairs.value
        joined = sums
        for pair in np.argsort(-pairs.gain, kind="stable").tolist():
            into, gone = int(pairs.first[pair]), int(pairs.second[pair])
            if not (free[into] and free[gone]):
                continue
            after = _joined(joined, into, gone)
            value_after = _weights_value(posterior, after.size)
            # The part of the weights is not a sum over pairs.
            if pairs.parts[pair] - pairs.lost[pair] + value_after - value > LEAST_GAIN:
                joined, value = after, value_after
                free[[into, gone]] = False
        return None if free.all() else self.updated(posterior, joined)

    def _tried(
        self,
        posterior: Posterior,
        sums: Sums,
        pairs: MergeCandidates,
        bound: float,
        progress: Progress,
    ) -> Posterior | None:
        """The posterior after a merge and passes that raise the bound; None if no trial does.

        The `TRIALS` clusters that lose least are tried, each with one partner.
        """
        order = np.argsort(-pairs.gain, kind="stable")
        _, first = np.unique(pairs.second[order], return_index=True)
        for pair in order[np.sort(first)[:TRIALS]].tolist():
            joined = _joined(sums, int(pairs.first[pair]), int(pairs.second[pair]))
            trial, bound_before = posterior, -np.inf
            for _ in range(PASSES):
                trial = self.updated(trial, joined)
                joined, trial_bound = self.expected(trial, progress)
                if trial_bound > bound + LEAST_GAIN:
                    return trial
                if bound - trial_bound > REACH * (trial_bound - bound_before):
                    break
                bound_before = trial_bound
        return None

    def pairs(self, posterior: Posterior, sums: Sums) -> MergeCandidates:
        """The pairs of clusters, with the least gain of the bound by their merge."""
        first, second = _pairs(sums)
        alone = self._parts(posterior, sums, np.arange(len(sums.size)))
        parts = -alone[first] - alone[second]
        step = max(1, VALUES // posterior.n_features)
        for start in range(0, len(first), step):
            i, j = first[start : start + step], second[start : start + step]
            both = Sums(sums.size[i] + sums.size[j], sums.total[i] + sums.total[j], sums.evidence)
            parts[start : start + step] += self._parts(posterior, both, i)
        value = _weights_value(posterior, sums.size)
        values_after = [
            _weights_value(posterior, _joined(sums, i, j).size)
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        gain = parts + np.array(values_after) - value
        lost = self._lost_entropy(posterior, first, second)
        return MergeCandidates(first, second, parts, lost, gain - lost, value)

    def _lost_entropy(self, posterior: Posterior, first: Int, second: Int) -> Float:
        """(P,) the entropy that the assignments lose as two clusters become one."""
        lost = np.zeros(len(first))
        if not len(first):
            return lost
        part = log_joint(self.passes.points, posterior.weights, posterior.offsets)
        normalize(part)
        np.exp(part, out=part)
        for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            a, b = part[:, i], part[:, j]
            both = np.flatnonzero((np.minimum(a, b) > LEAST_PART) & (self.counted > 0))
            a, b = a[both], b[both]
            lost[pair] = self.counted[both] @ (a * np.log1p(b / a) + b * np.log1p(a / b))
        return lost

    def _parts(self, before: Posterior, sums: Sums, start: Int) -> Float:
        """(K,) the contribution of each cluster, without its weight, to the bound for `sums`.

        The search starts from cluster `start[k]`; q of a shared kappa stays.
        """
        psi, kappas = before.psi[start], before.kappas.reordered(start)
        shared = self.spread == "shared"
        if shared:
            psi, gamma = directions(psi, kappas, before.priors, sums)
        else:
            psi, gamma, kappas = self.components(psi, kappas, before.priors, sums)
        means = sphere.ratio(psi.shape[1], gamma)[:, None] * psi
        likely = sums.size * kappas.log_c + kappas.mean * np.einsum("kd,kd->k", means, sums.total)
        priors = before.priors
        divergence = vmf_divergence(psi, gamma, priors.mu0, priors.c0)
        own = 0.0 if shared else kappas.divergence_from(priors)
        return np.asarray(likely - divergence - own)


@dataclass(frozen=True, slots=True)
class MergeCandidates:
    """The pairs of clusters that might merge, and the change of the bound by each.

    first, second : (P,), the larger one first. parts : the change of the clusters' contributions to
        the bound. lost : the entropy that the assignments lose. gain : the total change.
        value : the weights' contribution before.
    """

    first: Int
    second: Int
    parts: Float
    lost: Float
    gain: Float
    value: float


def _pairs(sums: Sums) -> tuple[Int, Int]:
    """Each occupied cluster paired with the clusters of the most similar direction."""
    occupied = np.flatnonzero(sums.size > OCCUPIED)
    occupied = occupied[np.argsort(-sums.size[occupied], kind="stable")]
    total = sums.total[occupied]
    length = np.sqrt(np.einsum("kd,kd->k", total, total))
    unit = total / np.where(length > 0, length, 1.0)[:, None]
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    n_partners = min(PARTNERS, len(occupied) - 1)
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :n_partners]
    own = np.repeat(np.arange(len(occupied)), n_partners)
    both = np.sort(np.stack([own, near.ravel()]), axis=0)
    both = np.unique(both, axis=1)
    return occupied[both[0]], occupied[both[1]]


def _weights_value(posterior: Posterior, size: Float) -> float:
    """The contribution of the weights to the bound, at their optimum for `size`."""
    proportions = posterior.proportions.updated(size, posterior.priors)
    return float(proportions.log_means @ size) - proportions.divergence(posterior.priors)


def _joined(sums: Sums, into: int, gone: int) -> Sums:
    """The sums with the rows of cluster `gone` added to the rows of `into`."""
    size, total = sums.size.copy(), sums.total.copy()
    size[into] += size[gone]
    total[into] += total[gone]
    size[gone], total[gone] = 0.0, 0.0
    return Sums(size, total, sums.evidence)


LEAST_WEIGHT = 0.01
"""The weight of left-out clusters above which a warning is given."""

_INTERVAL = (0.025, 0.975)


def occupied(
    posterior: Posterior, cluster: Int, objective: float, most: int
) -> tuple[Posterior, Choice]:
    """The posterior of the clusters that hold rows, and their number.

    A cluster is empty if it is not the likeliest one of any row, fitted or held out, however large
    its posteriors are; its weight is divided among the others in proportion. cluster : (n_points,)
    the likeliest one of each row. objective : the lower bound. most : the number of clusters
    allowed.
    """
    with_rows = np.unique(cluster)
    n_clusters = len(with_rows)
    warnings = []
    if n_clusters == most > 1:
        warnings.append(
            f"All {most} clusters that 'n_clusters' allows hold rows, so there may be more; set "
            "it higher."
        )
    lost = 1.0 - float(posterior.proportions.means[with_rows].sum())
    if lost > LEAST_WEIGHT:
        warnings.append(
            f"{len(posterior.psi) - n_clusters} cluster(s) that are the likeliest of no row were "
            f"left out, with {100.0 * lost:.1f}% of the weight."
        )
    if n_clusters < len(posterior.psi):
        posterior = posterior.selected(with_rows)
    value = (float(objective),)
    return posterior, Choice("lower_bound", n_clusters, (n_clusters,), value, None, tuple(warnings))


def with_credible_number(
    choice: Choice, numbers: Int, most: int
) -> tuple[Choice, dict[str, float]]:
    """The choice of the number of clusters, its posterior as a curve and its interval as metrics.

    The metrics are the ends of the 95% credible interval.
    numbers : (n_sweeps,) the numbers of clusters in a chain. most : the number of clusters allowed.
    """
    low, high = (int(end) for end in np.quantile(numbers, _INTERVAL, method="inverted_cdf"))
    first, last = (int(end) for end in (numbers.min(), numbers.max()))
    tried = tuple(range(min(first, choice.n_clusters), max(last, choice.n_clusters) + 1))
    share = tuple(float((numbers == number).mean()) for number in tried)
    warnings = choice.warnings
    if high == most > max(1, choice.n_clusters):
        warnings = (
            *warnings,
            f"All {most} clusters that 'n_clusters' allows hold rows in {100 * share[-1]:.0f}% of "
            "the sweeps, so there may be more; set it higher.",
        )
    choice = replace(
        choice, criterion="n_clusters_probability", candidates=tried, value=share, warnings=warnings
    )
    return choice, {"n_clusters_low": float(low), "n_clusters_high": float(high)}
