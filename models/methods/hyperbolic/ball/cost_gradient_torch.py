"""The expected cost and its gradient in few operations, each for all nodes and points at once.

The gradient is written out: `ball.expected_cost_torch` has the definitions. With the points of the
ball on the hyperboloid, where x is (2 / g - 1, 2 x / g) with g = 1 - |x|^2, and J = diag(1, -1, ..)

    cosh d(c, p) = c J p     d_cp = d (1 + max(|p| - |c|, 0))     |p| = d(0, p)

so that dissimilarities are a product, and so is their gradient. Among nodes in order of norm the
maximum is 0 wherever c may choose p. Only the mean f of f_ij over n pairs counts, so that of the
triangular systems only one is solved for more than one row. With H = G o G, the mean F = f H^-1,
own = mean of a_i o a_j, and all gradients by n times the cost,

    t = S H^-T,            dA_i = t o A_j + (F - own) / 3,      da_i = dA_i G^T + own / 3 + a_j o
    dG = -2 n G o F (x) t,                                              (s - S)
    dP = (A^T dA + G^T dG) G^T

and third points have the terms without j alone. Rows lie so that each line is one product or one
sum: nodes, points, identity, products of pairs. Half of the gap g, h, is what is passed on.

Cost: O((B + R) R (D + R)) for B triples and R nodes of D coordinates; memory some ten matrices (3 B
+ R, R).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce
from models.numerics import poincare

_NEVER = 1e30
"""Multiplies the dissimilarity of a node that may not be chosen."""

_LEAST = 1e-15
"""The least norm that is divided by."""

N_SUMS = 9
"""Rows of the sums that a step leaves: t, S - s, (F - own) / 3, f / 3, S, F / 3, -s, -own / 3, and
a spare one."""


class CostGradient:
    """The cost of batches of `n_triples` triples for `n_nodes` nodes, one after the other, in
    the same arrays."""

    def __init__(
        self, n_triples: int, n_nodes: int, n_columns: int, kind: torch.dtype, device: torch.device
    ) -> None:
        n_points, n = 3 * n_triples, n_nodes
        self._n_triples, self._n_nodes, self._n_points = n_triples, n, n_points

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=kind, device=device)

        self._zero, self._minus_one = zeros(1, 1), zeros(1, 1) - 1.0
        self._ones = zeros(1, n_points) + 1.0
        self._least = 1.0 + 2.0 * torch.finfo(kind).eps
        # Make (2 / g, 2 x / g), as which nodes are given, (2 / g - 1, -2 x / g): J x.
        self._first, self._signs = zeros(1, n_columns + 1), zeros(1, n_columns + 1) - 1.0
        self._first[0, 0], self._signs[0, 0] = -1.0, 1.0
        # 1 + max(|p| - |c|, 0), and d where that is above 1.
        self._factors = zeros(2, n + n_points, n)
        self._factors[0, :n] = 1.0 + _NEVER * torch.ones_like(self._factors[0, :n]).triu_()
        self._factors[0, 0, 0] = 1.0
        # Probabilities of ancestors, and of the nodes chosen: nodes, points, identity, products of
        # pairs.
        self._both = zeros(2, 2 * n + 4 * n_triples, n)
        self._both[1, n + n_points : 2 * n + n_points].fill_diagonal_(1.0)
        self._weights = zeros(2, 2, n + 4 * n_triples)
        for kinds, rows, sign in ((0, (1, 0), 1.0), (1, (0, 1), -1.0)):
            self._weights[kinds, rows[0], :n_points] = sign / n_points
            self._weights[kinds, rows[1], n_points + n :] = sign / n_points
        self._swapped = torch.tensor([1, 0], device=device)
        self._others = zeros(2, 3, n_triples, n)
        self._by_ancestors = zeros(2, 2 * n + n_points, n)
        self._by_apart = zeros(2, 1 + n + n_points, n)

    def children(self, n_batches: int, n_columns: int) -> Tensor:
        """(n, 1 + R + 3 B, D + 1) the children of some batches: the origin, and room for nodes and
        points; the caller sets the points, by `on_hyperboloid`."""
        room = self._zero.new_zeros((n_batches, 1 + self._n_nodes + self._n_points, n_columns + 1))
        room[:, 0, 0] = 1.0
        return room

    def __call__(
        self,
        nodes: Tensor,
        children: Tensor,
        lead: Tensor,
        sums: Tensor,
        temperature: float,
        all_reduce: AllReduce = SINGLE,
        share: float | Tensor = 1.0,
    ) -> Slopes:
        """The slopes of the cost, where several processes share a batch as if this one's triples
        were all.

        nodes : (R, D + 1) in order of norm, `node_rows`. children, lead : of `on_hyperboloid`.
        sums : (`N_SUMS`, R), is filled. share : this process's part of the triples.
        """
        n, n_points, n_triples = self._n_nodes, self._n_points, self._n_triples
        torch.addcmul(self._first, nodes, self._signs, out=children[1 : 1 + n])
        cosh = torch.addmm(children[:, :1], children, nodes.T, beta=-1.0)
        cosh.clamp_(min=self._least)
        sinh = torch.addcmul(self._minus_one, cosh, cosh).sqrt_()
        apart = torch.add(cosh, sinh).log_()
        torch.add(lead, apart[:1], out=self._factors[0, n:]).clamp_(min=1.0)
        chosen = self._both[1, : n + n_points]
        scores = torch.addcmul(self._zero, apart[1:], self._factors[0], value=-1.0 / temperature)
        torch.softmax(scores, dim=1, out=chosen)
        self._solve(chosen)
        inverse = self._both[0, n + n_points : 2 * n + n_points]
        self._sum(sums, all_reduce, share)
        # G o G, by which the mean over pairs and the share of points below are divided.
        squared = inverse.square()
        _solve_into(sums[5:6], squared, sums[3:4], upper=False)
        _solve_into(sums[:1], squared.T, sums[4:5], upper=True)
        torch.add(sums[4:6], sums[6:8], out=sums[1:3])
        pairs = self._both[:, n : n + 2 * n_triples].view(2, 2, n_triples, n)
        torch.index_select(pairs, 1, self._swapped, out=self._others[:, :2])
        # For nodes first what all rows but these give, then the points, then what G gives.
        whole = self._by_ancestors
        by = whole[:, n:]
        torch.addcmul(
            sums[2::5, None], self._others.flatten(1, 2), sums[:2, None], out=by[:, :n_points]
        )
        falls = torch.addcmul(self._zero, inverse, sums[5, :, None], value=-6.0 * n_triples)
        torch.mul(falls, sums[:1], out=by[0, n_points:])
        torch.mm(self._both[0, n : 2 * n + n_points].T, by[0], out=whole[0, :n])
        by_chosen = torch.addmm(
            whole[1, : n + n_points], whole[0, : n + n_points], inverse.T, beta=-1.0
        )
        by_scores = torch._softmax_backward_data(by_chosen, chosen, 1, chosen.dtype)
        torch.ops.aten.threshold_backward(
            apart[1 + n :], self._factors[0, n:], 1.0, grad_input=self._factors[1, n:]
        )
        torch.mul(by_scores, self._factors, out=self._by_apart[:, 1:])
        # |p| is the distance from the origin, whose row is the first.
        torch.mm(self._ones, self._by_apart[1, 1 + n :], out=self._by_apart[0, :1])
        scale = -1.0 / (temperature * n_triples)
        by_cosh = torch.addcdiv(self._zero, self._by_apart[0], sinh, value=scale)
        return Slopes(nodes, children, by_cosh, self._by_apart[1, 1 + n :], scale)

    def _solve(self, chosen: Tensor) -> None:
        """A and, below, G of the probabilities P and a of nodes and points."""
        n, n_points = self._n_nodes, self._n_points
        above = self._both[0, n : 2 * n + n_points]
        _solve_into(above, chosen[:n].neg(), self._both[1, n : 2 * n + n_points], upper=False)

    def _sum(self, sums: Tensor, all_reduce: AllReduce, share: float | Tensor) -> None:
        """Means over points and pairs, of ancestors and of the nodes chosen."""
        n, n_triples = self._n_nodes, self._n_triples
        both = self._both[:, n:]
        first, second = both[:, :n_triples], both[:, n_triples : 2 * n_triples]
        torch.mul(first, second, out=both[:, -n_triples:])
        out = sums[3:].view(2, 3, n)[:, :2]
        torch.bmm(self._weights, both, out=out)
        if all_reduce.size > 1:
            whole = out * share
            all_reduce.sum(whole)
            out.copy_(whole)


@dataclass(frozen=True, slots=True)
class Slopes:
    """How the cost changes with distances.

    nodes, children : as given. by_cosh : (1 + R + 3 B, R) the slope by the cosh of each. by_over :
    (3 B, R) that by |z| - |c| of points, divided by `scale`.
    """

    nodes: Tensor
    children: Tensor
    by_cosh: Tensor
    by_over: Tensor
    scale: float

    def of_nodes(self, ordered: Tensor, out: Tensor) -> None:
        """(R, D) the gradient in coordinates of the nodes (R, D), times h = g / 2: with x = (1, z)
        / h it is b + z (b', b) x, if (b', b) is that in x."""
        n = len(ordered)
        by = torch.addmm(
            torch.mm(self.by_cosh.T, self.children),
            self.by_cosh[1 : 1 + n],
            self.children[1 : 1 + n],
        )
        inner = torch.bmm(by[:, None, :], self.nodes[:, :, None])[:, 0]
        torch.addcmul(by[:, 1:], ordered, inner, out=out)

    def of_points(self, points: Tensor) -> Tensor:
        """(3 B, D) the gradient in the points (3 B, D)."""
        n = self.by_cosh.shape[1]
        length = torch.linalg.vector_norm(points, dim=1, keepdim=True, dtype=torch.float64)
        half = half_gap(length, poincare.margin(points) / 2)
        by_cosh = self.by_cosh[1 + n :]
        by = by_cosh @ self.nodes
        first, rest = by[:, :1] - by_cosh.sum(dim=1, keepdim=True), -by[:, 1:]
        by_norm = self.by_over.sum(dim=1, keepdim=True).mul_(-self.scale)
        inner = (first + (rest * points).sum(dim=1, keepdim=True)) / half
        inner += by_norm / length.clamp_(min=_LEAST)
        return ((rest + inner * points) / half).to(points.dtype)


def node_rows(ordered: Tensor, half: Tensor) -> Tensor:
    """(R, D + 1) nodes on the hyperboloid, (1, z) / h: `half` is h, of `half_gap`."""
    rows = ordered.new_empty((len(ordered), ordered.shape[1] + 1))
    torch.reciprocal(half, out=rows[:, :1])
    torch.div(ordered, half, out=rows[:, 1:])
    return rows


def cost_of(sums: Tensor) -> Tensor:
    """The cost by the sums (..., `N_SUMS`, R) of steps, added up; a scalar in float64."""
    return (sums[..., 2::5, :] * sums[..., 4:7:2, :]).sum(dtype=torch.float64).mul_(3.0)


def half_gap(length: Tensor, least: float = 0.0) -> Tensor:
    """h, half of 1 - |x|^2, by |x|, in float64; at least `least`."""
    half = torch.addcmul(length.new_full((), 0.5), length, length, value=-0.5)
    return half.clamp_(min=least) if least else half


def on_hyperboloid(points: Tensor, children: Tensor) -> Tensor:
    """Sets children (..., n, D + 1) by points (..., n, D): (2 / g - 1, -2 x / g); gives the lead,
    (..., n, 1) 1 - |x|."""
    length = torch.linalg.vector_norm(points, dim=-1, keepdim=True, dtype=torch.float64)
    half = half_gap(length, poincare.margin(points) / 2)
    torch.sub(half.reciprocal(), 1.0, out=children[..., :1])
    torch.div(points, half.neg(), out=children[..., 1:])
    norm = torch.addcmul(length, length, length).div_(half).log1p_()
    return norm.neg_().add_(1.0).to(points.dtype)


def _solve_into(out: Tensor, system: Tensor, values: Tensor, upper: bool) -> None:
    """X of X system = values; the system is triangular with ones, understood, on its diagonal."""
    torch.linalg.solve_triangular(
        system, values, upper=upper, left=False, unitriangular=True, out=out
    )
