"""P-values of gaps between merge heights, by the definition and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Float
from models.levels.height_gaps import OFFSET, SIGNIFICANT, gap_p_values


def p_values(spacing: list[float]) -> list[float]:
    """Of heights whose spacings are these, for k = 2, 3, ..."""
    k = np.arange(2, 2 + len(spacing))
    height = np.exp(-np.cumsum(np.r_[0.0, spacing / (k + OFFSET)]))
    return gap_p_values(k, height[1:], height[:-1]).tolist()


def literal(spacing: list[float]) -> list[float]:
    """Step by step: of those that are left, the one with the least p-value goes, if significant."""
    ks = range(2, 2 + len(spacing))
    p: dict[int, float] = {}
    left = dict(zip(ks, spacing, strict=True))
    while left:
        now = {
            k: min(
                1.0, k * sum(1 / j for j in ks) * (1 - x / sum(left.values())) ** (len(left) - 1)
            )
            for k, x in left.items()
        }
        p |= now
        least = min(now, key=lambda k: now[k])
        if now[least] > SIGNIFICANT:
            break
        del left[least]
    return [p[k] for k in ks]


@given(st.lists(st.floats(0.01, 30.0), min_size=1, max_size=40))
def test_the_steps_are_the_definition(spacing: list[float]) -> None:
    assert p_values(spacing) == pytest.approx(literal(spacing), rel=1e-6, abs=1e-12)


def test_the_share_of_one_spacing_has_the_stated_law() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(40_000, 25))
    share: Float = draws[:, 3] / draws.sum(axis=1)
    for least in (0.05, 0.1, 0.2):
        assert (share > least).mean() == pytest.approx((1 - least) ** 24, abs=0.008)


def test_chance_gives_a_significant_gap_in_at_most_five_of_a_hundred() -> None:
    rng = np.random.default_rng(1)
    found = sum(
        min(p_values(rng.exponential(size=40).tolist())) <= SIGNIFICANT for _ in range(2000)
    )
    assert 0.02 < found / 2000 < 0.065


def test_two_gaps_do_not_hide_each_other() -> None:
    spacing = [1.0] * 60
    spacing[1], spacing[8] = 30.0, 25.0
    significant = [k for k, p in enumerate(p_values(spacing), 2) if p <= SIGNIFICANT]
    assert significant == [3, 10]


def test_equal_heights_are_no_gaps() -> None:
    k = np.arange(2, 30)
    assert gap_p_values(k, np.ones(28), np.ones(28)).tolist() == [1.0] * 28
    assert gap_p_values(k[:0], np.ones(0), np.ones(0)).size == 0
