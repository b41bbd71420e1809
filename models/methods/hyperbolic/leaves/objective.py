"""The relaxed cost of Dasgupta over triples of leaves, and its gradient.

Of a triple the pair that parts deepest is merged first; its similarity is not paid for. With the
depths h of the three ancestors (`leaves.ancestors`) and p = softmax(h / temperature),

    loss = s_ij + s_ik + s_jk - (p_ij s_ij + p_ik s_ik + p_jk s_jk)

The gradient follows by hand, along h: p_a (mean of s under p - s_a) / temperature.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020).

Cost: O(B D) for B triples of leaves in D dimensions.

Triples of leaves, drawn: each leaf comes first equally often, the other two are any others.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020), where triples
cover all pairs and the third is any leaf, the two themselves included.

Cost: O(B) for B triples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.methods.hyperbolic.leaves.ancestors import Sphere

if TYPE_CHECKING:
    from torch import Tensor


def relaxed(
    directions: Tensor, triples: Tensor, similarity: Tensor, sphere: Sphere, temperature: float
) -> tuple[Tensor, Tensor]:
    """Mean loss over the triples, and its gradient in the directions.

    directions : (n_points, D) of length one, the leaves on `sphere` seen from the origin.
    triples : (3, B) leaves i, j, k. similarity : (3, B) of ij, ik, jk.

    The gradient (n_points, D) is not yet along the sphere. Sums are in the order of triples.
    """
    import torch

    first, second, third = (directions[row] for row in triples)
    apart = torch.stack([first - second, first - third, second - third])
    depth, slope = sphere.depths((apart * apart).sum(dim=-1) / 4)
    share = (depth / temperature).softmax(dim=0)
    kept = (share * similarity).sum(dim=0)
    along = share * (kept - similarity) / temperature
    # d(|u - v|^2 / 4) / du = (u - v) / 2
    pull = (along * slope / (2 * triples.shape[1]))[..., None] * apart
    of_leaf = torch.stack([pull[0] + pull[1], pull[2] - pull[0], -pull[1] - pull[2]])
    gradient = torch.zeros_like(directions)
    gradient.index_add_(0, triples.reshape(-1), of_leaf.reshape(-1, directions.shape[1]))
    return (similarity.sum(dim=0) - kept).mean(), gradient


if TYPE_CHECKING:
    from torch import Generator, Tensor


def drawn(n_points: int, n_triples: int, start: int, generator: Generator) -> Tensor:
    """(3, n_triples) int64, three different leaves each; three leaves or more.

    start : of how many triples before; the first leaves go on from there, in turn.
    """
    import torch

    device = generator.device

    def below(most: int) -> Tensor:
        return torch.randint(most, (n_triples,), generator=generator, device=device)

    first = (torch.arange(n_triples, device=device) + start) % n_points
    second = (first + 1 + below(n_points - 1)) % n_points
    third = below(n_points - 2)
    third = third + (third >= torch.minimum(first, second))
    third = third + (third >= torch.maximum(first, second))
    return torch.stack([first, second, third])
