"""The rank of the threshold, exactly."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration.calibration import fewest_rows, group_quantiles, quantile, rank
from models.errors import UsageError


@given(st.integers(1, 10_000), st.integers(1, 999))
def test_the_rank_is_the_formula_in_fractions(n_rows: int, thousandths: int) -> None:
    alpha = thousandths / 1000
    assert rank(n_rows, alpha) == ceil((n_rows + 1) * (1 - Fraction(thousandths, 1000)))
    enough = rank(n_rows, alpha) <= n_rows
    assert enough == (n_rows >= fewest_rows(alpha))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.integers(1, 99))
def test_of_all_exchanges_the_promised_share_is_held(values: list[int], hundredths: int) -> None:
    alpha, scores = hundredths / 100, np.array(values, dtype=np.float64)
    n_rows = len(values) - 1
    if n_rows < fewest_rows(alpha):
        with pytest.raises(UsageError, match="calibration rows") as error:
            quantile(scores[1:], alpha)
        assert error.value.where["needed"] == fewest_rows(alpha)
        return
    held = sum(scores[new] <= quantile(np.delete(scores, new), alpha) for new in range(len(values)))
    assert Fraction(int(held), len(values)) >= 1 - Fraction(hundredths, 100)
    if len(set(values)) == len(values):
        assert held == rank(n_rows, alpha)


def test_groups_with_too_few_rows_have_no_threshold() -> None:
    scores, group = np.arange(8.0), np.array([0, 0, 0, 1, 2, 2, -1, 2])
    assert group_quantiles(scores, group, 4, 0.25).tolist() == [2.0, np.inf, 7.0, np.inf]


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, np.nan, np.inf])
def test_alpha_outside(alpha: float) -> None:
    with pytest.raises(UsageError, match="above 0 and below 1"):
        quantile(np.arange(5.0), alpha)
