"""Shares of rows, their sums in order, and climbs that go on from where they were lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from models.clusters import row_sums
from models.clusters.row_sums import Climber, Estimate
from models.running.progress import Piece, Progress, silent
from tests.models.crew_kit import Scattered
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


@pytest.mark.parametrize("n_rows", [1, 5, 32, 1000])
@pytest.mark.parametrize("n_bytes", [8, 1 << 26, 1 << 40])
@pytest.mark.parametrize("row_length", [None, 1, 1 << 14])
def test_shares_hold_each_row_once(n_rows: int, n_bytes: int, row_length: int | None) -> None:
    cut = row_sums.shares(n_rows, n_bytes, row_length)
    assert [row for start, stop in cut for row in range(start, stop)] == list(range(n_rows))
    assert all(start < stop for start, stop in cut)
    assert len(cut) == 1 or len(cut) * n_bytes <= row_sums.SHARE_BYTES
    assert len(cut) <= row_sums.SHARES


def test_sums_are_added_in_the_order_of_shares() -> None:
    """Values so far apart that each order of additions gives another sum."""
    values = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(100)[::-1]
    cut = row_sums.shares(100, 8)
    expected = 0.0
    for start, stop in cut:
        expected += values[start:stop].sum()

    def compute(given: Piece, progress: Progress) -> dict[str, np.ndarray]:
        factor = row_sums.shared_of(given)["factor"][0] * given["twice"]

        def of_share(share: tuple[int, int]) -> dict[str, np.ndarray]:
            return {"sum": np.array([factor * values[slice(*share)].sum()])}

        return dict(row_sums.piece(given, cut, of_share, progress, threads=2))

    for n_pieces in (1, 2, 3, 32, 50):
        crew = Scattered(compute, n_pieces, n_pieces)
        shared = {"factor": np.array([0.5])}
        parts = row_sums.sums_of_shares(crew, len(cut), shared, {"twice": 2})
        assert row_sums.total(parts)["sum"][0] == expected


def test_the_best_run_is_found_again_wherever_it_was_lost() -> None:
    """Runs of three steps from drawn starts; each step halves the way to 0."""

    def climber() -> Climber:
        rng = np.random.default_rng(1)

        def start(number: int) -> Estimate:
            return {"at": rng.normal(size=2) + number}

        def iterate(now: Estimate) -> tuple[Estimate, float]:
            return {"at": now["at"] / 2}, -float(abs(now["at"]).sum())

        def settled(now: Estimate, values: Sequence[float]) -> bool:
            return len(values) == 3

        return Climber(start, iterate, settled, max_iter=5, skip=start)

    whole = MemoryCheckpoint()
    best = climber().best(4, whole, silent)
    assert best.ended
    assert len(whole.states) == 12
    for n_saved in range(1, 13):
        lost = MemoryCheckpoint(lost_after=n_saved)
        with pytest.raises(WorkerLost):
            climber().best(4, lost, silent)
        again = climber().best(4, MemoryCheckpoint(lost.state), silent)
        assert again.values == best.values
        np.testing.assert_array_equal(again.estimate["at"], best.estimate["at"])
