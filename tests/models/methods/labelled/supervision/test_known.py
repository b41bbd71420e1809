"""Labels of known clusters, and what is measured of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.methods.labelled.supervision.known import KnownClusters, read_labels


def labels(values: Any, **more: Any) -> Data:
    return Data({"labels": np.array(values), **more})


def test_rows_get_the_numbers_of_the_clusters_that_occur() -> None:
    read = read_labels(labels([7, -1, 3, 7, -1, 3]), 6)
    np.testing.assert_array_equal(read.code, [1, -1, 0, 1, -1, 0])
    assert read.names == ["3", "7"]
    np.testing.assert_array_equal(read.free, [1, 4])
    assert read.warnings == ()


def test_names_stand_for_numbers() -> None:
    read = read_labels(labels([2, -1, 0, 2], names=["a", "b", "c"]), 4)
    assert read.names == ["a", "c"]


def test_texts_and_null() -> None:
    sets = LabelSets(
        np.array([0, 1, 1, 2, 3]),
        np.array([1, 0, 1]),
        ["cat", "dog"],
        np.array([False, True, False, False]),
    )
    read = read_labels(Data({"labels": sets}), 4)
    np.testing.assert_array_equal(read.code, [1, -1, 0, 1])
    assert "'cat'" in read.warnings[0]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([0, 0, -1], "1 cluster"),
        ([-1, -1, -1], "0 cluster"),
        ([0, 1, -1], "a single row in each"),
        ([0, 0, 1, 1], "every row"),
    ],
)
def test_labels_that_teach_nothing_are_refused(values: list[int], what: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        read_labels(labels(values), len(values))
    assert refused.value.where["role"] == "labels"


def test_labels_for_rows_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="5 labels for 4 rows"):
        read_labels(labels([0, 0, 1, 1, -1]), 4)


def test_a_row_of_two_clusters_is_refused() -> None:
    sets = LabelSets(
        np.array([0, 1, 3, 4]), np.array([0, 0, 1, 1]), ["a", "b"], np.zeros(3, dtype=bool)
    )
    with pytest.raises(UsageError, match="2 labels at row 1"):
        read_labels(Data({"labels": sets}), 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_means_and_squares_within(kind: Any) -> None:
    rng = np.random.default_rng(0)
    points, code = rng.normal(size=(20, 3)).astype(kind), np.arange(20) % 3
    known = KnownClusters(points, code, 3)
    means = np.stack([points[code == cluster].mean(axis=0) for cluster in range(3)])
    np.testing.assert_allclose(known.means, means, rtol=1e-5)
    away = points - means[code]
    np.testing.assert_allclose(known.within, sum(np.outer(row, row) for row in away), rtol=1e-4)
    some = known.some(np.array([2, 0]))
    np.testing.assert_allclose(some.means, means[[2, 0]], rtol=1e-5)
    np.testing.assert_array_equal(some.size, [6, 7])
