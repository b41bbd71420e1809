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
    n_triples = triples.shape[1]
    order = decoding.norm_order(nodes.detach())
    if len(nodes) > MOST_WHOLE:
        with torch.no_grad():
            points, before = triples.detach().flatten(0, 1), nodes.detach()[order]
            order = order[reached(points, before, temperature, all_reduce)]
    ordered = nodes[order]
    # Points and nodes together: half the operations.
    children = torch.cat([triples.flatten(0, 1), ordered])
    chosen = _chosen(children, ordered, temperature)
    selected, steps = chosen[: -len(ordered)], chosen[-len(ordered) :]
    identity = torch.eye(len(ordered), dtype=nodes.dtype, device=nodes.device)
    system = identity - steps
    above = _solved(system, selected)
    together = above[:n_triples] * above[n_triples : 2 * n_triples]
    meeting = _solved(_solved(system, identity).square(), together)
    own = selected[:n_triples] * selected[n_triples : 2 * n_triples]
    # How often the two paths meet first at each node, and at its leaf; the points below each.
    where = torch.stack([meeting.mean(dim=0) - own.mean(dim=0), own.mean(dim=0)])
    below = torch.stack([above.mean(dim=0), selected.mean(dim=0)])
    all_where, all_below = where.detach().clone(), below.detach().clone()
    if all_reduce.size > 1:
        counts = nodes.new_full((1,), float(n_triples))
        all_reduce.sum(counts)
        for tensor in (all_where, all_below):
            tensor *= n_triples / counts
            all_reduce.sum(tensor)
    # The product of two sums over all triples, of which this process has a part of each.
    return (where * all_below).sum() + (all_where * (below - all_below)).sum()


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
    n_points = len(children) - len(ordered)
    apart = _dissimilarities(children, ordered)
    late = torch.ones(apart.shape, dtype=torch.bool, device=apart.device).triu_(-n_points)
    late[:n_points] = False
    # The root chooses itself, and is taken out.
    late[n_points, 0] = False
    probability = apart.masked_fill(late, torch.inf).div(-temperature).softmax(dim=1)
    root = torch.full((1,), n_points, device=apart.device)
    return probability.index_fill(0, root, 0.0)


def temperature_for(
    points: Tensor, nodes: Tensor, perplexity: float, all_reduce: AllReduce = SINGLE
) -> float:
    """The temperature at which points spread over `perplexity` nodes: exp of their mean entropy.

    points : (n, D). It lies in [`LEAST_TEMPERATURE`, `MOST_TEMPERATURE`], the nearest bound where
    none of these gives the perplexity. O(n M (D + `_HALVINGS`)).
    """
    apart = _dissimilarities(points, nodes)

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


def _dissimilarities(children: Tensor, nodes: Tensor) -> Tensor:
    """(n, m) d_cp, eq. 3, with a gradient; 2e-6 instead of 0 at the same place."""
    apply: Any = _Dissimilarities.apply
    apart: Tensor = apply(children, nodes)
    return apart


class _Dissimilarities(torch.autograd.Function):
    """`_dissimilarities`, whose gradient is written out: a third of the operations.

    With e = |c - z|^2, g and h the gaps 1 - |.|^2 of c and z, u = e / (g h), d = 2 arsinh sqrt(u)
    and o = max(|z| - |c|, 0), the value is d (1 + o), and

        dd/du = 1 / sqrt(u (1 + u)),   du/de = 1 / (g h),   du/d|c|^2 by g = u / g,
        de/dc = 2 (c - z),             d|c|/d|c|^2 = 1 / (sqrt(|c|^2) g), |c| the hyperbolic norm.
    """

    @staticmethod
    def forward(ctx: Any, children: Tensor, nodes: Tensor) -> Tensor:
        ours, near, inner = _radial(children)
        theirs, far, outer = _radial(nodes)
        kind = nodes.dtype
        u = torch.addmm(theirs[:, 0].to(kind), children, nodes.T, alpha=-2.0)
        u.add_(ours.to(kind)).clamp_(min=0).mul_(near.to(kind)).mul_(far[:, 0].to(kind))
        u.add_(_TINY)
        distance = u.sqrt().asinh_().mul_(2)
        over = (outer[:, 0] - inner).to(kind).clamp_(min=0)
        ctx.save_for_backward(children, nodes, ours, near, theirs, far, u, distance, over)
        return torch.addcmul(distance, distance, over)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        children, nodes, ours, near, theirs, far, u, distance, over = ctx.saved_tensors
        kind = nodes.dtype
        by_over = gradient * distance * (over > 0)
        # Where u was cut off at 0 it has no slope.
        by_u = torch.addcmul(gradient, gradient, over).mul_(u > _TINY)
        by_u.mul_(torch.addcmul(u, u, u).rsqrt_())
        by_gap = by_u * u
        by_square = by_u.mul_(near.to(kind)).mul_(far[:, 0].to(kind))
        of_children = _radial_slope(by_square.sum(1), by_gap.sum(1), -by_over.sum(1), ours, near)
        of_nodes = _radial_slope(by_square.sum(0), by_gap.sum(0), by_over.sum(0), theirs, far)
        return (
            torch.addmm(of_children * children, by_square, nodes, beta=2.0, alpha=-2.0),
            torch.addmm(of_nodes * nodes, by_square.T, children, beta=2.0, alpha=-2.0),
        )


def _radial(points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(n, 1) in float64: |x|^2, 1 / (1 - |x|^2) as in `poincare.gap`, and the hyperbolic norm."""
    squares = points.double().square().sum(dim=1, keepdim=True)
    inverse = (1 - squares).clamp_(min=poincare.margin(points)).reciprocal_()
    norm = squares.sqrt().add_(squares).mul_(inverse).mul_(2).log1p_()
    return squares, inverse, norm


def _radial_slope(
    by_square: Tensor, by_gap: Tensor, by_norm: Tensor, squares: Tensor, inverse: Tensor
) -> Tensor:
    """(n, 1) the slope by |x|^2, from the slopes (n,) by e, by the logarithm of 1 / (1 - |x|^2),
    and by the hyperbolic norm."""
    by_inverse = torch.addcmul(by_gap[:, None], by_norm[:, None], (squares + _LEAST).rsqrt_())
    return torch.addcmul(by_square[:, None], by_inverse, inverse).to(by_square.dtype)
