"""Orders, intervals, paths, common ancestors and parts against their literal definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree import walk
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import SMALL_TREES, chain, outline, random_tree, under


@pytest.fixture
def tree() -> Tree:
    #        0
    #      / | \
    #     1  2  3        points 0, 1 in 4; point 2 in 5; points 3, 4 in 2; point 5 in 7
    #    / \    |
    #   4   5   6
    #           |
    #           7
    return from_parents(
        [-1, 0, 0, 0, 1, 1, 3, 6],
        [5, 2, 0, 4, 0, 1, 3, 1],
        [None, "a", "b", "c", "d", "e", "f", "g"],
        [4, 4, 5, 2, 2, 7],
        extra={"x": np.arange(8) * 10},
    )


def test_orders_of_a_small_tree(tree: Tree) -> None:
    assert walk.preorder(tree).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    assert walk.leaf_order(tree).tolist() == [4, 5, 2, 7]
    assert walk.internal(tree).tolist() == [0, 1, 3, 6]


def test_paths_of_a_small_tree(tree: Tree) -> None:
    assert walk.path(tree, 7).tolist() == [0, 3, 6, 7]
    assert walk.path(tree, 0).tolist() == [0]
    start, node = walk.paths(tree, [5, 0, 7])
    assert start.tolist() == [0, 3, 4, 8]
    assert node.tolist() == [0, 1, 5, 0, 0, 3, 6, 7]
    start, node = walk.paths(tree, [])
    assert start.tolist() == [0]
    assert node.size == 0


@pytest.mark.parametrize("node", [-1, 8])
def test_unknown_nodes_are_refused(tree: Tree, node: int) -> None:
    for ask in (walk.path, walk.part, walk.subtree, lambda tree, node: walk.paths(tree, [0, node])):
        with pytest.raises(UsageError, match=f"no node {node}; its nodes are 0 to 7") as caught:
            ask(tree, node)
        assert caught.value.code == "unknown-node"


def test_part_below_a_node(tree: Tree) -> None:
    part = walk.part(tree, 3)
    assert part.node.tolist() == [3, 6, 7]
    assert part.point.tolist() == [5]
    assert part.tree.parent.tolist() == [-1, 0, 1]
    assert part.tree.leaf_of_point.tolist() == [2]
    assert part.tree.extra["x"].tolist() == [30, 60, 70]
    assert not part.folded.any()


def test_part_folds_at_its_depth(tree: Tree) -> None:
    #     0
    #   / | \
    #  1  2  3       1 and 3 are folded and hold the points under them
    part = walk.part(tree, 0, 1)
    assert part.tree.parent.tolist() == [-1, 0, 0, 0]
    assert part.tree.leaf_of_point.tolist() == [1, 1, 1, 2, 2, 3]
    assert part.tree.size.tolist() == [6, 3, 2, 1]
    assert part.folded.tolist() == [False, True, False, True]
    assert walk.part(tree, 0, 0).tree.leaf_of_point.tolist() == [0] * 6
    with pytest.raises(UsageError, match="depth of a part is -1"):
        walk.part(tree, 0, -1)


def test_contract_unary(tree: Tree) -> None:
    #      0
    #    / | \
    #   1  2  7 -> row 5      3 and 6 are gone
    #  / \
    # 4   5
    small = walk.contract_unary(tree).validate()
    assert small.name.tolist() == [None, "a", "b", "d", "e", "g"]
    assert small.parent.tolist() == [-1, 0, 0, 1, 1, 0]
    assert small.leaf_of_point.tolist() == [3, 3, 4, 2, 2, 5]


def test_contract_a_unary_root() -> None:
    # 0 - 1 - 2 is one leaf in the end; so is a partition of one cluster.
    line = from_parents([-1, 0, 1], [2, 1, 0], ["a", "b", "c"], [2, 2])
    small = walk.contract_unary(line).validate()
    assert (small.n_nodes, small.name[0], small.n_points) == (1, "c", 2)
    assert walk.contract_unary(from_partition([0, 0], 1)).validate().n_nodes == 1


def _is_above(tree: Tree, high: int, low: int) -> bool:
    while low > high:
        low = int(tree.parent[low])
    return low == high


@given(random_tree())
def test_preorder_is_a_depth_first_walk(tree: Tree) -> None:
    walked = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        walked.append(node)
        waiting += np.flatnonzero(tree.parent == node)[::-1].tolist()
    assert walk.preorder(tree).tolist() == walked


@given(random_tree())
def test_leaf_order_is_that_of_preorder(tree: Tree) -> None:
    leaves = set(tree.leaves.tolist())
    expected = [node for node in walk.preorder(tree).tolist() if node in leaves]
    assert walk.leaf_order(tree).tolist() == expected


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=40), st.data())
def test_range_minima(values: list[int], data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=20))
    stops = [data.draw(st.integers(start + 1, len(values))) for start in starts]
    minima = walk.range_minima(np.array(values), np.array(starts, int), np.array(stops, int))
    assert minima.tolist() == [
        min(values[start:stop]) for start, stop in zip(starts, stops, strict=True)
    ]


def _all_pairs_agree(tree: Tree) -> None:
    nodes = np.arange(tree.n_nodes)
    first, second = (grid.ravel() for grid in np.meshgrid(nodes, nodes))
    for a, b, ancestor in zip(first, second, walk.lca(tree, first, second), strict=True):
        common = [v for v in nodes if _is_above(tree, v, a) and _is_above(tree, v, b)]
        assert ancestor == max(common, key=lambda v: tree.depth[v])


@given(random_tree())
def test_lca_is_the_deepest_common_ancestor(tree: Tree) -> None:
    _all_pairs_agree(tree)


def test_lca_in_all_small_trees() -> None:
    for tree in SMALL_TREES:
        _all_pairs_agree(tree)
    assert walk.lca(SMALL_TREES[0], [], []).size == 0


@given(random_tree(), st.data())
def test_paths_go_up_to_the_root(tree: Tree, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, tree.n_nodes - 1)))
    start, node = walk.paths(tree, nodes)
    for i, expected in enumerate(nodes):
        way = node[start[i] : start[i + 1]].tolist()
        assert way == walk.path(tree, expected).tolist()
        assert way[0] == 0
        assert way[-1] == expected
        assert tree.parent[way[1:]].tolist() == way[:-1]


@given(random_tree(), st.data())
def test_parts_are_valid_and_hold_their_points(tree: Tree, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, tree.n_nodes - 1))
    depth = data.draw(st.none() | st.integers(0, 4))
    part = walk.part(tree, root, depth)
    part.tree.validate()
    expected = [
        v
        for v in range(tree.n_nodes)
        if _is_above(tree, root, v) and (depth is None or tree.depth[v] - tree.depth[root] <= depth)
    ]
    assert part.node.tolist() == expected
    inside = under(tree)
    points = [p for p, leaf in enumerate(tree.leaf_of_point.tolist()) if leaf in inside[root]]
    assert part.point.tolist() == points
    for point, leaf in zip(points, part.tree.leaf_of_point, strict=True):
        assert tree.leaf_of_point[point] in inside[part.node[leaf]]
    assert part.tree.height.tolist() == tree.height[expected].tolist()


@given(random_tree())
def test_the_whole_part_is_the_tree(tree: Tree) -> None:
    part = walk.part(tree)
    assert outline(part.tree) == outline(tree)
    assert part.tree.leaf_of_point.tolist() == tree.leaf_of_point.tolist()


@given(random_tree())
def test_contraction_keeps_all_clusters(tree: Tree) -> None:
    small = walk.contract_unary(tree).validate()
    assert not (small.n_children == 1).any()

    def clusters(of: Tree) -> set[frozenset[str]]:
        return {frozenset(of.name[leaf] for leaf in leaves) for leaves in under(of)}

    assert clusters(small) == clusters(tree)
    assert len(clusters(small)) == small.n_nodes
    assert small.name[small.leaf_of_point].tolist() == tree.name[tree.leaf_of_point].tolist()


@given(random_tree(monotone=False, whole_heights=True))
def test_greatest_heights_are_the_greatest_below(tree: Tree) -> None:
    nodes = range(tree.n_nodes)
    greatest = [max(tree.height[u] for u in nodes if _is_above(tree, v, u)) for v in nodes]
    assert walk.greatest_heights(tree).tolist() == greatest


def test_a_chain_of_a_hundred_thousand() -> None:
    tree = chain(100_000)
    assert walk.preorder(tree).size == tree.n_nodes
    assert walk.leaf_order(tree)[0] == tree.leaf_of_point[0]
    assert walk.path(tree, int(tree.leaf_of_point[0])).size == 100_000
    start, node = walk.paths(tree, tree.leaf_of_point[:2])
    assert (start[-1], node[-1]) == (200_000, tree.leaf_of_point[1])
    deep = walk.lca(tree, tree.leaf_of_point[:-1], tree.leaf_of_point[1:])
    # Leaves i and i + 1 meet where leaf i + 1 was merged, at height i + 1.
    assert (tree.height[deep] == np.arange(1, 100_000)).all()
    assert walk.part(tree, 50_000, 10).tree.max_depth == 10
    assert walk.contract_unary(tree) is tree
