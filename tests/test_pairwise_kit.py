"""Cases by pairs against what they are to hold."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from tests.pairwise_kit import pairwise


def test_three_options_of_two_values_take_four_cases() -> None:
    assert pairwise("ab", (1, 2), (False, True)) == [
        ("a", 1, False),
        ("a", 2, True),
        ("b", 1, True),
        ("b", 2, False),
    ]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_each_pair_of_values_shares_a_case(n_values: list[int]) -> None:
    options = [range(n) for n in n_values]
    cases = pairwise(*options)
    assert len(cases) <= len(list(product(*options)))
    for first, second in combinations(range(len(options)), 2):
        pairs = {(case[first], case[second]) for case in cases}
        assert pairs == set(product(options[first], options[second]))
