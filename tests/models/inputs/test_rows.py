"""Rows of arrays, whatever their order and bytes, and bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs import rows as rows_module
from models.inputs.data import Data
from models.inputs.rows import ArrayRows, ChosenRows, widened

DTYPES = ["?", "i1", "u2", "<i4", ">i4", "i8", "f2", ">f2", "f4", ">f4", "f8", ">f8"]


def laid_out(values: np.ndarray, how: str) -> np.ndarray:
    """The same values in another memory layout."""
    match how:
        case "C":
            return np.ascontiguousarray(values)
        case "F":
            return np.asfortranarray(values)
        case "strided":
            return np.repeat(np.repeat(values, 2, axis=0), 3, axis=1)[::2, ::3]
    raw = bytearray(1 + values.nbytes)
    raw[1:] = np.ascontiguousarray(values).tobytes()
    return np.frombuffer(raw, values.dtype, offset=1).reshape(values.shape)


@given(data=st.data())
def test_rows_are_those_of_the_array(data: st.DataObject) -> None:
    n_rows, n_columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    how = data.draw(st.sampled_from(["C", "F", "strided", "unaligned"]))
    values = np.arange(n_rows * n_columns).reshape(n_rows, n_columns).astype(dtype)
    rows = ArrayRows(laid_out(values, how))
    assert rows.shape == (n_rows, n_columns)
    assert rows.nbytes == values.nbytes
    assert rows.dtype.isnative

    start = data.draw(st.integers(0, n_rows))
    stop = data.draw(st.integers(start, n_rows + 3))
    some = sorted(data.draw(st.sets(st.integers(0, n_rows - 1))))
    taken = np.array(some, dtype=np.int64)
    for result, expected in (
        (rows.read(start, stop), values[start:stop]),
        (rows.take(taken), values[taken]),
    ):
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == rows.dtype == dtype.newbyteorder("=")
        assert result.flags.c_contiguous
        assert result.flags.aligned


@pytest.mark.parametrize("at_once", [1, 40, 1 << 20])
def test_all_rows_as_an_array(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Rows that are not held are copied into a file, several at a time."""
    monkeypatch.setattr(rows_module, "COPIED_BYTES", at_once)
    matrix = np.random.default_rng(0).normal(size=(17, 3)).astype("f2")
    some = np.array([0, 3, 4, 16])
    copied = ChosenRows(ArrayRows(matrix), some).as_array()
    assert isinstance(copied, np.memmap)
    assert copied.dtype == matrix.dtype
    assert np.array_equal(copied, matrix[some])
    assert np.shares_memory(ArrayRows(matrix).as_array(), matrix)


def test_reading_an_array_as_it_is_copies_nothing() -> None:
    array = np.arange(12.0).reshape(4, 3)
    assert np.shares_memory(ArrayRows(array).read(1, 3), array)
    assert not np.shares_memory(ArrayRows(np.asfortranarray(array)).read(1, 3), array)


@pytest.mark.needs("torch")
def test_every_bfloat16_is_widened_exactly() -> None:
    import torch

    bits = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 8)
    expected = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()
    np.testing.assert_array_equal(widened(bits).view(np.uint32), expected.view(np.uint32))
    rows = ArrayRows(bits, bfloat16=True)
    assert rows.dtype == np.uint16
    values = rows.values(5, 7)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values.view(np.uint32), expected[5:7].view(np.uint32))


def test_values_of_other_rows_are_the_rows() -> None:
    array = np.array([[1.5, 2.0], [3.0, 4.0]], dtype=np.float16)
    values = ArrayRows(array).values(0, 2)
    assert values.dtype == np.float16
    np.testing.assert_array_equal(values, array)


@pytest.mark.parametrize("value", [["a", "b"], np.zeros(3), np.array([["a"]])])
def test_only_a_matrix_of_numbers_has_rows(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Data({"logits": value}).rows("logits")
    assert caught.value.code == "wrong-input"


def test_rows_are_refused_as_a_dense_matrix() -> None:
    rows = ArrayRows(np.zeros((2, 2)))
    data = Data({"logits": rows})
    assert data.rows("logits") is rows
    with pytest.raises(UsageError):
        data.dense("logits")
