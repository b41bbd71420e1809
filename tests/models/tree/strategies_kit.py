"""Random trees for hypothesis, all small shapes, and a tree's outline to compare by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from hypothesis import strategies as st

from models.tree.build import from_merges, from_parents
from models.tree.tree import Tree
from models.tree.walk import preorder

Shape = tuple[Any, ...]
"""A leaf is (), an inner node the tuple of its children."""

HOSTILE_NAMES = (
    "it's",
    "a b",
    "a_b",
    "(x)",
    "[c]",
    "q,r",
    "line\nbreak",
    "<script>alert('x')</script>",
    "ünï",
    "😀",
    "",
    " lead",
    "trail ",
    "a:b;c",
    '"double"',
    "tab\there",
    "'",
    "''",
    "\\",
    "[&R]",
    "12",
    "None",
    "%s",
    "a\r\nb",
    "\u2028",
    "A",
    "a",
)

any_name = st.one_of(
    st.sampled_from(HOSTILE_NAMES),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
)

# Made once: hypothesis looks through each new strategy before it draws.
_COUNT = st.integers(0, 3)
_WHOLE = _COUNT.map(float)
_STEP = st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 0.5, 1.0]))


@st.composite
def random_tree(
    draw: st.DrawFn,
    *,
    min_leaves: int = 1,
    max_leaves: int = 12,
    binary: bool = False,
    unary: bool = True,
    monotone: bool = True,
    single_points: bool = False,
    names: st.SearchStrategy[str] | None = None,
    whole_heights: bool = False,
) -> Tree:
    """A valid tree of any shape: chains, stars and all between.

    binary : every inner node has two children. unary : whether inner nodes may have one child.
    monotone : False draws heights without order. single_points : one point at each leaf, in any
    order; else 0 to 3 a leaf. names : of all nodes; default: leaves by row, inner nodes None.
    whole_heights : small integers, so that lengths add up without rounding and ties are common.
    """
    n_leaves = draw(st.integers(min_leaves, max_leaves))
    parent = _binary(draw, n_leaves) if binary else _any(draw, n_leaves, unary)
    n_nodes = parent.size
    step = _WHOLE if whole_heights else _STEP
    steps = draw(st.lists(step, min_size=n_nodes, max_size=n_nodes))
    height = np.array(steps)
    if monotone:
        for node in range(n_nodes - 1, 0, -1):
            over = parent[node]
            height[over] = max(height[over], height[node])
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    if single_points:
        leaf_of_point = np.array(draw(st.permutations(leaves.tolist())))
    else:
        counts = draw(st.lists(_COUNT, min_size=n_leaves, max_size=n_leaves))
        leaf_of_point = np.array(draw(st.permutations(np.repeat(leaves, counts).tolist())), int)
    own: list[str | None]
    if names is None:
        own = [str(node) if node in leaves else None for node in range(n_nodes)]
    else:
        none_or = st.one_of(st.none(), names)
        own = [draw(names if node in leaves else none_or) for node in range(n_nodes)]
    return from_parents(parent, height, own, leaf_of_point, monotone=monotone)


def _any(draw: st.DrawFn, n_leaves: int, unary: bool) -> np.ndarray:
    """Split nodes until there are `n_leaves`; each split makes 1 (if `unary`) to 4 children."""
    parent = [-1]
    leaves = [0]
    n_unary = 0
    while len(leaves) < n_leaves or (unary and n_unary < 3 and draw(st.integers(0, 5)) == 0):
        most = min(4, n_leaves - len(leaves) + 1)
        least = 1 if unary and n_unary < 3 else 2
        n_children = draw(st.integers(min(least, most), most))
        n_unary += n_children == 1
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        for _ in range(n_children):
            leaves.append(len(parent))
            parent.append(node)
    return np.array(parent)


def _binary(draw: st.DrawFn, n_leaves: int) -> np.ndarray:
    waiting = list(range(n_leaves))
    left, right = [], []
    for merge in range(n_leaves - 1):
        left.append(waiting.pop(draw(st.integers(0, len(waiting) - 1))))
        right.append(waiting.pop(draw(st.integers(0, len(waiting) - 1))))
        waiting.append(n_leaves + merge)
    return from_merges(left, right, np.arange(n_leaves - 1)).parent


def all_shapes(n_leaves: int) -> Iterator[Shape]:
    """Every rooted shape of `n_leaves` leaves without unary nodes: 1, 1, 2, 5, 12, 33, 90, ..."""
    if n_leaves == 1:
        yield ()
        return
    for parts in _partitions(n_leaves, n_leaves - 1):
        yield from _joined(parts)


def _joined(parts: tuple[int, ...]) -> Iterator[Shape]:
    if not parts:
        yield ()
        return
    alike = parts.count(parts[0])
    for first in combinations_with_replacement(list(all_shapes(parts[0])), alike):
        for rest in _joined(parts[alike:]):
            yield first + rest


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def tree_of_shape(shape: Shape) -> Tree:
    """The tree of a shape: nodes in preorder, height = most edges down, one point a leaf."""
    parent: list[int] = []
    height: list[float] = []

    def add(part: Shape, above: int) -> float:
        row = len(parent)
        parent.append(above)
        height.append(0.0)
        for child in part:
            height[row] = max(height[row], 1 + add(child, row))
        return height[row]

    add(shape, -1)
    return from_parents(parent, height, [None] * len(parent))


SMALL_TREES = [tree_of_shape(shape) for n in range(1, 8) for shape in all_shapes(n)]
"""The 144 trees of up to 7 leaves."""


def chain(n_leaves: int) -> Tree:
    """The deepest binary tree of n leaves: each merge adds one leaf to all before it."""
    merged = np.concatenate([[0], np.arange(n_leaves, 2 * n_leaves - 2)])
    return from_merges(merged, np.arange(1, n_leaves), np.arange(1, n_leaves, dtype=float))


def outline(tree: Tree) -> list[tuple[int, str | None, float, int]]:
    """(depth, name, height, size) of each node in preorder: equal for trees that differ in ids."""
    order = preorder(tree)
    columns = (tree.depth, tree.name, tree.height, tree.size)
    return list(zip(*(column[order].tolist() for column in columns), strict=True))


def under(tree: Tree) -> list[set[int]]:
    """The leaves under each node, literally: every leaf is put into each of its ancestors."""
    points: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for leaf in tree.leaves.tolist():
        node = leaf
        while node >= 0:
            points[node].add(leaf)
            node = int(tree.parent[node])
    return points
