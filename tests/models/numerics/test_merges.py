"""The groups that merges make, and how trees agree on them."""

from __future__ import annotations

import numpy as np

from models.numerics.merges import keys_of_groups, spans, top_agreement

MERGES = np.array([[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 2.0, 2.0], [4.0, 5.0, 3.0, 4.0]])


def test_the_items_of_a_group_lie_side_by_side() -> None:
    order, span = spans(MERGES)
    groups = [sorted(order[first:last].tolist()) for first, last in span[4:]]
    assert groups == [[0, 2], [1, 3], [0, 1, 2, 3]]


def test_a_group_has_the_sum_of_its_keys() -> None:
    assert keys_of_groups(MERGES, np.array([1, 2, 4, 8])).tolist() == [5, 10, 15]


def test_agreement_at_the_top() -> None:
    other = np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 4.0, 2.0, 3.0], [3.0, 5.0, 3.0, 4.0]])
    assert top_agreement(MERGES, [MERGES]) == 1.0
    # {0, 2} or {1, 3} beside {0, 1, 2} and {3}: two of three, or one of two.
    assert top_agreement(MERGES, [other]) in (0.5, 2 / 3)
    assert np.isnan(top_agreement(MERGES, []))
