"""TreeBH against its definition, told literally, and against Benjamini and Hochberg's procedure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from models.drift.selection import focused, selected


def naive(parent: list[int], p_value: list[float], level: float) -> tuple[list[float], set[int]]:
    """Combined p-values from the last hypothesis up, families from the first down."""
    below: dict[int, list[int]] = {}
    for own, above in enumerate(parent):
        below.setdefault(above, []).append(own)
    combined = list(p_value)
    for own in reversed(range(len(parent))):
        if own in below:
            ordered = sorted(combined[each] for each in below[own])
            combined[own] = min(len(ordered) * p / (i + 1) for i, p in enumerate(ordered))
    rejected: set[int] = set()
    waiting = [(-1, level)]
    while waiting:
        above, own_level = waiting.pop()
        family = sorted(below.get(above, []), key=lambda each: combined[each])
        most = 0
        for rank, each in enumerate(family, 1):
            if combined[each] <= own_level * rank / len(family):
                most = rank
        rejected.update(family[:most])
        waiting += [(each, own_level * most / len(family)) for each in family[:most]]
    return combined, rejected


@st.composite
def hypotheses(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    n = draw(st.integers(1, 25))
    parent = [draw(st.integers(max(-1, own - 6), own - 1)) for own in range(n)]
    # Powers of two, so that a level times a share is met exactly or clearly missed.
    exponents = st.integers(1, 14).map(lambda power: 0.9 * 2.0**-power)
    return parent, [draw(exponents) for _ in range(n)]


@given(hypotheses(), st.sampled_from([0.05, 0.3]))
def test_as_the_definition(case: tuple[list[int], list[float]], level: float) -> None:
    parent, p_value = case
    found = selected(np.array(parent), np.array(p_value), level)
    combined, rejected = naive(parent, p_value, level)
    np.testing.assert_allclose(found.p_value, combined, rtol=1e-12)
    assert set(np.flatnonzero(found.rejected).tolist()) == rejected


def test_one_family_is_the_procedure_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(0)
    p_value = np.concatenate([rng.random(200), 1e-4 * rng.random(20), [1e-300, 0.0]])
    found = selected(np.full(p_value.size, -1), p_value, 0.1)
    np.testing.assert_array_equal(found.rejected, false_discovery_control(p_value) <= 0.1)
    assert found.rejected.sum() >= 20


@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=15))
def test_focused_rejects_by_how_many_would_be_listed(cases: list[tuple[int, bool]]) -> None:
    ordered = sorted(cases, key=lambda case: -case[0])
    p_value = [0.9 * 2.0**-power for power, _ in ordered]
    listed = [True, *(each for _, each in ordered[1:])]
    found = focused(np.array(p_value), np.array(listed))
    for level in (0.02, 0.1, 0.5):
        most = 0
        for n_rejected in range(1, len(p_value) + 1):
            n_listed = sum(listed[:n_rejected])
            if len(p_value) * p_value[n_rejected - 1] <= level * n_listed:
                most = n_rejected
        assert (found <= level).tolist() == [place < most for place in range(len(p_value))]
    plain = focused(np.array(p_value), np.ones(len(p_value), dtype=bool))
    np.testing.assert_allclose(plain, false_discovery_control(p_value))


def test_nothing_to_select_from_and_a_long_chain() -> None:
    assert selected(np.zeros(0, dtype=np.int64), np.zeros(0), 0.1).rejected.shape == (0,)
    n = 5000
    found = selected(np.arange(n) - 1, np.full(n, 0.04), 0.05)
    assert found.rejected.all()
    assert found.p_value == pytest.approx(0.04)


def test_where_nothing_is_to_be_found_something_is_found_at_the_level() -> None:
    rng = np.random.default_rng(1)
    parent = np.array([-1, -1, *[0] * 12, *[1] * 5, *[2] * 3])
    n_runs = 2000
    any_found = sum(
        selected(parent, rng.random(parent.size), 0.1).rejected.any() for _ in range(n_runs)
    )
    # Simes' test is exact for independent p-values: three standard errors.
    assert abs(any_found / n_runs - 0.1) < 3 * np.sqrt(0.1 * 0.9 / n_runs)
