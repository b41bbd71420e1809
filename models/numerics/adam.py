"""Adam on one tensor, for gradients that are written out.

Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015), algorithm 1. Torch's own
optimizer takes more than a second to import.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays

if TYPE_CHECKING:
    from torch import Tensor

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Moves `params` in place. O(size) a step; memory four times `params`."""

    def __init__(self, params: Tensor, learning_rate: float) -> None:
        self._params, self._rate = params, learning_rate
        self._mean, self._square = params.new_zeros(params.shape), params.new_zeros(params.shape)
        self._root = params.new_empty(params.shape)
        self._n_steps = 0

    def restart(self) -> None:
        """Forget all steps."""
        self._mean.zero_()
        self._square.zero_()
        self._n_steps = 0

    def arrays(self) -> dict[str, Array]:
        """Copies of what `restore` needs, for checkpoints."""
        return {
            "mean": self._mean.cpu().numpy().copy(),
            "square": self._square.cpu().numpy().copy(),
            "n_steps": np.array(self._n_steps),
        }

    def restore(self, arrays: Arrays) -> None:
        """Go on from the state that `arrays` gave."""
        import torch

        self._mean.copy_(torch.from_numpy(np.array(arrays["mean"])))
        self._square.copy_(torch.from_numpy(np.array(arrays["square"])))
        self._n_steps = int(arrays["n_steps"])

    def step(self, gradient: Tensor, share: float = 1.0) -> None:
        """One step down `gradient`, which has the shape of the parameters.

        share : of the learning rate, for one that falls.
        """
        import torch

        self._n_steps += 1
        self._mean.lerp_(gradient, 1.0 - BETA_1)
        self._square.mul_(BETA_2).addcmul_(gradient, gradient, value=1.0 - BETA_2)
        torch.sqrt(self._square, out=self._root)
        self._root.div_(math.sqrt(1.0 - BETA_2**self._n_steps)).add_(EPSILON)
        rate = share * self._rate / (1.0 - BETA_1**self._n_steps)
        self._params.addcdiv_(self._mean, self._root, value=-rate)
