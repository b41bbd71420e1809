"""Trees that grow and lose leaves."""

from __future__ import annotations

import numpy as np

from models.methods.deep.variational.network import Topology
from models.methods.deep.variational.placing import Nodes

# 0 -> (1 -> (5, 6), 2 -> (3, 4))
TREE = Topology.stump().split(2).split(1)


def test_splits_add_numbers() -> None:
    assert TREE.nodes() == [0, 1, 2, 3, 4, 5, 6]
    assert TREE.leaves() == [3, 4, 5, 6]
    assert TREE.leaves(1) == [5, 6]
    assert TREE.routers() == [0, 1, 2]
    assert TREE.parent().tolist() == [-1, 0, 0, 2, 2, 1, 1]
    assert TREE.depth().tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert TREE.paths() == (
        [3, 4, 5, 6],
        {0: [0, 1, 2, 3], 1: [2, 3], 2: [0, 1], 3: [0], 4: [1], 5: [2], 6: [3]},
    )
    assert Topology.stump().leaves() == [1, 2], "a split changes no tree that there was"


def test_a_pruned_leaf_leaves_an_only_child() -> None:
    # 0 -> (1 -> (5, 6), 2 -> 4)
    once = TREE.pruned(3)
    assert once.nodes() == [0, 1, 2, 4, 5, 6]
    assert once.routers() == [0, 1]
    assert once.depth()[4] == 2
    nodes = Nodes.of(once)  # 0 -> (1 -> (5, 6), 4)
    assert nodes.number.tolist() == [0, 1, 4, 5, 6]
    assert nodes.parent.tolist() == [-1, 0, 0, 1, 1]
    assert nodes.leaves.tolist() == [2, 3, 4]


def test_ancestors_without_children_go_too() -> None:
    # 0 -> 1 -> (5, 6)
    twice = TREE.pruned(3).pruned(4)
    assert twice.nodes() == [0, 1, 5, 6]
    nodes = Nodes.of(twice)  # 1 -> (5, 6)
    assert nodes.number.tolist() == [1, 5, 6]
    assert nodes.parent.tolist() == [-1, 0, 0]
    # 0 -> 1 -> 6
    alone = Nodes.of(twice.pruned(5))
    assert alone.number.tolist() == [6]
    assert alone.parent.tolist() == [-1]
    assert alone.leaves.tolist() == [0]


def test_names_go_by_size() -> None:
    nodes = Nodes.of(TREE)  # leaves 3, 4, 5, 6
    leaf = np.array([3, 4, 4, 5, 5, 5, 6])
    tree = nodes.tree(leaf, ["a", "b", "c", "d"], {})
    assert tree.name.tolist() == [None, None, None, "c", "b", "a", "d"]
    assert tree.height.tolist() == [2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert tree.size.tolist() == [7, 4, 3, 1, 2, 3, 1]
