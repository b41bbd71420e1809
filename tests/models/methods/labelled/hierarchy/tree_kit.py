r"""A tree of known Gaussian leaves to learn from.

            root
         /   |    \
        a    b     c
       /|\  / \    |
      0 1 2 3 4    5     six leaves; c has one child
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float
from models.methods.labelled.hierarchy.known_tree import KnownTree

PARENT = np.array([-1, 0, 0, 0, 1, 1, 1, 2, 2, 3])
NAMES = [None, "a", "b", "c", *"012345"]
LEAVES = np.arange(4, 10)


def known_tree(seed: int, n_rows: int = 72, n_columns: int = 4) -> tuple[KnownTree, Float]:
    """The tree, of which the last quarter of the rows is not labelled, and the rows."""
    rng = np.random.default_rng(seed)
    leaf = LEAVES[np.arange(n_rows) % LEAVES.size]
    of_node = 1.5 * rng.normal(size=(PARENT.size, n_columns))
    points = of_node[PARENT[leaf]] + 0.7 * of_node[leaf] + rng.normal(size=(n_rows, n_columns))
    row_node = np.where(np.arange(n_rows) < 0.75 * n_rows, leaf, 0)
    return KnownTree(PARENT, NAMES, row_node), points
