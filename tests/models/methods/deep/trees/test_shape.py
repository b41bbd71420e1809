"""Shapes of trees against a tree of nested pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.methods.deep.trees.shape import TreeShape

#       0
#     1   2
#        3  4
#       5 6
SMALL = TreeShape.root().split(0).split(2).split(3)


def test_a_small_tree() -> None:
    assert SMALL.parent.tolist() == [-1, 0, 0, 2, 2, 3, 3]
    assert SMALL.leaves.tolist() == [1, 4, 5, 6]
    assert SMALL.sibling.tolist() == [0, 2, 1, 4, 3, 6, 5]
    assert SMALL.paths.tolist() == [[1, 7, 7], [4, 2, 7], [5, 3, 2], [6, 3, 2]]
    assert SMALL.below.astype(int).tolist() == [
        [1, 1, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_one_node_is_a_tree() -> None:
    root = TreeShape.root()
    assert root.leaves.tolist() == [0]
    assert root.paths.shape == (1, 0)
    assert root.below.tolist() == [[True]]


def test_a_sibling_takes_the_place_of_the_parent() -> None:
    shape, left = SMALL.pruned(4)  # 3 takes the place of 2
    assert left.tolist() == [0, 1, 3, 5, 6]
    assert shape.parent.tolist() == [-1, 0, 0, 2, 2]
    shape, left = SMALL.pruned(1)  # 2 becomes the root
    assert left.tolist() == [2, 3, 4, 5, 6]
    assert shape.parent.tolist() == [-1, 0, 0, 1, 1]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1000)), max_size=40))
def test_splits_and_prunings_are_those_of_nested_pairs(
    changes: list[tuple[bool, int]],
) -> None:
    shape, names, count = TreeShape.root(), ["0"], 1
    above: dict[str, str] = {}
    for splits, draw in changes:
        leaf = int(shape.leaves[draw % shape.n_leaves])
        name = names[leaf]
        if splits:
            shape = shape.split(leaf)
            children = [str(count), str(count + 1)]
            count += 2
            names += children
            above |= dict.fromkeys(children, name)
        elif shape.n_leaves > 1:
            parent = above.pop(name)
            other = next(child for child, over in above.items() if over == parent)
            del above[other]
            if parent in above:
                above[other] = above.pop(parent)
            shape, left = shape.pruned(leaf)
            names = [names[node] for node in left]
        assert shape.parent[0] == -1
        assert (shape.parent[1:] < np.arange(1, shape.n_nodes)).all()
        edges = {names[node]: names[shape.parent[node]] for node in range(1, shape.n_nodes)}
        assert edges == above
