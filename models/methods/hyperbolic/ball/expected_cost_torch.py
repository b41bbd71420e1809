"""The expected cost of the tree that is drawn by eq. 5 and 6, differentiable in its nodes.

A tree is drawn by giving every node one of those before it by norm as its parent, and every point
one of all nodes, each independently, with probability ~ exp(-d_cp / temperature). The cost of a
tree is the mean, over pairs of neighbours, of the share of all points below the lowest common
ancestor of the pair (`ball.decoding`). Rows of P are the parent probabilities of nodes in order of
norm, so P is strictly lower triangular; a_i are the probabilities of the nodes that point i may
select. Then

    A_i = a_i (I - P)^-1       probability of each node to be an ancestor of i
    f_ij (G o G) = A_i o A_j   probability of each node to be the first that the paths of i and j
                               share, with G = (I - P)^-1: paths are independent until they meet,
                               and after that each two paths meet again at n with G(., n)^2
    cost = sum_n f_ij(n) S(n) + sum_n a_i(n) a_j(n) (s(n) - S(n))

S and s are the means of A and a over the points of the batch. The second sum is due to points that
select the same node: they are in a leaf below it, with no others. The cost is exact but for the
third points, whose paths are taken as independent of that of the pair. As the temperature falls it
becomes the cost of the tree that nodes and points select (eq. 4).

With more than `MOST_WHOLE` nodes only those count that a tree of the batch can reach (`reached`):
the nodes that one of its points selects with a probability above `RARE`, and again those that one
of these does; probabilities of the others are 0, the rest is scaled to a sum of 1. A batch reaches
a number of nodes that depends on its points, hardly on M.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §3.2. Eq. 10 is this expectation, which the paper calls
computationally challenging and replaces by eq. 12 to 15; that paths are sums over a triangular
system is not in the paper.

Cost: O((B + R) (M D + R^2)) a step for B triples and R of M nodes that they reach; memory about
`parameters.MATRICES` matrices (R, R).
"""

from __future__ import annotations

import math
import threading
from typing import Any

import torch
from torch import Tensor

from models.arrays import row_blocks
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.cost_gradient_torch import (
    N_SUMS,
    CostGradient,
    cost_of,
    half_gap,
    node_rows,
    on_hyperboloid,
)
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce

LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-3, 10.0
"""Bounds of a temperature that is derived from a perplexity, ..."""

_HALVINGS = 24
"""... and the number of times that the interval of its logarithm is halved."""

MOST_WHOLE = 256
"""Up to this many nodes all count: about as many as a batch of 100 triples reaches."""

RARE = 1e-4
"""Choices of at most this probability are left out of larger trees."""


def expected_cost(
    triples: Tensor, nodes: Tensor, temperature: float, all_reduce: AllReduce = SINGLE
) -> Tensor:
    """The expected cost on triples (3, B, D) of points i, j alike and k another, a scalar.

    nodes : (M, D), in any order. all_reduce : the processes that share the batch. The gradient, in
        triples and nodes, is that of this process's part, to be weighted by its share of triples.
    """
    order = decoding.norm_order(nodes.detach())
    if len(nodes) > MOST_WHOLE:
        with torch.no_grad():
            points, before = triples.detach().flatten(0, 1), nodes.detach()[order]
            order = order[reached(points, before, temperature, all_reduce)]
    apply: Any = _ExpectedCost.apply
    cost: Tensor = apply(triples, nodes, order, temperature, all_reduce)
    return cost


