"""Ward's tree against what its nodes' rows give."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.hierarchy.ward import WardTree


@pytest.mark.parametrize("n_rows", [1, 2, 17])
def test_sizes_means_and_variances_are_those_of_the_rows(n_rows: int) -> None:
    points = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    values = np.random.default_rng(99).random((n_rows, 2))
    tree = WardTree.of(points)
    means = tree.means(values)
    assert tree.size[-1] == n_rows
    for node in range(tree.size.size):
        rows = tree.rows(node)
        assert rows.size == tree.size[node]
        np.testing.assert_allclose(tree.mean[node], points[rows].mean(axis=0))
        np.testing.assert_allclose(means[node], values[rows].mean(axis=0))
        expected = points[rows].var(axis=0, ddof=1).sum() if rows.size > 1 else 0.0
        assert tree.variance[node] == pytest.approx(expected)
        assert sum(tree.size[child] for child in tree.below(node)) in (0, rows.size)
