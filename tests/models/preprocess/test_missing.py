"""Step 'missing' against its definition, value by value, and in new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.arrays import Float
from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.preprocess import pipeline as pipelines
from models.preprocess import steps
from models.preprocess.inputs import fit_inputs
from models.preprocess.pipeline import Pipeline, PreparedRows, fit

NAN = float("nan")
MEAN, MEDIAN = [{"step": "missing", "fill": "mean"}], [{"step": "missing", "fill": "median"}]


def holed(seed: int, n: int = 40, d: int = 7) -> Float:
    """Values with empty ones, but none of a whole row or column."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) * 10
    values[rng.random((n, d)) < 0.3] = NAN
    values[np.arange(n), np.arange(n) % d] = 1.0 + np.arange(n)
    return values


def literally(fitted_on: Float, rows: Float, fill: str) -> Float:
    """Each empty value by the mean or the median of its column, one by one."""
    filled = rows.copy()
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if np.isnan(value):
                known = sorted(v for v in fitted_on[:, j].tolist() if not np.isnan(v))
                middle = len(known) // 2
                filled[i, j] = (
                    sum(known) / len(known)
                    if fill == "mean"
                    else (known[middle] + known[-middle - 1]) / 2
                )
    return filled


def dense(result: Any) -> Float:
    return np.concatenate(list(result.blocks())) if isinstance(result, PreparedRows) else result


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 9))
def test_an_empty_value_is_its_columns_mean_or_median(seed: int, n: int, d: int) -> None:
    values = holed(seed, n + d, d)
    new = holed(seed + 1, 5 + d, d)
    for requested in (MEAN, MEDIAN):
        for features in (values, ArrayRows(values)):
            pipeline, result, _ = fit(requested, features, 0)
            expected = literally(values, values, requested[0]["fill"])
            assert dense(result) == pytest.approx(expected, rel=1e-12, abs=1e-12)
            placed = pipeline.apply(new)
            expected = literally(values, new, requested[0]["fill"])
            assert placed == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("requested", [MEAN, MEDIAN])
def test_blocks_and_groups_of_columns_give_the_same(
    requested: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = holed(3)
    expected = dense(fit(requested, values, 0)[1])
    monkeypatch.setattr(pipelines, "_BLOCK_BYTES", 8 * 7 * 3)
    monkeypatch.setattr(steps, "_MEDIAN_VALUES", 2 * len(values))
    assert dense(fit(requested, ArrayRows(values), 0)[1]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("requested", [MEAN, MEDIAN])
def test_the_order_of_rows_and_columns_changes_nothing(requested: Any) -> None:
    values = holed(4)
    rows, columns = np.random.default_rng(0).permutation(40), [3, 1, 0, 6, 5, 2, 4]
    expected = dense(fit(requested, values, 0)[1])[rows][:, columns]
    assert dense(fit(requested, values[rows][:, columns], 0)[1]) == pytest.approx(expected)


def test_what_it_learned_is_kept() -> None:
    pipeline, _, _ = fit([*MEDIAN, {"step": "standardize"}], holed(5), 0)
    requested = [step.model_dump(mode="json") for step in pipeline.steps]
    again = Pipeline.of(requested, pipeline.arrays(), pipeline.n_features)
    assert np.array_equal(again.apply(holed(6)), pipeline.apply(holed(6)))


def test_single_precision_stays_and_whole_numbers_have_nothing_missing() -> None:
    assert dense(fit(MEAN, holed(7).astype(np.float32), 0)[1]).dtype == np.float32
    whole = np.arange(12).reshape(4, 3)
    _, result, warnings = fit(MEAN, whole, 0)
    assert np.array_equal(result, whole)
    assert warnings == ()


def test_the_filled_values_of_each_column_are_counted() -> None:
    values = np.ones((5, 4))
    values[[0, 2], 1] = values[4, 3] = NAN
    pipeline, _, warnings = fit(MEAN, values, 0)
    expected = (
        "missing: 3 empty value(s) of 'features' were replaced by the mean of their column "
        "(counted from 0): 2 in column 1, 1 in column 3.",
    )
    assert warnings == expected
    assert pipeline.filled(ArrayRows(values)) == pipeline.filled(values) == expected
    assert pipeline.filled(np.ones((2, 4))) == ()


def test_many_columns_are_summed_up() -> None:
    values = np.ones((2, 30))
    values[0, 1:] = NAN
    (warning,) = fit(MEDIAN, values, 0)[2]
    assert "29 empty" in warning
    assert "1 in column 20, 9 in 9 other column(s)." in warning


def test_the_rows_that_grow_a_job_are_filled_as_its_own_and_counted() -> None:
    values = holed(8)
    preparation, _, _ = fit_inputs(MEAN, {"features": values}, 0)
    new = np.full((1, 7), NAN)
    new[0, 0] = 2.0
    (warning,) = preparation.filled({"features": new})
    assert "6 empty" in warning
    filled = preparation.apply({"features": new})["features"]
    assert filled == pytest.approx(literally(values, new, "mean"))


@pytest.mark.parametrize("kind", [np.asarray, ArrayRows])
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((slice(None), 2), NAN, "no value in column 2"),
        ((33, slice(None)), NAN, "no value at all in row 33"),
        ((31, 4), float("inf"), "infinite at row 31, column 4"),
        ((31, 4), -float("inf"), "infinite at row 31, column 4"),
        ((slice(None), 4), 1e308, "column 4 .* overflows"),
    ],
)
def test_what_cannot_be_filled_is_named_by_its_place(
    kind: Any, place: Any, value: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "_BLOCK_BYTES", 8 * 7 * 3)
    values = holed(9)
    values[place] = value
    for requested in (MEAN, MEDIAN):
        with pytest.raises(UsageError, match=message):
            fit(requested, kind(values), 0)


@pytest.mark.parametrize("place", [(1, slice(None)), (1, 4)])
def test_new_rows_that_cannot_be_filled_are_named_too(place: Any) -> None:
    pipeline = fit(MEAN, holed(10), 0)[0]
    new = holed(11)
    new[place] = NAN if place[1] == slice(None) else float("inf")
    for use in (pipeline.apply, pipeline.filled):
        with pytest.raises(UsageError, match="row 1"):
            use(new)


def test_without_it_an_empty_value_is_refused() -> None:
    for requested in ([], [{"step": "standardize"}]):
        for features in (holed(12), ArrayRows(holed(12))):
            with pytest.raises(UsageError, match="NaN at row"):
                dense(fit(requested, features, 0)[1])


def test_it_comes_first_and_takes_dense_features() -> None:
    with pytest.raises(UsageError, match="comes first"):
        fit([{"step": "l2"}, *MEAN], np.ones((3, 2)), 0)
    with pytest.raises(UsageError, match="comes first"):
        fit([{"step": "words", "min_count": 1}, *MEAN], ["a b", "b c"], 0)
    with pytest.raises(UsageError, match="dense"):
        fit(MEAN, sp.csr_array(np.eye(3)), 0)
