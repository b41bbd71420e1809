"""Numbers that a tree assigns to pairs of its points, to compare with those of another tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float
from models.tree.parents import under
from models.tree.tree import Tree

Leaves = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class PairProfile:
    """A number for every pair of a tree's leaves.

    It is `up` of their lowest common ancestor, times the lesser of their `rate`s, plus both their
    `add`s.

    up, add, rate : (n_nodes,); `add` and `rate` count at leaves only.
    """

    tree: Tree
    up: Float
    add: Float
    rate: Float

    @classmethod
    def shortest_path(cls, tree: Tree) -> PairProfile:
        """1 minus the edges between two leaves over the most edges between any two."""
        longest = max(1, _diameter(tree))
        depth: Float = tree.depth / longest
        return cls(tree, 2.0 * depth, 0.5 - depth, np.ones(tree.n_nodes))

    @classmethod
    def path_sharing(cls, tree: Tree) -> PairProfile:
        """The number of nodes shared by two paths from the root, over that of the longer one."""
        none = np.zeros(tree.n_nodes)
        if tree.max_depth <= 1:
            return cls(tree, (tree.n_children == 0).astype(np.float64), none, none + 1.0)
        nodes = tree.depth.astype(np.float64) + 1.0
        return cls(tree, nodes, none, 1.0 / nodes)

    @classmethod
    def heights(cls, tree: Tree) -> PairProfile | None:
        """Heights with mean 0 and variance 1 over pairs; None if they are all equal."""
        n_pairs = tree.size * (tree.size - 1) // 2
        meeting = n_pairs.copy()
        np.subtract.at(meeting, tree.parent[1:], n_pairs[1:])
        used = meeting > 0
        share = meeting[used] / n_pairs[0]
        height = tree.height[used]
        lowest, highest = float(height.min()), float(height.max())
        if lowest == highest:
            return None
        # Halved and scaled first, so that nothing overflows.
        up = (tree.height / 2.0 - lowest / 2.0) / (highest / 2.0 - lowest / 2.0)
        up -= float(share @ up[used])
        up /= np.sqrt(float(share @ (up[used] * up[used])))
        return cls(tree, up, np.zeros(tree.n_nodes), np.ones(tree.n_nodes))

    def of(self, node: Leaves, first: Leaves, second: Leaves) -> Float:
        """(n,) the numbers of the leaves `first[i]` and `second[i]`, which meet at `node[i]`."""
        share = np.minimum(self.rate[first], self.rate[second])
        number: Float = self.up[node] * share + self.add[first] + self.add[second]
        return number


def _diameter(tree: Tree) -> int:
    """The largest number of edges between any two leaves. O(n_nodes log n_nodes)."""
    if tree.n_nodes == 1:
        return 0
    deepest = under(tree.parent, tree.depth, np.maximum.at)
    child = np.lexsort((deepest[1:], tree.parent[1:])) + 1
    parent = tree.parent[child]
    # The last two children of each node are those with the deepest leaves.
    last = np.flatnonzero(np.append(parent[1:] != parent[:-1], True))
    last = last[tree.n_children[parent[last]] > 1]
    reach = deepest[child[last]] + deepest[child[last - 1]] - 2 * tree.depth[parent[last]]
    return int(np.max(reach, initial=0))
