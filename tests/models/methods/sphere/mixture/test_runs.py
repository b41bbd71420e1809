"""Runs at the same time: the result does not depend on the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from models.arrays import Arrays, Float
from models.errors import Cancelled
from models.inputs.data import Data
from models.method import Checkpoint
from models.methods.sphere.mixture import runs
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts, bytes_beside
from models.running.progress import Progress, silent
from tests.models.methods.sphere.sphere_kit import mixture
from umbel.testing.lost_worker import MemoryCheckpoint

ROWS = mixture((60, 50), 4, 8.0)[0]


@dataclass(frozen=True)
class Height:
    """A run that ends at the height `objective`."""

    objective: tuple[float, ...]
    run: int

    def arrays(self, prefix: str) -> dict[str, Float]:
        return {f"{prefix}height": np.array([*self.objective, self.run], dtype=np.float64)}


class Hills:
    """Runs of given heights; `wait` is called within each with its number."""

    def __init__(self, heights: list[float], wait: Callable[[int], None] = lambda run: None):
        self.heights, self.wait = heights, wait
        self.lock, self.started = threading.Lock(), 0
        self.now, self.most = 0, 0

    def start(self, means: Float, sums: Sums, seed: int) -> Height:
        with self.lock:
            self.started += 1
            return Height((0.0,), self.started - 1)

    def climb(self, one: Height, progress: Progress, save: Callable[[Height], None]) -> Height:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        progress(0.5, "fitting", "half")
        save(one)
        self.wait(one.run)
        progress(0.9, "fitting", "nearly")
        with self.lock:
            self.now -= 1
        return Height((self.heights[one.run],), one.run)

    def restored(self, arrays: Arrays, prefix: str) -> Height | None:
        if f"{prefix}height" not in arrays:
            return None
        height, run = arrays[f"{prefix}height"].tolist()
        return Height((height,), int(run))


def restarts(passes: Passes, n_init: int, kept: Checkpoint | None = None) -> Restarts:
    return Restarts(passes, np.ones(len(ROWS)), n_init, 0, kept or Checkpoint())


def passes_of(threads: int) -> Passes:
    return Passes(UnitRows.of(Data({"features": ROWS})), threads)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_highest_run_is_kept_and_of_equals_the_first(threads: int) -> None:
    hills = Hills([1.0, 5.0, 2.0, 5.0, 5.0])
    with passes_of(threads) as passes:
        assert restarts(passes, 5).best(hills, 2, silent).objective == (5.0,)
        # Numbers are given as runs begin; alone they are in order.
        if threads == 1:
            assert restarts(passes, 3).best(Hills([1.0, 5.0, 5.0]), 2, silent).run == 1


def test_as_many_runs_at_once_as_threads() -> None:
    together = threading.Barrier(3, timeout=250)
    hills = Hills([0.0] * 6, lambda run: together.wait() and None)
    with passes_of(3) as passes:
        restarts(passes, 6).best(hills, 2, silent)
        assert passes.at_once == 3
    assert hills.most == 3


def test_no_more_at_once_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "TOGETHER_BYTES", 2 * 4 * runs.EACH)
    with passes_of(3) as passes:
        assert restarts(passes, 6).at_once(1) == 3
        assert restarts(passes, 6).at_once(2) == 2
        assert restarts(passes, 6).at_once(3) == 1
    assert bytes_beside(1, 100) == 0
    assert bytes_beside(6, 4) == runs.TOGETHER_BYTES


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_raised_by_progress_ends_all_runs(threads: int) -> None:
    calls: list[float] = []

    def cancelled(fraction: float, stage: str, message: str = "") -> None:
        calls.append(fraction)
        if len(calls) > 3:
            raise Cancelled

    hills = Hills([0.0] * 50)
    with passes_of(threads) as passes, pytest.raises(Cancelled):
        restarts(passes, 50).best(hills, 2, cancelled)
    # A run that waited for its turn to report reports no more.
    assert len(calls) == 4
    assert hills.started < 10


def test_an_error_of_one_run_is_that_of_all() -> None:
    def wrong(run: int) -> None:
        if run == 1:
            raise ValueError("wrong")

    with passes_of(2) as passes, pytest.raises(ValueError, match="wrong"):
        restarts(passes, 50).best(Hills([0.0] * 50, wrong), 2, silent)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_goes_up_from_none_to_all(threads: int) -> None:
    text: list[tuple[float, str]] = []
    with passes_of(threads) as passes:
        restarts(passes, 4).best(
            Hills([0.0] * 4),
            2,
            lambda fraction, stage, message="": text.append((fraction, message)),
        )
    fractions = [fraction for fraction, _ in text]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert 0.9 < fractions[-1] <= 1.0
    first = "0 of 4 runs ended" if threads > 1 else "run 1 of 4"
    assert text[0][1] == first


def test_a_checkpoint_has_the_ended_and_those_under_way() -> None:
    kept = MemoryCheckpoint()
    with passes_of(1) as passes:

        def cut(run: int) -> None:
            if run == 2:
                raise Cancelled

        hills = Hills([7.0, 3.0, 4.0], cut)
        with pytest.raises(Cancelled):
            restarts(passes, 3, kept).best(hills, 2, silent)
        assert kept.state is not None
        assert kept.state["runs"].tolist() == [2, 0, 1, 1, 0]
        rest = Hills([0.0, 0.0, 4.0])
        assert restarts(passes, 3, kept).best(rest, 2, silent).objective == (7.0,)
        assert rest.started == 0
        # With another number of clusters all runs start anew.
        resumed = Hills([0.0, 0.0, 4.0])
        assert restarts(passes, 3, kept).best(resumed, 3, silent).run == 2
        assert resumed.started == 3
