"""Random triples of leaves: each leaf comes first equally often, with any two others.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020), where triples
cover all pairs and the third is any leaf, the two themselves included.

Cost: O(B) for B triples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor


def draw_triples(n_points: int, n_triples: int, start: int, generator: Generator) -> Tensor:
    """(3, n_triples) int64 numbers of three different leaves each; n_points must be at least 3.

    start : number of triples drawn before; first leaves continue in turn from there.
    """
    import torch

    device = generator.device

    def below(limit: int) -> Tensor:
        return torch.randint(limit, (n_triples,), generator=generator, device=device)

    first = (torch.arange(n_triples, device=device) + start) % n_points
    second = (first + 1 + below(n_points - 1)) % n_points
    third = below(n_points - 2)
    third = third + (third >= torch.minimum(first, second))
    third = third + (third >= torch.maximum(first, second))
    return torch.stack([first, second, third])
