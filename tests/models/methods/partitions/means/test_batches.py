"""Batches: every row once a pass, mixed, never more than a pool in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.rows import ArrayRows, Rows
from models.methods.partitions.means import batches
from models.methods.partitions.means.batches import sample, shuffled


class Counted(ArrayRows):
    """Rows that record the most read at a time."""

    most = 0

    def read(self, start: int, stop: int) -> np.ndarray:
        self.most = max(self.most, stop - start)
        return super().read(start, stop)

    def take(self, rows: np.ndarray) -> np.ndarray:
        assert (np.diff(rows) > 0).all()
        self.most = max(self.most, len(rows))
        return super().take(rows)


def passed(features: Rows | sp.csr_array, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(one) for _, one in shuffled(features, 10, rng, checked=False)]


@pytest.mark.parametrize("n_points", [1, 9, 640, 997])
def test_a_pass_holds_every_row_once(n_points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 200)
    monkeypatch.setattr(batches, "STRETCHES", 5)
    features = Counted(np.arange(2.0 * n_points).reshape(-1, 2))
    rows = np.concatenate(passed(features))
    assert sorted(rows[:, 0].tolist()) == (2.0 * np.arange(n_points)).tolist()
    assert features.most <= 100


def test_batches_of_a_sorted_file_are_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 400)
    monkeypatch.setattr(batches, "STRETCHES", 40)
    group = np.repeat(np.arange(4.0), 1000)[:, None]
    for batch in passed(ArrayRows(group))[:100]:
        assert len(np.unique(batch)) > 1


def test_a_matrix_as_large_as_a_pool_is_not_copied_but_shuffled() -> None:
    features = Counted(np.arange(50.0)[:, None])
    first, second = passed(features), passed(features, 1)
    assert [len(batch) for batch in first] == [10] * 5
    assert first[0].tolist() != second[0].tolist()


def test_sparse_rows_stay_sparse() -> None:
    features = sp.csr_array(np.eye(25))
    parts = [b for _, b in shuffled(features, 10, np.random.default_rng(0), checked=True)]
    assert [type(part) for part in parts] == [sp.csr_array] * 3
    assert (sum(part.sum(axis=0) for part in parts) == 1).all()


@pytest.mark.parametrize("n_rows", [30, 1000])
def test_a_bad_value_is_named_by_its_own_row(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 20)
    values = np.zeros((90, 2))
    values[57, 1] = np.nan
    with pytest.raises(UsageError) as caught:
        passed(ArrayRows(values))
    assert caught.value.where == {"role": "features", "row": 57, "column": 1}
    values[:] = np.nan
    with pytest.raises(UsageError) as caught:
        sample(ArrayRows(values[:, :1]), n_rows, np.random.default_rng(0))
    first = np.sort(np.random.default_rng(0).choice(90, 30, replace=False))[0] if n_rows < 90 else 0
    assert caught.value.where["row"] == first


def test_a_sample_is_of_distinct_rows_in_their_order() -> None:
    chosen = sample(ArrayRows(np.arange(500.0)[:, None]), 100, np.random.default_rng(0))
    assert len(chosen) == 100
    assert (np.diff(chosen[:, 0]) > 0).all()
    bits = np.arange(16256, 16266, dtype=np.uint16)[:, None]
    wide = sample(ArrayRows(bits, bfloat16=True), 4, np.random.default_rng(0))
    assert wide.dtype == np.float32
    assert (wide >= 1.0).all()
