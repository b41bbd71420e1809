"""The ranking objective (eq. 15) with its gradient written out, a few triples at a time.

Torch's autograd would write about fifty (3 B, M) matrices to memory and read them back; a few
triples at a time stay in the cache of a core. With u = |x - z|^2 / (g h), g = 1 - |x|^2, h = 1 -
|z|^2, and G = dL / d d_cp:

    d d / d u       1 / sqrt(u (1 + u))
    d u / d z       2 (z - x) / (g h) + 2 u z / h, and likewise for x
    d_cp            adds d f d|z| / dz where f = 1 + max(|z| - |x| + margin, 0) is above 1,
                    d|z| / dz = 2 z / (|z| h), 0 at the origin
    a score y       of s(d_i more) etc., more = p - q: G_i = s' more, and s' d_i to more
    more            to the scores of p by softmax: p (v - p.v), to q's: -q (v - q.v)
    scores          -1 / temperature to the greatest of the two or three d_cp

Source: `ball.training` has the definition and its source.

Cost: O(B M (D + 40)), 11 to 20 us a node for 96 triples of 128 dimensions from 1,000 to 50,000
nodes; memory some fifteen matrices of `CHUNK` values, or of (3 `FEWEST`, M), on a processor, and of
(3 B, M) on a GPU.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from models.numerics import poincare

if TYPE_CHECKING:
    from models.methods.hyperbolic.ball.parameters import BallObjective
    from models.methods.hyperbolic.ball.triples import GumbelNoise

CHUNK = 1 << 18
"""The number of values in a matrix on a processor, ..."""

FEWEST = 16
"""... with at least this many triples: each chunk passes once over the nodes' gradient (M, D)."""

_LN_2 = 0.6931471805599453
_TINY = 1e-30


