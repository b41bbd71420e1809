"""Trees to measure, and their points' paths and common ancestors by definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import log2

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from models.tree.tree import Tree, sizes
from tests.models.tree.strategies_kit import SMALL_TREES, random_tree


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


def symmetric(n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    values = rng.random((n, n))
    return values + values.T


def from_linkage(merges: npt.NDArray[np.float64]) -> Tree:
    """Rows in the reverse of SciPy's ids, so that parents come first."""
    n_points = len(merges) + 1
    last = 2 * n_points - 2
    parent = np.full(last + 1, -1)
    height = np.zeros(last + 1)
    for step, (left, right, level, _) in enumerate(merges):
        node = last - (n_points + step)
        parent[last - int(left)] = parent[last - int(right)] = node
        height[node] = level
    return tree_of(parent, last - np.arange(n_points), height)


def chain(n: int, rng: np.random.Generator) -> Tree:
    """Spine 0, 2, 4, ..., one leaf at each step: n deep."""
    parent = np.append(-1, 2 * ((np.arange(1, 2 * n - 1) - 1) // 2))
    leaves = np.append(np.arange(1, 2 * n - 1, 2), 2 * n - 2)
    return tree_of(parent, rng.permutation(leaves))


def naive_lhd(tree: Tree, labels: list[int]) -> float:
    n_leaves = len(tree.leaves)
    if n_leaves <= 2:
        return 0.0

    def branches_up_to(node: int, top: int) -> int:
        """Edges from a leaf up to `top` where nodes of one child are gone."""
        over = path(tree, node)
        over = over[1 : over.index(top) + 1]
        return sum(int(tree.n_children[v]) > 1 for v in over)

    terms = []
    for i, j in combinations(range(tree.n_points), 2):
        a, b = int(tree.leaf_of_point[i]), int(tree.leaf_of_point[j])
        if labels[i] == labels[j] and a != b:
            top = meet(tree, i, j)
            td = branches_up_to(a, top) + branches_up_to(b, top)
            terms.append((log2(td) - 1) / (log2(n_leaves) - 1))
    return sum(terms) / len(terms) if terms else 0.0
