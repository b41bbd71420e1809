"""Groups of points nested in groups, in many dimensions, whose tree is known."""

from __future__ import annotations

import numpy as np

from models.tree.tree import Tree

N_GROUPS = 8


def nested_points(n_each: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(8 n_each, 40) points and their groups: halves {0..3}, {4..7} lie far apart, the pairs in
    them less far, the groups of a pair least.

            o
        o       o
      o   o   o   o
     0 1 2 3 4 5 6 7
    """
    rng = np.random.default_rng(seed)
    centres = np.zeros((N_GROUPS, 40))
    for apart, width in ((27.0, 4), (9.0, 2), (3.0, 1)):
        for start in range(0, N_GROUPS, width):
            direction = rng.normal(size=40)
            centres[start : start + width] += apart * direction / np.linalg.norm(direction)
    group = np.repeat(np.arange(N_GROUPS), n_each)
    return centres[group] + 0.3 * rng.normal(size=(len(group), 40)), group


def planted_clades() -> set[frozenset[int]]:
    """The groups below each node of the tree of `nested_points`."""
    return {
        frozenset(range(start, start + width))
        for width in (8, 4, 2, 1)
        for start in range(0, N_GROUPS, width)
    }


def clades_of(tree: Tree, group: np.ndarray) -> set[frozenset[int]]:
    """The groups with a point below each node."""
    below: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point):
        below[leaf].add(int(group[row]))
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] |= below[node]
    return {frozenset(groups) for groups in below}
