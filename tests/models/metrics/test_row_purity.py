"""Dendrogram purity by row and class, against the pairs gone through one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.metrics.row_purity import class_purity, row_purity
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import any_tree, meet, points_under


@given(any_tree(), st.data())
def test_the_purity_of_each_row_is_its_mean_over_pairs(tree: Tree, data: st.DataObject) -> None:
    n = tree.n_points
    code = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)), dtype=int)
    expected = np.full(n, np.nan)
    for i in range(n):
        shares = []
        for j in range(n):
            if i != j and code[i] == code[j] >= 0:
                under = points_under(tree, meet(tree, i, j))
                shares.append(np.mean([code[point] == code[i] for point in under]))
        if shares:
            expected[i] = np.mean(shares)
    purity = row_purity(tree, code)
    np.testing.assert_allclose(purity, expected)
    for number, mean in enumerate(class_purity(purity, code)):
        own = expected[code == number]
        assert np.isnan(mean) if np.isnan(own).all() else mean == pytest.approx(own.mean())


@given(any_tree(), st.data())
def test_rows_weighted_by_their_pairs_give_the_dendrogram_purity(
    tree: Tree, data: st.DataObject
) -> None:
    n = tree.n_points
    code = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=int)
    whole = dendrogram_purity(tree, classes_of(code, n)).value
    pairs = np.bincount(code, minlength=3)[code] - 1.0
    if whole is not None:
        known = pairs > 0
        mean = row_purity(tree, code)[known] @ pairs[known] / pairs.sum()
        assert mean == pytest.approx(whole)