class _ExpectedCost(torch.autograd.Function):
    """The cost, and the gradient that `CostGradient` writes out."""

    @staticmethod
    def forward(
        ctx: Any,
        triples: Tensor,
        nodes: Tensor,
        order: Tensor,
        temperature: float,
        all_reduce: AllReduce,
    ) -> Tensor:
        (_, n_triples, n_columns), n_nodes = triples.shape, len(order)
        gradient = _last.of(n_triples, n_nodes, n_columns, nodes.dtype, nodes.device)
        points, ordered = triples.flatten(0, 1), nodes[order]
        children = gradient.children(1, n_columns)[0]
        lead = on_hyperboloid(points, children[1 + n_nodes :])
        length = torch.linalg.vector_norm(ordered, dim=1, keepdim=True, dtype=torch.float64)
        half = half_gap(length).to(nodes.dtype)
        sums = nodes.new_zeros((N_SUMS, n_nodes))
        share: float | Tensor = 1.0
        if all_reduce.size > 1:
            n_all = nodes.new_full((1,), float(n_triples))
            all_reduce.sum(n_all)
            share = n_triples / n_all
        rows = node_rows(ordered, half)
        slopes = gradient(rows, children, lead, sums, temperature, all_reduce, share)
        of_ordered = torch.empty_like(ordered)
        slopes.of_nodes(ordered, of_ordered)
        of_nodes = torch.zeros_like(nodes).index_copy_(0, order, of_ordered.div_(half))
        of_triples = None
        if ctx.needs_input_grad[0]:
            of_triples = slopes.of_points(points).view_as(triples)
        ctx.save_for_backward(of_triples, of_nodes)
        return cost_of(sums).to(nodes.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_triples, of_nodes = ctx.saved_tensors
        by_triples = None if of_triples is None else of_triples * gradient
        return by_triples, of_nodes * gradient, None, None, None


class _Last(threading.local):
    """The arrays of the last gradient of this thread, for the next one of the same shape."""

    def __init__(self) -> None:
        self.shape: tuple[Any, ...] = ()
        self.gradient: CostGradient

    def of(self, *shape: Any) -> CostGradient:
        if shape != self.shape:
            self.gradient, self.shape = CostGradient(*shape), shape
        return self.gradient


_last = _Last()


def reached(
    points: Tensor, ordered: Tensor, temperature: float, all_reduce: AllReduce = SINGLE
) -> Tensor:
    """(R,) the numbers of the nodes that a tree can have above some points; the root is one.

    points : (n, D). ordered : (M, D) nodes in order of norm. O((n + R) M D).
    """
    number = torch.arange(len(ordered), device=ordered.device)
    likely = torch.zeros_like(number, dtype=torch.bool)
    for block in row_blocks(len(points), len(ordered), decoding.BLOCK):
        likely |= _likely(decoding.log_weights(points[block], ordered), temperature)
    counts = likely.to(ordered.dtype)
    all_reduce.sum(counts)
    inside = counts > 0
    inside[0] = True
    latest = inside.nonzero()[1:, 0]
    while len(latest):
        likely = torch.zeros_like(inside)
        for block in row_blocks(len(latest), len(ordered), decoding.BLOCK):
            children = latest[block]
            before = slice(int(children[-1]))
            weight = decoding.log_weights(ordered[children], ordered[before])
            weight.masked_fill_(number[before] >= children[:, None], -torch.inf)
            likely[before] |= _likely(weight, temperature)
        latest = (likely & ~inside).nonzero()[:, 0]
        inside[latest] = True
    return inside.nonzero()[:, 0]


def _likely(weight: Tensor, temperature: float) -> Tensor:
    """(m,) whether any of n children selects a node with a probability above `RARE`.

    weight : (n, m) of `decoding.log_weights`; it is overwritten.
    """
    return (weight.div_(temperature).softmax(dim=1) > RARE).any(dim=0)


def temperature_for(
    points: Tensor, nodes: Tensor, perplexity: float, all_reduce: AllReduce = SINGLE
) -> float:
    """The temperature at which points spread over `perplexity` nodes: exp of their mean entropy.

    points : (n, D). It lies in [`LEAST_TEMPERATURE`, `MOST_TEMPERATURE`], the nearest bound where
    none of these gives the perplexity. O(n M (D + `_HALVINGS`)).
    """
    apart = -decoding.log_weights(points, nodes)

    def spread(temperature: Tensor) -> Tensor:
        """The mean entropy, in nats."""
        log = apart.div(-temperature).log_softmax(dim=1)
        sums = torch.stack([-(log.exp() * log).sum(), torch.full_like(log[0, 0], len(log))])
        all_reduce.sum(sums)
        return sums[0] / sums[1]

    low = torch.full((), LEAST_TEMPERATURE, dtype=torch.float64, device=points.device)
    high = torch.full_like(low, MOST_TEMPERATURE)
    # Where the entropy, which rises with the temperature, has the value; read at the end alone.
    wanted = math.log(perplexity)
    for _ in range(_HALVINGS):
        middle = (low * high).sqrt_()
        above = spread(middle) > wanted
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return float(low)
