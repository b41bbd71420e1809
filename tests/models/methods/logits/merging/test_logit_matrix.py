"""The blocks of logits that passes read, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.methods.logits.merging import logit_matrix, reference, row_digest
from models.methods.logits.merging.logit_matrix import Kind, LogitMatrix
from models.running.progress import silent
from tests.models.methods.logits.merging.cases import (
    STORED,
    Case,
    assert_same,
    cases,
    cut,
    gaussian,
    seen,
    stored,
)
from tests.pairwise_kit import pairwise

LOGITS = gaussian(np.random.default_rng(0), 30, 7)


def plain(rows: ArrayRows) -> npt.NDArray[np.float64]:
    return rows.values(0, rows.shape[0]).astype(np.float64)


@pytest.mark.parametrize("kind", ["logits", "log_probs"])
@pytest.mark.parametrize("how", STORED)
def test_numbers_are_converted_exactly(how: str, kind: Kind) -> None:
    rows = stored(LOGITS, how)
    matrix = LogitMatrix(rows, kind)
    block = matrix.block(3, 20)
    assert block.dtype == matrix.dtype
    assert block.dtype == ("float32" if how.endswith(("t32", "f4", "t16")) else "float64")
    assert block.flags.c_contiguous
    assert block.dtype.isnative
    assert (block == plain(rows)[3:20]).all()


@pytest.mark.parametrize("how", STORED)
def test_probabilities_become_logarithms_in_float64(how: str) -> None:
    probs = np.exp(LOGITS - LOGITS.max(axis=1, keepdims=True))
    rows = stored(probs, how)
    matrix = LogitMatrix(rows, "probs")
    assert matrix.dtype == np.float64
    with np.errstate(divide="ignore"):
        expected = np.log(plain(rows))
    block = matrix.block(0, 30)
    assert block.dtype == np.float64
    assert (block == expected).all()


@settings(max_examples=200)
@given(cases(most_classes=40, most_rows=40))
def test_single_rows_are_to_the_last_bit_those_of_a_block(drawn: Case) -> None:
    matrix = drawn.matrix
    rng = np.random.default_rng(drawn.seed)
    rows = np.flatnonzero(rng.random(matrix.shape[0]) < 0.4)
    whole = matrix.block(0, matrix.shape[0])
    x, at = matrix.gather(rows)
    for some in (read(x)[at], read(matrix.packed(0, matrix.shape[0]))[rows], matrix.take(rows)):
        assert some.dtype == whole.dtype == matrix.dtype
        assert (some.view(np.uint8) == whole[rows].view(np.uint8)).all()


def read(packed: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values of `LogitMatrix.packed`."""
    return packed.view(np.float16).astype(np.float32) if packed.dtype == np.uint16 else packed


@pytest.mark.parametrize("how", ["float16", "float32", "float64"])
def test_what_is_as_wanted_is_not_copied(how: str) -> None:
    rows = stored(LOGITS, how)
    matrix = LogitMatrix(rows)
    assert np.shares_memory(matrix.packed(0, 30), rows.array)
    assert np.shares_memory(matrix.gather(np.array([2, 3]))[0], rows.array)
    assert np.shares_memory(matrix.block(0, 30), rows.array) == (how != "float16")


def test_an_array_at_an_odd_address_is_read() -> None:
    memory = np.zeros(LOGITS.nbytes + 1, dtype=np.uint8)
    odd = memory[1:].view(np.float64).reshape(LOGITS.shape)
    odd[:] = LOGITS
    assert not odd.flags.aligned
    matrix = LogitMatrix(ArrayRows(odd))
    assert matrix.block(0, 30).flags.aligned
    assert_same(Case(gaussian, 0, *LOGITS.shape, listed=1), matrix)


@pytest.mark.parametrize("kind", ["logits", "log_probs", "probs"])
@pytest.mark.parametrize("how", ["float32", "float64"])
def test_limits_are_the_least_and_the_largest_value(how: str, kind: Kind) -> None:
    matrix = LogitMatrix(stored(LOGITS, how), kind)
    assert matrix.limits.dtype == matrix.dtype
    assert matrix.limits.tolist() == [-np.inf, np.finfo(matrix.dtype).max]


# What is refused


def refusal(matrix: LogitMatrix, case: Case) -> UsageError:
    with cut(case, matrix), pytest.raises(UsageError) as caught:
        seen(case, matrix)
    assert caught.value.where["role"] == "logits"
    return caught.value


SHARES = {
    "whole": Case(gaussian, 0, 30, 7),
    "threads": Case(gaussian, 0, 30, 7, rows_at_once=4, threads=3),
    "pieces": Case(gaussian, 0, 30, 7, rows_at_once=4, n_pieces=7),
}


@pytest.mark.parametrize(
    ("value", "how", "share"),
    pairwise(
        (np.nan, -np.nan, np.inf),
        ("float64", "float32", "float16", "bfloat16", "fortran"),
        list(SHARES),
    ),
)
def test_a_logit_that_is_not_finite_is_named(value: float, how: str, share: str) -> None:
    case = SHARES[share]
    for row, column in ((0, 0), (17, 6), (29, 3)):
        rows = stored(LOGITS, how)
        values = plain(rows)
        values[row, column] = value
        values[29, 6] = np.nan
        rows = rows_with(rows, values)
        for temperature in (1.0, 2.0):
            error = refusal(LogitMatrix(rows, "logits", temperature), case)
            word = "NaN" if np.isnan(value) else "infinite"
            assert error.code == "not-finite"
            assert error.detail.startswith(
                f"Input 'logits' has a value that is {word} at row {row}, column {column} "
            )


