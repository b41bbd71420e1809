"""Batches of rows: every row once an epoch, read in runs and a pool at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.inputs.rows import ArrayRows
from models.methods.sphere.mixture import batches as module
from models.methods.sphere.mixture.batches import Batches
from models.methods.sphere.mixture.rows import UnitRows
from tests.models.methods.sphere.sphere_kit import unit_rows


class InRuns(ArrayRows):
    """Rows that record which of them are read."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array)
        self.requests: list[np.ndarray] = []

    def read(self, start: int, stop: int) -> np.ndarray:
        raise AssertionError("a pass over all rows")

    def take(self, rows: np.ndarray) -> np.ndarray:
        self.requests.append(rows)
        return super().take(rows)


def numbered(n_points: int, n_features: int = 4) -> np.ndarray:
    """Rows whose first value is their number; they are not unit, which nothing checks here."""
    result = np.zeros((n_points, n_features))
    result[:, 0] = np.arange(n_points)
    return result


def numbers(batch: UnitRows) -> list[int]:
    rows = batch.block(slice(0, batch.shape[0]))
    return np.asarray(rows[:, [0]].toarray() if batch.sparse else rows[:, :1]).ravel().tolist()


@pytest.mark.parametrize("kind", ["whole", "pools", "sparse"])
@pytest.mark.parametrize("n_points", [1, 99, 1000])
def test_every_row_that_counts_comes_once(
    kind: str, n_points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "pools":
        monkeypatch.setattr(module, "POOL_BYTES", 200 * 32)
        monkeypatch.setattr(module, "RUN_BYTES", 10 * 32)
    rows = numbered(n_points)
    source: Any = sp.csr_array(rows) if kind == "sparse" else InRuns(rows)
    counted = (np.random.default_rng(0).random(n_points) < 0.8).astype(float)
    counted[0] = 1.0
    result = Batches(unit_rows(source), counted, 30)
    seen = [(done, numbers(one)) for done, one in result.epoch(np.random.default_rng(1))]
    assert sorted(row for _, own in seen for row in own) == np.flatnonzero(counted).tolist()
    sizes = [len(own) for _, own in seen]
    assert max(sizes) <= 45
    assert min(sizes) >= min(20, sizes[0])
    assert [done for done, _ in seen] == pytest.approx(np.cumsum(sizes) / counted.sum())
    if n_points == 1000:
        assert np.ptp(seen[0][1]) > 100, "a batch is mixed"
        another_batch = next(result.epoch(np.random.default_rng(2)))
        assert numbers(another_batch[1]) != seen[0][1]


def test_rows_are_read_in_runs_and_a_pool_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POOL_BYTES", 400 * 32)
    monkeypatch.setattr(module, "RUN_BYTES", 20 * 32)
    rows = InRuns(numbered(2000))
    batches = Batches(unit_rows(rows), np.ones(2000), 50)
    seen = [numbers(one) for _, one in batches.epoch(np.random.default_rng(1))]
    assert [len(requests) for requests in rows.requests] == [400] * 5
    for requests in rows.requests:
        assert (np.diff(requests) > 0).all()
        assert (np.diff(requests) > 1).sum() < 20
    # From the middle on: the same batches, and no pool is read for those left out.
    rows.requests.clear()
    again = [numbers(one) for _, one in batches.epoch(np.random.default_rng(1), 20)]
    assert again == seen[20:]
    assert len(rows.requests) == 3
    sample = batches.sample(70, np.random.default_rng(1))
    assert len(set(numbers(sample))) == 70
