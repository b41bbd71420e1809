"""Components of a node's rows: known leaves keep their rows, new ones are as many as there are."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.hierarchy.components import Search, find_components


def rows_of(seed: int, n_rows: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Five clusters far apart, of which two are known by half of their rows."""
    truth = np.arange(5).repeat(n_rows)
    rng = np.random.default_rng(seed)
    points = 8.0 * np.eye(5)[truth] + rng.normal(size=(truth.size, 5))
    return points, np.where((truth < 2) & (np.arange(truth.size) % 2 == 0), truth, -1)


def search(**changes: float) -> Search:
    return Search(**{"most": 10, "least_size": 3, "n_init": 3, "penalty": 1.0, **changes})


@pytest.mark.parametrize("seed", range(4))
def test_new_ones_are_found_and_hold_rows_of_one_cluster(seed: int) -> None:
    points, code = rows_of(seed)
    parts = find_components(points, code, 2, search(penalty=2.0), np.random.default_rng(seed))
    truth = np.arange(5).repeat(20)
    # The search is greedy, and may end with one too many.
    assert parts.n_new in (3, 4)
    assert all(np.unique(truth[parts.of_row == some]).size == 1 for some in range(2 + parts.n_new))
    assert not parts.full


def test_labelled_rows_stay_where_they_are() -> None:
    points, code = rows_of(0)
    code[1] = 1
    parts = find_components(points, code, 2, search(), np.random.default_rng(0))
    assert parts.of_row[1] == 1


def test_bounds_are_obeyed() -> None:
    points, code = rows_of(0)
    few = find_components(points, code, 2, search(most=1), np.random.default_rng(0))
    assert (few.n_new, few.full) == (1, True)
    none = find_components(points, code, 2, search(most=0), np.random.default_rng(0))
    assert (none.n_new, none.full) == (0, False)
    large = find_components(points, code, 2, search(least_size=21), np.random.default_rng(0))
    size = np.bincount(large.of_row, minlength=2)[2:]
    assert (size >= 21).all()
    dear = find_components(points, code, 2, search(penalty=100.0), np.random.default_rng(0))
    assert dear.n_new == 0
