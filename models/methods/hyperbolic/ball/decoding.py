"""The tree of points in the ball: every node and every leaf selects its parent.

    eq. 4   parent of c: the p of least d_cp(c, p); for a node only among those before it by norm,
            and by number where norms are equal, so that there is one root and no cycle
    eq. 5   P(p | c) ~ exp(-d_cp(c, p)) over the same p

A leaf may choose any node. Everything is computed in float64, on the device of the tensors.

d(c, p) = 2 log(sqrt(u) + sqrt(1 + u)) with u = |c - p|^2 / ((1 - |c|^2) (1 - |p|^2)).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.

Cost: O(n M D) for n leaves, O(M^2 D) for M nodes, by blocks of 16 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.numerics import poincare

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
