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
`effort.MATRICES` matrices (R, R).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from models.arrays import row_blocks
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce
from models.numerics import poincare

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-3, 10.0
"""Bounds of a temperature that is derived from a perplexity, ..."""

_HALVINGS = 24
"""... and the number of times that the interval of its logarithm is halved."""

MOST_WHOLE = 256
"""Up to this many nodes all count: about as many as a batch of 100 triples reaches."""

RARE = 1e-4
"""Choices of at most this probability are left out of larger trees."""

_TINY = 1e-12

_LEAST = 1e-30
"""Added to a squared norm, whose root has no slope at 0."""


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
    """The cost and its gradient, which is written out: half the operations.

    Only the mean f of f_ij over the pairs counts, so that G o G is solved for one row; and with S
    and s as they are, what f is weighted by is one row, t. With n pairs and d for "the slope by",

        t (G o G)^T = S / n,   dA_i = t o A_j (and of the mean),   d(G o G) = -n f (x) t,
        da = dA G^T (and of the means),   dP = A^T dA G^T + G^T dG G^T.
    """

    @staticmethod
    def forward(
        ctx: Any,
        triples: Tensor,
        nodes: Tensor,
        order: Tensor,
        temperature: float,
        all_reduce: AllReduce,
    ) -> Tensor:
        n_triples = triples.shape[1]
        n_points = 3 * n_triples
        children = torch.cat([triples.flatten(0, 1), nodes[order]])
        apart, kept = _apart(children, children[n_points:])
        chosen = _of_apart(apart.clone(), n_points, temperature)
        selected, steps = chosen[:n_points], chosen[n_points:]
        identity = _identity(len(order), nodes.dtype, nodes.device)
        # Ones on the diagonal are understood.
        inverse = _solved(-steps, identity)
        above = selected @ inverse
        pairs = above.view(3, n_triples, -1)[:2]
        own_pairs = selected.view(3, n_triples, -1)[:2]
        together = (pairs[0] * pairs[1]).mean(dim=0, keepdim=True)
        squared = inverse.square()
        own = (own_pairs[0] * own_pairs[1]).mean(dim=0)
        meeting = _solved(squared, together)[0]
        # How often the two paths meet first at each node, and at its leaf; the points below each.
        where = torch.stack([meeting - own, own])
        below = torch.stack([above.mean(dim=0), selected.mean(dim=0)])
        cost = (where * below).sum()
        all_where, all_below = where, below
        if all_reduce.size > 1:
            counts = nodes.new_full((1,), float(n_triples))
            all_reduce.sum(counts)
            all_where, all_below = where * (n_triples / counts), below * (n_triples / counts)
            all_reduce.sum(all_where)
            all_reduce.sum(all_below)
            # The product of two sums over all triples, of which this process has a part of each.
            cost = (where * all_below).sum() + (all_where * (below - all_below)).sum()
        weight = all_below / n_triples
        spread = all_where / n_points
        # (1, R): every pair has the same part in the mean.
        by_together = _solved_upper(squared.T, weight[:1])
        by_squared = inverse * meeting[:, None] * by_together
        by_steps = torch.addmm(
            identity, inverse.T @ by_squared, inverse.T, beta=0.0, alpha=-2.0 * n_triples
        )
        by_above = torch.cat(
            [
                torch.addcmul(spread[0], pairs.flip(0), by_together).flatten(0, 1),
                spread[:1].expand(n_triples, -1),
            ]
        )
        by_chosen = torch.empty_like(chosen)
        by_selected = torch.mm(by_above, inverse.T, out=by_chosen[:n_points])
        torch.addmm(by_steps, above.T, by_selected, out=by_chosen[n_points:])
        by_selected.add_(spread[1])
        by_selected.view(3, n_triples, -1)[:2].addcmul_(own_pairs.flip(0), weight[1] - weight[0])
        by_apart = torch._softmax_backward_data(by_chosen, chosen, 1, chosen.dtype)
        slope = _slopes(by_apart.mul_(-1.0 / temperature), kept)
        ctx.save_for_backward(slope, order, triples, nodes)
        return cost

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        slope, order, triples, nodes = ctx.saved_tensors
        slope = slope * gradient
        of_points, of_ordered = slope[: -len(order)], slope[-len(order) :]
        whole = len(order) == len(nodes)
        of_nodes = torch.empty_like(nodes) if whole else torch.zeros_like(nodes)
        of_nodes.index_copy_(0, order, of_ordered)
        of_triples = of_points.view(triples.shape) if ctx.needs_input_grad[0] else None
        return of_triples, of_nodes, None, None, None


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


def parent_probabilities(ordered: Tensor, temperature: float) -> Tensor:
    """(M, M) probabilities of the parents (columns) of each node (rows), by eq. 5.

    ordered : (M, D) nodes in order of norm. The first is the root; its row is 0.
    """
    return _chosen(ordered, ordered, temperature)


def _chosen(children: Tensor, ordered: Tensor, temperature: float) -> Tensor:
    """(n, M) probabilities that children, the last M of which are the nodes, choose each node."""
    apart, _ = _apart(children, ordered)
    return _of_apart(apart, len(children) - len(ordered), temperature)


def _of_apart(apart: Tensor, n_points: int, temperature: float) -> Tensor:
    """`_chosen` by dissimilarities, which are overwritten."""
    apart[n_points:].masked_fill_(_late(apart.shape[1], apart.device), torch.inf)
    probability = apart.mul_(-1.0 / temperature).softmax(dim=1)
    probability[n_points, 0].zero_()
    return probability


