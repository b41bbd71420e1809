"""EM by batches of rows (`mixture.stochastic`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.sphere.em.em import EM
from models.methods.sphere.mixture.climb import Climb
from models.methods.sphere.mixture.mixture import Mixture, maximize
from models.methods.sphere.mixture.passes import Sums
from models.methods.sphere.mixture.stochastic import (
    BatchClimb,
    BatchState,
    Steps,
    StochasticAscent,
    restored_by_batches,
)
from models.numerics import bessel
from models.running.progress import Progress

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
        total[emptied] = size[emptied, None] * bessel.ratio(rows.shape[1], kappa) * rows
        moved = Sums(size, total, sums.evidence)
        return maximize(moved, mixture, self.constraints), moved


def _no_cost(mixture: Mixture) -> float:
    """0: the log-likelihood is exactly the sum of the rows' log evidence."""
    return 0.0
