"""Runs from k-means++ seeds, the best one, with checkpoints: for whatever climbs an objective.

As many run at once as threads may be kept busy (`Passes.at_once`) and `TOGETHER_BYTES` have room
for; each hangs on its own seed alone, so what is found does not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float, Int, Matrix
from models.errors import Cancelled
from models.method import Checkpoint
from models.methods.sphere.mixture.passes import Passes, Sums
from models.numerics.sphere import seed_rows, unit
from models.progress import Progress, silent, subprogress

SEEDING_ROWS = 20_000
"""At most so many rows, or `SEEDING_EACH` for each cluster, are seeds drawn from."""

SEEDING_EACH = 50

TOGETHER_BYTES = 1 << 28
"""Which runs beside the first may take."""

EACH = 80
"""Bytes of a run, for each value of its means."""


def bytes_beside(n_init: int, n_values: int, keeps: int = 0) -> int:
    """What runs beside the first take at most; `n_values` have the means of one, which keeps so
    many bytes besides."""
    return min(TOGETHER_BYTES, (n_init - 1) * (EACH * n_values + keeps))


class Climb(Protocol):
    """A run, under way or ended; `objective` after each of its iterations."""

    @property
    def objective(self) -> tuple[float, ...]: ...

    def arrays(self, prefix: str) -> dict[str, Float]:
        """To keep it; their names begin with `prefix`."""
        ...


C = TypeVar("C", bound=Climb)


class Way(Protocol[C]):
    """How a run begins and how it climbs; threads share it, so it keeps nothing of a run.

    What `save` was given must not change afterwards.
    """

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
    n_means : of a run; as many as clusters if None. keeps : bytes of a run, besides what goes with
        its means.
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
    n_means: int | None = None
    keeps: int = 0
    halving: bool = False

    def best(self, way: Way[C], n_clusters: int, progress: Progress) -> C:
        """The run that ends highest; those of a checkpoint of as many clusters go on from it.

        Raises Cancelled when `progress` does, whichever run it was that called it.
        """
        rng = np.random.default_rng([self.seed, n_clusters])
        rows = self.rows(n_clusters, rng)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        at_once = self.at_once(n_clusters)
        book = _Book(self, way, n_clusters, progress, at_once)

        def go(run: int) -> None:
            within = book.progress(run)
            within(0.0, "fitting")
            one = book.under_way.get(run)
            if one is None:
                seeded = self.seeded(self._n_seeds(n_clusters, run), rows, seeds[run], run)
                one = way.start(*seeded, seeds[run])
            book.end(
                run, way.climb(one, subprogress(within, 0.05, 1.0), lambda one: book.save(run, one))
            )

        self._all(go, book.left(), at_once, book.stop)
        return book.best()

    def at_once(self, n_clusters: int) -> int:
        """How many run at the same time."""
        n_values = (self.n_means or n_clusters) * self.passes.points.shape[1]
        return min(self.passes.at_once, 1 + TOGETHER_BYTES // (EACH * n_values + self.keeps))

    def _all(
        self, go: Callable[[int], None], runs: list[int], at_once: int, stop: Callable[[], None]
    ) -> None:
        """Each run; after one that raises none goes on."""
        if min(at_once, len(runs)) < 2:
            for run in runs:
                go(run)
            return
        with ThreadPoolExecutor(at_once) as pool, self.passes.shared() as share_with:
            share_with(min(at_once, len(runs)))
            jobs = [pool.submit(go, run) for run in runs]
            try:
                for n_ended, job in enumerate(as_completed(jobs), 1):
                    job.result()
                    share_with(min(at_once, len(runs) - n_ended))
            except BaseException:
                stop()
                pool.shutdown(cancel_futures=True)
                raise

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


class _Book(Generic[C]):
    """Of all runs how far each is, which one is the best; threads share it.

    under_way : runs that a checkpoint has, by number.
    """

    def __init__(
        self, restarts: Restarts, way: Way[C], n_clusters: int, progress: Progress, at_once: int
    ) -> None:
        self._restarts, self._n_clusters, self._progress = restarts, n_clusters, progress
        self._at_once = at_once
        self._lock = Lock()
        self._stopped = False
        n_init = restarts.n_init
        kept = restarts.checkpoint.load() or {}
        known = "runs" in kept and int(kept["runs"][0]) == n_clusters
        if not known:
            kept = {"runs": np.array([n_clusters, -1] + [0] * n_init)}
        self._best_run, *flags = kept["runs"][1:].tolist()
        self._ended = {run for run in range(n_init) if flags[run]}
        self._best = way.restored(kept, "best.")
        found = {run: way.restored(kept, f"{run}.") for run in self.left()}
        self.under_way = {run: one for run, one in found.items() if one is not None}
        self._fractions = [float(run in self._ended) for run in range(n_init)]

    def left(self) -> list[int]:
        """Numbers of the runs that have not ended."""
        return [run for run in range(self._restarts.n_init) if run not in self._ended]

    def best(self) -> C:
        """Of the runs that ended, the first one of the highest."""
        assert self._best is not None
        return self._best

    def progress(self, run: int) -> Progress:
        """What one run says, as the share of all; Cancelled after `stop`."""
        n_init = self._restarts.n_init

        def report(fraction: float, stage: str, message: str = "") -> None:
            with self._lock:
                if self._stopped:
                    raise Cancelled
                self._fractions[run] = max(fraction, self._fractions[run])
                said = f"run {run + 1} of {n_init}, {message}".removesuffix(", ")
                if self._at_once > 1 and n_init > 1:
                    said = f"{len(self._ended)} of {n_init} runs ended"
                try:
                    self._progress(sum(self._fractions) / n_init, stage, said)
                except BaseException:
                    self._stopped = True
                    raise

        return report

    def save(self, run: int, one: C) -> None:
        """Keep where a run is, with the others."""
        with self._lock:
            self.under_way[run] = one
            ended = [int(run in self._ended) for run in range(self._restarts.n_init)]
            arrays = {"runs": np.array([self._n_clusters, self._best_run, *ended])}
            for other, there in self.under_way.items():
                arrays.update(there.arrays(f"{other}."))
            if self._best is not None:
                arrays.update(self._best.arrays("best."))
            self._restarts.checkpoint.save({**arrays, **self._restarts.kept})

    def end(self, run: int, one: C) -> None:
        """A run has ended."""
        with self._lock:
            self.under_way.pop(run, None)
            self._ended.add(run)
            self._fractions[run] = 1.0
            if self._best is None or self._rank(run, one) > self._rank(self._best_run, self._best):
                self._best_run, self._best = run, one

    def stop(self) -> None:
        """Runs under way end at their next word."""
        self._stopped = True

    def _rank(self, run: int, one: C) -> tuple[float, int]:
        return one.objective[-1], -run
