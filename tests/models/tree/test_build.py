"""Builders: numbering, reordering, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.cluster.hierarchy import to_tree

from models.errors import InvalidTree
from models.tree.build import from_merges, from_parents, from_partition, levels_below
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import outline, random_tree, under


def test_merges_are_numbered_from_the_last() -> None:
    #        0 (h 3)              merge 2 joins leaf 0 and merge 1
    #       / \
    #      1   3 = leaf 0         merge 1 (h 2) joins leaf 3 and merge 0
    #     / \
    #    2   6 = leaf 3           merge 0 (h 1) joins leaves 2 and 1
    #   / \
    #  4   5 = leaves 1, 2
    tree = from_merges(
        [2, 3, 0], [1, 4, 5], [1, 2, 3], names=list("abcd"), extra={"x": np.arange(7)}
    )
    assert tree.parent.tolist() == [-1, 0, 1, 0, 2, 2, 1]
    assert tree.height.tolist() == [3, 2, 1, 0, 0, 0, 0]
    assert tree.name.tolist() == [None, None, None, "a", "b", "c", "d"]
    assert tree.leaves.tolist() == tree.leaf_of_point.tolist() == [3, 4, 5, 6]
    assert tree.extra["x"].tolist() == [6, 5, 4, 0, 1, 2, 3]


def test_points_of_merges_lie_in_leaves_by_index() -> None:
    tree = from_merges([0], [1], [1.0], leaf_of_point=[1, 1, 0])
    assert tree.leaf_of_point.tolist() == [2, 2, 1]
    assert tree.size.tolist() == [3, 1, 2]
    assert tree.name.tolist() == [None, "0", "1"]


def test_no_merge_is_one_leaf() -> None:
    tree = from_merges([], [], [])
    assert tree.parent.tolist() == [-1]
    assert tree.name.tolist() == ["0"]


def test_merges_hold_the_leaves_that_scipy_says() -> None:
    points = np.random.default_rng(0).random((40, 3))
    matrix = scipy_linkage(points, "average")
    tree = from_merges(matrix[:, 0].astype(int), matrix[:, 1].astype(int), matrix[:, 2])
    _, nodes = to_tree(matrix, rd=True)
    inside = under(tree)
    for merge in range(39):
        assert {leaf - 39 for leaf in inside[38 - merge]} == set(nodes[40 + merge].pre_order())


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ([0, 0], [1, 2], "Node 0 is merged more than once"),
        ([0, 3], [0, 1], "Node 0 is merged more than once"),
        ([0, 4], [1, 2], "Merge 1 joins 4 and 2"),
        ([3, 0], [1, 2], "Merge 0 joins 3 and 1"),
        ([-1, 0], [1, 2], "Merge 0 joins -1"),
        ([0], [1, 2], "1 left parts, 2 right parts"),
        ([0.0, 3.0], [1, 2], "'left' must be a vector of integers"),
    ],
)
def test_impossible_merges_are_refused(left: list[int], right: list[int], says: str) -> None:
    with pytest.raises(InvalidTree, match=says):
        from_merges(left, right, [1, 2])


def test_merges_that_fall_are_refused_unless_declared() -> None:
    with pytest.raises(InvalidTree, match="lies higher than its parent"):
        from_merges([0, 3], [1, 2], [2, 1])
    assert not from_merges([0, 3], [1, 2], [2, 1], monotone=False).monotone
    with pytest.raises(InvalidTree, match="not finite"):
        from_merges([0, 3], [1, 2], [np.nan, 1], monotone=False)


def test_names_and_points_of_merges_must_fit() -> None:
    with pytest.raises(InvalidTree, match="1 names for 2 leaves"):
        from_merges([0], [1], [1], names=["a"])
    with pytest.raises(InvalidTree, match="Point 1 lies in leaf 2"):
        from_merges([0], [1], [1], leaf_of_point=[0, 2])


def test_partition() -> None:
    #    0 (h 1)
    #  / | \
    # 1  2  3     cluster 1 is empty
    tree = from_partition([2, 0, 2], 3, names=["a", "b", "noise"])
    assert tree.kind == "partition"
    assert tree.parent.tolist() == [-1, 0, 0, 0]
    assert tree.height.tolist() == [1, 0, 0, 0]
    assert tree.size.tolist() == [3, 1, 0, 2]
    assert tree.leaf_of_point.tolist() == [3, 1, 3]
    assert tree.name.tolist() == [None, "a", "b", "noise"]


def test_impossible_partitions_are_refused() -> None:
    with pytest.raises(InvalidTree, match="Point 1 lies in cluster 3"):
        from_partition([0, 3], 3)
    with pytest.raises(InvalidTree, match="cluster -1"):
        from_partition([-1], 3)
    with pytest.raises(InvalidTree, match="at least one cluster"):
        from_partition([], 0)


def test_parents_in_order_keep_their_numbers() -> None:
    #    0
    #   / \
    #  1   2        row 3 is the left-most leaf, so it is point 0
    #  |
    #  3
    tree = from_parents([-1, 0, 0, 1], [2, 1, 0, 0], ["r", "a", "b", "c"])
    assert tree.parent.tolist() == [-1, 0, 0, 1]
    assert tree.leaf_of_point.tolist() == [3, 2]


def test_parents_in_any_order_are_sorted_by_depth() -> None:
    #    3 r             0 r
    #   / \             / \
    #  0 a 2 b   ->    1 a 2 b
    #      |               |
    #      1 c             3 c
    tree = from_parents(
        [3, 2, 3, -1], [0, 0, 1, 2], list("acbr"), extra={"x": np.array([5, 6, 7, 8])}
    )
    assert tree.name.tolist() == list("rabc")
    assert tree.parent.tolist() == [-1, 0, 0, 2]
    assert tree.height.tolist() == [2, 0, 1, 0]
    assert tree.extra["x"].tolist() == [8, 5, 7, 6]
    assert tree.leaf_of_point.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("parent", "says", "node"),
    [
        ([-1, 0, 7], "Node 2 has the parent 7", 2),
        ([-1, 0, -2], "Node 2 has the parent -2", 2),
        ([-1, 0, -1], "Nodes 0 and 2 both have no parent", 2),
        ([1, 2, 0], "No node is a root", None),
        ([-1, 0, 2], "Node 2 is its own ancestor", 2),
        ([-1, 2, 1], "is its own ancestor", None),
    ],
)
def test_impossible_parents_are_refused(parent: list[int], says: str, node: int | None) -> None:
    with pytest.raises(InvalidTree, match=says) as caught:
        from_parents(parent, [0, 0, 0], [None] * 3)
    if node is not None:
        assert caught.value.where == {"node": node}


def test_the_node_named_in_a_cycle_lies_on_it() -> None:
    # 0 is the root; 1 -> 2 -> 3 -> 2: 1 only leads to the cycle.
    with pytest.raises(InvalidTree) as caught:
        from_parents([-1, 2, 3, 2], np.zeros(4), [None] * 4)
    assert caught.value.where["node"] in (2, 3)


def test_a_long_cycle_is_found() -> None:
    n = 100_000
    parent = np.arange(1, n + 1)
    parent[-1] = 1
    parent[0] = -1
    with pytest.raises(InvalidTree, match="cycle"):
        from_parents(parent, np.zeros(n), [None] * n)


def test_errors_call_nodes_by_their_labels() -> None:
    with pytest.raises(InvalidTree, match="Node 'b' lies higher") as caught:
        from_parents([1, -1], [5, 1], [None] * 2, labels=["b", "a"])
    assert caught.value.where == {"node": "b"}
    with pytest.raises(InvalidTree, match="height of node 'a' is not finite"):
        from_parents([1, -1], [5, np.inf], [None] * 2, labels=["b", "a"])


@given(random_tree(), st.randoms(use_true_random=False))
def test_shuffled_parents_give_the_same_tree(tree: Tree, random: object) -> None:
    order = list(range(tree.n_nodes))
    random.shuffle(order)  # type: ignore[attr-defined]
    new = np.argsort(order)
    parent = np.where(tree.parent < 0, -1, new[tree.parent])[order]
    again = from_parents(parent, tree.height[order], tree.name[order], new[tree.leaf_of_point])
    assert sorted(outline(again), key=str) == sorted(outline(tree), key=str)
    # Names of leaves are unique here, so they identify the nodes.
    leaves = [again.name[leaf] for leaf in again.leaf_of_point]
    assert leaves == [tree.name[leaf] for leaf in tree.leaf_of_point]
    sets = {frozenset(tree.name[leaf] for leaf in leaves) for leaves in under(tree)}
    assert {frozenset(again.name[leaf] for leaf in leaves) for leaves in under(again)} == sets


@given(random_tree())
def test_levels_below_are_the_longest_ways_down(tree: Tree) -> None:
    inside = under(tree)
    longest = [max(tree.depth[list(leaves)]) - tree.depth[v] for v, leaves in enumerate(inside)]
    assert levels_below(tree.parent).tolist() == longest
