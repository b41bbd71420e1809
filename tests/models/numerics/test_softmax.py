"""Softmax against literal sums, and at the edges of floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.numerics.softmax import log_softmax, row_blocks, softmax, winners

SHAPE = st.tuples(st.integers(1, 5), st.integers(1, 6))
LOGITS = arrays(np.float64, SHAPE, elements=st.floats(-300, 300))
ANY = arrays(np.float64, SHAPE, elements=st.floats(allow_nan=False, allow_infinity=False))


@settings(deadline=None)
@given(LOGITS)
def test_softmax_is_the_share_of_the_exponentials(logits: np.ndarray) -> None:
    for row, found, log_found in zip(logits, softmax(logits), log_softmax(logits), strict=True):
        total = math.fsum(math.exp(x) for x in row)
        assert found == pytest.approx([math.exp(x) / total for x in row], rel=1e-12)
        assert log_found == pytest.approx([x - math.log(total) for x in row], abs=1e-12)


@settings(deadline=None)
@given(ANY)
def test_any_finite_logits_give_probabilities(logits: np.ndarray) -> None:
    before = logits.copy()
    p = softmax(logits)
    assert (logits == before).all()
    assert np.isfinite(p).all()
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert not np.isnan(log_softmax(logits)).any()
    top, probability = winners(logits.copy())
    assert (top == logits.argmax(axis=1)).all()
    assert probability == pytest.approx(p.max(axis=1), rel=1e-12)


def test_winners_takes_the_lowest_of_equals_and_leaves_out_masked_columns() -> None:
    top, probability = winners(np.array([[1.0, 3.0, 3.0], [-np.inf, -np.inf, -900.0]]))
    assert top.tolist() == [1, 2]
    assert probability == pytest.approx([1 / (2 + math.exp(-2)), 1.0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_the_answer_is_float64_whatever_the_type(dtype: type) -> None:
    logits = np.array([[11, 3, -4], [0, 1, 2]], dtype=dtype)
    for function in (softmax, log_softmax):
        assert function(logits).dtype == np.float64
        assert (function(logits) == function(logits.astype(np.float64))).all()


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 9), st.integers(1, 40))
def test_blocks_cover_every_row_once(n_rows: int, row_length: int, values: int) -> None:
    blocks = list(row_blocks(n_rows, row_length, values))
    assert [row for block in blocks for row in range(block.start, block.stop)] == [*range(n_rows)]
    lengths = [block.stop - block.start for block in blocks]
    assert all(n == 1 or n * max(1, row_length) <= values for n in lengths)
