"""The canonical order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from models.numerics.rows import canonical


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
def test_shuffled_rows_come_in_the_same_order(kind: type) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, size=(200, 5)).astype(kind)
    shuffled = rows[rng.permutation(len(rows))]
    assert (rows[canonical(rows)] == shuffled[canonical(shuffled)]).all()


def test_equal_rows_stay_in_order_and_zeros_have_no_sign() -> None:
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [3.0, 1.0], [0.0, 1.0]])
    order = canonical(rows)
    assert [row for row in order if row != 2] == [0, 1, 3]


def test_with_columns_that_are_the_points_their_order_does_not_matter_either() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30, 30))
    order = rng.permutation(30)
    permuted = matrix[np.ix_(order, order)]
    first, second = canonical(matrix, square=True), order[canonical(permuted, square=True)]
    assert (first == second).all()
    assert (canonical(permuted) != canonical(permuted, square=True)).any()
