"""Heatmaps of features with empty values: statistics over what is there, cells without a value."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from models.errors import UsageError
from models.heatmaps.drawing import Heatmap, heatmap
from models.heatmaps.gaps import MISSING, Gaps, moments
from models.heatmaps.heatmap import HeatmapTerms, pooled_range, quantised, tile
from models.inputs.rows import ArrayRows
from models.running.progress import silent
from models.tree.build import from_partition
from models.tree.tree import Tree

RNG = np.random.default_rng(7)
GROUP = np.arange(40) % 4
ROWS = RNG.normal(size=(40, 5)) + 3.0 * GROUP[:, None]
ROWS[RNG.random(ROWS.shape) < 0.3] = np.nan
ROWS[GROUP == 2, 1] = np.nan
NAMES = [*"abcde"]


def tree() -> Tree:
    return from_partition(GROUP, 4)


def drawn(rows: Any, **terms: Any) -> Heatmap:
    return heatmap(tree(), None, rows, NAMES, HeatmapTerms(**terms), silent)


def literal(statistic: str) -> np.ndarray:
    out = np.full((4, 5), np.nan)
    for group in range(4):
        for column in range(5):
            own = ROWS[group == GROUP, column]
            own = own[~np.isnan(own)]
            if own.size:
                out[group, column] = np.mean(own) if statistic == "mean" else np.median(own)
    return out


@pytest.mark.parametrize("as_rows", [False, True])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_statistics_are_over_what_is_there(
    statistic: Literal["mean", "median"], as_rows: bool
) -> None:
    made = drawn(ArrayRows(ROWS) if as_rows else ROWS, statistic=statistic, scale="none")
    assert made.columns is not None
    order = made.columns["column"]
    # The leaves are the groups.
    row_of = [int(name) for name in made.rows["name"]]
    np.testing.assert_allclose(made.values, literal(statistic)[row_of][:, order], rtol=1e-12)
    assert np.isnan(made.values).sum() == 1
    assert made.missing == MISSING
    assert any("drawn as missing" in note for note in made.warnings)
    mean = np.array(made.columns["mean"])
    np.testing.assert_allclose(mean, np.nanmean(ROWS, axis=0)[order])
    np.testing.assert_allclose(made.columns["deviation"], np.nanstd(ROWS, axis=0)[order])


def test_the_standard_scale_is_that_of_the_values_that_are_there() -> None:
    made = drawn(ROWS)
    assert made.columns is not None
    order = made.columns["column"]
    scaled = (literal("mean") - np.nanmean(ROWS, axis=0)) / np.nanstd(ROWS, axis=0)
    row_of = [int(name) for name in made.rows["name"]]
    np.testing.assert_allclose(made.values, scaled[row_of][:, order], atol=1e-6)


def test_the_share_between_groups() -> None:
    gaps = Gaps.of(ROWS)
    assert gaps is not None
    found = moments(gaps.filled, gaps.there, GROUP, 4).between
    for column in range(5):
        own = ~np.isnan(ROWS[:, column])
        value, group = ROWS[own, column], GROUP[own]
        means = {each: value[group == each].mean() for each in set(group.tolist())}
        parts = [(means[each] - value.mean()) ** 2 for each in group.tolist()]
        assert found[column] == pytest.approx(np.mean(parts) / value.var())


def test_cells_without_a_value_have_the_last_step() -> None:
    made = drawn(ROWS, scale="none")
    row, column = pooled_range(4, 0, 0), pooled_range(5, 0, 0)
    assert row is not None
    assert column is not None
    steps = quantised(tile(made.values, "features", None, row, column), made.low, made.top)
    np.testing.assert_array_equal(steps == MISSING, np.isnan(made.values))
    known = ~np.isnan(made.values)
    read = made.low + steps / MISSING * (made.top - made.low)
    np.testing.assert_allclose(
        read[known], made.values[known], atol=(made.top - made.low) / MISSING
    )


def test_cells_of_several_rows_average_what_is_there() -> None:
    values = RNG.normal(size=(600, 300))
    values[RNG.random(values.shape) < 0.5] = np.nan
    values[:4, :4] = np.nan
    rows, columns = pooled_range(600, 0, 0), pooled_range(300, 0, 0)
    assert rows is not None
    assert columns is not None
    found = tile(values, "features", None, rows, columns)
    assert np.isnan(found[0, 0])
    for at, begin in enumerate(rows.cells[1:5].tolist(), 1):
        for beside, first in enumerate(columns.cells[:5].tolist()):
            part = values[begin : begin + rows.pooled, first : first + columns.pooled]
            expected = np.nanmean(part) if (~np.isnan(part)).any() else np.nan
            np.testing.assert_allclose(found[at, beside], expected)


def test_a_column_without_any_value() -> None:
    rows = ROWS.copy()
    rows[:, 4] = np.nan
    made = drawn(rows)
    assert any("No row has a value in 'e'" in note for note in made.warnings)
    with pytest.raises(UsageError, match="No value is in any"):
        drawn(np.full((40, 5), np.nan))


def test_infinite_values_are_still_refused() -> None:
    rows = ROWS.copy()
    rows[3, 0] = np.inf
    with pytest.raises(UsageError):
        drawn(rows)


def test_rows_without_gaps_are_as_before() -> None:
    assert Gaps.of(np.nan_to_num(ROWS)) is None
    made = drawn(np.nan_to_num(ROWS))
    assert made.missing is None
    assert made.top == made.high
