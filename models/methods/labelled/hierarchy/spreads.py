"""How widely the leaves below a node lie, as known ones show, and what that says of a new one.

In the space of a node v, the leaves below a node u at or below v have means about that of u, with a
variance t_u in each direction. A cluster with the mean m is the more likely below u the
greater log n_u + log N(m; mean_u, t_u I), where n_u is the number of u's children. Nodes with few
leaves borrow their variance from others of as many levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.labelled.hierarchy.known_tree import KnownTree

BORROWED = 2.0
"""The weight, in leaves, of the variance among all nodes of as many levels."""


@dataclass(frozen=True, slots=True)
class Spreads:
    """Of the inner nodes at or below one node; that node is the first.

    node : (n,). child : (n,) the place of that child of the node which is above or at each, -1 for
        the node itself. mean : (n, r). variance : (n,). n_children : (n,).
    by_level : (levels,) variance of leaves below nodes with 1, 2, ... levels.
    """

    node: Int
    child: Int
    mean: Float
    variance: Float
    n_children: Int
    by_level: Float

    @classmethod
    def of(cls, tree: KnownTree, node: int, leaves: Int, means: Float) -> Spreads:
        """leaves : (L,) the known leaves below the node. means : (L, r) theirs.

        O(L x levels x r).
        """
        parent = tree.parent
        sums: dict[int, Float] = {}
        squares: dict[int, float] = {}
        count: dict[int, int] = {}
        for leaf, mean in zip(leaves.tolist(), means, strict=True):
            above = int(parent[leaf])
            square = float(mean @ mean)
            while above >= 0:
                sums[above] = sums.get(above, 0.0) + mean
                squares[above] = squares.get(above, 0.0) + square
                count[above] = count.get(above, 0) + 1
                if above == node:
                    break
                above = int(parent[above])
        inner = np.array(sorted(sums), dtype=np.int64)
        times = np.array([count[some] for some in inner.tolist()], dtype=np.float64)
        mean = np.array([sums[some] for some in inner.tolist()]) / times[:, None]
        within = np.array([squares[some] for some in inner.tolist()])
        within = np.maximum(within - times * np.square(mean).sum(axis=1), 0.0) / means.shape[1]
        levels = tree.levels[inner]
        by_level = _by_level(within, times, levels)
        borrowed = by_level[levels - 1]
        variance = (within + BORROWED * borrowed) / (np.maximum(times - 1.0, 0.0) + BORROWED)
        child = np.full(inner.size, -1, dtype=np.int64)
        child[1:] = tree.place(node, inner[1:])
        n_children = np.array([tree.children(some).size for some in inner.tolist()])
        return cls(inner, child, mean, variance, n_children, by_level)

    def owner(self, means: Float) -> Int:
        """(n_new,) for clusters the place of the child that each lies below, -1 for none."""
        squares = np.square(means[:, None, :] - self.mean).sum(axis=2)
        score = np.log(self.n_children) - 0.5 * squares / self.variance
        score -= 0.5 * means.shape[1] * np.log(self.variance)
        place: Int = self.child[score.argmax(axis=1)]
        return place


def _by_level(within: Float, times: Float, levels: Int) -> Float:
    """Never falling; a level that no node with two leaves has gets that of the next lower one."""
    by_level = np.zeros(int(levels.max()))
    least = 1e-12
    for level in range(1, by_level.size + 1):
        some = levels == level
        freedom = float(np.maximum(times[some] - 1.0, 0.0).sum())
        if freedom > 0.0:
            least = max(least, float(within[some].sum()) / freedom)
        by_level[level - 1] = least
    return by_level
