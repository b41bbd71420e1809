"""What trees in the Poincaré ball are measured by: dissimilarities, and two objectives.

    eq. 3    d_cp(c, p) = d(c, p) (1 + max(|p| - |c|, 0)), |.| the hyperbolic norm
    eq. 16   the same with `margin` added inside the maximum
    eq. 12   P(n | ij) ~ exp(-max(d_cp(i, n), d_cp(j, n)) / temperature)
    eq. 13   P(n | ijk) ~ exp(-max(d_cp(i, n), d_cp(j, n), d_cp(k, n)) / temperature), 0 at the most
             likely n of eq. 12
    eq. 15   sum_n s(d_in (P(n|ij) - P(n|ijk))) + s(d_jn (..)) + s(d_kn (P(n|ijk) - P(n|ij)))
    eq. 17   d_cp(c, parent of c; margin)

Both objectives are means, over triples and over children, so that step lengths do not hang on
their number; of eq. 15 s(0) is taken off each term, so that a node with no part in a triple adds 0.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3 and §4.2. There Gumbel noise is added to the distances of
eq. 12 and 13; `temperature` is 1. Their program has s = softplus for the sigmoid, the margin 0.25
in every d_cp, eq. 17 as max(|p| - |c| + margin, 0) without the distance, and masks in eq. 13 the
node that is best without the noise of eq. 12. Eq. 17 is 0 where child and parent coincide: alone
it keeps no distance between them.

Cost: O(B M D) for B triples and M nodes (`ball.ranking_torch`), O(B D) for B children.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from models.numerics import poincare

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.noise import Noise

Form = Literal["sigmoid", "softplus"]
Structure = Literal["distance", "norms"]
Mask = Literal["likeliest", "nearest"]


@dataclass(frozen=True, slots=True)
class Objective:
    """How it is computed; see the module's docstring.

    noise : what Gumbel noise is multiplied by, in units of the temperature; 0 for none.
    """

    form: Form = "sigmoid"
    margin: float = 0.0
    temperature: float = 1.0
    noise: float = 1.0
    mask: Mask = "likeliest"
    structure: Structure = "distance"
    structure_margin: float = 0.25


def child_parent(
    nodes: Tensor, children: Tensor, parents: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    """The mean of eq. 17 over some children, given with their parents by number (n,), and its
    gradient in all nodes (M, D)."""
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


def ranking(
    triples: Tensor, nodes: Tensor, objective: Objective, noise: Noise | None = None
) -> Tensor:
    """The mean of eq. 15 over triples (3, B, D): i, j alike, k another. nodes : (M, D), M > 1.

    noise : of these triples; without it there is none. With gradients for both.
    """
    from models.methods.hyperbolic.ball.ranking_torch import Ranking

    apply: Any = Ranking.apply
    found: Tensor = apply(triples, nodes, objective, noise)
    return found
