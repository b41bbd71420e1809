"""Runs from k-means++ seeds: how a run climbs its objective, checkpoints, and the best of several.

EM, variational inference (over rows, a hierarchy or time) and the batch versions of both differ in
what an iteration does. When a run is saved and when it ends is decided by `climb`, once for all;
chains of Gibbs sampling are runs as well.

The number of concurrent runs is limited by the threads (`Passes.at_once`) and by `TOGETHER_BYTES`;
each run depends on its own seed alone, so their number does not affect the result.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float, Int, Matrix
from models.clusters.kmeans import seed_rows
from models.errors import Cancelled
from models.method import Checkpoint
from models.methods.sphere.mixture.passes import Passes, Sums
from models.numerics.sphere import unit
from models.running.progress import Progress, silent, subprogress

SEEDING_ROWS = 20_000
"""Seeds are drawn from at most this many rows, or `SEEDING_EACH` per cluster if that is more."""

SEEDING_EACH = 50

TOGETHER_BYTES = 1 << 28
"""Bytes that concurrent runs after the first may take."""

EACH = 80
"""Bytes that a run takes for each value of its means."""


def bytes_beside(n_init: int, n_values: int, state: int = 0) -> int:
    """The most bytes that concurrent runs after the first take.

    n_values : values in the means of one run. state : further bytes of a run.
    """
    return min(TOGETHER_BYTES, (n_init - 1) * (EACH * n_values + state))


class RunState(Protocol):
    """A run, under way or ended; `objective` holds a value for each of its iterations."""

    @property
    def objective(self) -> tuple[float, ...]: ...

    def arrays(self, prefix: str) -> dict[str, Float]:
        """The arrays of a checkpoint; their names begin with `prefix`."""
        ...


R = TypeVar("R", bound=RunState)


class Algorithm(Protocol[R]):
    """How a run starts and climbs; threads share it, so it holds no state of a run.

    A run passed to `save` must not change afterwards.
    """

    def start(self, means: Float, sums: Sums, seed: int) -> R:
        """A run from seeds and the sums of the rows nearest to each; `seed` is that of the run."""
        ...

    def climb(self, run: R, progress: Progress, save: Callable[[R], None]) -> R:
        """The run at its end; `save` is called with it after each iteration."""
        ...

    def restored(self, arrays: Arrays, prefix: str) -> R | None:
        """The run saved by `RunState.arrays`; None if there is none."""
        ...


@dataclass
class Restarts:
    """Runs on the same rows.

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    seed : seeds every run, together with its number of clusters.
    kept : further arrays of each checkpoint.
    means : gives the means a run starts from, (n_clusters, D) unit vectors, for rows, the number of
        the run and a generator; None: k-means++ seeds by cosine.
    n_means : number of means of a run; None: the number of clusters. state : bytes of a run besides
        those for its means.
    halving : whether every second run has fewer clusters: half as many, a quarter and so on. A run
        that starts with too many clusters does not always find its way to fewer.
    """

    passes: Passes
    counted: Float
    n_init: int
    seed: int
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    kept: Arrays = field(default_factory=dict)
    means: Callable[[Matrix, int, np.random.Generator], Float] | None = None
    n_means: int | None = None
    state: int = 0
    halving: bool = False

    def best(self, algorithm: Algorithm[R], n_clusters: int, progress: Progress) -> R:
        """The run that ends highest; runs in a checkpoint with the same number of clusters resume.

        Raises Cancelled when `progress` does, whichever run called it.
        """
        rng = np.random.default_rng([self.seed, n_clusters])
        rows = self.rows(n_clusters, rng)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        at_once = self.at_once(n_clusters)
        ledger = _Ledger(self, algorithm, n_clusters, progress, at_once)

        def climb(number: int) -> None:
            within = ledger.progress(number)
            within(0.0, "fitting")
            run = ledger.under_way.get(number)
            if run is None:
                seeded = self.seeded(self._n_seeds(n_clusters, number), rows, seeds[number], number)
                run = algorithm.start(*seeded, seeds[number])

            def save(run: R) -> None:
                ledger.save(number, run)

            ledger.end(number, algorithm.climb(run, subprogress(within, 0.05, 1.0), save))

        self._all(climb, ledger.left(), at_once, ledger.stop)
        return ledger.best()

    def at_once(self, n_clusters: int) -> int:
        """How many run at the same time."""
        n_values = (self.n_means or n_clusters) * self.passes.points.shape[1]
        return min(self.passes.at_once, 1 + TOGETHER_BYTES // (EACH * n_values + self.state))

    def _all(
        self,
        climb: Callable[[int], None],
        numbers: list[int],
        at_once: int,
        stop: Callable[[], None],
    ) -> None:
        """The runs in turn; once one raises, no further run continues."""
        if min(at_once, len(numbers)) < 2:
            for number in numbers:
                climb(number)
            return
        with ThreadPoolExecutor(at_once) as pool, self.passes.shared() as share_with:
            share_with(min(at_once, len(numbers)))
            jobs = [pool.submit(climb, number) for number in numbers]
            try:
                for n_ended, job in enumerate(as_completed(jobs), 1):
                    job.result()
                    share_with(min(at_once, len(numbers) - n_ended))
            except BaseException:
                stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _n_seeds(self, n_clusters: int, number: int) -> int:
        if not self.halving or not number % 2:
            return n_clusters
        return min(n_clusters, max(2, n_clusters >> (number + 1) // 2))

    def rows(self, n_clusters: int, rng: np.random.Generator) -> Int:
        """The ascending numbers of the rows that seeds are drawn from."""
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


class _Ledger(Generic[R]):
    """The state of each run, and the best one; threads share it.

    under_way : the unfinished runs of a checkpoint, by number.
    """

    def __init__(
        self,
        restarts: Restarts,
        algorithm: Algorithm[R],
        n_clusters: int,
        progress: Progress,
        at_once: int,
    ) -> None:
        self._restarts, self._n_clusters, self._progress = restarts, n_clusters, progress
        self._at_once = at_once
        self._lock = Lock()
        self._stopped = False
        n_init = restarts.n_init
        saved = restarts.checkpoint.load() or {}
        if "runs" not in saved or int(saved["runs"][0]) != n_clusters:
            saved = {"runs": np.array([n_clusters, -1] + [0] * n_init)}
        self._best_number, *flags = saved["runs"][1:].tolist()
        self._ended = {number for number in range(n_init) if flags[number]}
        self._best = algorithm.restored(saved, "best.")
        restored = {number: algorithm.restored(saved, f"{number}.") for number in self.left()}
        self.under_way = {number: run for number, run in restored.items() if run is not None}
        self._fractions = [float(number in self._ended) for number in range(n_init)]

    def left(self) -> list[int]:
        """The numbers of the runs that have not ended."""
        return [number for number in range(self._restarts.n_init) if number not in self._ended]

    def best(self) -> R:
        """The highest of the runs that have ended, the first of equals."""
        assert self._best is not None
        return self._best

    def progress(self, number: int) -> Progress:
        """The progress of one run, as its share of all runs; raises Cancelled after `stop`."""
        n_init = self._restarts.n_init

        def report(fraction: float, stage: str, message: str = "") -> None:
            with self._lock:
                if self._stopped:
                    raise Cancelled
                self._fractions[number] = max(fraction, self._fractions[number])
                text = f"run {number + 1} of {n_init}, {message}".removesuffix(", ")
                if self._at_once > 1 and n_init > 1:
                    text = f"{len(self._ended)} of {n_init} runs ended"
                try:
                    self._progress(sum(self._fractions) / n_init, stage, text)
                except BaseException:
                    self._stopped = True
                    raise

        return report

    def save(self, number: int, run: R) -> None:
        """Saves a run that is under way, with the others."""
        with self._lock:
            self.under_way[number] = run
            ended = [int(other in self._ended) for other in range(self._restarts.n_init)]
            arrays = {"runs": np.array([self._n_clusters, self._best_number, *ended])}
            for other, other_run in self.under_way.items():
                arrays.update(other_run.arrays(f"{other}."))
            if self._best is not None:
                arrays.update(self._best.arrays("best."))
            self._restarts.checkpoint.save({**arrays, **self._restarts.kept})

    def end(self, number: int, run: R) -> None:
        """Records that a run has ended."""
        with self._lock:
            self.under_way.pop(number, None)
            self._ended.add(number)
            self._fractions[number] = 1.0
            best = self._best
            if best is None or self._rank(number, run) > self._rank(self._best_number, best):
                self._best_number, self._best = number, run

    def stop(self) -> None:
        """Ends the runs under way at their next progress report."""
        self._stopped = True

    def _rank(self, number: int, run: R) -> tuple[float, int]:
        return run.objective[-1], -number


class ParameterEstimate(Protocol):
    """What a run improves: a mixture, or a posterior with its priors. Immutable."""

    def arrays(self, prefix: str = "") -> dict[str, Float]: ...


E = TypeVar("E", bound=ParameterEstimate)
C = TypeVar("C", bound="Climb[Any]")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Climb(Generic[E]):
    """A run, under way or ended.

    objective : after each iteration; once the run has ended, the last value is that of `estimate`.
    ended : whether it converged.
    reseeded : number of clusters that lost their rows and got a new mean; None where that never
        happens.
    """

    estimate: E
    objective: tuple[float, ...] = ()
    ended: bool = False
    reseeded: int | None = None

    @property
    def gain(self) -> float:
        """The rise of the objective in the last iteration; infinite in the first one."""
        return self.objective[-1] - self.objective[-2] if len(self.objective) > 1 else np.inf

    def reached(self: C, objective: float) -> C:
        """The same run with the objective of one more iteration."""
        return replace(self, objective=(*self.objective, objective))

    def arrays(self, prefix: str) -> dict[str, Float]:
        """The state of the run for a checkpoint; the names begin with `prefix`."""
        reseeded = [] if self.reseeded is None else [float(self.reseeded)]
        return {
            **self.estimate.arrays(prefix),
            f"{prefix}objective": np.array(self.objective),
            f"{prefix}facts": np.array([float(self.ended), *reseeded]),
        }


def restored(read: Callable[[Arrays, str], E], arrays: Arrays, prefix: str) -> Climb[E] | None:
    """The run saved by `Climb.arrays`, its estimate read by `read`; None if there is none."""
    if f"{prefix}objective" not in arrays:
        return None
    ended, *reseeded = arrays[f"{prefix}facts"].tolist()
    return Climb(
        read(arrays, prefix),
        tuple(arrays[f"{prefix}objective"].tolist()),
        bool(ended),
        int(reseeded[0]) if reseeded else None,
    )


@dataclass(frozen=True, slots=True)
class Iteration(Generic[C]):
    """The outcome of one iteration.

    run : the run with the objective of this iteration.
    gain : the rise that is tested for convergence.
    advance : gives the run that the next iteration starts from; called only if there is one.
    unsettled : whether the run continues however small the gain.
    on_trial : whether the next iteration may undo the result of `advance`, which is then not saved.
    """

    run: C
    gain: float
    advance: Callable[[], C]
    unsettled: bool = False
    on_trial: bool = False


def climb(
    run: C,
    iterate: Callable[[C, Progress], Iteration[C]],
    *,
    least_gain: float,
    max_iter: int,
    progress: Progress,
    save: Callable[[C], None],
    unit: str = "iteration",
) -> C:
    """The run after it converged, or after `max_iter` iterations in all.

    It has converged when an iteration gains at most `least_gain`. save : called with the run after
    each iteration but the last. unit : the name of an iteration in progress messages.
    """
    while True:
        n_done = len(run.objective)
        start, stop = (n / (max_iter + 1) for n in (n_done, n_done + 1))
        iteration = iterate(run, subprogress(progress, start, stop, f"{unit} {n_done + 1}"))
        run = iteration.run
        converged = iteration.gain <= least_gain and not iteration.unsettled
        if converged or len(run.objective) >= max_iter:
            return replace(run, ended=converged)
        run, on_trial = iteration.advance(), iteration.on_trial
        # Its arrays are as large as the run's.
        del iteration
        if not on_trial:
            save(run)


def alternating(
    expect: Callable[[E, Progress], tuple[S, float]], update: Callable[[E, S], E]
) -> Callable[[Climb[E], Progress], Iteration[Climb[E]]]:
    """Iterations of coordinate ascent.

    expect : gives the sums over rows under an estimate, and the objective.
    update : gives the best estimate for given sums, starting from the previous one.
    """

    def iterate(run: Climb[E], progress: Progress) -> Iteration[Climb[E]]:
        sums, objective = expect(run.estimate, progress)
        after = run.reached(objective)

        def advance() -> Climb[E]:
            return replace(after, estimate=update(after.estimate, sums))

        return Iteration(after, after.gain, advance)

    return iterate
