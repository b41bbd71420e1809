"""Trees to measure, and their points' paths and meetings from the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from models.tree.tree import Tree, sizes
from tests.models.tree.strategies import SMALL_TREES, random_tree


def tree_of(
    parent: npt.ArrayLike, leaf_of_point: npt.ArrayLike, height: npt.ArrayLike | None = None
) -> Tree:
    """A valid tree; without heights, a node's is how far it lies above the last row."""
    above = np.asarray(parent, dtype=np.int32)
    leaf = np.asarray(leaf_of_point, dtype=np.int32)
    high = np.arange(above.size)[::-1] if height is None else height
    return Tree(
        parent=above,
        height=np.array(high, dtype=np.float64),
        size=sizes(above, leaf),
        name=np.full(above.size, None, dtype=object),
        leaf_of_point=leaf,
    ).validate()


def small_trees() -> Iterator[Tree]:
    """One point a leaf, in every shape up to 7 leaves; points are not in the leaves' order."""
    rng = np.random.default_rng(0)
    for tree in SMALL_TREES:
        yield replace(tree, leaf_of_point=rng.permutation(tree.leaf_of_point))


def any_tree(max_leaves: int = 10) -> st.SearchStrategy[Tree]:
    """Any tree with a point: nodes of one child, leaves with no point or several, tied heights."""
    return st.one_of(
        random_tree(max_leaves=max_leaves, whole_heights=True),
        random_tree(max_leaves=max_leaves, whole_heights=True, single_points=True),
    ).filter(lambda tree: tree.n_points > 0)


def path(tree: Tree, node: int) -> list[int]:
    """The node and its ancestors, root last."""
    nodes = [node]
    while tree.parent[nodes[-1]] >= 0:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def meet(tree: Tree, i: int, j: int) -> int:
    """Lowest common ancestor of the leaves of points i and j, from the definition."""
    others = path(tree, int(tree.leaf_of_point[j]))
    return next(node for node in path(tree, int(tree.leaf_of_point[i])) if node in others)


def points_under(tree: Tree, node: int) -> list[int]:
    return [p for p, leaf in enumerate(tree.leaf_of_point) if node in path(tree, int(leaf))]
