"""Tests and intervals of proportions, against the definitions and SciPy."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models.drift import proportions
from models.drift.proportions import Tables, newcombe, proportion_tests, wilson

Counts = tuple[int, int, int, int]


def tables(*rows: Counts) -> Tables:
    """From hits and rows before, hits and rows after."""
    return Tables(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


@st.composite
def counts(draw: st.DrawFn, most: int = 30) -> Counts:
    n, m = draw(st.integers(0, most)), draw(st.integers(0, most))
    return draw(st.integers(0, n)), n, draw(st.integers(0, m)), m


def probabilities(table: Counts) -> dict[int, int]:
    """In how many ways the rows before can have so many of the hits, by the number of these."""
    a, n, b, m = table
    hits = a + b
    return {
        own: comb(n, own) * comb(m, hits - own) for own in range(max(0, hits - m), min(hits, n) + 1)
    }


@given(st.lists(counts(), min_size=1, max_size=8))
def test_the_exact_test_is_its_definition(rows: list[Counts]) -> None:
    found = proportion_tests(tables(*rows))
    for place, table in enumerate(rows):
        ways = probabilities(table)
        total = sum(ways.values())
        at_most = [each for each in ways.values() if each <= ways[table[0]]]
        assert found.p_value[place] == pytest.approx(sum(at_most) / total, rel=1e-9)
        rarest = [each for each in ways.values() if each == min(ways.values())]
        assert found.least[place] == pytest.approx(sum(rarest) / total, rel=1e-9)


def test_as_scipy_also_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, m = rng.integers(0, 180, (2, 60))
    a, b = rng.binomial(n, 0.3), rng.binomial(m, 0.35)
    monkeypatch.setattr(proportions, "_BLOCK", 100)
    found = proportion_tests(Tables(a, n, b, m)).p_value
    for place, row in enumerate(zip(a, n, b, m, strict=True)):
        hits, of, others, of_others = map(int, row)
        expected = stats.fisher_exact([[hits, of - hits], [others, of_others - others]]).pvalue
        assert found[place] == pytest.approx(expected, rel=1e-7), row


def test_large_tables_are_tested_by_chi_squared_and_long_ones_exactly() -> None:
    found = proportion_tests(tables((400, 1000, 530, 1200), (900, 8_000_000, 50, 700_000)))
    expected = stats.chi2_contingency([[400, 600], [530, 670]], correction=False).pvalue
    assert found.p_value[0] == pytest.approx(expected, rel=1e-12)
    assert found.least[0] == 0
    exact = stats.fisher_exact([[900, 8_000_000 - 900], [50, 700_000 - 50]]).pvalue
    assert found.p_value[1] == pytest.approx(exact, rel=1e-6)
    # The two agree where one takes over from the other.
    near = [(a, 300, 100, 300) for a in (90, 105, 120, 140)]
    by_chi_squared = proportion_tests(tables(*near)).p_value
    for table, p_value in zip(near, by_chi_squared, strict=True):
        a, n, b, m = table
        exact = stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
        assert p_value == pytest.approx(exact, rel=0.25)


def test_tables_that_can_tell_nothing() -> None:
    found = proportion_tests(
        tables((0, 0, 3, 5), (2, 4, 0, 0), (0, 4, 0, 5), (4, 4, 5, 5), (0, 0, 0, 0))
    )
    assert found.p_value.tolist() == [1] * 5
    assert found.least.tolist() == [1] * 5
    assert proportion_tests(tables()).p_value.shape == (0,)


@given(counts())
def test_wilson_is_that_of_scipy(table: Counts) -> None:
    hits, n, _, _ = table
    low, high = wilson(np.array([hits]), np.array([n]))
    if n == 0:
        assert np.isnan([low[0], high[0]]).all()
        return
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_newcombe_as_published() -> None:
    # Table II of the paper, (a) and (h), there first minus second.
    low, high = newcombe(tables((48, 80, 56, 70), (0, 10, 10, 10), (0, 0, 1, 2)))
    assert (low[0], high[0]) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert (low[1], high[1]) == pytest.approx((0.6075, 1.0), abs=5e-5)
    assert np.isnan([low[2], high[2]]).all()
