"""The cost of a tree without labels: how much of it lies under a point and one of its neighbours.

It is the mean, over points i and their neighbours j, of the share of all points that lies under the
lowest common ancestor (LCA) of both: the probability that a third point, drawn at random, does not
part from i before j does. This is the triple cost that the paper's objective stands for (eq. 9
and 11, all weights 1), and also Dasgupta's cost (eq. 7) of the graph of neighbours, over its number
of edges and N. Lower is better.

For large pools it is measured on a sample, the same each time.

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
"""Points up to which all are counted."""

_N_COUNTED = 1 << 12
_N_PAIRED = 1 << 11


class TreeCost(Protocol):
    """The measure that rounds of steps are compared by.

    n_pairs : number of pairs of neighbours; where there are none, all trees cost the same.
    """

    @property
    def n_pairs(self) -> int: ...

    def of(self, nodes: Tensor) -> float:
        """The cost of the tree that nodes (M, D) describe; the lower, the better."""
        ...


class PoolTreeCost:
    """The cost on the points of a pool, on the same ones each time.

    rng : draws the sample of a large pool.
    """

    def __init__(self, pool: Pool, rng: np.random.Generator) -> None:
        import torch

        n_points, n_near = pool.near.shape
        counted = first = np.arange(n_points)
        if n_points > WHOLE:
            counted = np.sort(rng.choice(n_points, _N_COUNTED, replace=False))
            first = rng.choice(counted, _N_PAIRED, replace=False)
        second = pool.near[first].astype(np.int64).ravel()
        first = np.repeat(first, n_near)
        used, place = np.unique(np.concatenate([counted, first, second]), return_inverse=True)
        self._points = pool.points[torch.from_numpy(used).to(pool.points.device)].double()
        self._counted, self._first, self._second = np.split(
            place, [len(counted), len(counted) + len(first)]
        )

    @property
    def n_pairs(self) -> int:
        return len(self._first)

    def of(self, nodes: Tensor) -> float:
        """The cost of the tree that nodes (M, D) describe, in (0, 1]; 0 if no point has a
        neighbour."""
        if not len(self._first):
            return 0.0
        ordered = nodes[decoding.norm_order(nodes)]
        parent = decoding.parents(ordered).parent[:, 0]
        chosen = decoding.choices(self._points, ordered).parent[:, 0]
        return cost_of_choices(
            parent, chosen[self._counted], chosen[self._first], chosen[self._second]
        )


def cost_of_choices(parent: Int, counted: Int, first: Int, second: Int) -> float:
    """The cost of a tree of nodes, from the nodes that points selected.

    parent : (M,) of each node, before it. counted : (n,) the nodes that the counted points
    selected. first, second : (P,) the nodes that the points of each pair selected. Points that
    selected the same node are apart from all others, whatever lies below it.
    """
    inside = np.bincount(counted, minlength=len(parent))
    below = under(parent.astype(np.int32), inside)
    ancestor = lca(_bare_tree(parent), first, second)
    size = np.where(first == second, inside[ancestor], below[ancestor])
    return float(size.mean() / len(counted))


def _bare_tree(parent: Int) -> Tree:
    """A tree of parents alone, without points, for `lca`."""
    n_nodes = len(parent)
    return Tree(
        parent=parent.astype(np.int32),
        height=np.zeros(n_nodes),
        size=np.zeros(n_nodes, dtype=np.int64),
        name=np.full(n_nodes, None, dtype=object),
        leaf_of_point=np.empty(0, dtype=np.int32),
    )
