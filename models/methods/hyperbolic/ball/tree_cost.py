"""How good a tree is, without labels: how much of it lies under a point and one of its neighbours.

The mean over points i and their neighbours j of the share of all points that lies under the lowest
common ancestor of both. It is the probability that a third point, drawn at random, does not come
apart from i before j does: the triple cost that the paper's objective stands for (eq. 9 and 11, all
weights 1), and at the same time Dasgupta's cost (eq. 7) of the graph of neighbours, over its edges
and N. Lower is better.

For large pools from a sample, the same each time.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.2.

Cost: that of `decoding` for the sample and the nodes, and O(M log M).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.arrays import Int
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.pools import Pool
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import lca

if TYPE_CHECKING:
    from torch import Tensor


WHOLE = 1 << 13
"""Points up to which all are looked at."""

_OTHERS = 1 << 12
_PAIRS = 1 << 11


class Judge(Protocol):
    """What rounds of steps are compared by.

    n_pairs : of neighbours; where there are none all trees are alike.
    """

    @property
    def n_pairs(self) -> int: ...

    def cost(self, nodes: Tensor) -> float:
        """Of the tree that nodes (M, D) stand for; the lower, the better."""
        ...


class PoolJudge:
    """Looks at the same points of a pool each time.

    rng : draws them, where there are many.
    """

    def __init__(self, pool: Pool, rng: np.random.Generator) -> None:
        import torch

        n_points, n_near = pool.near.shape
        counted = one = np.arange(n_points)
        if n_points > WHOLE:
            counted = np.sort(rng.choice(n_points, _OTHERS, replace=False))
            one = rng.choice(counted, _PAIRS, replace=False)
        other = pool.near[one].astype(np.int64).ravel()
        one = np.repeat(one, n_near)
        looked, number = np.unique(np.concatenate([counted, one, other]), return_inverse=True)
        self._points = pool.points[torch.from_numpy(looked).to(pool.points.device)].double()
        self._counted, self._one, self._other = np.split(
            number, [len(counted), len(counted) + len(one)]
        )

    @property
    def n_pairs(self) -> int:
        return len(self._one)

    def cost(self, nodes: Tensor) -> float:
        """Of the tree that nodes (M, D) stand for, in (0, 1]; 0 where no point has a neighbour."""
        if not len(self._one):
            return 0.0
        order = decoding.ranked(nodes)
        ordered = nodes[order]
        parent = decoding.parents(ordered).parent[:, 0]
        chosen = decoding.choices(self._points, ordered).parent[:, 0]
        return cost_of(parent, chosen[self._counted], chosen[self._one], chosen[self._other])


def cost_of(parent: Int, chosen: Int, one: Int, other: Int) -> float:
    """The same of a tree given by parents, which come first.

    chosen : (n,) the node that each of the points that are counted selected. one, other : (P,)
    those that the points of each pair selected. Points that selected one node are apart from all
    others, whatever lies below.
    """
    inside = np.bincount(chosen, minlength=len(parent))
    below = under(parent.astype(np.int32), inside)
    meet = lca(_bare(parent), one, other)
    size = np.where(one == other, inside[meet], below[meet])
    return float(size.mean() / len(chosen))


def _bare(parent: Int) -> Tree:
    """A tree of parents alone, for what walks it."""
    n_nodes = len(parent)
    return Tree(
        parent=parent.astype(np.int32),
        height=np.zeros(n_nodes),
        size=np.zeros(n_nodes, dtype=np.int64),
        name=np.full(n_nodes, None, dtype=object),
        leaf_of_point=np.empty(0, dtype=np.int32),
    )
