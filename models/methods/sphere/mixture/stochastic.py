"""Mixtures of vMF distributions by batches: stepwise EM, stochastic variational inference.

Running sums stand in for the sums over all rows. Each batch B computes posteriors under the current
parameters and moves the running sums towards its own sums times N / |B|, by a step of (delay +
t)^-forgetting. The parameters follow from the running sums as they would from a pass over all rows:
the likeliest mixture, or every factor of the posterior at its maximum, with the priors by empirical
Bayes. A step is at least 4 / (M + 3) for M batches in an epoch: smaller steps would move less in an
epoch than one iteration on all rows, and a single batch of all rows is exactly that iteration.

`Batches` are of unit rows in a random order, from data that may be larger than memory. Rows in a
file or in the object store are never read one by one: a pool consists of hundreds of runs of rows
from random places, each run read in one go, and the rows of the pool are shuffled. So each row
occurs once in an epoch, and a batch mixes rows from all runs of a pool. Data of up to `POOL_BYTES`
form one pool. Sparse rows, which are in memory, are shuffled as a whole.

An epoch visits every row once. Its estimate of the objective adds up the contribution of each batch
under the parameters at that time. The run ends when the gain of an epoch is at most `tol` per row.
The gain is the smaller of two: the rise of the estimate, and how much likelier the sums of the
epoch are under their own parameters than under the parameters of the previous epoch. (The estimate
also rises because steps shrink, and the sums also differ by the noise of the steps. Both sums
contain each row once, so neither has sampling noise.) Unless it was the first, the sums of the last
epoch then replace the running sums, and one pass over all rows gives the objective itself, by which
runs are compared.

Sources: Cappe and Moulines, "On-line Expectation-Maximization Algorithm for Latent Data Models"
(2009), with steps and batches as in Liang and Klein, "Online EM for Unsupervised Models" (2009);
Hoffman, Blei, Wang and Paisley, "Stochastic Variational Inference" (2013), whose averages of
natural parameters are averages of sums. Cost of an epoch: that of a pass and M updates of the
parameters, each 0.2 to 1 ms by EM and a few ms by variational inference, besides N K D / M. Memory:
a pool of rows (`Batches`), 4 sums of 8 K D bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float, Int, Matrix
from models.inputs.rows import ArrayRows, Rows
from models.method import Shapes
from models.methods.sphere.mixture.mixture import EMPTIED
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import (
    SEEDING_EACH,
    SEEDING_ROWS,
    Climb,
    Iteration,
    ParameterEstimate,
    Restarts,
    climb,
    restored,
)
from models.running.progress import Progress, silent, subprogress

POOL_BYTES = 1 << 27
"""Bytes of the rows in a pool.

