"""A fully connected autoencoder: layers to an embedding, and mirrored layers back.

Layers have rectified linear units but for the last one of each half. Weights start as He et al.,
"Delving Deep into Rectifiers" (2015), biases at zero. All parameters lie in one vector and so do
their gradients, so that an optimizer of one tensor moves them all. Gradients are written out: a
layer's biases lie behind its weights, and its inputs end with a column of ones, so that one product
gives the gradient of both.

`forward` maps rows without torch, for models that predict: x to relu(x W + b) at each layer but the
last of a stack, which is linear. Arrays are named `encoder.0.weight`, (n_in, n_out), and
`encoder.0.bias`, (n_out,), float32.

Cost: 6 W multiplications and additions a row and step for W weights; memory 8 W bytes, and 16 W in
the optimizer; for a batch 8 bytes a value in all layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING, NamedTuple

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


class _Layer(NamedTuple):
    """weight : (n_in, n_out). bias : (n_out,). both, gradient : (n_in + 1, n_out)."""

    weight: Tensor
    bias: Tensor
    both: Tensor
    gradient: Tensor


class Autoencoder:
    """Encoder and decoder on a device.

    parameters, gradient : (n_parameters,) all weights and biases, and their gradient.
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
        self._layers: dict[str, list[_Layer]] = {stack: [] for stack in STACKS}
        place = 0
        for stack, widths in zip(
            STACKS, widths_of_stacks(n_features, hidden_sizes, embedding_size), strict=True
        ):
            for number, (n_in, n_out) in enumerate(pairwise(widths)):
                gain = 1.0 if number == len(widths) - 2 else 2.0
                weight = rng.standard_normal((n_in, n_out), dtype=np.float32)
                weight *= math.sqrt(gain / n_in)
                values = self.parameters[place : place + weight.size + n_out].view(-1, n_out)
                values[:-1].copy_(torch.from_numpy(weight))
                gradient = self.gradient[place : place + weight.size + n_out].view(-1, n_out)
                self._layers[stack].append(_Layer(values[:-1], values[-1], values, gradient))
                place += weight.size + n_out

    def encode(self, rows: Tensor) -> Tensor:
        """(n, embedding_size) embeddings of scaled rows (n, n_features)."""
        return self._through("encoder", rows)

    def decode(self, embedding: Tensor) -> Tensor:
        """(n, n_features) scaled rows of embeddings (n, embedding_size)."""
        return self._through("decoder", embedding)

    def _through(self, stack: str, values: Tensor) -> Tensor:
        import torch

        layers = self._layers[stack]
        for number, layer in enumerate(layers):
            values = torch.addmm(layer.bias, values, layer.weight)
            if number < len(layers) - 1:
                values.relu_()
        return values

    @property
    def layers(self) -> list[_Layer]:
        """The layers of both halves, from input to output."""
        return [layer for stack in STACKS for layer in self._layers[stack]]

    @property
    def n_encoding(self) -> int:
        """The layers of the encoder."""
        return len(self._layers["encoder"])

    def arrays(self) -> dict[str, Single]:
        """Copies of weights and biases, named as in the module's docstring."""
        named = {}
        for stack, layers in self._layers.items():
            for number, layer in enumerate(layers):
                named[f"{stack}.{number}.weight"] = layer.weight.cpu().numpy().copy()
                named[f"{stack}.{number}.bias"] = layer.bias.cpu().numpy().copy()
        return named


class BatchPass:
    """Batches of at most `n_rows` rows through an autoencoder, and their losses back."""

    def __init__(self, network: Autoencoder, n_rows: int) -> None:
        import torch

        self._network, self._layers = network, network.layers
        one = network.parameters
        self._back: Tensor = torch.ones_like(one[0])
        # Rows begin at multiples of 16 bytes.
        self._values = [
            one.new_ones(n_rows, -(-(len(layer.bias) + 1) // 4) * 4) for layer in self._layers[:-1]
        ]

    def forward(self, rows: Tensor, loss: Tensor) -> Tensor:
        """The rows through all layers; `loss`, (1,), is filled with the mean squared error of
        values.

        rows : (n, n_features + 1), scaled, the last column 1. Returns (n, embedding_size + 1) the
        embedding, the last column 1, which the next batch overwrites.
        """
        import torch

        self._inputs = [rows]
        for number, (layer, values) in enumerate(zip(self._layers, self._values, strict=False)):
            n_out, inputs = len(layer.bias), self._inputs[-1][:, :-1]
            out, whole = values[: len(rows), :n_out], values[: len(rows), : n_out + 1]
            if number == self._network.n_encoding - 1:
                torch.addmm(layer.bias, inputs, layer.weight, out=out)
            else:
                torch._addmm_activation(layer.bias, inputs, layer.weight, out=out)
            self._inputs.append(whole)
        # The last layer's output less the rows, times the slope of the mean of squares.
        wanted, last = rows[:, :-1], self._layers[-1].both
        slope = 2.0 / wanted.numel()
        self._back = torch.addmm(wanted, self._inputs[-1], last, beta=-slope, alpha=slope)
        flat = self._back.view(-1)
        torch.addmv(loss, flat[None], flat, beta=0.0, alpha=0.5 / slope, out=loss)
        return self._inputs[self._network.n_encoding]

    def to_embedding(self) -> Tensor:
        """(n, embedding_size) the gradient of the loss in the embedding; that of the decoder's
        parameters is written."""
        return self._through(range(len(self._layers) - 1, self._network.n_encoding - 1, -1))

    def to_rows(self, of_embedding: Tensor) -> None:
        """Write the gradient of the encoder's parameters, from that in the embedding."""
        self._back = of_embedding
        self._through(range(self._network.n_encoding - 1, -1, -1))

    def _through(self, numbers: range) -> Tensor:
        import torch

        for number in numbers:
            layer, inputs = self._layers[number], self._inputs[number]
            torch.mm(inputs.T, self._back, out=layer.gradient)
            if number == 0:
                break
            self._back = self._back @ layer.weight.T
            if number != self._network.n_encoding:
                self._back = torch.ops.aten.threshold_backward(self._back, inputs[:, :-1], 0.0)
        return self._back


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
