"""Tensors compared, and Adam written out: torch.testing and torch.optim take seconds to load."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

CLOSE = {torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}
"""rtol and atol by type, as in `torch.testing`."""


def assert_close(
    found: torch.Tensor,
    wanted: torch.Tensor,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Same shape and type: |found - wanted| <= atol + rtol |wanted|, so NaN is never close."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    usual = CLOSE[wanted.dtype]
    np.testing.assert_allclose(
        found.detach().numpy(),
        wanted.detach().numpy(),
        rtol=usual[0] if rtol is None else rtol,
        atol=usual[1] if atol is None else atol,
        equal_nan=False,
    )


class LiteralAdam:
    """Adam of Kingma and Ba (2015), algorithm 1, on tensors with gradients."""

    def __init__(self, weights: Iterable[torch.Tensor], lr: float) -> None:
        self.weights, self.lr, self.n_steps = list(weights), lr, 0
        self.mean = [torch.zeros_like(each) for each in self.weights]
        self.square = [torch.zeros_like(each) for each in self.weights]

    def zero_grad(self) -> None:
        for each in self.weights:
            each.grad = None

    def step(self) -> None:
        self.n_steps += 1
        with torch.no_grad():
            for each, mean, square in zip(self.weights, self.mean, self.square, strict=True):
                assert each.grad is not None
                mean.copy_(0.9 * mean + 0.1 * each.grad)
                square.copy_(0.999 * square + 0.001 * each.grad**2)
                m = mean / (1 - 0.9**self.n_steps)
                v = square / (1 - 0.999**self.n_steps)
                each -= self.lr * m / (v.sqrt() + 1e-8)
