"""EM for mixtures of vMF distributions.

Soft, the objective is the log-likelihood. Hard (classification EM), it is the log-likelihood of
rows with their clusters; with one weight and one kappa for all that is spherical k-means, and its
log-likelihood grows with the mean cosine. Neither falls from one iteration to the next, but for
rounding.

Source: Banerjee, Dhillon, Ghosh and Sra, "Clustering on the Unit Hypersphere using von Mises-Fisher
Distributions" (2005), algorithms 1 and 2; Dhillon and Modha (2001) for spherical k-means.

The number of clusters of a mixture on the sphere, by a criterion over EM's best runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from models.arrays import Arrays, Float, Int, Mask
from models.clusters.choosing import Choice, Count, candidates, highest, lowest
from models.methods.sphere.mixture.mixture import Mixture, Shape, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.runs import Restarts
from models.numerics.sphere import unit
from models.progress import Progress, progress_parts, silent, subprogress

EMPTIED = 1e-6
"""A cluster with fewer rows has lost them."""


@dataclass(frozen=True, slots=True)
class Climb:
    """A run of EM.

    objective : of each iteration's mixture, the last one is `mixture`'s.
    ended : whether it converged.
    reseeded : how many clusters that had lost their rows got a new mean.
    """

    mixture: Mixture
    objective: tuple[float, ...] = ()
    ended: bool = False
    reseeded: int = 0

    def arrays(self, prefix: str) -> dict[str, Float]:
        facts = np.array([float(self.ended), float(self.reseeded)])
        return {
            **self.mixture.arrays(prefix),
            f"{prefix}objective": np.array(self.objective),
            f"{prefix}facts": facts,
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> Climb | None:
        """As kept; None where it was not."""
        if f"{prefix}means" not in arrays:
            return None
        ended, reseeded = arrays[f"{prefix}facts"].tolist()
        objective = tuple(arrays[f"{prefix}objective"].tolist())
        return cls(Mixture.of(arrays, prefix), objective, bool(ended), int(reseeded))


@dataclass(frozen=True, slots=True)
class EM:
    """How a run climbs (`runs.Way`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out. hard : whether a row
    belongs whole to its likeliest cluster. tol : in nats a row.
    """

    passes: Passes
    counted: Float
    shape: Shape
    hard: bool
    max_iter: int
    tol: float

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Climb:
        """The mixture that is likeliest where each row belongs to the nearest seed."""
        n_clusters = len(means)
        nearest = Mixture(np.full(n_clusters, -np.log(n_clusters)), means, np.ones(n_clusters))
        return Climb(maximize(sums, nearest, self.shape))

    def restored(self, arrays: Arrays, prefix: str) -> Climb | None:
        return Climb.of(arrays, prefix)

    def climb(self, one: Climb, progress: Progress, save: Callable[[Climb], None]) -> Climb:
        """Until the objective rises by no more than `tol` for each row."""
        mixture, objective, reseeded = one.mixture, list(one.objective), one.reseeded
        n_counted, most = float(self.counted.sum()), self.max_iter
        seeding, emptied = True, np.zeros(0, dtype=np.int64)
        without: Mixture | None = None
        for turn in count(len(objective)):
            at = min(turn, most)
            within = subprogress(
                progress, at / (most + 1), (at + 1) / (most + 1), f"iteration {at + 1}"
            )
            sums = self.passes.expect(
                mixture.weights, mixture.offsets, self.counted, within, hard=self.hard
            )
            value = float(sums.evidence @ self.counted)
            gain = value - objective[-1] if objective else np.inf
            if without is not None:
                seeding = gain > self.tol * n_counted
                if gain < 0.0:
                    # The new seeds do not pay; without them nothing falls.
                    mixture, reseeded, without = without, reseeded - len(emptied), None
                    continue
                without = None
            objective.append(value)
            emptied = np.flatnonzero(sums.size < EMPTIED) if seeding else emptied[:0]
            ended = gain <= self.tol * n_counted and not emptied.size
            if ended or len(objective) >= most:
                return Climb(mixture, tuple(objective), ended, reseeded)
            mixture = maximize(sums, mixture, self.shape)
            if emptied.size:
                without, reseeded = mixture, reseeded + len(emptied)
                mixture = self._reseeded(mixture, sums, emptied)
            else:
                save(Climb(mixture, tuple(objective), False, reseeded))
        raise AssertionError("unreachable")

    def _reseeded(self, mixture: Mixture, sums: Sums, emptied: Int) -> Mixture:
        """The mixture with each emptied cluster at one of the rows that are least likely."""
        evidence = np.where(self.counted > 0, sums.evidence, np.inf)
        worst = np.argsort(evidence, kind="stable")[: len(emptied)]
        means, kappa = mixture.means.copy(), mixture.kappa.copy()
        log_weights = mixture.log_weights.copy()
        means[emptied] = unit(self.passes.points.dense(worst))
        others = np.setdiff1d(np.arange(len(kappa)), emptied)
        kappa[emptied] = np.median(kappa[others])
        if not self.shape.equal:
            n_counted = float(self.counted.sum())
            log_weights[others] += np.log1p(-len(emptied) / n_counted)
            log_weights[emptied] = -np.log(n_counted)
        return Mixture(log_weights, means, kappa)


def choose_climb(
    restarts: Restarts, way: EM, params: Count, out: Mask, progress: Progress
) -> tuple[Choice, Climb]:
    """The choice by `params.choose`, 'bic' or 'held-out', and the best run of that number.

    out : (n_points,) the rows held out. O(sum of the fits).
    """
    numbers, notes = candidates(restarts.passes.points.values, params)
    by_bic = params.choose == "bic"
    kept = restarts.checkpoint.load() or {}
    known = kept.get("values", np.empty((0, 2)))
    chosen = Climb.of(kept, "chosen.")
    values: list[tuple[float, float]] = [(float(v), float(e)) for v, e in known]
    for part, number in list(progress_parts(progress, 1.0, numbers))[len(values) :]:
        restarts.kept = {"values": np.array(values).reshape(-1, 2)}
        if chosen is not None:
            restarts.kept = {**restarts.kept, **chosen.arrays("chosen.")}
        one = restarts.best(way, number, part)
        value = _value(way, one, out, by_bic)
        if chosen is None or value[0] > max(v for v, _ in values):
            chosen = one
        values.append(value)
    assert chosen is not None
    found = [v for v, _ in values]
    if by_bic:
        return lowest("bic", numbers, [-v for v in found], notes), chosen
    errors = [e for _, e in values]
    return highest("held_out_log_likelihood", numbers, found, errors, notes), chosen


def _value(way: EM, best: Climb, out: Mask, by_bic: bool) -> tuple[float, float]:
    """What is to be high, and its standard error."""
    mixture = best.mixture
    evidence = way.passes.expect(mixture.weights, mixture.offsets, way.counted, silent).evidence
    if by_bic:
        fitted = evidence[~out]
        return -way.shape.bic(mixture, float(fitted.sum()), fitted.size), 0.0
    held = evidence[out]
    return float(held.mean()), float(held.std() / math.sqrt(max(1, held.size - 1)))