@lru_cache(maxsize=1)
def _late(n_nodes: int, device: torch.device) -> Tensor:
    """(M, M) which nodes do not come before each one; the root chooses itself, and is taken out."""
    late = torch.ones((n_nodes, n_nodes), dtype=torch.bool, device=device).triu_()
    late[0, 0] = False
    return late


@lru_cache(maxsize=1)
def _identity(n_nodes: int, kind: torch.dtype, device: torch.device) -> Tensor:
    return torch.eye(n_nodes, dtype=kind, device=device)


def temperature_for(
    points: Tensor, nodes: Tensor, perplexity: float, all_reduce: AllReduce = SINGLE
) -> float:
    """The temperature at which points spread over `perplexity` nodes: exp of their mean entropy.

    points : (n, D). It lies in [`LEAST_TEMPERATURE`, `MOST_TEMPERATURE`], the nearest bound where
    none of these gives the perplexity. O(n M (D + `_HALVINGS`)).
    """
    apart, _ = _apart(points, nodes)

    def spread(temperature: float) -> float:
        """The mean entropy, in nats."""
        log = apart.div(-temperature).log_softmax(dim=1)
        sums = torch.stack([-(log.exp() * log).sum(), log.new_tensor(float(len(log)))])
        all_reduce.sum(sums)
        return float(sums[0] / sums[1])

    return _bisected(spread, float(torch.tensor(perplexity).log()))


def _bisected(rising: Callable[[float], float], value: float) -> float:
    """Where a rising function of the temperature has the value."""
    low, high = LEAST_TEMPERATURE, MOST_TEMPERATURE
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if rising(middle) > value else (middle, high)
    return low


def _solved(system: Tensor, values: Tensor) -> Tensor:
    """X of X system = values; system (M, M) is lower triangular with ones on its diagonal."""
    out: Tensor = torch.linalg.solve_triangular(
        system, values, upper=False, left=False, unitriangular=True
    )
    return out


def _solved_upper(system: Tensor, values: Tensor) -> Tensor:
    """X of X system = values; system (M, M) is upper triangular with ones on its diagonal."""
    out: Tensor = torch.linalg.solve_triangular(
        system, values, upper=True, left=False, unitriangular=True
    )
    return out


_Kept = tuple[Tensor, ...]


def _apart(children: Tensor, nodes: Tensor) -> tuple[Tensor, _Kept]:
    """(n, m) d_cp, eq. 3; 2e-6 instead of 0 at the same place; and what `_slopes` needs, where the
    last m children are the nodes.

    With e = |c - z|^2, g and h the gaps 1 - |.|^2 of c and z, u = e / (g h), d = 2 arsinh sqrt(u)
    and o = max(|z| - |c|, 0), the value is d (1 + o).
    """
    ours, near, inner = _radial(children)
    n_points = len(children) - len(nodes)
    shared = nodes.data_ptr() == children[n_points:].data_ptr() if n_points >= 0 else False
    theirs, far, outer = (
        (each[n_points:] for each in (ours, near, inner)) if shared else _radial(nodes)
    )
    kind = nodes.dtype
    squares, inverse = ours.to(kind), near.to(kind)
    if shared:
        row, column = squares[n_points:, 0], inverse[n_points:, 0]
    else:
        row, column = theirs[:, 0].to(kind), far[:, 0].to(kind)
    u = torch.addmm(row, children, nodes.T, alpha=-2.0)
    u.add_(squares).clamp_(min=0).mul_(inverse).mul_(column).add_(_TINY)
    distance = u.sqrt().asinh_().mul_(2)
    over = (outer[:, 0] - inner).to(kind).clamp_(min=0)
    value = torch.addcmul(distance, distance, over)
    return value, (children, nodes, ours, near, inverse, column, u, distance, over)


def _slopes(gradient: Tensor, kept: _Kept) -> Tensor:
    """(n, D) the gradient in children, the last m of which are the nodes, of `_apart`.

    dd/du = 1 / sqrt(u (1 + u)),   du/de = 1 / (g h),   du/d|c|^2 by g = u / g,
    de/dc = 2 (c - z),             d|c|/d|c|^2 = 1 / (sqrt(|c|^2) g), |c| the hyperbolic norm.
    """
    children, nodes, ours, near, inverse, column, u, distance, over = kept
    by_over = gradient * distance * (over > 0)
    # Where u was cut off at 0 it has no slope.
    by_u = torch.addcmul(gradient, gradient, over).mul_(u > _TINY)
    by_u.mul_(torch.addcmul(u, u, u).rsqrt_())
    by_gap = by_u * u
    by_square = by_u.mul_(inverse).mul_(column)
    parts = torch.stack([by_square, by_gap, by_over])
    of_children, of_nodes = parts.sum(dim=2), parts.sum(dim=1)
    of_children[2].neg_()
    of_children[:, -len(nodes) :].add_(of_nodes)
    by_inverse = torch.addcmul(
        of_children[1, :, None], of_children[2, :, None], (ours + _LEAST).rsqrt_()
    )
    by_norm = torch.addcmul(of_children[0, :, None], by_inverse, near).to(gradient.dtype)
    slope = torch.addmm(by_norm * children, by_square, nodes, beta=2.0, alpha=-2.0)
    slope[-len(nodes) :].addmm_(by_square.T, children, alpha=-2.0)
    return slope


def _radial(points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(n, 1) in float64: |x|^2, 1 / (1 - |x|^2) as in `poincare.gap`, and the hyperbolic norm."""
    length = torch.linalg.vector_norm(points, dim=1, keepdim=True, dtype=torch.float64)
    squares = length.square()
    inverse = (1 - squares).clamp_(min=poincare.margin(points)).reciprocal_()
    norm = length.add_(squares).mul_(inverse).mul_(2).log1p_()
    return squares, inverse, norm
