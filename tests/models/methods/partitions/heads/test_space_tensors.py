"""Features as tensors: whole or in pools, every row once, memory bounded, refusals."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.partitions.heads import space_tensors as module
from models.methods.partitions.heads.space_tensors import (
    SpaceTensors,
    require_spaces,
    require_widths,
)
from models.running.progress import silent

pytestmark = pytest.mark.needs("torch")


def numbered(n_rows: int, width: int) -> np.ndarray:
    """Rows that begin with their number."""
    rows = np.random.default_rng(0).normal(size=(n_rows, width)).astype(np.float32)
    rows[:, 0] = np.arange(n_rows)
    return rows


def opened(arrays: list[np.ndarray], batch_size: int = 10) -> SpaceTensors:
    return SpaceTensors([ArrayRows(array) for array in arrays], "cpu", batch_size, silent)


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays; pools of about 40 rows of 5 columns."""
    monkeypatch.setattr(module, "RESIDENT", 0)
    monkeypatch.setattr(module, "POOL", 200)
    monkeypatch.setattr(module, "STRETCHES", 4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", "int32", "bool"])
def test_rows_come_as_single_precision(dtype: str) -> None:
    values = (numbered(30, 4) * 3).astype(dtype)
    tensors = opened([values])
    rows = tensors.take(torch.tensor([4, 29, 4, 0]))[0]
    assert rows.dtype == torch.float32
    np.testing.assert_array_equal(rows, values[[4, 29, 4, 0]].astype(np.float32))


def test_bfloat16_is_widened() -> None:
    wide = (numbered(20, 3).view(np.uint32) >> 16).astype(np.uint16)
    for limit in (module.RESIDENT, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "RESIDENT", limit)
            tensors = SpaceTensors([ArrayRows(wide, bfloat16=True)], "cpu", 5, silent)
            rows = tensors.take(torch.tensor([7, 3]))[0]
            expected = (wide[[7, 3]].astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_array_equal(rows, expected)


def check_pass(tensors: SpaceTensors, arrays: list[np.ndarray], n_batches: int) -> np.ndarray:
    """The numbers of `n_batches` batches, after a check that each holds the rows of its numbers."""
    batches = tensors.batches(np.random.default_rng(5))
    seen = []
    for _ in range(n_batches):
        numbers, rows = next(batches)
        assert len(numbers) == tensors.batch_size
        for part, array in zip(rows, arrays, strict=True):
            np.testing.assert_array_equal(part, array[numbers])
        seen.append(numbers.numpy())
    return np.concatenate(seen)


def test_each_row_comes_once_in_a_pass() -> None:
    arrays = [numbered(47, 3), numbered(47, 2)]
    seen = check_pass(opened(arrays), arrays, 8)
    for part in (seen[:40], seen[40:]):
        assert len(set(part.tolist())) == 40
    assert (seen[:40] != np.sort(seen[:40])).any()


@pytest.mark.usefixtures("streamed")
def test_each_row_comes_once_in_a_pass_of_pools() -> None:
    arrays = [numbered(203, 3), numbered(203, 2)]
    tensors = opened(arrays)
    assert not tensors.is_resident
    # Five pools of four stretches of ten rows, and three rows that fill no batch.
    seen = check_pass(tensors, arrays, 20)
    assert len(set(seen.tolist())) == 200
    again = check_pass(tensors, arrays, 60)
    assert set(again.tolist()) == set(range(203))


@pytest.mark.usefixtures("streamed")
def test_a_batch_larger_than_a_pool_is_whole() -> None:
    arrays = [numbered(203, 3), numbered(203, 2)]
    for batch_size in (90, 203, 1000):
        tensors = opened(arrays, batch_size)
        seen = check_pass(tensors, arrays, 2)
        assert len(seen) == 2 * min(batch_size, 203)
        assert len(set(seen[: len(seen) // 2].tolist())) == len(seen) // 2


def test_one_batch_of_all_rows_comes_as_it_lies() -> None:
    arrays = [numbered(9, 3)]
    seen = check_pass(opened(arrays, 100), arrays, 2)
    assert seen.tolist() == [*range(9), *range(9)]


def test_blocks_and_samples() -> None:
    arrays = [numbered(23, 3), numbered(23, 2)]
    for limit in (module.RESIDENT, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "RESIDENT", limit)
            tensors = opened(arrays)
            starts = []
            for start, rows in tensors.blocks(10):
                starts.append(start)
                for part, array in zip(rows, arrays, strict=True):
                    np.testing.assert_array_equal(part, array[start : start + 10])
            assert starts == [0, 10, 20]
            drawn = tensors.sample(7, np.random.default_rng(0))
            assert len(set(drawn.tolist())) == 7
            assert drawn.tolist() == sorted(drawn.tolist())
            for part, array in zip(tensors.take(drawn.flip(0)), arrays, strict=True):
                np.testing.assert_array_equal(part, array[drawn.flip(0)])
            assert tensors.sample(23, np.random.default_rng(0)).tolist() == list(range(23))


def test_a_file_larger_than_what_may_stay_is_read_in_pools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "features.npy"
    np.save(path, numbered(40_000, 64).astype(np.float16))
    monkeypatch.setattr(module, "RESIDENT", 1 << 18)
    monkeypatch.setattr(module, "POOL", 1 << 18)
    monkeypatch.setattr(module, "_BLOCK", 1 << 18)
    rows = ArrayRows(np.load(path, mmap_mode="r"))
    tracemalloc.start()
    tensors = SpaceTensors([rows], "cpu", 500, silent)
    batches = tensors.batches(np.random.default_rng(0))
    for _ in range(50):
        next(batches)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A block in three forms and a stretch; torch's own pool is 1 MiB by the setting above.
    assert most < 6 << 20


def test_unusable_spaces_are_named() -> None:
    good = numbered(30, 3)
    bad = good.copy()
    bad[7, 1] = np.nan
    with pytest.raises(UsageError, match=r"^Input 'features' has a value that is NaN") as caught:
        opened([bad])
    assert caught.value.where == {"role": "features", "row": 7, "column": 1}
    with pytest.raises(UsageError, match=r"^Matrix 1 \(counted from 0\): .* NaN") as caught:
        opened([good, bad])
    assert caught.value.where == {"role": "features", "row": 7, "column": 1, "matrix": 1}
    bad = good.astype(np.float64)
    bad[3, 2] = 1e60
    with pytest.raises(UsageError, match="sums of squares would overflow") as caught:
        opened([good, bad])
    assert caught.value.code == "too-large"
    assert caught.value.where == {"role": "features", "row": 3, "column": 2, "matrix": 1}
    with pytest.raises(UsageError, match=r"Matrix 1 .* has the same row for all points"):
        opened([good, np.ones((30, 2))])


def test_spaces_that_cannot_be_labelled_are_refused() -> None:
    def refused(*arrays: np.ndarray, n_clusters: int = 3) -> UsageError:
        with pytest.raises(UsageError) as caught:
            require_spaces(Data({"features": tuple(arrays)}), n_clusters)
        return caught.value

    assert "has 4 rows, the first one 5" in refused(np.ones((5, 2)), np.ones((4, 2))).detail
    assert (
        "Matrix 1 (counted from 0): Input 'features' has no columns"
        in refused(np.ones((5, 2)), np.ones((5, 0))).detail
    )
    assert "only 2 point(s)" in refused(np.eye(2)).detail
    few = refused(np.array([[0.0], [-0.0], [1.0]]), np.array([[1], [1], [1]]))
    assert few.code == "too-few-points"
    assert "only 2 distinct point(s)" in few.detail
    # Distinct together, not in any one space.
    together = np.array([[0.0], [1.0], [1.0]]), np.array([[0.0], [0.0], [1.0]])
    assert len(require_spaces(Data({"features": together}), 3)) == 2


def test_new_rows_must_fit_the_model() -> None:
    rows = [ArrayRows(np.ones((2, 3))), ArrayRows(np.ones((2, 4)))]
    require_widths(rows, [3, 4])
    with pytest.raises(UsageError, match=r"2 matrix\(es\) are given; the model was fitted on 1"):
        require_widths(rows, [3])
    with pytest.raises(UsageError, match=r"Matrix 1 .* has 4 columns; the model was fitted on 5"):
        require_widths(rows, [3, 5])
