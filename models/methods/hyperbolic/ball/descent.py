"""Steps on the Poincaré ball: Riemannian gradient descent, and Adam.

    'sgd'   z <- R_z(-learning_rate (1 - |z|^2)^2 / 4 grad)                            eq. 18 to 20
    'adam'  the same step along the mean m of Riemannian gradients g, over the root of the mean v of
            their squared lengths, one number per point: m <- b1 m + (1 - b1) g,
            v <- b2 v + (1 - b2) |g|_z^2, both corrected for their start at 0

R is the retraction z + g, pulled back to norm `max_norm` if it leads further out. Eq. 19 as printed
subtracts eps from every coordinate; it means the point of norm 1 - eps on the same ray.

`prefixed` and `unprefixed` name the arrays of a checkpoint by parts: the names of each part begin
with its prefix.

Source: Monath et al. (2019), §4.1; Bécigneul and Ganea, "Riemannian Adaptive Optimization Methods"
(2019), algorithm 1, without carrying m along the geodesic: to first order it does not change.

Cost: O(M D) a step; 'adam' stores M D + M values more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays
from models.methods.hyperbolic.ball.effort import Optimizer
from models.numerics import poincare

if TYPE_CHECKING:
    from torch import Tensor


def prefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays, under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def unprefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, under the remainder of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8


class Descent:
    """Moves points (M, D), in place.

    n_steps : number of steps so far. learning_rate : length of the next one.
    """

    def __init__(
        self, points: Tensor, kind: Optimizer, learning_rate: float, max_norm: float
    ) -> None:
        import torch

        self.points, self._kind = points, kind
        self.learning_rate = learning_rate
        self._max_norm = max_norm
        self.n_steps = 0
        self._first = torch.zeros_like(points) if kind == "adam" else points.new_zeros(0)
        self._second = points.new_zeros((len(points), 1) if kind == "adam" else 0)

    def step(self, gradient: Tensor) -> None:
        """One step down a gradient in the coordinates."""
        import torch

        with torch.no_grad():
            slope = poincare.riemannian(self.points, gradient)
            self.n_steps += 1
            if self._kind == "adam":
                factor = poincare.conformal(self.points)
                squared = (slope * slope).sum(dim=1, keepdim=True) * factor * factor
                self._first.lerp_(slope, 1 - _FIRST)
                self._second.lerp_(squared, 1 - _SECOND)
                root = (self._second / (1 - _SECOND**self.n_steps)).sqrt_().add_(_LEAST)
                slope = self._first / (1 - _FIRST**self.n_steps) / root
            moved = poincare.retract(self.points, -self.learning_rate * slope, 1.0 - self._max_norm)
            self.points.copy_(moved)

    def tensors(self) -> list[Tensor]:
        """The points, and the other state that a step changes."""
        state = (self.points, self._first, self._second)
        return [tensor for tensor in state if tensor.numel()]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The state that `restore` needs besides the points."""
        return {
            "first": self._first.cpu().numpy(),
            "second": self._second.cpu().numpy(),
            "n_steps": np.array(self.n_steps),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        import torch

        self._first.copy_(torch.from_numpy(arrays["first"].copy()))
        self._second.copy_(torch.from_numpy(arrays["second"].copy()))
        self.n_steps = int(arrays["n_steps"])
