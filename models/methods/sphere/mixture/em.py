"""EM for mixtures of vMF distributions, and the number of clusters by a criterion.

The objective of soft EM is the log-likelihood. That of hard (classification) EM is the joint
log-likelihood of rows and their clusters; with a common weight and kappa this is spherical k-means,
whose log-likelihood grows with the mean cosine. Neither falls from one iteration to the next,
except by rounding.

`StepwiseEM` is EM by batches of rows (`mixture.stochastic`).

Source: Banerjee, Dhillon, Ghosh and Sra, "Clustering on the Unit Hypersphere using von Mises-Fisher
Distributions" (2005), algorithms 1 and 2; Dhillon and Modha (2001) for spherical k-means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from models.arrays import Arrays, Float, Int, Mask
from models.clusters.choosing import Choice, Count, candidates, highest, lowest
from models.methods.sphere.mixture.mixture import EMPTIED, Constraints, Mixture, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.runs import Climb, Iteration, Restarts, climb, restored
from models.methods.sphere.mixture.stochastic import (
    BatchClimb,
    BatchState,
    Steps,
    StochasticAscent,
    restored_by_batches,
)
from models.numerics import sphere
from models.numerics.sphere import unit
from models.running.progress import Progress, progress_parts, silent


@dataclass(frozen=True, slots=True)
class EM:
    """How a run of EM starts and climbs (`runs.Algorithm`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out. hard : whether each row
    belongs to its likeliest cluster alone. tol : in nats a row.
    """

    passes: Passes
    counted: Float
    constraints: Constraints
    hard: bool
    max_iter: int
    tol: float

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Climb[Mixture]:
        """The likeliest mixture when each row belongs to the nearest seed."""
        return Climb(maximize(sums, Mixture.at(means), self.constraints), reseeded=0)

    def restored(self, arrays: Arrays, prefix: str) -> Climb[Mixture] | None:
        return restored(Mixture.of, arrays, prefix)

    def climb(
        self,
        run: Climb[Mixture],
        progress: Progress,
        save: Callable[[Climb[Mixture]], None],
    ) -> Climb[Mixture]:
        """The run until the objective rises by at most `tol` per row."""
        return climb(
            run,
            _Reseeding(self).iterate,
            least_gain=self.least_gain,
            max_iter=self.max_iter,
            progress=progress,
            save=save,
        )

    @property
    def least_gain(self) -> float:
        """The rise of the objective, over all rows, at which a run has converged."""
        return self.tol * float(self.counted.sum())

    def expect(self, mixture: Mixture, progress: Progress) -> tuple[Sums, float]:
        """The sums under the mixture's posteriors, and the objective."""
        sums = self.passes.expect(
            mixture.weights, mixture.offsets, self.counted, progress, hard=self.hard
        )
        return sums, float(sums.evidence @ self.counted)

    def reseeded(self, mixture: Mixture, sums: Sums, emptied: Int) -> Mixture:
        """The mixture with each emptied cluster moved to one of the least likely rows."""
        evidence = np.where(self.counted > 0, sums.evidence, np.inf)
        worst = np.argsort(evidence, kind="stable")[: len(emptied)]
        means, kappa = mixture.means.copy(), mixture.kappa.copy()
        log_weights = mixture.log_weights.copy()
        means[emptied] = unit(self.passes.points.dense(worst))
        others = np.setdiff1d(np.arange(len(kappa)), emptied)
        kappa[emptied] = np.median(kappa[others])
        if not self.constraints.equal:
            n_counted = float(self.counted.sum())
            log_weights[others] += np.log1p(-len(emptied) / n_counted)
            log_weights[emptied] = -np.log(n_counted)
        return Mixture(log_weights, means, kappa)


@dataclass(slots=True)
class _Reseeding:
    """The iterations of one run, which give empty clusters new means while the objective gains.

    without : the run as it would be without the new means on trial.
    """

    em: EM
    pays: bool = True
    without: Climb[Mixture] | None = None

    def iterate(self, run: Climb[Mixture], progress: Progress) -> Iteration[Climb[Mixture]]:
        sums, objective = self.em.expect(run.estimate, progress)
        if self.without is not None:
            gain = run.reached(objective).gain
            self.pays = gain > self.em.least_gain
            if gain < 0.0:
                # Without the new means the objective does not fall.
                run = self.without
                sums, objective = self.em.expect(run.estimate, progress)
            self.without = None
        run = run.reached(objective)
        emptied = np.flatnonzero(sums.size < EMPTIED) if self.pays else np.zeros(0, np.int64)
        on_trial = bool(emptied.size)

        def advance() -> Climb[Mixture]:
            after = replace(run, estimate=maximize(sums, run.estimate, self.em.constraints))
            if not on_trial:
                return after
            self.without = after
            return replace(
                after,
                estimate=self.em.reseeded(after.estimate, sums, emptied),
                reseeded=(after.reseeded or 0) + len(emptied),
            )

        return Iteration(run, run.gain, advance, unsettled=on_trial, on_trial=on_trial)


def choose_n_clusters(
    restarts: Restarts, em: EM, params: Count, out: Mask, progress: Progress
) -> tuple[Choice, Climb[Mixture]]:
    """The choice by `params.choose`, 'bic' or 'held-out', and the best run with the chosen number.

    out : (n_points,) the rows held out. Cost: the sum of the fits.
    """
    numbers, notes = candidates(restarts.passes.points.values, params)
    by_bic = params.choose == "bic"
    saved = restarts.checkpoint.load() or {}
    scores = [
        (float(score), float(error)) for score, error in saved.get("values", np.empty((0, 2)))
    ]
    chosen = restored(Mixture.of, saved, "chosen.")
    for part, number in list(progress_parts(progress, 1.0, numbers))[len(scores) :]:
        restarts.kept = {"values": np.array(scores).reshape(-1, 2)}
        if chosen is not None:
            restarts.kept = {**restarts.kept, **chosen.arrays("chosen.")}
        run = restarts.best(em, number, part)
        score = _score(em, run.estimate, out, by_bic)
        if chosen is None or score[0] > max(value for value, _ in scores):
            chosen = run
        scores.append(score)
    assert chosen is not None
    values, errors = [value for value, _ in scores], [error for _, error in scores]
    if by_bic:
        return lowest("bic", numbers, [-value for value in values], notes), chosen
    return highest("held_out_log_likelihood", numbers, values, errors, notes), chosen


def _score(em: EM, mixture: Mixture, out: Mask, by_bic: bool) -> tuple[float, float]:
    """The criterion, higher being better, and its standard error."""
    evidence = em.passes.expect(mixture.weights, mixture.offsets, em.counted, silent).evidence
    if by_bic:
        fitted = evidence[~out]
        return -em.constraints.bic(mixture, float(fitted.sum()), fitted.size), 0.0
    held = evidence[out]
    return float(held.mean()), float(held.std() / math.sqrt(max(1, held.size - 1)))


NEW_SHARE = 0.1
"""The weight of a re-seeded cluster, as a share of a mean cluster's rows; it fades unless kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepwiseEM(EM):
    """How a run of EM by batches starts and climbs; `max_iter` counts epochs."""

    steps: Steps

    @classmethod
    def of(cls, em: EM, steps: Steps) -> StepwiseEM:
        """The same EM by batches."""
        return cls(**{field.name: getattr(em, field.name) for field in fields(em)}, steps=steps)

    def start(self, means: Float, sums: Sums, seed: int = 0) -> BatchClimb[Mixture]:
        run = EM.start(self, means, sums)
        return BatchClimb(run.estimate, reseeded=0, state=BatchState.start(sums, seed))

    def restored(self, arrays: Arrays, prefix: str) -> Climb[Mixture] | None:
        return restored_by_batches(Mixture.of, arrays, prefix)

    def climb(
        self,
        run: Climb[Mixture],
        progress: Progress,
        save: Callable[[Climb[Mixture]], None],
    ) -> Climb[Mixture]:
        assert isinstance(run, BatchClimb)
        ascent = StochasticAscent[Mixture](
            self.passes,
            self.counted,
            self.steps,
            self.hard,
            self.max_iter,
            self.tol,
            update=self._updated,
            cost=_no_cost,
            reseed=self._moved,
        )
        return ascent.climb(run, progress, save)

    def _updated(self, before: Mixture, sums: Sums) -> Mixture:
        return maximize(sums, before, self.constraints)

    def _moved(
        self, mixture: Mixture, sums: Sums, emptied: Int, rows: Float
    ) -> tuple[Mixture, Sums]:
        """The mixture with emptied clusters moved to rows, and its sums.

        Each is treated as having some rows there, and the kappa of the others.
        """
        size, total = sums.size.copy(), sums.total.copy()
        others = np.setdiff1d(np.arange(len(size)), emptied)
        kappa = float(np.median(mixture.kappa[others]))
        size[emptied] = max(1.0, NEW_SHARE * float(sums.size.mean()))
        total[emptied] = size[emptied, None] * sphere.ratio(rows.shape[1], kappa) * rows
        moved = Sums(size, total, sums.evidence)
        return maximize(moved, mixture, self.constraints), moved


def _no_cost(mixture: Mixture) -> float:
    """0: the log-likelihood is exactly the sum of the rows' log evidence."""
    return 0.0