@pytest.mark.parametrize("share", list(SHARES))
@pytest.mark.parametrize("how", ["float64", "float32", "float16", "bfloat16", "fortran", ">f4"])
@pytest.mark.parametrize("n_classes", [2, 7, 9, 130, 200])
def test_a_row_of_nothing_but_minus_infinity_is_named(how: str, share: str, n_classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(30, n_classes))
    for row in (0, 17, 29):
        values = logits.copy()
        values[::2, 1:] = -np.inf
        values[row] = -np.inf
        values[29, 0] = -np.inf if row == 29 else np.nan
        for temperature in (1.0, 2.0):
            matrix = LogitMatrix(stored_as(values, how), "logits", temperature)
            error = refusal(matrix, SHARES[share])
            assert error.code == "not-finite"
            assert error.where == {"role": "logits", "row": row}
            assert error.detail.startswith(f"Row {row} of input 'logits' (counted from 0) is -inf")


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_among_masked_ones(odd: float) -> None:
    values = np.random.default_rng(0).normal(size=(30, 7))
    values[::2, 3:] = -np.inf
    values[17, 2] = odd
    values[21] = -np.inf
    error = refusal(LogitMatrix(ArrayRows(values)), SHARES["pieces"])
    assert error.where == {"role": "logits", "row": 17, "column": 2}


def stored_as(values: npt.NDArray[np.float64], how: str) -> ArrayRows:
    """Values stored in a format, with -inf and NaN."""
    if how == "bfloat16":
        return rows_with(stored(values, how), values)
    if how == "fortran":
        return ArrayRows(np.asfortranarray(values))
    return ArrayRows(values.astype(how))


def rows_with(rows: ArrayRows, values: npt.NDArray[np.float64]) -> ArrayRows:
    """Values stored as others are."""
    if rows.bfloat16:
        bits = values.astype(np.float32).view(np.uint32) >> 16
        return ArrayRows(bits.astype(np.uint16), bfloat16=True)
    order = "F" if rows.array.flags.f_contiguous else "C"
    return ArrayRows(values.astype(rows.dtype, order=order))


PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


NO_PROBABILITIES = {
    "NaN": (np.nan, "column 2 is NaN"),
    "negative": (-0.25, "column 2 is negative"),
    "infinite": (np.inf, "the probabilities sum to inf, not to 1"),
    "too large": (2.5, "the probabilities sum to"),
    "zeros": (0.0, "the probabilities sum to 0, not to 1"),
}
"""A value that makes a row no distribution, and the reason in the message."""


@pytest.mark.parametrize(
    ("wrong", "temperature", "share"), pairwise(list(NO_PROBABILITIES), (1.0, 2.0), list(SHARES))
)
def test_a_row_of_no_probabilities_is_named(wrong: str, temperature: float, share: str) -> None:
    (value, why), case = NO_PROBABILITIES[wrong], SHARES[share]
    for row in (0, 17, 29):
        probs = PROBS.copy()
        probs[row] = 0.0 if value == 0.0 else probs[row]
        probs[row, 2] = value
        probs[29] = -1.0 if row < 29 else probs[29]
        error = refusal(LogitMatrix(ArrayRows(probs), "probs", temperature), case)
        assert error.code == "not-probabilities"
        assert error.detail.startswith(f"Row {row} of input 'logits' (counted from 0) holds no ")
        assert f"holds no probabilities: {why}" in error.detail
        if value < 0:
            continue
        with np.errstate(divide="ignore"):
            log = np.log(np.maximum(probs, 0.0))
        error = refusal(LogitMatrix(ArrayRows(log), "log_probs", temperature), case)
        assert f"Row {row} " in error.detail
        assert f"holds no log-probabilities: {why}" in error.detail


@pytest.mark.parametrize("kind", ["log_probs", "probs"])
@settings(max_examples=150)
@given(st.integers(0, 1 << 30), st.sampled_from([0.98, 1.02]), st.floats(-2e-5, 2e-5))
def test_a_sum_at_the_edge_of_what_is_allowed_is_refused_or_read(
    kind: Kind, seed: int, edge: float, beside: float
) -> None:
    """A row that the scan refuses is refused by the exact check too; any other is scanned."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 60))
    e = np.exp(rng.normal(size=(6, n_classes)) * rng.choice([0.1, 1.0, 3.0]))
    probs = e / e.sum(axis=1, keepdims=True)
    probs[2] *= edge * (1.0 + beside * rng.choice([1.0, 1e-2, 1e-5]))
    for how in ("float64", "float32"):
        values = (np.log(probs) if kind == "log_probs" else probs).astype(how)
        matrix = LogitMatrix(ArrayRows(values), kind)
        try:
            digest = row_digest.scan(matrix, 0, 6, 1, silent)
        except UsageError as error:
            assert "Row 2 " in error.detail  # noqa: PT017
            with pytest.raises(UsageError, match="Row 2 "):
                matrix.require_values(0, 6)
        else:
            assert (digest.label == reference.assign(matrix).label).all()
            assert digest.size.sum() == 6


@pytest.mark.parametrize("how", ["float64", "float32", "float16", "bfloat16"])
def test_the_largest_numbers_of_a_type_are_values(how: str) -> None:
    rows = stored(np.where(LOGITS > 0, 1e308, -1e308), how)
    assert np.isfinite(plain(rows)).all()
    assert np.abs(plain(rows)).max() > 6e4
    for threads in (1, 2):
        assert_same(
            replace(SHARES["whole"], listed=2, rows_at_once=5, threads=threads), LogitMatrix(rows)
        )


def test_every_float16_is_widened_as_numpy_does() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(256, 256)
    for values in (halves, halves[:, ::2], np.asfortranarray(halves)):
        wide = logit_matrix._widened_halves(values)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(wide, values.astype(np.float32), equal_nan=True)
        assert (np.signbit(wide) == np.signbit(values)).all()
