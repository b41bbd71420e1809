"""What is known of a tree: places, rows, what is left without some rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.methods.labelled.hierarchy.known_tree import KnownTree, read_known_tree
from tests.models.methods.labelled.hierarchy.tree_kit import LEAVES, known_tree


@st.composite
def trees(draw: st.DrawFn) -> KnownTree:
    n_nodes = draw(st.integers(2, 12))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, n_nodes))]
    leaves = sorted(set(range(n_nodes)) - set(parent))
    rows = draw(st.lists(st.sampled_from([0, *leaves]), min_size=1, max_size=20))
    return KnownTree(np.array(parent), [str(node) for node in range(n_nodes)], np.array(rows))


def path(tree: KnownTree, node: int) -> list[int]:
    up = [node]
    while up[-1]:
        up.append(int(tree.parent[up[-1]]))
    return up[::-1]


@given(trees())
def test_places_rows_and_leaves_are_those_of_the_paths(tree: KnownTree) -> None:
    everything = np.arange(tree.n_nodes)
    paths = [path(tree, node) for node in range(tree.n_nodes)]
    for node in range(tree.n_nodes):
        depth = len(paths[node])
        children = tree.children(node).tolist()
        expected = [
            children.index(own[depth]) if own[:depth] == paths[node] and len(own) > depth else -1
            for own in paths
        ]
        assert tree.place(node, everything).tolist() == expected
        below = [leaf for leaf in range(tree.n_nodes) if node in paths[leaf] and tree.is_leaf[leaf]]
        assert tree.leaves(node).tolist() == below
        rows = [row for row, own in enumerate(tree.row_node.tolist()) if own and own in below]
        assert tree.labelled(node).tolist() == rows


@given(trees(), st.data())
def test_without_rows_only_nodes_that_have_others_stay(
    tree: KnownTree, data: st.DataObject
) -> None:
    size = tree.row_node.size
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    rest, number = tree.without(gone)
    kept = {0, *(node for row in np.flatnonzero(~gone) for node in path(tree, tree.row_node[row]))}
    assert set(np.flatnonzero(number >= 0).tolist()) == kept
    assert rest.name == [str(node) for node in sorted(kept)]
    for row in range(size):
        known = tree.row_node[row] if not gone[row] else 0
        names = [rest.name[node] for node in path(rest, int(rest.row_node[row]))]
        assert names == [str(node) for node in path(tree, int(known))]


def test_the_nearest_node_with_two_children() -> None:
    tree, _ = known_tree(0)
    assert tree.supervised.tolist() == [0, 1, 2]
    assert tree.supervised_above(tree.supervised).tolist() == [0, 1, 2, 0, 1, 1, 1, 2, 2, 0]
    assert tree.levels.tolist() == [2, 1, 1, 1, *[0] * LEAVES.size]


def test_paths_make_the_tree_and_unlabelled_rows_are_at_its_root() -> None:
    labels = LabelSets.of(np.array(["x/a", "x/b", "y", "x/a", "x"], dtype=object))
    free = np.array([False] * 5 + [True])
    start = np.append(labels.start, labels.start[-1])
    sets = LabelSets(start, labels.code, labels.names, free)
    tree, _, warnings = read_known_tree(Data({"labels": sets}), 6)
    assert not warnings
    names = [[tree.name[node] for node in path(tree, int(node))] for node in tree.row_node]
    assert names == [
        [None, "x", "a"],
        [None, "x", "b"],
        [None, "y"],
        [None, "x", "a"],
        [None, "x", "x"],
        [None],
    ]