Reading them takes at most as much again, and a batch its own rows.
"""

RUN_BYTES = 1 << 17
FAR_RUN_BYTES = 1 << 19
"""Bytes read in one go; from a remote store they arrive about as fast as fewer would."""


@dataclass(frozen=True, slots=True)
class Batches:
    """counted : (n_points,) 0 for rows that are left out.

    size : approximate number of rows in a batch.
    """

    points: UnitRows
    counted: Float
    size: int

    def epoch(self, rng: np.random.Generator, first: int = 0) -> Iterator[tuple[float, UnitRows]]:
        """Each counted row once, in batches of nearly the same size.

        Each batch comes with the share of the rows yielded so far. first : number of batches to
        skip; a pool that is skipped as a whole is not read. The draws do not depend on it.
        """
        n_counted = int(np.count_nonzero(self.counted))
        n_given = n_batches = 0
        for rows in self._pools(rng):
            parts = self._parts(rng.permutation(len(rows)))
            pool: Matrix | None = None
            for part in parts:
                n_given += len(part)
                n_batches += 1
                if n_batches <= first:
                    continue
                own = np.sort(part)
                if self.points.sparse:
                    yield n_given / n_counted, self._unit(self.points.take(rows[own]))
                    continue
                if pool is None:
                    pool = self.points.take(rows)
                yield n_given / n_counted, self._unit(pool[own] if len(parts) > 1 else pool)

    def sample(self, n_rows: int, rng: np.random.Generator) -> UnitRows:
        """`n_rows` random counted rows, in their order; all of them if there are no more.

        If the data exceed a pool they come from one pool, which has at least as many rows as a
        batch.
        """
        rows = next(self._pools(rng))
        if len(rows) > n_rows:
            rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False))]
        return self._unit(self.points.take(rows))

    def _pools(self, rng: np.random.Generator) -> Iterator[Int]:
        """The ascending row numbers of each pool; none is empty."""
        n_points, n_features = self.points.shape
        values = self.points.values
        most = max(self.size, POOL_BYTES // (n_features * self.points.kind.itemsize))
        if not isinstance(values, Rows) or n_points <= most:
            yield np.flatnonzero(self.counted)
            return
        run_bytes = FAR_RUN_BYTES if values.far else RUN_BYTES
        length = max(1, min(most, run_bytes // (n_features * values.dtype.itemsize)))
        starts = rng.permutation(np.arange(0, n_points, length))
        # Pools have the same number of runs, so that none has few rows.
        for own_starts in np.array_split(starts, -(-len(starts) // (most // length))):
            rows = (np.sort(own_starts)[:, None] + np.arange(length)).ravel()
            rows = rows[rows < n_points]
            rows = rows[self.counted[rows] > 0]
            if rows.size:
                yield rows

    def _parts(self, order: Int) -> list[Int]:
        """The rows in parts of nearly equal size, so that no batch is much noisier than another."""
        return np.array_split(order, max(1, round(len(order) / self.size)))

    def _unit(self, rows: Matrix) -> UnitRows:
        return UnitRows(ArrayRows(rows) if isinstance(rows, np.ndarray) else rows, rows.dtype)


def bytes_of_batches(shapes: Shapes, size: int | None) -> int:
    """Bytes of a pool and a batch; 0 without batches."""
    if size is None:
        return 0
    n_points, n_features = shapes["features"]
    return min(3 * POOL_BYTES, 24 * n_points * n_features)


LEAST = 4
"""A step is at least about this many times the share of the rows in a batch."""

REPORT_ROWS = 1 << 13
"""Progress is reported after this many rows, or after each larger batch."""


class LinearEstimate(ParameterEstimate, Protocol):
    """An estimate under which log densities are linear in a row, as `passes` takes them."""

    @property
    def weights(self) -> Float: ...

    @property
    def offsets(self) -> Float: ...


L = TypeVar("L", bound=LinearEstimate)


@dataclass(frozen=True, slots=True)
class Steps:
    """batch_size : approximate number of rows in a batch; the data may have fewer."""

    batch_size: int
    delay: float
    forgetting: float

    def size(self, t: int, share: float) -> float:
        """The step of batch t = 0, 1, ..., which holds the given share of the rows."""
        least = LEAST * share / (1.0 + (LEAST - 1) * share)
        return float(max((self.delay + t) ** -self.forgetting, least))


_COUNTS = ("seed", "n_steps", "n_batches", "worth", "seeding", "n_emptied", "reseeded")
_SUMS = ("running", "epoch", "last")


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a run by batches, besides its parameters.

    running, epoch, last : the running sums, the sums over this epoch so far, and the sums over the
        previous epoch.
    seed : seeds the batches. n_steps : batches so far. n_batches : batches so far in this epoch.
    worth : the estimate of the objective over them. seeding : whether clusters that lost their rows
        get new means; n_emptied : how many got one after the last epoch; reseeded : how many in
        all.
    """

    running: Sums
    epoch: Sums
    last: Sums
    seed: int
    n_steps: int = 0
    n_batches: int = 0
    worth: float = 0.0
    seeding: bool = True
    n_emptied: int = 0
    reseeded: int = 0

    @classmethod
    def start(cls, sums: Sums, seed: int) -> BatchState:
        zeros = Sums(np.zeros_like(sums.size), np.zeros_like(sums.total), np.empty(0))
        return cls(Sums(sums.size, sums.total, np.empty(0)), zeros, zeros, seed)

    def arrays(self, prefix: str) -> dict[str, Float]:
        counts = np.array([float(getattr(self, name)) for name in _COUNTS])
        arrays = {f"{prefix}counts": counts}
        for name in _SUMS:
            sums = getattr(self, name)
            arrays |= {f"{prefix}{name}.size": sums.size, f"{prefix}{name}.total": sums.total}
        return arrays

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> BatchState | None:
        """The state saved by `arrays`; None if there is none."""
        if f"{prefix}counts" not in arrays:
            return None
        running, epoch, last = (
            Sums(arrays[f"{prefix}{name}.size"], arrays[f"{prefix}{name}.total"], np.empty(0))
            for name in _SUMS
        )
        seed, n_steps, n_batches, worth, *flags = arrays[f"{prefix}counts"].tolist()
        seeding, emptied, reseeded = (int(flag) for flag in flags)
        counts = (int(seed), int(n_steps), int(n_batches), worth, bool(seeding), emptied, reseeded)
        return cls(running, epoch, last, *counts)

    def next_epoch(self, n_emptied: int) -> BatchState:
        zeros = Sums(np.zeros_like(self.epoch.size), np.zeros_like(self.epoch.total), np.empty(0))
        return replace(
            self, last=self.epoch, epoch=zeros, n_batches=0, worth=0.0, n_emptied=n_emptied
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClimb(Climb[L]):
    """A run by batches under way; a run that has ended is a `Climb`."""

    state: BatchState

    def arrays(self, prefix: str) -> dict[str, Float]:
        return {**Climb.arrays(self, prefix), **self.state.arrays(prefix)}


def restored_by_batches(
    read: Callable[[Arrays, str], L], arrays: Arrays, prefix: str
) -> Climb[L] | None:
    """As `runs.restored`; a run under way comes with its state."""
    run, state = restored(read, arrays, prefix), BatchState.of(arrays, prefix)
    if run is None or state is None:
        return run
    return BatchClimb(run.estimate, run.objective, reseeded=run.reseeded, state=state)


@dataclass(frozen=True, eq=False)
class StochasticAscent(Generic[L]):
    """How a run climbs by batches.

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    update : gives the best estimate for sums over all rows, starting from the previous one.
    cost : gives the sum of the log evidence of all rows minus the objective.
    reseed : gives the estimate, and the sums of all rows, with the given clusters moved to the
        given rows; None where clusters without rows are left alone.
    """

    passes: Passes
    counted: Float
    steps: Steps
    hard: bool
    max_iter: int
    tol: float
    update: Callable[[L, Sums], L]
    cost: Callable[[L], float]
    reseed: Callable[[L, Sums, Int, Float], tuple[L, Sums]] | None = None

    def climb(
        self,
        run: BatchClimb[L],
        progress: Progress,
        save: Callable[[BatchClimb[L]], None],
    ) -> Climb[L]:
        """The run at its end.

        Its objective lists an estimate for each epoch and finally the exact value. `save` is called
        with the run many times in an epoch.
        """

        def epoch(run: BatchClimb[L], progress: Progress) -> Iteration[BatchClimb[L]]:
            return self._epoch(run, progress, save)

        run = climb(
            run,
            epoch,
            least_gain=self.tol * self._n_counted,
            max_iter=self.max_iter,
            progress=progress,
            save=save,
            unit="epoch",
        )
        estimate, state = run.estimate, run.state
        # With one batch the running sums are the epoch's.
        if len(run.objective) > 1 and state.n_batches > 1:
            estimate = self.update(estimate, state.epoch)
        last = subprogress(progress, self.max_iter / (self.max_iter + 1), 1.0, "all rows")
        sums = self.passes.expect(
            estimate.weights, estimate.offsets, self.counted, last, hard=self.hard
        )
        objective = float(sums.evidence @ self.counted) - self.cost(estimate)
        reseeded = None if run.reseeded is None else state.reseeded
        return Climb(estimate, (*run.objective, objective), run.ended, reseeded)

    @cached_property
    def _n_counted(self) -> float:
        return float(self.counted.sum())

    def _epoch(
        self, run: BatchClimb[L], progress: Progress, save: Callable[[BatchClimb[L]], None]
    ) -> Iteration[BatchClimb[L]]:
        n_epochs = len(run.objective)
        rng = np.random.default_rng([run.state.seed, n_epochs])
        batches = Batches(self.passes.points, self.counted, self.steps.batch_size)
        rows, sums, n_unreported = self.passes.points, run.state.epoch, 0
        for share, rows in batches.epoch(rng, run.state.n_batches):
            run, sums = self._step(run, rows)
            n_unreported += rows.shape[0]
            # Not after the last batch, whose sums re-seed clusters.
            if n_unreported >= REPORT_ROWS and share < 1.0:
                n_unreported = 0
                progress(share, "fitting")
                save(run)
        progress(1.0, "fitting")
        state, gain = run.state, np.inf
        if n_epochs:
            gain = min(state.worth - run.objective[-1], self._gain(run.estimate, state))
        run = run.reached(state.worth)
        if state.n_emptied and gain <= self.tol * self._n_counted:
            state = replace(state, seeding=False)
        emptied = np.flatnonzero(state.epoch.size < EMPTIED)
        if self.reseed is None or not state.seeding:
            emptied = emptied[:0]
        ended = replace(run, state=state)

        def advance() -> BatchClimb[L]:
            after = self._reseeded(ended, emptied, rows, sums) if emptied.size else ended
            return replace(after, state=after.state.next_epoch(len(emptied)))

        return Iteration(ended, gain, advance, unsettled=bool(emptied.size))

    def _step(self, run: BatchClimb[L], rows: UnitRows) -> tuple[BatchClimb[L], Sums]:
        """The run after one batch, and the batch's own sums."""
        estimate, state = run.estimate, run.state
        n_rows, n_counted = rows.shape[0], self._n_counted
        sums = self.passes.over(rows).expect(
            estimate.weights, estimate.offsets, np.ones(n_rows), silent, hard=self.hard
        )
        step = self.steps.size(state.n_steps, n_rows / n_counted)
        running = _weighted(state.running, 1.0 - step, sums, step * n_counted / n_rows)
        worth = float(sums.evidence.sum()) - n_rows / n_counted * self.cost(estimate)
        moved = replace(
            state,
            running=running,
            epoch=_weighted(state.epoch, 1.0, sums, 1.0),
            n_steps=state.n_steps + 1,
            n_batches=state.n_batches + 1,
            worth=state.worth + worth,
        )
        return replace(run, estimate=self.update(estimate, running), state=moved), sums

    def _gain(self, estimate: L, state: BatchState) -> float:
        """How much likelier this epoch's sums are under its estimate than under the last one."""
        now, before = (self.update(estimate, sums) for sums in (state.epoch, state.last))
        own, other = (
            _complete_likelihood(each, state.epoch) - self.cost(each) for each in (now, before)
        )
        return own - other

    def _reseeded(
        self, run: BatchClimb[L], emptied: Int, rows: UnitRows, sums: Sums
    ) -> BatchClimb[L]:
        """The run with emptied clusters moved to the least likely rows of the last batch.

        At most one cluster takes a row.
        """
        assert self.reseed is not None
        worst = np.argsort(sums.evidence, kind="stable")[: len(emptied)]
        emptied = emptied[: len(worst)]
        estimate, running = self.reseed(run.estimate, run.state.running, emptied, rows.dense(worst))
        reseeded = run.state.reseeded + len(emptied)
        state = replace(run.state, running=running, reseeded=reseeded)
        return replace(run, estimate=estimate, state=state)


def _weighted(sums: Sums, weight: float, other: Sums, other_weight: float) -> Sums:
    size, total = (
        (a if weight == 1.0 else weight * a) + (b if other_weight == 1.0 else other_weight * b)
        for a, b in ((sums.size, other.size), (sums.total, other.total))
    )
    return Sums(size, total, np.empty(0))


def _complete_likelihood(estimate: LinearEstimate, sums: Sums) -> float:
    """The expected complete log-likelihood of rows with these sums."""
    along = np.einsum("kd,kd->", estimate.weights, sums.total)
    return float(estimate.offsets @ sums.size + along)


class SampledRestarts(Restarts):
    """Runs that start from a sample of the rows, held in memory, without a pass over all rows.

    The sample has no more rows than seeds are drawn from, and not many more bytes than a pool.
    """

    def __init__(self, like: Restarts, most_clusters: int, rng: np.random.Generator) -> None:
        """like : the runs as they would be over all rows."""
        passes, counted = like.passes, like.counted
        Restarts.__init__(self, passes, counted, like.n_init, like.seed, like.checkpoint)
        self.halving = like.halving
        points = passes.points
        room = POOL_BYTES // (points.shape[1] * points.kind.itemsize)
        n_seeding = max(SEEDING_ROWS, SEEDING_EACH * most_clusters)
        n_rows = n_seeding if points.sparse else min(n_seeding, max(room, 10 * most_clusters))
        sample = Batches(points, counted, n_rows).sample(n_rows, rng)
        self._sample = Restarts(passes.over(sample), np.ones(sample.shape[0]), 1, 0)

    def at_once(self, n_clusters: int) -> int:
        """1: each run holds a pool of rows."""
        return 1

    def rows(self, n_clusters: int, rng: np.random.Generator) -> Int:
        """Numbers of rows of the sample."""
        return self._sample.rows(n_clusters, rng)

    def seeded(self, n_clusters: int, rows: Int, seed: int, run: int = 0) -> tuple[Float, Sums]:
        """Seeds, and the sums of the rows nearest to each, scaled up from the sample."""
        means, sums = self._sample.seeded(n_clusters, rows, seed, run)
        times = float(self.counted.sum()) / self._sample.counted.size
        return means, Sums(times * sums.size, times * sums.total, sums.evidence)


def by_epoch(run: Climb[Any]) -> dict[str, list[tuple[int, float]]]:
    """The curve of a run's objective: the estimate of each epoch, made while parameters moved."""
    return {"objective_estimate_by_epoch": list(enumerate(run.objective[:-1], 1))}
