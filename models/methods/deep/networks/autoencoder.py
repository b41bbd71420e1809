"""A fully connected autoencoder: layers to an embedding, and mirrored layers back.

Layers have rectified linear units but for the last one of each half. Weights start as He et al.,
"Delving Deep into Rectifiers" (2015), biases at zero. All parameters lie in one vector and so do
their gradients, so that an optimizer of one tensor moves them all.

`forward` maps rows without torch, for models that predict: x to relu(x W + b) at each layer but the
last of a stack, which is linear. Arrays are named `encoder.0.weight`, (n_in, n_out), and
`encoder.0.bias`, (n_out,), float32.

Cost: 6 W multiplications and additions a row and step for W weights; memory 8 W bytes, and 16 W in
the optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays, Single

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
        """Copies of weights and biases, named as in the module's docstring."""
        named = {}
        for stack, layers in self._layers.items():
            for number, (weight, bias) in enumerate(layers):
                named[f"{stack}.{number}.weight"] = weight.detach().cpu().numpy().copy()
                named[f"{stack}.{number}.bias"] = bias.detach().cpu().numpy().copy()
        return named


def widths_of(arrays: Arrays, stack: str) -> list[int]:
    """The widths of a stack's layers, from its input to its output."""
    weights = _layers(arrays, stack)
    return [weights[0][0].shape[0], *(weight.shape[1] for weight, _ in weights)]


def forward(arrays: Arrays, stack: str, rows: Single) -> Single:
    """(n, n_out) the output of a stack, for rows (n, n_in)."""
    layers = _layers(arrays, stack)
    values = rows
    for number, (weight, bias) in enumerate(layers):
        values = values @ weight
        values += bias
        if number < len(layers) - 1:
            np.maximum(values, 0.0, out=values)
    return values


def _layers(arrays: Arrays, stack: str) -> list[tuple[Array, Array]]:
    layers: list[tuple[Array, Array]] = []
    for number in count():
        name = f"{stack}.{number}"
        if f"{name}.weight" not in arrays:
            return layers
        layers.append((arrays[f"{name}.weight"], arrays[f"{name}.bias"]))
    raise AssertionError
