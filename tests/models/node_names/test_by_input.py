"""Names from labels and from terms against their literal definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.node_names.by_input import by_labels, by_points, by_terms
from models.tree.build import from_merges, from_parents, from_partition

# Points 0 to 5 merged as ((0, 1), 2) and ((3, 4), 5), then all.
TREE = from_merges([0, 6, 3, 8, 7], [1, 2, 4, 5, 9], [1.0, 2.0, 3.0, 4.0, 5.0])
LABELS = ["rose", "rose", "cat", "cat", "cat", "cat"]


def at(tree, points):
    """The node that holds just these points."""
    for node in range(tree.n_nodes):
        own = []
        for point, leaf in enumerate(tree.leaf_of_point.tolist()):
            up = leaf
            while up >= 0:
                if up == node:
                    own.append(point)
                up = int(tree.parent[up])
        if own == points:
            return node
    raise AssertionError(points)


def test_nodes_are_named_by_their_largest_class_and_its_share() -> None:
    tree = by_labels(TREE, LABELS)
    assert tree.name[at(tree, [0, 1, 2])] == "rose (66%)"
    assert tree.name[at(tree, [0, 1])] == "rose"
    assert tree.name[0] == "cat (66%)"
    assert tree.name[tree.leaf_of_point].tolist() == LABELS
    assert tree.extra["label"][0] == "cat"
    assert tree.extra["label_share"][0] == pytest.approx(4 / 6)


def test_leaves_may_keep_their_names() -> None:
    tree = by_labels(TREE, LABELS, keep_leaves=True)
    assert tree.name[tree.leaves].tolist() == TREE.name[TREE.leaves].tolist()
    assert tree.name[0] == "cat (66%)"


def test_clusters_without_points_keep_their_names() -> None:
    tree = by_labels(from_partition(np.array([0, 0]), 2), [3, 3])
    assert tree.name.tolist()[1:] == ["3", "1"]
    assert tree.extra["label"].tolist()[1:] == ["3", None]


def test_one_of_many_classes_does_not_name_a_node_of_their_own_tree() -> None:
    # Leaves are the classes; one row of the last is labelled otherwise.
    classes = ["ant", "bee", "cat", "dog"]
    tree = from_merges(
        [0, 2, 4], [1, 3, 5], [1.0, 2.0, 3.0], names=classes, leaf_of_point=[0, 1, 2, 2, 2, 3, 3]
    )
    named = by_labels(tree, ["ant", "bee", "cat", "cat", "cat", "dog", "cat"])
    assert named.name[0] == "cat (57%)"
    few = by_labels(tree, ["ant", "bee", "cat", "cat", "bee", "dog", "dog"])
    assert few.name[0] is None
    assert few.extra["label"][0] == "bee"
    leaves = [leaf for leaf in tree.leaves if few.name[leaf] != "cat (66%)"]
    assert [few.name[leaf] for leaf in leaves] == [tree.name[leaf] for leaf in leaves]
    # Groups of classes say something.
    groups = by_labels(tree, ["x", "x", "y", "y", "y", "z", "z"])
    assert groups.name[0] == "y (42%)"


def test_labels_of_another_length() -> None:
    with pytest.raises(UsageError):
        by_labels(TREE, LABELS[:5])


TERMS = ["the", "petal", "thorn", "paw", "purr"]
COUNTS = np.array(
    [[9, 5, 4, 0, 0], [9, 4, 5, 0, 0], [9, 3, 0, 0, 0], [9, 0, 0, 5, 4], [9, 0, 0, 6, 3],
     [9, 0, 0, 1, 9]], dtype=float,
)  # fmt: skip


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_nodes_are_named_by_their_most_distinctive_terms(kind) -> None:
    tree = by_terms(TREE, kind(COUNTS), TERMS)
    node = at(tree, [0, 1, 2])
    # Its sibling is all that is outside.
    own, outside = (COUNTS[:3] > 0).mean(axis=0), (COUNTS[3:] > 0).mean(axis=0)
    weight = np.where(own > 0, own * np.log(np.maximum(own, 1e-9) / (outside + 1 / 6)), 0.0)
    best = [TERMS[i] for i in np.argsort(-weight, kind="stable") if weight[i] > 0]
    assert best == ["petal", "thorn"]
    assert tree.extra["terms"][node] == best
    assert tree.name[node] == ", ".join(best)
    assert tree.extra["terms"][at(tree, [3, 4, 5])][0] in ("paw", "purr")
    # Neither all points nor a single point are a cluster.
    assert tree.extra["terms"][0] is None
    assert tree.name[tree.leaves].tolist() == TREE.name[TREE.leaves].tolist()


def test_all_counts_are_zero() -> None:
    assert by_terms(TREE, np.zeros((6, 5)), TERMS).name.tolist() == TREE.name.tolist()


@pytest.mark.parametrize(
    ("features", "terms", "part"),
    [(COUNTS, TERMS[:4], "4 names"), (COUNTS - 1.0, TERMS, "none negative")],
)
def test_features_that_have_no_such_terms(features, terms, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        by_terms(TREE, features, terms)


def test_leaves_are_named_after_their_points() -> None:
    #        0
    #     / | | \
    #    1  2 3  noise     points 2 | 0 1 3 5 6 | none | 4
    names = [None, "0", "1", "2", "noise"]
    leaf = [2, 2, 1, 2, 4, 2, 2]
    noise = {"noise": np.array([False, False, False, False, True])}
    tree = from_parents([-1, 0, 0, 0, 0], [1.0, 0, 0, 0, 0], names, leaf, extra=noise)
    named = by_points(tree, list("abcdefg"))
    assert named.name.tolist() == [None, "c", "a, b, d and 2 more", "2", "noise"]
    assert by_points(tree, None) is tree
    of_labels = by_labels(tree, np.array(list("aabbcab")))
    assert of_labels.name.tolist() == ["a (42%)", "b", "a (60%)", "2", "noise"]
