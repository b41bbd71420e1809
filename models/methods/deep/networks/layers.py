"""Layers as plain arrays: how a model without torch maps rows.

A stack of layers maps x to relu(x W + b) at each layer but the last, which is linear. Its arrays
are named `encoder.0.weight`, (n_in, n_out), and `encoder.0.bias`, (n_out,), float32.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from models.arrays import Array, Arrays, Single


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
