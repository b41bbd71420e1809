"""Single features along which points split, against literal sums and a fine grid of slopes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.margins.splitting import loops, objective
from tests.models.methods.margins.splitting.loops.hinge_kit import literal_hinge


def drawn(seed: int) -> tuple[np.ndarray, int, int, int]:
    """Ascending values with ties and gaps, bounds on sizes, and the number of clusters."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 5)), int(rng.integers(5, 40))
    low, high = objective.bounds(n, k, 0.7, 1.3)
    values = rng.normal(size=n) + 3.0 * rng.integers(0, 3, size=n)
    return np.sort(values.round(1)), low, high, k


def cuts(values: np.ndarray, low: int, high: int, k: int) -> np.ndarray:
    cut = np.empty(k + 1, dtype=np.int64)
    loops.cuts(values, low, high, k, cut)
    return cut


@given(st.integers(0, 10_000))
def test_each_cut_is_in_the_widest_gap_that_leaves_room(seed: int) -> None:
    values, low, high, k = drawn(seed)
    cut = cuts(values, low, high, k)
    size = np.diff(cut)
    assert size.sum() == values.size
    assert low <= size.min() <= size.max() <= high
    for number in range(1, k):
        feasible = [
            at
            for at in range(cut[number - 1] + low, min(cut[number - 1] + high, values.size - 1) + 1)
            if (k - number) * low <= values.size - at <= (k - number) * high
        ]
        gaps = {at: values[at] - values[at - 1] for at in feasible}
        assert gaps[cut[number]] == max(gaps.values())


@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
def test_the_hinge_is_that_of_weights_and_intercepts(seed: int, slope: float) -> None:
    values, low, high, k = drawn(seed)
    cut = cuts(values, low, high, k)
    middle = np.array([0.5 * (values[at - 1] + values[at]) for at in cut[1:-1]])
    weights = slope * np.column_stack(
        [np.arange(k) - 0.5 * (k - 1), -np.concatenate([[0.0], np.cumsum(middle)])]
    )
    points = np.column_stack([values, np.ones(values.size)])
    cluster = np.repeat(np.arange(k), np.diff(cut))
    expected = literal_hinge(points, cluster, weights)
    assert loops.interval_hinge(values, cut, slope) == pytest.approx(expected)


@pytest.mark.parametrize(("seed", "group", "ridge"), [*product(range(5), [0.0, 0.1], [0.0, 0.05])])
def test_the_value_is_the_least_over_slopes(seed: int, group: float, ridge: float) -> None:
    values, low, high, k = drawn(seed)
    points = np.column_stack(
        [np.random.default_rng(seed).permutation(values), np.ones(values.size)]
    )
    one = np.ones(1)
    (value,) = loops.screened(points[:, :1], low, high, k, 0.02 * one, group * one, ridge * one)
    cut = cuts(values, low, high, k)
    place = np.arange(k) - 0.5 * (k - 1)
    grid = [
        loops.interval_hinge(values, cut, slope)
        + slope * (0.02 * np.abs(place).sum() + group * np.linalg.norm(place))
        + slope**2 * ridge * (place**2).sum()
        for slope in np.geomspace(0.1, 1000.0, 4000) / values.std()
    ]
    assert min(grid) * (1 - 1e-5) <= value <= min(grid) * 1.001


def test_a_column_of_equal_values_is_never_chosen() -> None:
    points = np.column_stack([np.ones(10), np.arange(10.0)])
    none = np.zeros(2)
    value = loops.screened(points, 4, 6, 2, none + 0.1, none, none)
    assert np.isinf(value[0])
    assert np.isfinite(value[1])
