"""A fully connected autoencoder: layers to an embedding, and mirrored layers back.

Layers have rectified linear units but for the last one of each half. Weights start as He et al.,
"Delving Deep into Rectifiers" (2015), biases at zero. All parameters lie in one vector and so do
their gradients, so that an optimizer of one tensor moves them all.

Cost: 6 W multiplications and additions a row and step for W weights; memory 8 W bytes, and 16 W in
the optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Single

if TYPE_CHECKING:
    from torch import Tensor

STACKS = ("encoder", "decoder")


def widths_of_stacks(
    n_features: int, hidden_sizes: Sequence[int], embedding_size: int
) -> list[list[int]]:
    """The widths of the layers of encoder and decoder, from input to output."""
    widths = [n_features, *hidden_sizes, embedding_size]
    return [widths, widths[::-1]]


def n_parameters(n_features: int, hidden_sizes: Sequence[int], embedding_size: int) -> int:
    """The number of weights and biases of both halves."""
    return sum(
        n_out * (n_in + 1)
        for widths in widths_of_stacks(n_features, hidden_sizes, embedding_size)
        for n_in, n_out in pairwise(widths)
    )


class Autoencoder:
    """Encoder and decoder on a device.

    parameters, gradient : (n_parameters,) all weights and biases, and their gradient, which
        `backward` of a loss adds to.
    """

    def __init__(
        self,
        n_features: int,
        hidden_sizes: Sequence[int],
        embedding_size: int,
        rng: np.random.Generator,
        device: str,
    ) -> None:
        import torch

        size = n_parameters(n_features, hidden_sizes, embedding_size)
        start = np.zeros(size, dtype=np.float32)
        self.parameters = torch.from_numpy(start).to(device)
        self.gradient = torch.zeros_like(self.parameters)
        self._layers: dict[str, list[tuple[Tensor, Tensor]]] = {stack: [] for stack in STACKS}
        place = 0
        for stack, widths in zip(
            STACKS, widths_of_stacks(n_features, hidden_sizes, embedding_size), strict=True
        ):
            for number, (n_in, n_out) in enumerate(pairwise(widths)):
                gain = 1.0 if number == len(widths) - 2 else 2.0
                weight = rng.standard_normal((n_in, n_out), dtype=np.float32)
                weight *= math.sqrt(gain / n_in)
                self._layers[stack].append(
                    (
                        self._part(place, weight),
                        self._part(place + weight.size, np.zeros(n_out, dtype=np.float32)),
                    )
                )
                place += weight.size + n_out

    def _part(self, place: int, start: Single) -> Tensor:
        """Some of the parameters as a tensor with a gradient, both views of the vectors."""
        import torch

        values = self.parameters[place : place + start.size].view(start.shape)
        values.copy_(torch.from_numpy(start))
        part = values.detach().requires_grad_()
        part.grad = self.gradient[place : place + start.size].view(start.shape)
        return part

    def encode(self, rows: Tensor) -> Tensor:
        """(n, embedding_size) embeddings of scaled rows (n, n_features)."""
        return self._through("encoder", rows)

    def decode(self, embedding: Tensor) -> Tensor:
        """(n, n_features) scaled rows of embeddings (n, embedding_size)."""
        return self._through("decoder", embedding)

    def _through(self, stack: str, values: Tensor) -> Tensor:
        import torch

        layers = self._layers[stack]
        for number, (weight, bias) in enumerate(layers):
            values = torch.addmm(bias, values, weight)
            if number < len(layers) - 1:
                values = torch.relu(values)
        return values

    def arrays(self) -> dict[str, Single]:
        """Copies of weights and biases, named as in `networks.layers`."""
        named = {}
        for stack, layers in self._layers.items():
            for number, (weight, bias) in enumerate(layers):
                named[f"{stack}.{number}.weight"] = weight.detach().cpu().numpy().copy()
                named[f"{stack}.{number}.bias"] = bias.detach().cpu().numpy().copy()
        return named
