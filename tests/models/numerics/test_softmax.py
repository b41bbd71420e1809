"""Softmax against literal sums, and at the edges of floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.arrays import row_blocks
from models.numerics.rows import log_softmax

SHAPE = st.tuples(st.integers(1, 5), st.integers(1, 6))
LOGITS = arrays(np.float64, SHAPE, elements=st.floats(-300, 300))
ANY = arrays(np.float64, SHAPE, elements=st.floats(allow_nan=False, allow_infinity=False))


@settings(deadline=None)
@given(LOGITS)
def test_it_is_the_logarithm_of_the_share_of_the_exponentials(logits: np.ndarray) -> None:
    for row, result in zip(logits, log_softmax(logits), strict=True):
        total = math.fsum(math.exp(x) for x in row)
        assert result == pytest.approx([x - math.log(total) for x in row], abs=1e-12)


@settings(deadline=None)
@given(ANY)
def test_any_finite_logits_give_probabilities(logits: np.ndarray) -> None:
    before = logits.copy()
    log_probs = log_softmax(logits)
    assert (logits == before).all()
    assert not np.isnan(log_probs).any()
    assert np.exp(log_probs).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_the_answer_is_float64_whatever_the_type(dtype: type) -> None:
    logits = np.array([[11, 3, -4], [0, 1, 2]], dtype=dtype)
    assert log_softmax(logits).dtype == np.float64
    assert (log_softmax(logits) == log_softmax(logits.astype(np.float64))).all()


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 9), st.integers(1, 40))
def test_blocks_cover_every_row_once(n_rows: int, row_length: int, values: int) -> None:
    blocks = list(row_blocks(n_rows, row_length, values))
    assert [row for block in blocks for row in range(block.start, block.stop)] == [*range(n_rows)]
    lengths = [block.stop - block.start for block in blocks]
    assert all(n == 1 or n * max(1, row_length) <= values for n in lengths)
