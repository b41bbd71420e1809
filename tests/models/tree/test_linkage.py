"""Linkage matrices and hclust objects: against SciPy, against R's rules, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.cluster.hierarchy import cophenet, is_valid_linkage
from scipy.cluster.hierarchy import linkage as scipy_linkage

from models.errors import InvalidTree, UsageError
from models.tree import linkage
from models.tree.build import from_merges, from_parents
from models.tree.linkage import from_scipy, to_hclust, to_scipy
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import any_name, chain, random_tree, under


@pytest.fixture
def tree() -> Tree:
    #       0 (h 3)
    #      / \
    #   1 (1)  2 (2)       points 0 to 3 lie in leaves 6, 3, 5, 4
    #   / \    / \
    #  3   4  5   6
    return from_parents(
        [-1, 0, 0, 1, 1, 2, 2], [3, 1, 2, 0, 0, 0, 0], [None] * 3 + list("abcd"), [6, 3, 5, 4]
    )


def test_a_small_tree(tree: Tree) -> None:
    # Leaf ids are the points' rows: a is 1, b is 3, c is 2, d is 0.
    assert to_scipy(tree).tolist() == [[1, 3, 1, 2], [0, 2, 2, 2], [4, 5, 3, 4]]
    assert to_hclust(tree) == {
        "merge": [[-2, -4], [-1, -3], [1, 2]],
        "height": [1, 2, 3],
        "order": [2, 4, 1, 3],
        "labels": ["d", "a", "c", "b"],
    }


def test_leaves_with_other_than_one_point_are_counted_by_node(tree: Tree) -> None:
    crowd = from_parents(tree.parent, tree.height, tree.name, [6, 6, 5, 4])
    assert to_scipy(crowd).tolist() == [[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4]]
    assert to_hclust(crowd)["labels"] == list("abcd")


def test_nameless_leaves_are_labelled_by_number() -> None:
    tree = from_parents([-1, 0, 0], [1, 0, 0], [None] * 3)
    assert to_hclust(tree)["labels"] == ["1", "2"]


@pytest.mark.parametrize("parent", [[-1, 0, 0, 0], [-1, 0, 1, 1], [-1]])
def test_trees_without_merges_are_refused(parent: list[int]) -> None:
    tree = from_parents(parent, np.zeros(len(parent)), [None] * len(parent))
    for write in (to_scipy, to_hclust):
        with pytest.raises(UsageError) as caught:
            write(tree)
        assert caught.value.code == "not-binary"


def test_negative_heights_are_refused_by_linkage_alone() -> None:
    tree = from_parents([-1, 0, 0], [-1, -2, -3], [None] * 3)
    with pytest.raises(UsageError, match=r"node 0 lies at -1\.0\.") as caught:
        to_scipy(tree)
    assert caught.value.code == "negative-height"
    assert to_hclust(tree)["height"] == [-1]


@pytest.mark.parametrize("method", ["single", "average", "ward", "centroid", "median"])
def test_scipy_matrices_come_back(method: str) -> None:
    matrix = scipy_linkage(np.random.default_rng(1).random((80, 9)), method)
    tree = from_scipy(matrix)
    again = to_scipy(tree)
    assert is_valid_linkage(again)
    np.testing.assert_array_equal(cophenet(again), cophenet(matrix))
    if tree.monotone:
        np.testing.assert_array_equal(again[:, 2:], matrix[:, 2:])
        np.testing.assert_array_equal(again[:, :2], np.sort(matrix[:, :2], axis=1))


@given(random_tree(min_leaves=2, binary=True, single_points=True))
def test_random_trees_come_back(tree: Tree) -> None:
    matrix = to_scipy(tree)
    assert is_valid_linkage(matrix)
    assert (np.diff(matrix[:, 2]) >= 0).all()
    again = from_scipy(matrix)
    assert _clusters(again) == _clusters(tree)
    assert again.monotone


@given(random_tree(min_leaves=2, binary=True, single_points=True, monotone=False))
def test_random_trees_whose_heights_fall_come_back(tree: Tree) -> None:
    matrix = to_scipy(tree)
    assert is_valid_linkage(matrix)
    assert _clusters(from_scipy(matrix)) == _clusters(tree)


def _clusters(tree: Tree) -> set[tuple[frozenset[int], float]]:
    """The points under each merge with its height; leaves lose theirs."""
    point = {leaf: point for point, leaf in enumerate(tree.leaf_of_point.tolist())}
    return {
        (frozenset(point[leaf] for leaf in leaves), float(tree.height[node]))
        for node, leaves in enumerate(under(tree))
        if tree.n_children[node]
    }


@given(random_tree(min_leaves=2, binary=True, single_points=True))
def test_hclust_objects_obey_the_rules_of_r(tree: Tree) -> None:
    hclust = to_hclust(tree)
    json.dumps(hclust)
    n = tree.n_leaves
    assert hclust["height"] == sorted(hclust["height"])
    groups: list[list[int]] = []
    for row, (first, second) in enumerate(hclust["merge"], 1):
        # A leaf before a merge; two leaves and two merges by number; only earlier merges.
        assert (first < 0, second < 0) != (False, True)
        assert abs(first) < abs(second) or (first < 0) != (second < 0)
        assert max(first, second) < row
        groups.append(
            [leaf for i in (first, second) for leaf in ([-i] if i < 0 else groups[i - 1])]
        )
    used = sorted(i for pair in hclust["merge"] for i in pair)
    assert used == sorted([*range(-n, 0), *range(1, n - 1)])
    assert hclust["order"] == groups[-1]
    point = {leaf: p for p, leaf in enumerate(tree.leaf_of_point.tolist())}
    for leaf in tree.leaves.tolist():
        assert hclust["labels"][point[leaf]] == tree.name[leaf]
    clusters = {frozenset(leaf - 1 for leaf in leaves) for leaves in groups}
    assert clusters == {leaves for leaves, _ in _clusters(tree)}


GOOD = [[0, 1, 0.5, 2], [2, 3, 1.0, 3]]


@pytest.mark.parametrize(
    ("row", "column", "value", "says"),
    [
        (0, 0, np.nan, "not finite at row 0, column 0"),
        (1, 2, np.inf, "not finite at row 1, column 2"),
        (1, 2, -0.5, "Row 1 of the linkage has the negative distance -0.5"),
        (0, 1, 0, "Node 0 is merged more than once"),
        (1, 0, 1, "Node 1 is merged more than once"),
        (0, 1, 3, "Merge 0 joins 0 and 3"),
        (1, 1, 4, "Merge 1 joins 2 and 4"),
        (1, 0, -1, "Merge 1 joins -1 and 3"),
        (0, 0, 0.5, "Row 0 of the linkage joins 0.5 and 1"),
        (1, 1, 1e300, "Row 1 of the linkage joins 2 and 1e\\+300"),
    ],
)
def test_impossible_matrices_are_refused(row: int, column: int, value: float, says: str) -> None:
    matrix = np.array(GOOD)
    matrix[row, column] = value
    with pytest.raises(InvalidTree, match=says):
        from_scipy(matrix)


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((3, 3)), np.zeros(4), np.zeros((0, 4)), np.zeros((1, 4), complex), [["a"] * 4]],
)
def test_other_arrays_are_refused(matrix: np.ndarray) -> None:
    with pytest.raises(InvalidTree, match="A linkage"):
        from_scipy(matrix)


def test_rows_are_the_leaves_and_may_have_names() -> None:
    tree = from_scipy(np.array(GOOD, dtype=np.float32), names=["x", "y", "z"])
    assert tree.name[tree.leaf_of_point].tolist() == ["x", "y", "z"]
    assert from_scipy([[0, 1, 2, 2]]).n_points == 2


def test_a_chain_of_a_hundred_thousand() -> None:
    tree = chain(100_000)
    matrix = to_scipy(tree)
    assert is_valid_linkage(matrix)
    again = from_scipy(matrix)
    assert (again.parent == tree.parent).all()
    assert (again.height == tree.height).all()
    # R puts a leaf before a merge, so the last leaf comes first; the first two stay in order.
    assert to_hclust(tree)["order"] == [*range(100_000, 2, -1), 1, 2]


def test_merges_of_equal_height_keep_children_first() -> None:
    tree = from_merges([0, 4, 5], [1, 2, 3], [1.0, 1.0, 1.0])
    assert to_scipy(tree).tolist() == [[0, 1, 1, 2], [2, 4, 1, 3], [3, 5, 1, 4]]


@given(random_tree(min_leaves=2, binary=True, single_points=True, names=any_name))
def test_hclust_is_read_again(tree: Tree) -> None:
    flat = np.where(tree.n_children == 0, 0.0, tree.height)
    tree = replace(tree, height=flat)
    document = linkage.to_hclust(tree)
    again = linkage.from_hclust(json.loads(json.dumps(document)))
    assert again.warnings == ()
    assert linkage.to_hclust(again) == document
    np.testing.assert_array_equal(linkage.to_scipy(again), linkage.to_scipy(tree))
    columns = {**document, "merge": np.transpose(document["merge"]).tolist()}
    if len(document["merge"]) != 2:
        assert linkage.to_hclust(linkage.from_hclust(columns)) == document


def test_hclust_of_r() -> None:
    #      2
    #     / \
    #    1   c
    #   / \
    #  a   b
    document = {"merge": [[-1, -2], [-3, 1]], "height": [1, 2.5], "order": [3, 1, 2]}
    tree = linkage.from_hclust({**document, "labels": ["a", "b", "c"], "method": "average"})
    assert tree.name[tree.leaf_of_point].tolist() == ["a", "b", "c"]
    assert tree.height[:2].tolist() == [2.5, 1.0]
    assert tree.warnings == ("Fields of the hclust were left out: 'method'.",)
    without = linkage.from_hclust({**document, "labels": {}})
    assert without.name[without.leaf_of_point].tolist() == ["0", "1", "2"]
    turned = linkage.from_hclust({**document, "order": [1, 2, 3]})
    assert turned.warnings == (
        "The field 'order' was left out: the leaves have another order here.",
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"merge": [[-1, -2]]}, "a number for 1 merges"),
        ({"merge": []}, "holds whole numbers"),
        ({"merge": "x"}, "holds whole numbers"),
        ({"merge": [[-1, -2], [-3]]}, "differ in length"),
        ({"merge": [[-1, -2], [-3, 1.5]]}, "holds whole numbers"),
        ({"merge": [-1, -2, -3]}, "list of pairs"),
        ({"merge": [[-1, -2], [-3, 2]]}, "Merge 1 of the hclust joins a later merge"),
        ({"merge": [[-1, 0], [-3, 1]]}, "leaves are -1 to -3"),
        ({"merge": [[-1, -9], [-3, 1]]}, "leaves are -1 to -3"),
        ({"merge": [[-1, -2], [-2, 1]]}, "merged more than once"),
        ({"merge": [[-1, -2], [[-3], 1]]}, "holds whole numbers"),
        ({"height": [1]}, "a number for 2 merges"),
        ({"height": [1, "x"]}, "height of merge 1"),
        ({"height": [1, True]}, "height of merge 1"),
        ({"height": [1, -2]}, "negative distance"),
        ({"labels": ["a"]}, "a text for 3 leaves"),
        ({"labels": ["a", "b", None]}, "neither text nor a whole number"),
        ({"labels": ["a", "b", "\ud800"]}, "surrogate"),
    ],
)
def test_what_is_no_hclust_is_refused(changed: dict[str, Any], message: str) -> None:
    document = {"merge": [[-1, -2], [-3, 1]], "height": [1, 2], "labels": ["a", "b", "c"]}
    with pytest.raises(InvalidTree, match=message):
        linkage.from_hclust({**document, **changed})


def test_distances_below_zero_and_falls_by_rounding_become_0() -> None:
    tree = linkage.from_scipy([[0, 1, -1e-13, 2], [2, 3, 1, 3]])
    assert tree.height.tolist() == [1, 0, 0, 0, 0]
    assert tree.warnings == ("1 distance was below 0 by rounding alone and became 0.",)
    tree = linkage.from_scipy([[0, 1, 1 + 1e-15, 2], [2, 3, 1, 3]])
    assert tree.monotone
    assert tree.height[0] == tree.height[1]
    assert tree.warnings == ("1 branch length was below 0 by rounding alone and became 0.",)
    assert not linkage.from_scipy([[0, 1, 1.1, 2], [2, 3, 1, 3]]).monotone
