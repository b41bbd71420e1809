"""Sums over rows by a crew, the same bits whoever computes them, and climbs made of such passes.

Rows are cut into shares, whose number depends on the shape alone. A piece is some of the shares and
answers with the sums of each; they are added in the order of the shares, so neither the number of
pieces nor of workers nor of threads changes a digit. A method whose iteration is a pass over the
rows, as EM and k-means, computes the sums of a share from the estimate, and the next estimate from
the sums of all: nothing that grows with the rows is kept, and the estimate is the checkpoint.

Cost of a pass beside the sums themselves: on the wire, the estimate to each worker, and the sums of
each share back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from models.arrays import Array, Arrays
from models.method import Checkpoint
from models.running.progress import SHARED, Crew, Piece, Progress
from models.running.threads import limited

SHARES, SHARE_BYTES = 32, 1 << 28
"""The number of shares of the rows, at most, and the bytes of their sums together."""

LEAST_VALUES = 1 << 18
"""Values of a share, at least, so that a pass over few rows is not cut into crumbs."""

Share: TypeAlias = tuple[int, int]
"""Where a share of the rows begins and ends."""

S = TypeVar("S")

Estimate: TypeAlias = Mapping[str, Array]


def shares(n_rows: int, n_bytes: int, row_length: int | None = None) -> list[Share]:
    """Where each share begins and ends.

    n_bytes : of the sums of a share. row_length : values of a row; with it a share has
        `LEAST_VALUES` at least; None: a share may be one row.
    """
    room = max(1, SHARE_BYTES // max(1, n_bytes))
    worth = n_rows if row_length is None else -(-n_rows * row_length // LEAST_VALUES)
    n_shares = max(1, min(SHARES, room, worth, n_rows))
    edges = [n_rows * number // n_shares for number in range(n_shares + 1)]
    return list(pairwise(edges))


def sums_of_shares(
    crew: Crew, n_shares: int, shared: Arrays, options: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Array]]:
    """What the pieces of a crew, which answer with `piece`, find for each share, in order.

    options : plain JSON that every piece gets beside its shares.
    """
    n_pieces = min(max(1, crew.n_pieces), n_shares)
    edges = [n_shares * number // n_pieces for number in range(n_pieces + 1)]
    pieces: list[Piece] = [{"first": a, "last": b, **(options or {})} for a, b in pairwise(edges)]
    waiting: dict[int, Arrays] = {}
    expected = 0
    for number, found in crew.compute(pieces, shared):
        waiting[number] = found
        # In the order of the shares, whichever worker was first.
        while expected in waiting:
            yield from _apart(waiting.pop(expected), edges[expected + 1] - edges[expected])
            expected += 1


def total(parts: Iterator[dict[str, Array]]) -> dict[str, Array]:
    """The sums over all shares, added in their order."""
    added = {name: np.array(array) for name, array in next(parts).items()}
    for part in parts:
        for name, array in part.items():
            added[name] += array
    return added


def piece(
    given: Piece,
    cut: Sequence[S],
    sums_of: Callable[[S], Arrays],
    progress: Progress,
    threads: int = 1,
) -> Arrays:
    """What a crew's piece answers to `sums_of_shares`.

    cut : all shares. sums_of : the sums of one by name; what is not summed, such as a value of each
        row, may be among them. threads : how many shares are summed at a time, by one thread each;
        1 where `sums_of` has threads itself.
    """
    mine = cut[int(given["first"]) : int(given["last"])]
    found: dict[str, Array] = {}
    with limited({"blas": 1}), ThreadPoolExecutor(threads) as pool:
        parts = map(sums_of, mine) if threads == 1 else pool.map(sums_of, mine)
        for number, part in enumerate(parts):
            found.update({f"{number}.{name}": array for name, array in part.items()})
            # A pass is one of many: it may be cancelled here, but does not move the whole.
            progress(0.0, "fitting")
    return found


def shared_of(given: Piece) -> dict[str, Array]:
    """The estimate, in a piece."""
    return {name: np.asarray(array) for name, array in given[SHARED].items()}


def _apart(found: Arrays, n_shares: int) -> Iterator[dict[str, Array]]:
    """The arrays of each share of a piece."""
    parts: list[dict[str, Array]] = [{} for _ in range(n_shares)]
    for name, array in found.items():
        number, _, own = name.partition(".")
        parts[int(number)][own] = np.asarray(array)
    yield from parts


@dataclass(frozen=True, slots=True)
class Climb:
    """The end of a run. estimate : by name. values : what each iteration measured.
    ended : whether it converged.
    """

    estimate: Estimate
    values: tuple[float, ...]
    ended: bool


@dataclass(frozen=True, slots=True)
class Climber:
    """Runs of iterations from several starts, of which the best is kept, resumed from a checkpoint.

    start : the estimate at the start of run `number`; called for the runs that are made, in order.
    skip : called instead for a run that an earlier attempt made, so that random numbers are drawn
        as they were then.
    iterate : the next estimate, and what the run measures, such as its objective.
    settled : whether a run ends, from its estimate and its values so far.
    """

    start: Callable[[int], Estimate]
    iterate: Callable[[Estimate], tuple[Estimate, float]]
    settled: Callable[[Estimate, Sequence[float]], bool]
    max_iter: int
    skip: Callable[[int], object] = lambda number: None

    def best(
        self, n_runs: int, checkpoint: Checkpoint, progress: Progress, stage: str = "fitting"
    ) -> Climb:
        """The run whose last value is the largest, the first of several.

        The state after each iteration is saved: an attempt that goes on gives the same bits.
        """
        number, best, run = _restored(checkpoint)
        for made in range(number + (run is not None)):
            self.skip(made)
        while number < n_runs:
            if run is None:
                run = Climb(self.start(number), (), False)
            while not run.ended and len(run.values) < self.max_iter:
                done = (number + len(run.values) / self.max_iter) / n_runs
                prefix = f"run {number + 1} of {n_runs}, " if n_runs > 1 else ""
                progress(done, stage, f"{prefix}iteration {len(run.values) + 1}")
                estimate, value = self.iterate(run.estimate)
                values = (*run.values, value)
                run = Climb(estimate, values, self.settled(estimate, values))
                checkpoint.save(_state(number, best, run))
            if best is None or run.values[-1] > best.values[-1]:
                best = run
            number, run = number + 1, None
        assert best is not None
        return best


def _state(number: int, best: Climb | None, run: Climb) -> Arrays:
    state: dict[str, Array] = {"number": np.array([number])}
    for prefix, climb in (("best", best), ("run", run)):
        if climb is not None:
            state[f"{prefix}_values"] = np.array(climb.values)
            state[f"{prefix}_ended"] = np.array([climb.ended])
            state |= {f"{prefix}.{name}": np.array(at) for name, at in climb.estimate.items()}
    return state


def _restored(checkpoint: Checkpoint) -> tuple[int, Climb | None, Climb | None]:
    state = checkpoint.load()
    if state is None or "run_values" not in state:
        return 0, None, None

    def climb(prefix: str) -> Climb | None:
        if f"{prefix}_values" not in state:
            return None
        names = [name for name in state if name.startswith(f"{prefix}.")]
        return Climb(
            {name.partition(".")[2]: np.asarray(state[name]) for name in names},
            tuple(float(value) for value in state[f"{prefix}_values"]),
            bool(state[f"{prefix}_ended"][0]),
        )

    return int(state["number"][0]), climb("best"), climb("run")
