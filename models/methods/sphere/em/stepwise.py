"""`EM` and `Variational` by batches (`em.batches`), as ways that restarts take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes import ascent
from models.methods.sphere.bayes.variational import Ascent, Posterior, Variational
from models.methods.sphere.em.batches import POOL_BYTES, Batches, State, Steps, Walk
from models.methods.sphere.em.em import EM, Climb
from models.methods.sphere.mixture.mixture import Mixture, maximize
from models.methods.sphere.mixture.passes import Sums
from models.methods.sphere.mixture.runs import SEEDING_EACH, SEEDING_ROWS, Restarts
from models.numerics import bessel
from models.progress import Progress

NEW_SHARE = 0.1
"""Of a mean cluster's rows, which one that is re-seeded is given; what it does not keep fades."""


@dataclass(frozen=True, slots=True)
class StepwiseClimb(Climb):
    """A run of stepwise EM under way."""

    state: State | None = None

    def arrays(self, prefix: str) -> dict[str, Float]:
        return {**Climb.arrays(self, prefix), **_kept(self.state, prefix)}


@dataclass(frozen=True, slots=True)
class StepwiseAscent(ascent.Ascent[Posterior]):
    """A run of stochastic variational inference under way."""

    state: State | None = None

    def arrays(self, prefix: str) -> dict[str, Float]:
        return {**ascent.Ascent.arrays(self, prefix), **_kept(self.state, prefix)}


def _kept(state: State | None, prefix: str) -> dict[str, Float]:
    return {} if state is None else state.arrays(prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepwiseEM(EM):
    """EM by batches; `max_iter` counts epochs."""

    steps: Steps

    def start(self, means: Float, sums: Sums, seed: int = 0) -> StepwiseClimb:
        begun = EM.start(self, means, sums)
        return StepwiseClimb(begun.mixture, state=State.start(sums, seed))

    def restored(self, arrays: Arrays, prefix: str) -> Climb | None:
        found, state = Climb.of(arrays, prefix), State.of(arrays, prefix)
        if found is None or state is None:
            return found
        return StepwiseClimb(found.mixture, found.objective, state=state)

    def climb(self, one: Climb, progress: Progress, save: Callable[[Climb], None]) -> Climb:
        assert isinstance(one, StepwiseClimb)
        assert one.state is not None
        walk = Walk(
            self.passes, self.counted, self.steps, self.hard, self.max_iter, self.tol,
            self._updated, _free, self._moved,
        )  # fmt: skip

        def keep(mixture: Mixture, state: State, estimates: tuple[float, ...]) -> None:
            save(StepwiseClimb(mixture, estimates, state=state))

        found = walk.climb(one.mixture, one.state, one.objective, progress, keep)
        mixture, state, objective, ended = found
        return Climb(mixture, objective, ended, state.reseeded)

    def _updated(self, before: Mixture, sums: Sums) -> Mixture:
        return maximize(sums, before, self.shape)

    def _moved(
        self, mixture: Mixture, sums: Sums, emptied: Int, rows: Float
    ) -> tuple[Mixture, Sums]:
        """Emptied clusters at rows, as if each had some rows there and the others' kappa."""
        size, total = sums.size.copy(), sums.total.copy()
        others = np.setdiff1d(np.arange(len(size)), emptied)
        kappa = float(np.median(mixture.kappa[others]))
        size[emptied] = max(1.0, NEW_SHARE * float(sums.size.mean()))
        total[emptied] = size[emptied, None] * bessel.ratio(rows.shape[1], kappa) * rows
        moved = Sums(size, total, sums.evidence)
        return maximize(moved, mixture, self.shape), moved


@dataclass(frozen=True, slots=True, kw_only=True)
class StepwiseVariational(Variational):
    """Stochastic variational inference; `max_iter` counts epochs."""

    steps: Steps

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Ascent:
        begun = Variational.start(self, means, sums)
        return StepwiseAscent(begun.posterior, state=State.start(sums, seed))

    def restored(self, arrays: Arrays, prefix: str) -> Ascent | None:
        found, state = Variational.restored(self, arrays, prefix), State.of(arrays, prefix)
        if found is None or state is None:
            return found
        return StepwiseAscent(found.posterior, found.objective, state=state)

    def climb(self, one: Ascent, progress: Progress, save: Callable[[Ascent], None]) -> Ascent:
        assert isinstance(one, StepwiseAscent)
        assert one.state is not None
        walk = Walk(
            self.passes, self.counted, self.steps, False, self.max_iter, self.tol,
            self._updated, Posterior.divergence,
        )  # fmt: skip

        def keep(posterior: Posterior, state: State, estimates: tuple[float, ...]) -> None:
            save(StepwiseAscent(posterior, estimates, state=state))

        found = walk.climb(one.posterior, one.state, one.objective, progress, keep)
        posterior, _, objective, ended = found
        return ascent.Ascent(posterior, objective, ended)


def _free(mixture: Mixture) -> float:
    return 0.0


class SampledRestarts(Restarts):
    """Runs that start from a sample of the rows, in memory; no pass is made for it.

    At most as many rows as seeds are drawn from, and not many more bytes than a pool has.
    """

    def __init__(self, like: Restarts, most: int, rng: np.random.Generator) -> None:
        """like : the runs asked for. most : clusters that there may be."""
        passes, counted = like.passes, like.counted
        Restarts.__init__(self, passes, counted, like.n_init, like.seed, like.checkpoint)
        self.halving = like.halving
        points = passes.points
        room = POOL_BYTES // (points.shape[1] * points.kind.itemsize)
        wanted = max(SEEDING_ROWS, SEEDING_EACH * most)
        n_rows = wanted if points.sparse else min(wanted, max(room, 10 * most))
        sample = Batches(points, counted, n_rows).sample(n_rows, rng)
        self._sample = Restarts(passes.over(sample), np.ones(sample.shape[0]), 1, 0)

    def at_once(self, n_clusters: int) -> int:
        """One: each has a pool of rows."""
        return 1

    def rows(self, n_clusters: int, rng: np.random.Generator) -> Int:
        """Numbers of rows of the sample."""
        return self._sample.rows(n_clusters, rng)

    def seeded(self, n_clusters: int, rows: Int, seed: int, run: int = 0) -> tuple[Float, Sums]:
        """Seeds, and the sums of the rows nearest to each as the sample tells them."""
        means, sums = self._sample.seeded(n_clusters, rows, seed, run)
        times = float(self.counted.sum()) / self._sample.counted.size
        return means, Sums(times * sums.size, times * sums.total, sums.evidence)


def stepwise(way: EM, steps: Steps) -> StepwiseEM:
    return StepwiseEM(**_fields(way), steps=steps)


def stochastic(way: Variational, steps: Steps) -> StepwiseVariational:
    return StepwiseVariational(**_fields(way), steps=steps)


def _fields(way: EM | Variational) -> dict[str, Any]:
    return {one.name: getattr(way, one.name) for one in fields(way)}


def by_epoch(objective: tuple[float, ...]) -> dict[str, list[tuple[int, float]]]:
    """The curve of a run's objective: an estimate for each epoch, made while it moved on."""
    return {"objective_estimate_by_epoch": list(enumerate(objective[:-1], 1))}
