"""Sets of nodes and their paths, against the definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.classification.outcomes import NodeSets
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import path, tree_of
from tests.models.tree.strategies_kit import random_tree

N_ROWS = 4


@st.composite
def pairs(draw: st.DrawFn, tree: Tree) -> list[tuple[int, int]]:
    pair = st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, tree.n_nodes - 1))
    return draw(st.lists(pair, max_size=12))


def sets_of(tree: Tree, drawn: list[tuple[int, int]]) -> NodeSets:
    row, node = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
    return NodeSets.of(tree, N_ROWS, row, node)


@given(data=st.data(), tree=random_tree(max_leaves=8))
def test_paths_to_sets(data: st.DataObject, tree: Tree) -> None:
    drawn = data.draw(pairs(tree))
    sets = sets_of(tree, drawn)
    assert sorted(zip(sets.row.tolist(), sets.node.tolist(), strict=True)) == sorted(set(drawn))
    own = [{node for row, node in drawn if row == at} for at in range(N_ROWS)]
    above = [set().union(*(path(tree, node) for node in nodes)) for nodes in own]
    assert sets.n_each.tolist() == list(map(len, own))
    assert sets.path_sizes.tolist() == [len(nodes - {0}) for nodes in above]
    assert sets.n_through.tolist() == [
        sum(node in nodes for nodes in above) for node in range(tree.n_nodes)
    ]
    deepest = sets.deepest()
    for row, nodes in enumerate(own):
        implied = set().union(*(set(path(tree, node)) - {node} for node in nodes))
        assert set(deepest.node[deepest.row == row].tolist()) == nodes - implied


@given(data=st.data(), tree=random_tree(max_leaves=8))
def test_two_sets(data: st.DataObject, tree: Tree) -> None:
    first, second = data.draw(pairs(tree)), data.draw(pairs(tree))
    union = sets_of(tree, first).union(sets_of(tree, second))
    assert union.key.tolist() == sets_of(tree, first + second).key.tolist()
    row, node = np.array(second, dtype=np.int64).reshape(-1, 2).T
    expected = [pair in set(first) for pair in second]
    assert sets_of(tree, first).has(row, node).tolist() == expected


def test_a_deep_tree_costs_no_more() -> None:
    # A chain 0 - 1 - ... - 99,999; every row has the deepest node and the middle.
    n_nodes, n_rows = 100_000, 10_000
    tree = tree_of(np.arange(-1, n_nodes - 1), [n_nodes - 1])
    row = np.repeat(np.arange(n_rows), 2)
    sets = NodeSets.of(tree, n_rows, row, np.tile([n_nodes - 1, n_nodes // 2], n_rows))
    assert (sets.path_sizes == n_nodes - 1).all()
    assert (sets.n_through == n_rows).all()
    assert (sets.deepest().node == n_nodes - 1).all()
