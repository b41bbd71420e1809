"""Labels of known clusters, and what is measured of them.

Known clusters from pairs of rows, alone and with labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.methods.labelled.fda import FDA
from models.methods.labelled.supervision.inputs import KnownClusters, read_labels

METHOD = FDA()


def data(n_rows: int = 8, **values: Any) -> Data:
    rng = np.random.default_rng(0)
    roles = {role: np.array(value) for role, value in values.items()}
    return Data({"features": rng.normal(size=(n_rows, 2)), **roles})


def test_linked_rows_are_one_cluster_with_their_labels() -> None:
    read = read_labels(
        data(
            labels=[4, 4, -1, 7, -1, -1, -1, -1], must_link=[[1, 2], [2, 5]], cannot_link=[[5, 3]]
        ),
        8,
    )
    assert read.names == ["4", "7"]
    np.testing.assert_array_equal(read.code, [0, 0, 0, 1, -1, 0, -1, -1])
    assert len(read.warnings) == 1  # '7' has a single row


def test_pairs_alone_give_clusters_in_the_order_of_their_rows() -> None:
    read = read_labels(data(must_link=[[6.0, 5.0], [0.0, 1.0]], cannot_link=[[6.0, 3.0]]), 8)
    assert read.names == ["cluster 1", "cluster 2", "cluster 3"]
    np.testing.assert_array_equal(read.code, [0, 0, -1, 1, -1, 2, 2, -1])
    assert "3 known cluster(s) come from pairs alone: 'cluster 1', " in read.warnings[0]


def refusal(**values: Any) -> UsageError:
    with pytest.raises(UsageError) as refused:
        read_labels(data(**values), 8)
    return refused.value


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        ([[0, 1], [2, 8]], "has 8 at row 1, column 1 .* numbered 0 to 7"),
        ([[0, -1]], "has -1 at row 0, column 1"),
        ([[0, 1], [0.5, 1]], "has 0.5 at row 1, column 0"),
        ([[0, 1], [np.nan, 1]], "has nan at row 1, column 0"),
        ([[0, 1], [3, 3]], "pairs row 3 with itself at row 1"),
        ([[0, 1, 2]], "two columns"),
        ([0, 1], "matrix"),
        ([["a", "b"]], "matrix of numbers"),
    ],
)
@pytest.mark.parametrize("role", ["must_link", "cannot_link"])
def test_what_is_no_pair_of_rows_is_refused_by_its_place(role: str, pairs: Any, what: str) -> None:
    error = refusal(**{role: pairs})
    assert error.where["role"] == role
    with pytest.raises(UsageError, match=what):
        raise error


def test_two_labels_that_are_linked() -> None:
    error = refusal(labels=[0, 1, -1, -1, 0, 1, -1, -1], must_link=[[0, 2], [6, 7], [2, 3], [3, 1]])
    assert error.code == "contradiction"
    assert error.where["rows"] == [0, 1, 2, 3]
    assert error.detail == (
        "Labels and pairs of rows (counted from 0) contradict each other: row 0 is labelled '0' "
        "and row 1 '1', yet they are one cluster: 0 and 2 are linked ('must_link', pair 0), 2 and "
        "3 are linked ('must_link', pair 2), 3 and 1 are linked ('must_link', pair 3)."
    )


def test_rows_apart_that_are_linked_or_labelled_alike() -> None:
    error = refusal(must_link=[[0, 1], [1, 2], [4, 5]], cannot_link=[[4, 0], [0, 2]])
    assert error.detail.endswith(
        "rows 0 and 2 are apart ('cannot_link', pair 1), yet one cluster: 0 and 1 are linked "
        "('must_link', pair 0), 1 and 2 are linked ('must_link', pair 1)."
    )
    assert error.where["role"] == "cannot_link"
    error = refusal(labels=[3, 3, 4, 4, -1, -1, -1, -1], must_link=[[1, 5]], cannot_link=[[0, 5]])
    assert "0 and 1 are labelled '3', 1 and 5 are linked" in error.detail


def test_long_chains_and_many_contradictions_are_cut() -> None:
    error = refusal(must_link=[[row, row + 1] for row in range(7)], cannot_link=[[0, 7]] * 5)
    assert "2 and 3 are linked ('must_link', pair 2), and so on, in 7 steps;" in error.detail
    assert error.detail.endswith("There are 5 contradictions in all.")
    assert error.detail.count("yet one cluster") == 3


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"must_link": [[0, 1]]}, "Input 'must_link' names 1 cluster"),
        ({"cannot_link": [[0, 1]]}, "a single row in each"),
        (
            {"labels": [0, 0, 0, 0, 1, 1, -1, -1], "must_link": [[4, 6], [4, 7]]},
            "Inputs 'labels' and 'must_link' label every row",
        ),
    ],
)
def test_pairs_that_teach_nothing_are_refused(values: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        raise refusal(**values)


def test_a_fit_from_pairs_is_that_from_the_same_labels() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(60, 2)) + 8 * np.repeat(np.eye(3)[:, :2], 20, axis=0)
    params = METHOD.Params(n_clusters=1, n_init=2)
    pairs = {
        "must_link": np.array([[0, row] for row in range(1, 5)] + [[20, 21], [21, 22]]),
        "cannot_link": np.array([[0, 20]]),
    }
    labels = np.full(60, -1)
    labels[:5], labels[20:23] = 0, 1
    linked = METHOD.fit(Data({"features": features, **pairs}), params)
    labelled = METHOD.fit(Data({"features": features, "labels": labels}), params)
    np.testing.assert_array_equal(linked.tree.leaf_of_point, labelled.tree.leaf_of_point)
    assert linked.tree.name.tolist()[1:] == ["cluster 1", "cluster 2", "new 1"]
    assert any("come from pairs alone" in note for note in linked.warnings)


def test_a_fit_needs_labels_or_links_and_a_prediction_neither() -> None:
    values = data(cannot_link=[[0, 1]])
    with pytest.raises(UsageError, match="at least one of the inputs 'labels', 'must_link'"):
        METHOD.fit(values, METHOD.Params(n_clusters=1))
    fitted = METHOD.fit(
        data(20, must_link=[[0, 1], [2, 3], [1, 4]]), METHOD.Params(n_clusters=1, n_init=1)
    )
    assert fitted.model is not None
    placed = METHOD.predict(
        fitted.model, fitted.tree, Data({"features": data().values["features"]})
    )
    assert len(placed.leaf) == 8


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
