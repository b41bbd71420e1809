"""The set of points under each node as one number, so that sets of several trees compare fast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.tree.parents import under
from models.tree.tree import Tree


def random_keys(n_points: int) -> Int:
    """(2, n_points) random keys, so small that a sum of all stays below 2^53."""
    most = (1 << 53) // max(1, n_points)
    return np.random.default_rng(0).integers(1, most, (2, n_points))


def set_hashes(
    tree: Tree, keys: Int, present: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.uint64], Int]:
    """(n_nodes,) hash of the set of present points under each node, and their number.

    keys : (2, n_points) of each point, 0 where it is not present. Two different sets have the same
    hash with a probability of about 2^-64. O(n_nodes log depth + n_points).
    """
    leaf, n = tree.leaf_of_point, tree.n_nodes
    at_leaves = [
        # Sums of integers below 2^53 are exact in float64.
        np.bincount(leaf, value, n).astype(np.int64)
        for value in (*keys, present)
    ]
    first, second, count = (under(tree.parent, value) for value in at_leaves)
    mixed = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + second.astype(np.uint64)
    return mixed, count
