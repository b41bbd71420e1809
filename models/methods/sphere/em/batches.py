"""Batches of unit rows in a random order, of data that may be larger than memory.

Rows in a file or far away are never read one by one: a pool is made of runs of rows from random
places, each read at once, and its rows are shuffled. So every row comes once in an epoch and a
batch is mixed out of all the runs of a pool, of which there are hundreds: `POOL_BYTES` hold the
whole of smaller data. Sparse rows, which are in memory, are shuffled whole.

Mixtures of vMF distributions by batches of rows: stepwise EM, stochastic variational inference.

Running sums stand for those of all rows: each batch B, its posteriors under the parameters so far,
moves them towards its own sums times N / |B| by a step of (delay + t)^-forgetting, and the
parameters follow from them as they do from a pass over all rows: the likeliest mixture, or every
factor of the posterior at its maximum, with the priors by empirical Bayes. A step is at least
4 / (M + 3) for M batches in an epoch: smaller ones would move less in an epoch than one iteration
on all rows does, and a batch of all rows is that iteration.

An epoch gives every row once. Its estimate of the objective is the sum of what its batches are
worth under the parameters that they met. The run ends when an epoch rises by no more than `tol` for
each row: by its estimate, or by how much likelier its sums are under the parameters that follow
from them than under those of the last epoch's. (The estimates also rise because steps shrink, and
the sums also differ by the steps' noise; so the smaller of the two is looked at. Both sums hold
each row once and so no noise of a draw.) Then, unless it was the first, the last epoch's sums take
the running ones' place, and one pass over all rows gives the objective itself, by which runs are
compared.

Sources: Cappe and Moulines, "On-line Expectation-Maximization Algorithm for Latent Data Models"
(2009), with steps and batches as in Liang and Klein, "Online EM for Unsupervised Models" (2009);
Hoffman, Blei, Wang and Paisley, "Stochastic Variational Inference" (2013), whose averages of
natural parameters are averages of sums. Cost of an epoch: as of a pass, with M updates of the
parameters: 0.2 to 1 ms each by EM, some ms by variational inference, beside N K D / M. Memory: a
pool of rows (`em.batches`), 4 sums of 8 K D bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float, Int, Matrix
from models.method import Shapes
from models.methods.sphere.em.em import EMPTIED
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.progress import Progress, silent, subprogress
from models.rows import ArrayRows, Rows

POOL_BYTES = 1 << 27
"""Of a pool's rows; reading them takes as much again at most, and a batch its own rows."""

RUN_BYTES = 1 << 17
FAR_RUN_BYTES = 1 << 19
"""Read at once; from afar so much comes about as fast as less."""


