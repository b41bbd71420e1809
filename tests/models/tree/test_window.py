"""The folded part of a tree."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree import walk
from models.tree.tree import Tree, sizes
from models.tree.walk import leaf_counts, preorder, spans
from models.tree.window import fold, scene, view
from tests.models.tree.strategies_kit import random_tree
from tests.models.tree.trees_kit import tree_of


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    n = draw(st.integers(1, 40))
    return tree_of([-1] + [draw(st.integers(0, i - 1)) for i in range(1, n)])


@given(trees())
def test_leaf_counts_are_the_leaves_below(tree: Tree) -> None:
    expected = np.zeros(tree.n_nodes, dtype=int)
    for leaf in tree.leaves.tolist():
        while leaf >= 0:
            expected[leaf] += 1
            leaf = int(tree.parent[leaf])
    assert leaf_counts(tree).tolist() == expected.tolist()


@given(trees(), st.integers(1, 45), st.integers(0, 39))
def test_shown_nodes_are_connected_and_fit(tree: Tree, max_nodes: int, root: int) -> None:
    root %= tree.n_nodes
    nodes = view(tree, root, max_nodes)
    shown = {node["id"] for node in nodes}
    assert len(nodes) == len(shown) <= max_nodes
    assert nodes[0]["id"] == root
    assert nodes[0]["parent"] is None
    seen: set[int] = set()
    for node in nodes:
        row = node["id"]
        if seen:
            assert node["parent"] == tree.parent[row]
            assert node["parent"] in seen
        seen.add(row)
        below = set(np.flatnonzero(tree.parent == row).tolist())
        assert node["hidden"] == len(below - shown)
        assert node["folded"] == bool(below - shown)
        assert below <= shown or not below & shown or row == root
        assert (node["size"], node["n_leaves"]) == (tree.size[row], leaf_counts(tree)[row])
        assert 0 <= node["x"] <= 1
        assert 0 <= node["y"] <= 1
    if len(nodes) < max_nodes:
        # No node that would have fitted is folded.
        for node in nodes:
            if node["hidden"]:
                assert node["hidden"] > max_nodes - len(nodes)
    json.dumps(nodes, allow_nan=False)


def one_by_one(
    tree: Tree, root: int, max_nodes: int, max_tips: int | None, max_depth: int | None
) -> set[int]:
    """The nodes that `fold` shows, searching for the largest subtree anew each time."""
    counts, shown, tried = leaf_counts(tree), {root}, set[int]()
    while len(tried) < len(shown):
        node = min(shown - tried, key=lambda v: (-counts[v], -tree.size[v], v))
        tried.add(node)
        below = np.flatnonzero(tree.parent == node).tolist()
        room = max_nodes - len(shown)
        if max_tips is not None:
            tips = sum(not (set(np.flatnonzero(tree.parent == v)) & shown) for v in shown)
            room = min(room, max_tips - tips + 1)
        if max_depth is not None and tree.depth[node] >= tree.depth[root] + max_depth:
            continue
        if len(below) <= room:
            shown.update(below)
        elif node == root and room >= 2:
            shown.update(sorted(below, key=lambda v: (-counts[v], -tree.size[v], v))[:room])
    return shown


@given(
    random_tree(max_leaves=20),
    st.integers(1, 30),
    st.none() | st.integers(1, 15),
    st.none() | st.integers(0, 5),
    st.integers(0, 99),
)
def test_the_largest_that_fit_are_opened(
    tree: Tree, max_nodes: int, max_tips: int | None, max_depth: int | None, root: int
) -> None:
    root %= tree.n_nodes
    part = fold(tree, root, max_nodes=max_nodes, max_tips=max_tips, max_depth=max_depth)
    assert set(part.node.tolist()) == one_by_one(tree, root, max_nodes, max_tips, max_depth)
    order = preorder(tree).tolist()
    assert part.node.tolist() == sorted(part.node.tolist(), key=order.index)


def test_siblings_stand_in_the_given_order() -> None:
    tree = tree_of(FAMILY)
    mirrored = tree.n_leaves - spans(tree).start - leaf_counts(tree)
    part = fold(tree, place=mirrored)
    assert part.node.tolist() == [0, 3, 9, 8, 2, 1, 7, 6, 5, 4]
    assert part.parent.tolist() == [-1, 0, 1, 1, 0, 0, 5, 5, 5, 5]
    nodes = scene(tree, place=mirrored).nodes
    assert [n["id"] for n in nodes] == part.node.tolist()
    assert nodes[1]["x"] < nodes[4]["x"] < nodes[5]["x"]


def test_the_scene_names_the_scale_of_y() -> None:
    tree = tree_of(FAMILY)
    assert (scene(tree).scale, scene(tree).axis) == ("height", (2.0, 0.0))
    assert (scene(tree, scale="sqrt").scale, scene(tree, scale="sqrt").axis) == ("sqrt", (2.0, 0.0))
    assert scene(tree, scale="depth").axis is None
    flat = Tree(tree.parent, np.zeros(10), tree.size, tree.name, tree.leaf_of_point)
    assert (scene(flat).scale, scene(flat).axis) == ("level", None)
    assert scene(flat, scale="auto").scale == "level"
    assert scene(flat, scale="depth").scale == "depth"
    # From the highest height shown to the lowest, or to the ground where nodes are folded.
    assert scene(tree, 1).axis == (1.0, 0.0)
    assert scene(tree, max_nodes=4).axis == (2.0, 0.0)


#         0
#      /  |  \
#     1   2   3        leaves under 1: 4, under 3: 2
#   / | \ \   | \
#  4  5 6  7  8  9
FAMILY = [-1, 0, 0, 0, 1, 1, 1, 1, 3, 3]


def test_the_largest_subtree_opens_first() -> None:
    nodes = view(tree_of(FAMILY), max_nodes=8)
    assert [node["id"] for node in nodes] == [0, 1, 4, 5, 6, 7, 2, 3]
    folded = nodes[-1]
    assert (folded["folded"], folded["n_leaves"], folded["size"], folded["hidden"]) == (
        True,
        2,
        2,
        2,
    )
    assert nodes[0]["y"] == 0.0
    # Four leaves of width 1, node 2 of width 1, node 3 (two leaves) of width 4/3.
    assert nodes[-1]["x"] == pytest.approx((5 + 2 / 3) / (6 + 1 / 3))


def test_a_folded_node_is_not_drawn_at_the_ground() -> None:
    tree = tree_of([-1, 0, 0, 1, 1, 2, 2])
    assert [node["y"] for node in view(tree, max_nodes=3)] == [0.0, 0.5, 0.5]


def test_a_root_with_too_many_children_shows_the_largest() -> None:
    tree = tree_of([-1, 0, 0, 0, 0, 3, 3])
    nodes = view(tree, max_nodes=3)
    assert [node["id"] for node in nodes] == [0, 1, 3]
    assert (nodes[0]["hidden"], nodes[0]["folded"]) == (2, True)


def test_depth_and_tips_are_bounds() -> None:
    tree = tree_of(FAMILY)
    assert fold(tree, max_depth=1).node.tolist() == [0, 1, 2, 3]
    assert fold(tree, max_depth=0).node.tolist() == [0]
    assert fold(tree, max_tips=4).node.tolist() == [0, 1, 2, 3, 8, 9]


def test_bad_requests_are_named() -> None:
    tree = tree_of(FAMILY)
    with pytest.raises(UsageError, match="no node 10") as error:
        view(tree, root=10)
    assert error.value.code == "unknown-node"
    with pytest.raises(UsageError, match="'max_nodes' is 0"):
        view(tree, max_nodes=0)


def test_what_is_known_of_all_nodes_is_kept_for_the_second_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 200_000
    rng = np.random.default_rng(0)
    # Each node from row 1 on is a child of a random earlier pair: binary, about n leaves.
    parent = np.empty(2 * n - 1, dtype=np.int32)
    parent[0] = -1
    parent[1:] = np.repeat((np.arange(n - 1) * rng.random()).astype(np.int32) * 2, 2)
    leaves = np.flatnonzero(np.bincount(parent[1:], minlength=2 * n - 1) == 0).astype(np.int32)
    height = np.zeros(2 * n - 1)
    names = np.full(2 * n - 1, None, dtype=object)
    tree = Tree(parent, height, sizes(parent, leaves), names, leaves)
    assert len(view(tree)) <= 500
    for name in ("sizes", "ordered_starts"):
        monkeypatch.setattr(walk, name, None)
    assert len(view(tree, max_nodes=5000)) <= 5000


def test_a_chain_folds_its_far_end() -> None:
    n = 100_000
    tree = tree_of([-1] + [2 * (i // 2) for i in range(2 * n - 2)])
    nodes = view(tree, max_nodes=101)
    assert len(nodes) == 101
    assert [node["id"] for node in nodes if node["folded"]] == [100]