class RankingLoss(torch.autograd.Function):
    """The mean of eq. 15 over triples (3, B, D) with nodes (M, D); gradients in both."""

    @staticmethod
    def forward(
        ctx: Any,
        triples: Tensor,
        nodes: Tensor,
        objective: BallObjective,
        noise: GumbelNoise | None,
    ) -> Tensor:
        n_triples = triples.shape[1]
        step = n_triples
        if nodes.device.type == "cpu":
            step = max(FEWEST, CHUNK // (3 * len(nodes)))
        side = _Nodes(nodes)
        triples_gradient = torch.empty_like(triples)
        total = nodes.new_zeros((), dtype=torch.float64)
        for start in range(0, n_triples, step):
            part = slice(start, start + step)
            part_noise = None if noise is None else noise.part(part)
            value, gradient = _part(triples[:, part], side, objective, part_noise)
            total += value
            triples_gradient[:, part] = gradient
        ctx.save_for_backward(triples_gradient / n_triples, side.gradient() / n_triples)
        return (total / n_triples).to(nodes.dtype)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        triples_gradient, nodes_gradient = ctx.saved_tensors
        return outer[0] * triples_gradient, outer[0] * nodes_gradient, None, None


class _Side:
    """Points (n, D) with |x|^2, 1 / (1 - |x|^2) and, computed on demand, the hyperbolic norm."""

    def __init__(self, points: Tensor) -> None:
        self.points = points
        self.squares, self.far = _squares_and_inverse_gaps(points)

    @cached_property
    def norm(self) -> Tensor:
        norm: Tensor = poincare.hyperbolic_norm(self.points)
        return norm

    def norm_slope(self) -> Tensor:
        """(n, D) d|x| / dx of the hyperbolic norm, 0 at the origin."""
        length = self.squares.sqrt().clamp_(min=_TINY)
        return 2 * self.far / length * self.points


class _Nodes(_Side):
    """The nodes, and the sums over chunks that make up their gradient."""

    def __init__(self, nodes: Tensor) -> None:
        super().__init__(nodes)
        # x.z, |x|^2 and |z|^2 in one product: [x, |x|^2, 1] times this is u g.
        self.wide = torch.cat([-2 * self.far * nodes, self.far, self.squares * self.far], dim=1)
        self.furthest = float(self.squares.max())
        self.own = torch.zeros_like(self.far)
        self.others = torch.zeros_like(nodes)
        self.of_norm: Tensor | None = None

    def gradient(self) -> Tensor:
        gradient = 2 * (self.own * self.points - self.others)
        return gradient if self.of_norm is None else gradient + self.of_norm * self.norm_slope()


def _squares_and_inverse_gaps(points: Tensor) -> tuple[Tensor, Tensor]:
    """(n, 1) |x|^2 and 1 / (1 - |x|^2), as in `poincare.gap`."""
    wide = points.double()
    squares = (wide * wide).sum(dim=1, keepdim=True)
    far = (1 - squares).clamp_(min=poincare.margin(points)).reciprocal_()
    return squares.to(points.dtype), far.to(points.dtype)


def _part(
    triples: Tensor, side: _Nodes, objective: BallObjective, noise: GumbelNoise | None
) -> tuple[Tensor, Tensor]:
    """The sum of eq. 15 over some triples (3, b, D) and its gradient in them."""
    rows = _Side(triples.reshape(-1, triples.shape[2]))
    points, near = rows.points, rows.far
    row = torch.cat([points, rows.squares, torch.ones_like(near)], dim=1)
    u = (row * near).mm(side.wide.T).clamp_(min=0)
    root, other = u.sqrt(), (1 + u).sqrt_()
    # arsinh r = log(1 + r + r^2 / (1 + sqrt(1 + r^2))); torch's own takes twenty times as long.
    apart = (u / (1 + other)).add_(root).log1p_().mul_(2)
    slope = root.mul_(other).clamp_(min=_TINY).reciprocal_().mul_(u > 0)
    over = None
    if objective.margin or side.furthest > float(rows.squares.min()):
        over = (side.norm.T - rows.norm).add_(objective.margin).clamp_(min=0)
        slope.mul_(1 + over)
    value, g = _sum_and_slope(
        (apart if over is None else apart * (1 + over)).view(3, -1, len(side.points)),
        objective,
        noise,
    )
    g = g.view(u.shape)
    of_norm = None if over is None else apart.mul_(g).mul_(over > 0)
    g.mul_(slope)
    scaled = u.mul_(g)
    across = g.mul_(near).mul_(side.far.T)
    side.own += (across.sum(dim=0) + scaled.sum(dim=0) * side.far[:, 0])[:, None]
    side.others += across.T.mm(points)
    own = across.sum(dim=1, keepdim=True) + scaled.sum(dim=1, keepdim=True) * near
    gradient = 2 * (own * points - across.mm(side.points))
    if of_norm is not None:
        added = of_norm.sum(dim=0)[:, None]
        side.of_norm = added if side.of_norm is None else side.of_norm + added
        gradient -= of_norm.sum(dim=1, keepdim=True) * rows.norm_slope()
    return value, gradient.view_as(triples)


def _sum_and_slope(
    apart: Tensor, objective: BallObjective, noise: GumbelNoise | None
) -> tuple[Tensor, Tensor]:
    """The sum of eq. 15 over dissimilarities d_cp (3, b, M), and its gradient in them."""
    to_i, to_j, to_k = apart
    nearer = to_i >= to_j
    pair = torch.maximum(to_i, to_j)
    wider = to_k > pair
    p = pair / -objective.temperature
    q = torch.maximum(pair, to_k).div_(-objective.temperature)
    best = p.argmax(dim=1, keepdim=True) if objective.mask == "nearest" else None
    if noise is not None and objective.noise:
        p.sub_(noise.gumbel(0), alpha=objective.noise)
        q.sub_(noise.gumbel(1), alpha=objective.noise)
    best = p.argmax(dim=1, keepdim=True) if best is None else best
    q = q.scatter_(1, best, -torch.inf).softmax(dim=1)
    p = p.softmax(dim=1)
    more = p - q
    g = apart * more
    g[2].neg_()
    value, slope = _score(g, objective)
    weighted = apart * slope
    to_more = weighted[0].add_(weighted[1]).sub_(weighted[2])
    g = slope.mul_(more)
    g[2].neg_()
    # From the scores, through softmax, to the dissimilarities.
    of_p = p.mul_(to_more - (p * to_more).sum(dim=1, keepdim=True))
    of_q = q.mul_((q * to_more).sum(dim=1, keepdim=True) - to_more)
    of_q.div_(-objective.temperature)
    of_k = of_q * wider
    of_pair = of_p.div_(-objective.temperature).add_(of_q).sub_(of_k)
    of_i = of_pair * nearer
    g[0] += of_i
    g[1] += of_pair.sub_(of_i)
    g[2] += of_k
    return value, g


def _score(y: Tensor, objective: BallObjective) -> tuple[Tensor, Tensor]:
    """The sum of s(y) - s(0), and s'(y); overwrites y."""
    if objective.form == "softplus":
        value = torch.nn.functional.softplus(y).sum(dtype=torch.float64)
        return value.sub_(_LN_2 * y.numel()), y.sigmoid_()
    half = y.sigmoid_().sub_(0.5)
    return half.sum(dtype=torch.float64), half.square_().neg_().add_(0.25)
