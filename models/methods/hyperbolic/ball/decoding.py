"""The tree of points in the ball: every node and every leaf selects its parent; its cost.

    eq. 4   parent of c: the p of least d_cp(c, p); for a node only among those before it by norm,
            and by number where norms are equal, so that there is one root and no cycle
    eq. 5   P(p | c) ~ exp(-d_cp(c, p)) over the same p

A leaf may choose any node. Everything is computed in float64, on the device of the tensors.

d(c, p) = 2 log(sqrt(u) + sqrt(1 + u)) with u = |c - p|^2 / ((1 - |c|^2) (1 - |p|^2)).

Cost: O(n M D) for n leaves, O(M^2 D) for M nodes, by blocks of 16 MiB.

`TreeCost` needs no labels: the mean, over points i and their neighbours j, of the share of all
points below their lowest common ancestor, which is the probability that a random third point does
not split off from i before j does. It is the triple cost behind the paper's objective (eq. 9 and
11, all weights 1), and also Dasgupta's cost (eq. 7) of the graph of neighbours, divided by its
number of edges and by N. Lower is better. For large pools it is measured on a fixed sample. Cost:
the parents of the sample and of the nodes, and O(M log M).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1, §3.2 and §4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.methods.hyperbolic.ball.points import Pool
from models.numerics import poincare
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import lca

if TYPE_CHECKING:
    from torch import Tensor


BLOCK = 1 << 21
"""The number of values in a block of dissimilarities."""


@dataclass(frozen=True, slots=True)
class LikelyParents:
    """The likeliest parents of each child, best first.

    parent : (n, k) numbers of nodes, -1 where there are fewer. log_probability : (n, k) by eq. 5,
        -inf where there are fewer; the root, which has no parent, has 0 in the first column.
    """

    parent: Int
    log_probability: Float


def norm_order(nodes: Tensor) -> Tensor:
    """(M,) the numbers of the nodes in order of norm, ties by number: so parents come before
    children."""
    wide = nodes.double()
    return (wide * wide).sum(dim=1).argsort(stable=True)


def choices(leaves: Tensor, nodes: Tensor, k: int = 1) -> LikelyParents:
    """The `k` likeliest parents of each leaf (n, D); the first is that of eq. 4."""
    wide = nodes.double()
    out = _no_parents(len(leaves), k)
    for block in row_blocks(len(leaves), len(nodes), BLOCK):
        _choose(log_weights(leaves[block].double(), wide), out, block)
    return out


def parents(nodes: Tensor, k: int = 1) -> LikelyParents:
    """The `k` likeliest parents of each node; nodes are (M, D), in `norm_order`."""
    import torch

    wide = nodes.double()
    out = _no_parents(len(nodes), k)
    for block in row_blocks(len(nodes), len(nodes), BLOCK):
        weight = log_weights(wide[block], wide[: block.stop])
        child = torch.arange(block.start, block.stop, device=nodes.device)[:, None]
        late = torch.arange(block.stop, device=nodes.device) >= child
        _choose(weight.masked_fill_(late, float("-inf")), out, block)
    out.parent[:1], out.log_probability[:1] = -1, -np.inf
    out.log_probability[:1, :1] = 0.0
    return out


def parents_of(children: Tensor, places: Tensor, nodes: Tensor, place: Tensor) -> Tensor:
    """(n,) the parents of some nodes by eq. 4, -1 for the root. O(n M D).

    children : (n,) numbers of nodes. places : (n,) their places in `norm_order`. place : (M,) the
    places of all nodes.
    """
    import torch

    out = torch.full_like(children, -1)
    for block in row_blocks(len(children), len(nodes), BLOCK):
        weight = log_weights(nodes[children[block]], nodes)
        early = place[None, :] < places[block, None]
        best = weight.masked_fill_(~early, float("-inf")).argmax(dim=1)
        out[block] = torch.where(early.any(dim=1), best, -1)
    return out


def log_weights(children: Tensor, nodes: Tensor) -> Tensor:
    """(n, m) -d_cp, eq. 3."""
    import torch

    squares = (children * children).sum(dim=1, keepdim=True)
    node_squares = (nodes * nodes).sum(dim=1)
    apart = torch.addmm(node_squares, children, nodes.T, alpha=-2.0).add_(squares).clamp_(min=0.0)
    apart.div_(poincare.gap(children)).div_(poincare.gap(nodes)[:, 0])
    weight = apart.sqrt().add_(apart.add_(1.0).sqrt_()).log_().mul_(-2.0)
    if float(node_squares.max()) > float(squares.min()):
        over = poincare.hyperbolic_norm(nodes)[:, 0] - poincare.hyperbolic_norm(children)
        weight.mul_(over.clamp_(min=0.0).add_(1.0))
    return weight


def _no_parents(n: int, k: int) -> LikelyParents:
    return LikelyParents(np.full((n, k), -1), np.full((n, k), -np.inf))


def _choose(weight: Tensor, out: LikelyParents, block: slice) -> None:
    """Write the nodes of largest weight, and their probabilities, into a block of rows of `out`."""
    import torch

    k = min(out.parent.shape[1], weight.shape[1])
    if k == 1:
        largest, best = weight.max(dim=1, keepdim=True)
    else:
        largest, best = weight.topk(k, dim=1)
    total = weight.sub_(largest[:, :1]).exp_().sum(dim=1, keepdim=True).log_()
    log_probability = largest - largest[:, :1] - total
    exists = torch.isfinite(largest)
    log_probability = torch.where(exists, log_probability, float("-inf"))
    out.parent[block, :k] = torch.where(exists, best, -1).cpu().numpy()
    out.log_probability[block, :k] = log_probability.cpu().numpy()


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
        ordered = nodes[norm_order(nodes)]
        parent = parents(ordered).parent[:, 0]
        chosen = choices(self._points, ordered).parent[:, 0]
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
