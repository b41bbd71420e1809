"""Gumbel noise that depends only on its triple and its node.

Every triple and every node has a key of 32 random bits; the noise of a pair is a hash of the sum of
both keys. So it is the same on any device, for any part of a batch, in any order.

Source: the hash is `lowbias32` of Chris Wellons, "Prospecting for Hash Functions" (2018); every bit
of its result depends on every bit of its argument.

Cost: O(n M) for n triples and M nodes, on a processor less than half the time of torch's own
generator for more than a few hundred nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_FIRST, _SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)
_TINY = 1e-30


class GumbelNoise:
    """The noise of a batch of B triples.

    triples : (2, B) int32 keys, for scores of pairs and of all three. nodes : (M,) int32 keys.
    """

    def __init__(self, triples: Tensor, nodes: Tensor) -> None:
        self._triples, self._nodes = triples, nodes

    def part(self, part: slice) -> GumbelNoise:
        """The noise of some of the triples."""
        return GumbelNoise(self._triples[:, part], self._nodes)

    def gumbel(self, which: int) -> Tensor:
        """(B, M) float32 values. which : 0 for scores of pairs, 1 for scores of all three."""
        import torch

        bits = self._triples[which, :, None] + self._nodes
        shifted = torch.empty_like(bits)
        for shift, factor in ((16, _FIRST), (15, _SECOND), (16, 1)):
            torch.bitwise_right_shift(bits, shift, out=shifted)
            # The shift extends the sign bit; this makes it a logical shift.
            shifted.bitwise_and_((1 << (32 - shift)) - 1)
            bits.bitwise_xor_(shifted)
            if factor != 1:
                bits.mul_(factor)
        torch.bitwise_right_shift(bits, 8, out=shifted).bitwise_and_((1 << 24) - 1)
        uniform = shifted.to(torch.float32).mul_(2.0**-24).clamp_(min=_TINY)
        return uniform.log_().neg_().log_().neg_()


class NoiseStream:
    """The noise of successive batches."""

    def __init__(self, rng: np.random.Generator, n_nodes: int, device: torch.device) -> None:
        self._rng, self._device = rng, device
        self._nodes = self._keys(n_nodes)

    def next(self, n_triples: int) -> GumbelNoise:
        """The noise of the next batch."""
        return GumbelNoise(self._keys(2, n_triples), self._nodes)

    def _keys(self, *shape: int) -> Tensor:
        import torch

        keys = self._rng.integers(1 << 32, size=shape, dtype=np.uint32).view(np.int32)
        return torch.from_numpy(keys).to(self._device)
