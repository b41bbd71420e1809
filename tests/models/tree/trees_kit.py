"""Trees that several tests use."""

from __future__ import annotations

import numpy as np

from models.tree.tree import Tree, sizes


def tree_of(parent: list[int] | np.ndarray, name: list[str | None] | None = None) -> Tree:
    """One point per leaf, heights by levels."""
    column = np.asarray(parent, dtype=np.int32)
    n = len(column)
    leaves = np.flatnonzero(np.bincount(column[1:], minlength=n) == 0).astype(np.int32)
    height = np.zeros(n)
    for node in range(n - 1, 0, -1):
        height[column[node]] = max(height[column[node]], height[node] + 1)
    names = np.array(name if name is not None else [None] * n, dtype=object)
    return Tree(column, height, sizes(column, leaves), names, leaves).validate()


FOUR = Tree(
    np.array([-1, 0, 0, 1, 1, 2, 2], dtype=np.int32),
    np.array([3.0, 2, 1, 0, 0, 0, 0]),
    np.array([4, 2, 2, 1, 1, 1, 1]),
    np.full(7, None, dtype=object),
    np.array([3, 4, 5, 6], dtype=np.int32),
)
