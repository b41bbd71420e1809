"""Order of clusters, log probabilities in place, predictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp

from models.clusters.placing import (
    by_size,
    empty_cluster_warnings,
    normalize,
    permute,
    placed,
    reorder,
)
from models.tree.build import from_partition


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_clusters_are_sorted_by_size_then_by_their_rows(clusters: list[tuple[int, ...]]) -> None:
    size = np.array([one[0] for one in clusters])
    rows = np.array([one[1:] for one in clusters], dtype=float)
    keys = [(-size[c], *rows[c]) for c in by_size(size, rows)]
    assert keys == sorted(keys)
    assert sorted(by_size(size, rows).tolist()) == list(range(len(clusters)))


def test_points_follow_their_clusters() -> None:
    order = np.array([2, 0, 1])
    assert reorder(np.array([0, 1, 2, 2]), order).tolist() == [1, 2, 0, 0]
    values = np.arange(6.0).reshape(2, 3)
    permute(values, order)
    assert values.tolist() == [[2, 0, 1], [5, 3, 4]]


def test_rows_are_normalized_in_place() -> None:
    joint = np.random.default_rng(0).normal(size=(40_000, 5)) * 100
    expected, evidence = log_softmax(joint, axis=1), logsumexp(joint, axis=1)
    result = normalize(joint)
    np.testing.assert_allclose(joint, expected)
    np.testing.assert_allclose(result, evidence)


def test_a_prediction_is_the_root_and_the_leaf() -> None:
    tree = from_partition([0, 1, 1], 2)
    predictions = placed(tree, np.array([1, 0]), np.log([[0.25, 0.75], [0.9, 0.1]]))
    assert predictions.leaf.tolist() == [2, 1]
    assert predictions.start.tolist() == [0, 2, 4]
    assert predictions.node.tolist() == [0, 2, 0, 1]
    assert predictions.probability == pytest.approx([1, 0.75, 1, 0.9])


def test_clusters_without_points_are_warned_of() -> None:
    assert empty_cluster_warnings(np.array([0, 2]), 4) == ("2 cluster(s) have no point.",)
    assert empty_cluster_warnings(np.array([0, 1]), 2) == ()
