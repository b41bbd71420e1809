"""The dissimilarity of points of the ball, and the objectives that move nodes.

    eq. 3    d_cp(c, p) = d(c, p) (1 + max(|p| - |c|, 0)), |.| the hyperbolic norm
    eq. 16   the same with `margin` added inside the maximum
    eq. 12   P(n | ij) ~ exp(-max(d_cp(i, n), d_cp(j, n)) / temperature)
    eq. 13   P(n | ijk) ~ exp(-max(d_cp(i, n), d_cp(j, n), d_cp(k, n)) / temperature), 0 at the most
             likely n of eq. 12
    eq. 15   sum_n s(d_in (P(n|ij) - P(n|ijk))) + s(d_jn (..)) + s(d_kn (P(n|ijk) - P(n|ij)))
    eq. 17   d_cp(c, parent of c; margin)

In place of eq. 12 to 15 the expected cost of the tree may be lowered (`ball.expected_cost_torch`).

Both objectives are means, over triples and over children, so that step lengths do not depend on
their number. s(0) is subtracted from each term of eq. 15, so that a node with no part in a triple
adds 0.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3 and §4.2, where Gumbel noise is added to the distances of eq.
12 and 13 and `temperature` is 1. The authors' program has softplus in place of the sigmoid s, the
margin 0.25 in every d_cp, eq. 17 as max(|p| - |c| + margin, 0) without the distance, and masks in
eq. 13 the node that is best in eq. 12 without noise. Eq. 17 is 0 if child and parent coincide: by
itself it does not keep them apart.

Cost: O(B M D) for B triples and M nodes (`ball.ranking_torch`), O(B D) for B children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from models.methods.hyperbolic.ball.all_reduce import SINGLE, AllReduce
from models.methods.hyperbolic.ball.effort import BallObjective
from models.numerics import poincare

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.noise import GumbelNoise


def child_parent(
    nodes: Tensor, children: Tensor, parents: Tensor, objective: BallObjective
) -> tuple[Tensor, Tensor]:
    """The mean of eq. 17 over some children and their parents, and its gradient in nodes, (M, D).

    children, parents : (n,) numbers of nodes.
    """
    import torch

    child, parent = nodes[children], nodes[parents]
    inner, outer = poincare.hyperbolic_norm(child), poincare.hyperbolic_norm(parent)
    over = (outer - inner + objective.structure_margin).clamp_(min=0)
    slope = (over > 0) / len(children)
    gradient = torch.zeros_like(nodes)
    if objective.structure == "norms":
        value = over.mean()
    else:
        apart = poincare.distance(child, parent)[:, None]
        value = (apart * (1 + over)).mean()
        weight = (1 + over) / len(children)
        gradient.index_add_(0, children, weight * poincare.distance_gradient(child, parent))
        gradient.index_add_(0, parents, weight * poincare.distance_gradient(parent, child))
        slope = slope * apart
    gradient.index_add_(0, children, slope * poincare.hyperbolic_norm_gradient(child), alpha=-1)
    gradient.index_add_(0, parents, slope * poincare.hyperbolic_norm_gradient(parent))
    return value, gradient


def of_tree(
    triples: Tensor,
    nodes: Tensor,
    objective: BallObjective,
    noise: GumbelNoise | None = None,
    all_reduce: AllReduce = SINGLE,
) -> Tensor:
    """The expected cost of the tree, or eq. 15, as the objective asks; arguments as of `ranking`.

    all_reduce : the processes that share the batch.
    """
    if objective.form != "expected":
        return ranking(triples, nodes, objective, noise)
    from models.methods.hyperbolic.ball.expected_cost_torch import expected_cost

    return expected_cost(triples, nodes, objective.temperature, all_reduce)


def ranking(
    triples: Tensor, nodes: Tensor, objective: BallObjective, noise: GumbelNoise | None = None
) -> Tensor:
    """The mean of eq. 15 over triples, with gradients in triples and nodes.

    triples : (3, B, D) points i, j alike and k another. nodes : (M, D), M > 1. noise : noise of
        these triples; None: no noise.
    """
    from models.methods.hyperbolic.ball.ranking_torch import RankingLoss

    apply: Any = RankingLoss.apply
    mean: Tensor = apply(triples, nodes, objective, noise)
    return mean
