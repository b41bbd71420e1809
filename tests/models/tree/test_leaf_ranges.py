"""Leaf ranges of nodes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tree.tree import Tree
from models.tree.walk import leaf_order, ordered_starts, path, points_before, points_in_order, spans
from tests.models.tree.strategies_kit import random_tree


@given(random_tree())
def test_the_leaves_under_a_node_stand_side_by_side(tree: Tree) -> None:
    ranges = spans(tree)
    order = leaf_order(tree)
    for node in range(tree.n_nodes):
        begin = ranges.start[node]
        under = [leaf for leaf in order.tolist() if node in path(tree, leaf)]
        assert order[begin : begin + ranges.count[node]].tolist() == under
    assert spans(tree) is ranges


@given(random_tree(), st.data())
def test_points_under_a_node(tree: Tree, data: st.DataObject) -> None:
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    first = data.draw(st.integers(0, tree.n_points))
    stop = data.draw(st.integers(first, tree.n_points))
    under = [row for row in range(first, stop) if node in path(tree, int(tree.leaf_of_point[row]))]
    assert spans(tree).rows(tree, node, first, stop).tolist() == under
    assert spans(tree).rows(tree, node).size == tree.size[node]


@given(random_tree())
def test_points_from_left_to_right(tree: Tree) -> None:
    order, before = points_in_order(tree), points_before(tree)
    for node in range(tree.n_nodes):
        own = order[before[node] : before[node] + tree.size[node]].tolist()
        assert sorted(own) == spans(tree).rows(tree, node).tolist()
    assert points_before(tree) is before


@given(random_tree(), st.randoms())
def test_siblings_in_another_order(tree: Tree, random: st.DataObject) -> None:
    first, child = tree.children
    child = child.copy()
    for node in range(tree.n_nodes):
        own = child[first[node] : first[node + 1]].tolist()
        random.shuffle(own)  # type: ignore[attr-defined]
        child[first[node] : first[node + 1]] = own
    starts = ordered_starts(tree, child)
    stack, seen = [0], 0
    while stack:
        node = stack.pop()
        assert starts[node] == seen
        seen += tree.n_children[node] == 0
        stack.extend(child[first[node] : first[node + 1]][::-1].tolist())
    assert seen == tree.n_leaves


def test_a_chain_of_100_000() -> None:
    n = 100_000
    parent = np.array([-1] + [2 * (i // 2) for i in range(2 * n - 2)], dtype=np.int32)
    leaves = np.flatnonzero(np.bincount(parent[1:], minlength=2 * n - 1) == 0).astype(np.int32)
    size = np.ones(2 * n - 1, dtype=np.int64)
    names = np.full(2 * n - 1, None, dtype=object)
    ranges = spans(Tree(parent, np.zeros(2 * n - 1), size, names, leaves))
    assert ranges.start[leaves].tolist() == list(range(n))
