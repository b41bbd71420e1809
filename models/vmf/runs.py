"""Runs from k-means++ seeds, the best one, with checkpoints: for whatever climbs an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from models.contract import Arrays, Checkpoint, Progress, silent
from models.data import Matrix
from models.numerics.sphere import seed_rows, unit
from models.partitions.choosing import share
from models.partitions.points import Float, Int
from models.vmf.passes import Passes, Sums

SEEDING_ROWS = 20_000
"""At most so many rows, or `SEEDING_EACH` for each cluster, are seeds drawn from."""

SEEDING_EACH = 50


class Climb(Protocol):
    """A run, under way or ended; `objective` after each of its iterations."""

    @property
    def objective(self) -> tuple[float, ...]: ...

    def arrays(self, prefix: str) -> dict[str, Float]:
        """To keep it; their names begin with `prefix`."""
        ...


C = TypeVar("C", bound=Climb)


class Way(Protocol[C]):
    """How a run begins and how it climbs."""

    def start(self, means: Float, sums: Sums, seed: int) -> C:
        """From seeds and the sums of the rows nearest to each; `seed` is the run's own."""
        ...

    def climb(self, one: C, progress: Progress, save: Callable[[C], None]) -> C:
        """To its end; `save` is given what it has after each iteration."""
        ...

    def restored(self, arrays: Arrays, prefix: str) -> C | None:
        """What was kept by `Climb.arrays`; None where nothing was."""
        ...


@dataclass
class Restarts:
    """Runs on the same rows.

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    seed : of every run, with its number of clusters.
    kept : what else is kept in each checkpoint.
    means : of given rows, the number of the run and a generator the means that it starts from,
        (n_clusters, D) unit vectors; k-means++ seeds by cosine if None.
    halving : whether every second run has fewer clusters, half as many, a quarter and so on: where
        all may be in use, the way down from too many is not always found.
    """

    passes: Passes
    counted: Float
    n_init: int
    seed: int
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    kept: Arrays = field(default_factory=dict)
    means: Callable[[Matrix, int, np.random.Generator], Float] | None = None
    halving: bool = False

    def best(self, way: Way[C], n_clusters: int, progress: Progress) -> C:
        """The run that ends highest; it goes on from a checkpoint of as many clusters."""
        rng = np.random.default_rng([self.seed, n_clusters])
        rows = self.rows(n_clusters, rng)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        kept = self.checkpoint.load() or {}
        if "now" not in kept or int(kept["now"][0]) != n_clusters:
            kept = {}
        best, under_way = way.restored(kept, "best."), way.restored(kept, "now.")
        first = int(kept["now"][1]) if kept else 0
        for run in range(first, self.n_init):
            said = f"run {run + 1} of {self.n_init}"
            within = share(progress, run / self.n_init, (run + 1) / self.n_init, said)
            within(0.0, "fitting")
            if under_way is None:
                seeded = self.seeded(self._n_seeds(n_clusters, run), rows, seeds[run], run)
                under_way = way.start(*seeded, seeds[run])
            saved = {"now": np.array([n_clusters, run]), **self.kept}
            if best is not None:
                saved.update(best.arrays("best."))

            def save(one: C, saved: Arrays = saved) -> None:
                self.checkpoint.save({**saved, **one.arrays("now.")})

            one = way.climb(under_way, share(within, 0.05, 1.0), save)
            under_way = None
            if best is None or one.objective[-1] > best.objective[-1]:
                best = one
        assert best is not None
        return best

    def _n_seeds(self, n_clusters: int, run: int) -> int:
        if not self.halving or not run % 2:
            return n_clusters
        return min(n_clusters, max(2, n_clusters >> (run + 1) // 2))

    def rows(self, n_clusters: int, rng: np.random.Generator) -> Int:
        """Ascending numbers of the rows that seeds are drawn from."""
        rows = np.flatnonzero(self.counted > 0)
        most = max(SEEDING_ROWS, SEEDING_EACH * n_clusters)
        return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

    def seeded(self, n_clusters: int, rows: Int, seed: int, run: int = 0) -> tuple[Float, Sums]:
        """Seeds, and the sums of the rows nearest to each."""
        points, rng = self.passes.points, np.random.default_rng(seed)
        if self.means is None:
            means = unit(points.dense(rows[seed_rows(points.take(rows), n_clusters, rng)]))
        else:
            means = self.means(points.take(rows), run, rng)
        none = np.zeros(n_clusters)
        return means, self.passes.expect(means, none, self.counted, silent, hard=True)
