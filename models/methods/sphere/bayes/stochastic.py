"""Variational inference by batches of rows (`mixture.stochastic`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from models.arrays import Arrays, Float
from models.methods.sphere.bayes.variational import Posterior, Variational
from models.methods.sphere.mixture.climb import Climb
from models.methods.sphere.mixture.passes import Sums
from models.methods.sphere.mixture.stochastic import (
    BatchClimb,
    BatchState,
    Steps,
    StochasticAscent,
    restored_by_batches,
)
from models.running.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticVariational(Variational):
    """How a run of stochastic variational inference starts and climbs; `max_iter` counts epochs."""

    steps: Steps

    @classmethod
    def of(cls, variational: Variational, steps: Steps) -> StochasticVariational:
        """The same inference by batches; clusters are not merged."""
        own = {field.name: getattr(variational, field.name) for field in fields(variational)}
        return cls(**own, steps=steps)

    def start(self, means: Float, sums: Sums, seed: int = 0) -> BatchClimb[Posterior]:
        run = Variational.start(self, means, sums)
        return BatchClimb(run.estimate, state=BatchState.start(sums, seed))

    def restored(self, arrays: Arrays, prefix: str) -> Climb[Posterior] | None:
        return restored_by_batches(self.read, arrays, prefix)

    def climb(
        self,
        run: Climb[Posterior],
        progress: Progress,
        save: Callable[[Climb[Posterior]], None],
    ) -> Climb[Posterior]:
        assert isinstance(run, BatchClimb)
        ascent = StochasticAscent[Posterior](
            self.passes,
            self.counted,
            self.steps,
            False,
            self.max_iter,
            self.tol,
            update=self.updated,
            cost=Posterior.divergence,
        )
        return ascent.climb(run, progress, save)