@dataclass(frozen=True, slots=True)
class Batches:
    """counted : (n_points,) 0 for rows that are left out. size : rows of a batch, about."""

    points: UnitRows
    counted: Float
    size: int

    def epoch(self, rng: np.random.Generator, first: int = 0) -> Iterator[tuple[float, UnitRows]]:
        """All rows that count once, in batches of nearly the same size.

        Each comes with the share of the rows that have been given with it. first : so many batches
        are left out; pools of which none is left are not read. Draws the same whatever `first` is.
        """
        n_counted = int(np.count_nonzero(self.counted))
        given = number = 0
        for rows in self._pools(rng):
            parts = self._parts(rng.permutation(len(rows)))
            pool: Matrix | None = None
            for part in parts:
                given += len(part)
                number += 1
                if number <= first:
                    continue
                own = np.sort(part)
                if self.points.sparse:
                    yield given / n_counted, self._unit(self.points.take(rows[own]))
                    continue
                if pool is None:
                    pool = self.points.take(rows)
                yield given / n_counted, self._unit(pool[own] if len(parts) > 1 else pool)

    def sample(self, n_rows: int, rng: np.random.Generator) -> UnitRows:
        """Random rows that count, in their order; all of them where there are no more.

        Of rows beyond a pool from one pool, at least as many as a batch has.
        """
        rows = next(self._pools(rng))
        if len(rows) > n_rows:
            rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False))]
        return self._unit(self.points.take(rows))

    def _pools(self, rng: np.random.Generator) -> Iterator[Int]:
        """Ascending numbers of the rows of each pool; none is empty."""
        n_points, n_features = self.points.shape
        values = self.points.values
        most = max(self.size, POOL_BYTES // (n_features * self.points.kind.itemsize))
        if not isinstance(values, Rows) or n_points <= most:
            yield np.flatnonzero(self.counted)
            return
        run_bytes = FAR_RUN_BYTES if values.far else RUN_BYTES
        length = max(1, min(most, run_bytes // (n_features * values.dtype.itemsize)))
        starts = rng.permutation(np.arange(0, n_points, length))
        # Pools of the same number of runs, so that none has few rows.
        for some in np.array_split(starts, -(-len(starts) // (most // length))):
            rows = (np.sort(some)[:, None] + np.arange(length)).ravel()
            rows = rows[rows < n_points]
            rows = rows[self.counted[rows] > 0]
            if rows.size:
                yield rows

    def _parts(self, order: Int) -> list[Int]:
        """Of nearly the same size, so that no batch is much noisier than the others."""
        return np.array_split(order, max(1, round(len(order) / self.size)))

    def _unit(self, rows: Matrix) -> UnitRows:
        return UnitRows(ArrayRows(rows) if isinstance(rows, np.ndarray) else rows, rows.dtype)


def bytes_of_batches(shapes: Shapes, size: int | None) -> int:
    """What a pool with a batch takes; 0 where there are no batches."""
    if size is None:
        return 0
    n_points, n_features = shapes["features"]
    return min(3 * POOL_BYTES, 24 * n_points * n_features)


LEAST = 4
"""A step is at least as many times a batch's share of the rows (nearly, of a large one)."""

REPORT_ROWS = 1 << 13
"""After so many, or a batch, progress is said."""


class Linear(Protocol):
    """What rows meet: as `mixture.passes` takes it."""

    @property
    def weights(self) -> Float: ...

    @property
    def offsets(self) -> Float: ...


M = TypeVar("M", bound=Linear)


@dataclass(frozen=True, slots=True)
class Steps:
    """batch_size : rows of a batch, about; there may be fewer rows in all."""

    batch_size: int
    delay: float
    forgetting: float

    def size(self, t: int, share: float) -> float:
        """Of batch t = 0, 1, ..., that has this share of the rows."""
        least = LEAST * share / (1.0 + (LEAST - 1) * share)
        return float(max((self.delay + t) ** -self.forgetting, least))


_COUNTS = ("seed", "n_steps", "n_batches", "worth", "seeding", "n_emptied", "reseeded")
_SUMS = ("running", "epoch", "last")


@dataclass(frozen=True, slots=True)
class State:
    """Where a run by batches is, besides its parameters.

    running, epoch : sums, those of all rows and those over this epoch so far.
    seed : of its batches. n_steps : in all. n_batches : in this epoch.
    worth : what they add up to. seeding : whether clusters that lost their rows get new means;
    n_emptied : how many did after the last epoch, reseeded : in all.
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
    def start(cls, sums: Sums, seed: int) -> State:
        return cls(_bare(sums), _none(sums), _none(sums), seed)

    def arrays(self, prefix: str) -> dict[str, Float]:
        found = {f"{prefix}counts": np.array([float(getattr(self, name)) for name in _COUNTS])}
        for name in _SUMS:
            sums = getattr(self, name)
            found |= {f"{prefix}{name}.size": sums.size, f"{prefix}{name}.total": sums.total}
        return found

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> State | None:
        """As kept; None where it was not."""
        if f"{prefix}counts" not in arrays:
            return None
        running, epoch, last = (
            Sums(arrays[f"{prefix}{one}.size"], arrays[f"{prefix}{one}.total"], np.empty(0))
            for one in _SUMS
        )
        seed, n_steps, n_batches, worth, *flags = arrays[f"{prefix}counts"].tolist()
        seeding, emptied, reseeded = (int(one) for one in flags)
        counts = (int(seed), int(n_steps), int(n_batches), worth, bool(seeding), emptied, reseeded)
        return cls(running, epoch, last, *counts)


@dataclass(frozen=True, slots=True)
class Walk(Generic[M]):
    """How a run goes by batches.

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    update : parameters after others, by sums over all rows.
    cost : what the objective is below the sum of the rows' log evidence.
    reseed : parameters, and sums of all rows, with the given clusters at the given rows; None where
        clusters without rows are left alone.
    """

    passes: Passes
    counted: Float
    steps: Steps
    hard: bool
    max_iter: int
    tol: float
    update: Callable[[M, Sums], M]
    cost: Callable[[M], float]
    reseed: Callable[[M, Sums, Int, Float], tuple[M, Sums]] | None = None

    def climb(
        self,
        model: M,
        state: State,
        estimates: tuple[float, ...],
        progress: Progress,
        save: Callable[[M, State, tuple[float, ...]], None],
    ) -> tuple[M, State, tuple[float, ...], bool]:
        """To its end: parameters, the state, the objective by epoch, and whether it converged.

        estimates : of the epochs so far. Of the objectives that it gives the last one is no
        estimate but the parameters' own. save : is given where it is, many times an epoch.
        """
        batches = Batches(self.passes.points, self.counted, self.steps.batch_size)
        n_counted, most = float(self.counted.sum()), self.max_iter
        ended = False
        while not ended and len(estimates) < most:
            at = len(estimates)
            within = subprogress(
                progress, at / (most + 1), (at + 1) / (most + 1), f"epoch {at + 1}"
            )
            rng = np.random.default_rng([state.seed, at])
            unsaid, sums, rows = 0, state.epoch, self.passes.points
            for done, rows in batches.epoch(rng, state.n_batches):
                model, state, sums = self._step(model, state, rows, n_counted)
                unsaid += rows.shape[0]
                # Not after the last one: clusters are re-seeded from what it was.
                if unsaid >= REPORT_ROWS and done < 1.0:
                    unsaid = 0
                    within(done, "fitting")
                    save(model, state, estimates)
            within(1.0, "fitting")
            gain = min(state.worth - estimates[-1], self._gain(model, state)) if at else np.inf
            estimates = (*estimates, state.worth)
            if state.n_emptied and gain <= self.tol * n_counted:
                state = replace(state, seeding=False)
            emptied = np.flatnonzero(state.epoch.size < EMPTIED)
            if self.reseed is None or not state.seeding:
                emptied = emptied[:0]
            ended = gain <= self.tol * n_counted and not emptied.size
            if ended or len(estimates) >= most:
                # Of one batch the running sums are the epoch's.
                if at > 0 and state.n_batches > 1:
                    model = self.update(model, state.epoch)
                break
            if emptied.size:
                model, state = self._reseeded(model, state, emptied, rows, sums)
            state = replace(
                state,
                last=state.epoch,
                epoch=_none(sums),
                n_batches=0,
                worth=0.0,
                n_emptied=len(emptied),
            )
            save(model, state, estimates)
        last = subprogress(progress, most / (most + 1), 1.0, "all rows")
        found = self.passes.expect(model.weights, model.offsets, self.counted, last, hard=self.hard)
        value = float(found.evidence @ self.counted) - self.cost(model)
        return model, state, (*estimates, value), ended

    def _step(
        self, model: M, state: State, rows: UnitRows, n_counted: float
    ) -> tuple[M, State, Sums]:
        """After one batch; and its own sums."""
        n_rows = rows.shape[0]
        sums = self.passes.over(rows).expect(
            model.weights, model.offsets, np.ones(n_rows), silent, hard=self.hard
        )
        step = self.steps.size(state.n_steps, n_rows / n_counted)
        running = _mixed(state.running, 1.0 - step, sums, step * n_counted / n_rows)
        after = self.update(model, running)
        worth = float(sums.evidence.sum()) - n_rows / n_counted * self.cost(model)
        moved = replace(
            state,
            running=running,
            epoch=_mixed(state.epoch, 1.0, sums, 1.0),
            n_steps=state.n_steps + 1,
            n_batches=state.n_batches + 1,
            worth=state.worth + worth,
        )
        return after, moved, sums

    def _gain(self, model: M, state: State) -> float:
        """By how much this epoch's sums are likelier under their parameters than the last's."""
        now, before = (self.update(model, sums) for sums in (state.epoch, state.last))
        own, other = (_worth(one, state.epoch) - self.cost(one) for one in (now, before))
        return own - other

    def _reseeded(
        self, model: M, state: State, emptied: Int, rows: UnitRows, sums: Sums
    ) -> tuple[M, State]:
        """With emptied clusters, as many as the batch has rows, at those least likely of it."""
        assert self.reseed is not None
        worst = np.argsort(sums.evidence, kind="stable")[: len(emptied)]
        emptied = emptied[: len(worst)]
        model, running = self.reseed(model, state.running, emptied, rows.dense(worst))
        reseeded = state.reseeded + len(emptied)
        return model, replace(state, running=running, reseeded=reseeded)


def _bare(sums: Sums) -> Sums:
    return Sums(sums.size, sums.total, np.empty(0))


def _none(sums: Sums) -> Sums:
    return Sums(np.zeros_like(sums.size), np.zeros_like(sums.total), np.empty(0))


def _mixed(one: Sums, much: float, other: Sums, more: float) -> Sums:
    """`much` times one and `more` times the other."""
    size, total = (
        (a if much == 1.0 else much * a) + (b if more == 1.0 else more * b)
        for a, b in ((one.size, other.size), (one.total, other.total))
    )
    return Sums(size, total, np.empty(0))


def _worth(model: Linear, sums: Sums) -> float:
    """The expected complete log-likelihood of rows with these sums."""
    along = np.einsum("kd,kd->", model.weights, sums.total)
    return float(model.offsets @ sums.size + along)
