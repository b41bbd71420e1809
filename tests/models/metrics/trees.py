"""Trees to measure, and their points' paths: every shape up to 7 leaves, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from models.tree.tree import Tree, sizes

Shape = tuple["Shape", ...]


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


@cache
def shapes(n_leaves: int) -> tuple[Shape, ...]:
    """All rooted trees with unlabelled leaves and no node of one child: 1, 1, 2, 5, 12, 33, 90."""
    if n_leaves == 1:
        return ((),)
    return tuple(_forests(n_leaves, n_leaves - 1, 2))


def _forests(n_leaves: int, largest: int, at_least: int) -> Iterator[Shape]:
    """Multisets of `at_least` or more shapes with n_leaves leaves, none over `largest`."""
    if n_leaves == 0:
        if at_least <= 0:
            yield ()
        return
    for size in range(min(largest, n_leaves), 0, -1):
        for count in range(1, n_leaves // size + 1):
            for group in combinations_with_replacement(shapes(size), count):
                for rest in _forests(n_leaves - size * count, size - 1, at_least - count):
                    yield group + rest


def parents_of(shape: Shape) -> list[int]:
    parent, queue = [-1], [(0, shape)]
    for node, children in queue:
        for child in children:
            queue.append((len(parent), child))
            parent.append(node)
    return parent


def small_trees() -> Iterator[Tree]:
    """One point a leaf, in every shape up to 7 leaves; points are not in the leaves' order."""
    rng = np.random.default_rng(0)
    for n_leaves in range(1, 8):
        for shape in shapes(n_leaves):
            parent = parents_of(shape)
            leaves = np.setdiff1d(np.arange(len(parent)), parent)
            yield tree_of(parent, rng.permutation(leaves))


@st.composite
def any_tree(draw: st.DrawFn, max_nodes: int = 20, max_points: int = 25) -> Tree:
    """Any tree: nodes of one child, leaves with no point or several, ties in the heights."""
    n_nodes = draw(st.integers(1, max_nodes))
    parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    leaves = sorted(set(range(n_nodes)) - set(parent))
    leaf_of_point = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=max_points))
    height = [100.0]
    for node in range(1, n_nodes):
        height.append(height[parent[node]] - draw(st.integers(0, 3)))
    return tree_of(parent, leaf_of_point, height)


@st.composite
def point_tree(draw: st.DrawFn, max_nodes: int = 20) -> Tree:
    """Any tree with one point in each leaf."""
    tree = draw(any_tree(max_nodes))
    return tree_of(tree.parent, draw(st.permutations(tree.leaves.tolist())), tree.height)


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
