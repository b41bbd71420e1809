"""Time stamps and the periods they fall into."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Model
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.time.periods import Periods, TimedRows, stamps_of
from models.numerics.sphere import uniform


def stamps(values: Any, n: int | None = None, dated: bool | None = None) -> tuple[np.ndarray, bool]:
    return stamps_of(Data({"timestamps": values}), len(values) if n is None else n, dated)


def texts(*values: str) -> np.ndarray:
    return np.array(values, dtype=object)


@pytest.mark.parametrize("kind", [np.int64, np.int16, np.uint8, np.float64, np.float32])
def test_distinct_stamps_are_periods_in_any_order(kind: Any) -> None:
    result, dated = stamps(np.array([7, 3, 3, 9, 7], dtype=kind))
    periods = Periods.of(result, dated, None)
    assert not dated
    assert periods.n == 3
    assert periods.period(result).tolist() == [1, 0, 0, 2, 1]
    assert periods.labels() == ["3", "7", "9"]
    # Before the first, between, after the last.
    assert periods.period(np.array([-5, 3, 5, 8, 9, 10, 99])).tolist() == [0, 0, 0, 1, 2, 3, 3]


def test_bins_are_equal_and_count_on() -> None:
    result = np.array([0.0, 0.9, 1.0, 2.4, 4.0])
    periods = Periods.of(result, False, 4)
    assert periods.n == 4
    assert periods.period(result).tolist() == [0, 0, 1, 2, 3]
    assert periods.labels() == ["0", "1", "2", "3"]
    assert periods.period(np.array([-1.0, 4.5, 5.0, 7.2, 1e12])).tolist() == [0, 4, 5, 7, 10_004]
    alike = Periods.of(np.array([2, 2]), False, 3)
    assert alike.period(np.array([1, 2, 3])).tolist() == [0, 0, 3]


def test_times_of_any_zone_and_precision() -> None:
    result, dated = stamps(
        texts(
            "2024-05-31",
            "2024-05-31T02:00:00+02:00",
            "2024-05-31T00:00:00Z",
            "2024-05-31T00:00:00.000001",
            "1969-12-31T23:59:59.5Z",
        )
    )
    assert dated
    assert result[0] == result[1] == result[2] == result[3] - 1
    assert result[4] == -500_000
    periods = Periods.of(result, dated, None)
    assert periods.period(result).tolist() == [1, 1, 1, 2, 0]
    assert periods.labels() == [
        "1969-12-31T23:59:59.500000Z", "2024-05-31T00:00:00Z", "2024-05-31T00:00:00.000001Z",
    ]  # fmt: skip
    kept = Periods.of_model(Model(periods.arrays(), json.loads(json.dumps(periods.facts()))))
    assert kept.period(result).tolist() == [1, 1, 1, 2, 0]
    assert kept.labels() == periods.labels()


@pytest.mark.parametrize(
    ("values", "n", "dated", "code", "row"),
    [
        (np.array([1.0, np.nan]), 2, None, "not-finite", 1),
        (np.array([np.inf, 2.0]), 2, None, "not-finite", 0),
        (np.array([1, 2, 3]), 2, None, "wrong-shape", None),
        (texts("2024-05-31", "yesterday"), 2, None, "wrong-input", 1),
        (texts("2024-05-31", "2024-13-01"), 2, None, "wrong-input", 1),
        (np.ones((2, 2)), 2, None, "wrong-input", None),
        (sp.csr_array(np.eye(2)), 2, None, "wrong-input", None),
        (np.array([1j, 2]), 2, None, "wrong-input", None),
        (texts("2024-05-31"), 1, False, "wrong-input", None),
        (np.array([1]), 1, True, "wrong-input", None),
    ],
)
def test_unusable_stamps_are_named(
    values: Any, n: int, dated: bool | None, code: str, row: int | None
) -> None:
    with pytest.raises(UsageError) as caught:
        stamps(values, n, dated)
    assert caught.value.code == code
    assert caught.value.where["role"] == "timestamps"
    assert caught.value.where.get("row") == row


def test_too_many_distinct_stamps_want_bins() -> None:
    many = np.arange(5000)
    with pytest.raises(UsageError, match="Give 'n_periods'"):
        Periods.of(many, False, None)
    assert Periods.of(many, False, 10).n == 10


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "sparse", "sorted"])
def test_rows_are_sorted_by_period(kind: str) -> None:
    period = np.array([2, 0, 2, 4, 0, 2])
    if kind == "sorted":
        period = np.sort(period)
    values = uniform(6, 3, np.random.default_rng(0))
    features: Any = {"sorted": values, "sparse": sp.csr_array(values)}.get(kind)
    if features is None:
        features = values.astype(kind)
    timed = TimedRows.of(UnitRows.of(Data({"features": features})), period, 6)
    assert timed.n_periods == 6
    assert timed.start.tolist() == [0, 2, 2, 5, 5, 6, 6]
    for t, part in enumerate(timed.parts()):
        own = np.flatnonzero(period == t)
        assert part.shape == (len(own), 3)
        assert timed.order[timed.start[t] : timed.start[t + 1]].tolist() == own.tolist()
        if len(own):
            block = part.block(slice(0, len(own)))
            dense = block.toarray() if sp.issparse(block) else block
            assert dense == pytest.approx(values[own], abs=2e-3)
