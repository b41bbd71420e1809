"""In-sample or not: the share of rows like the fitted ones that is inside."""

from __future__ import annotations

import numpy as np
import pytest

from models.method import Model
from models.methods.sphere.mixture.result import MOST_KEPT, InSample


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [20, 99, 1000])
def test_at_least_the_level_of_new_rows_is_inside(level: float, n: int) -> None:
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        inside = InSample.of(rng.normal(size=n), level)
        shares.append(inside.columns(rng.normal(size=50))["in_sample"].mean())
    result = np.mean(shares)
    slack = 4 * np.std(shares) / 20
    # One in n + 1 lies below the lowest of n, so few rows allow no more.
    low = min(level, 1 - 1 / (n + 1))
    assert low - slack <= result <= low + 1 / (n + 1) + slack


def test_the_columns() -> None:
    inside = InSample.of(np.arange(1.0, 100.0), 0.95)
    assert inside.threshold == 5.0
    result = inside.columns(np.array([0.0, 4.9, 5.0, 50.0, 1000.0]))
    assert result["in_sample"].tolist() == [0, 0, 1, 1, 1]
    assert result["in_sample_rank"] == pytest.approx(np.array([0, 4, 5, 50, 99]) / 99)
    again = InSample.of_model(Model(inside.arrays, inside.facts))
    assert again.threshold == inside.threshold
    assert again.level == inside.level


def test_a_large_reference_is_thinned_and_its_threshold_is_not() -> None:
    values = np.random.default_rng(1).normal(size=50_000)
    inside = InSample.of(values, 0.95)
    assert inside.reference.size == MOST_KEPT
    assert inside.threshold == np.sort(values)[2499]
    rank = inside.columns(np.array([0.0]))["in_sample_rank"]
    assert rank == pytest.approx((values <= 0).mean(), abs=2e-4)


def test_one_row_is_a_reference() -> None:
    assert InSample.of(np.array([3.0]), 0.95).columns(np.array([2.0, 3.0]))[
        "in_sample"
    ].tolist() == [
        0,
        1,
    ]
