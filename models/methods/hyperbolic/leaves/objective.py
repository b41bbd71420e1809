"""The relaxed Dasgupta cost over triples of leaves, and its gradient.

In a triple, the pair with the deepest ancestor merges first, and its similarity costs nothing. With
the depths h of the three ancestors (`leaves.ancestors`) and p = softmax(h / temperature),

    loss = s_ij + s_ik + s_jk - (p_ij s_ij + p_ik s_ik + p_jk s_jk)

The gradient in h is written out: p_a (mean of s under p - s_a) / temperature.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020).

Cost: O(B D) for B triples of leaves in D dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.methods.hyperbolic.leaves.ancestors import Sphere

if TYPE_CHECKING:
    from torch import Tensor


def relaxed_cost(
    directions: Tensor, triples: Tensor, similarity: Tensor, sphere: Sphere, temperature: float
) -> tuple[Tensor, Tensor]:
    """The mean loss over the triples, and its gradient in the directions.

    directions : (n_points, D) of length one, the leaves on `sphere` seen from the origin.
    triples : (3, B) leaves i, j, k. similarity : (3, B) of ij, ik, jk.

    The gradient (n_points, D) is not projected onto the sphere. Sums are in the order of triples.
    """
    import torch

    first, second, third = (directions[row] for row in triples)
    apart = torch.stack([first - second, first - third, second - third])
    depth, slope = sphere.depths((apart * apart).sum(dim=-1) / 4)
    share = (depth / temperature).softmax(dim=0)
    free = (share * similarity).sum(dim=0)
    along = share * (free - similarity) / temperature
    # d(|u - v|^2 / 4) / du = (u - v) / 2
    pull = (along * slope / (2 * triples.shape[1]))[..., None] * apart
    of_leaf = torch.stack([pull[0] + pull[1], pull[2] - pull[0], -pull[1] - pull[2]])
    gradient = torch.zeros_like(directions)
    gradient.index_add_(0, triples.reshape(-1), of_leaf.reshape(-1, directions.shape[1]))
    return (similarity.sum(dim=0) - free).mean(), gradient
