"""The cost of a tree without labels: how much lies below the LCA of a point and its neighbour.

It is the mean, over points i and their neighbours j, of the share of all points below their lowest
common ancestor (LCA): the probability that a random third point does not split off from i before j
does.

This is the triple cost behind the paper's objective (eq. 9 and 11, all weights 1), and also
Dasgupta's cost (eq. 7) of the graph of neighbours, divided by its number of edges and by N. Lower
is better. For large pools it is measured on a fixed sample.

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
"""Up to this many points all are counted."""

_N_COUNTED = 1 << 12
_N_PAIRED = 1 << 11


class TreeCost(Protocol):
    """The cost by which rounds of steps are compared.

    n_pairs : number of pairs of neighbours; without any, all trees cost the same.
    """

    @property
    def n_pairs(self) -> int: ...

    def of(self, nodes: Tensor) -> float:
        """The cost of the tree of nodes (M, D); lower is better."""
        ...


class PoolTreeCost:
    """The cost on the points of a pool, always the same ones.

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

    parent : (M,) parent of each node, which comes before it. counted : (n,) the nodes that the
    counted points selected. first, second : (P,) the nodes that the points of each pair selected.
    Points that selected the same node are separate from all others, whatever is below it.
    """
    inside = np.bincount(counted, minlength=len(parent))
    below = under(parent.astype(np.int32), inside)
    ancestor = lca(_bare_tree(parent), first, second)
    size = np.where(first == second, inside[ancestor], below[ancestor])
    return float(size.mean() / len(counted))


def _bare_tree(parent: Int) -> Tree:
    """A tree with parents only, without points, for `lca`."""
    n_nodes = len(parent)
    return Tree(
        parent=parent.astype(np.int32),
        height=np.zeros(n_nodes),
        size=np.zeros(n_nodes, dtype=np.int64),
        name=np.full(n_nodes, None, dtype=object),
        leaf_of_point=np.empty(0, dtype=np.int32),
    )
