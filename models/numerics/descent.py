"""Steps of descent: Adam on one tensor, and the proximal operator of the sparse-group penalty.

Adam is for gradients that are written out. Source: Kingma and Ba, "Adam: A Method for Stochastic
Optimization" (2015), algorithm 1. Torch's own optimizer takes more than a second to import.

The weighted sparse-group penalty, for a matrix W (K, P) whose columns are the groups, is

    R(W) = sum_kp l1_p |w_kp| + sum_p l2_p |w_:p| + sum_kp ridge_p w_kp^2

The proximal operator applies the l1 threshold first, then that of the group (Friedman et al., "A
note on the group lasso and a sparse group lasso", 2010; Zhou et al., "Hierarchical Maximum-Margin
Clustering", 2015, section 4.2). The other order is wrong: the factor of the group would shrink the
values that the l1 threshold is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays, Float

if TYPE_CHECKING:
    from torch import Tensor


BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Moves `params` in place. O(size) a step; memory three times `params`.

    By torch's fused kernel, two operations a step; its state, the length of steps among it, is on
    the device of `params`, so that steps can be recorded and replayed.
    """

    def __init__(self, params: Tensor, learning_rate: float) -> None:
        import torch

        self._params, self._rate = params, learning_rate
        self._moments = params.new_zeros((2, *params.shape))
        self._mean, self._square = self._moments
        self._n_steps = torch.zeros((), dtype=torch.float32, device=params.device)
        self._length = torch.full_like(self._n_steps, learning_rate)

    def restart(self) -> None:
        """Forget all steps."""
        import torch

        torch._foreach_zero_([self._moments, self._n_steps])

    def shorten(self, share: float) -> None:
        """Make steps this share of the learning rate from now on."""
        self._length.fill_(share * self._rate)

    def arrays(self) -> dict[str, Array]:
        """Copies of what `restore` needs, for checkpoints."""
        return {
            "mean": self._mean.cpu().numpy().copy(),
            "square": self._square.cpu().numpy().copy(),
            "n_steps": np.array(int(self._n_steps)),
        }

    def restore(self, arrays: Arrays) -> None:
        """Go on from the state that `arrays` gave."""
        import torch

        self._mean.copy_(torch.from_numpy(np.array(arrays["mean"])))
        self._square.copy_(torch.from_numpy(np.array(arrays["square"])))
        self._n_steps.fill_(int(arrays["n_steps"]))

    def step(self, gradient: Tensor) -> None:
        """One step down `gradient`, which has the shape of the parameters."""
        self._n_steps += 1.0
        _move([self], [gradient], [self._n_steps], None)

    def step_of(self, number: Tensor, gradient: Tensor) -> None:
        """As `step`, where the step's number, from 1, is at hand: one operation. It is not counted,
        so that all steps between two calls of `restart` must be such."""
        _move([self], [gradient], [number], None)


def step_together(
    adams: Sequence[Adam], gradients: Sequence[Tensor], going: Tensor, stopped: Tensor
) -> None:
    """A step of several, with steps as long as the first one's; two operations in all.

    going, stopped : 1 and 0, or 0 and 1, which changes nothing.
    """
    import torch

    numbers = [adam._n_steps for adam in adams]
    torch._foreach_add_(numbers, [going] * len(adams))
    _move(adams, gradients, numbers, stopped)


def _move(
    adams: Sequence[Adam],
    gradients: Sequence[Tensor],
    numbers: Sequence[Tensor],
    stopped: Tensor | None,
) -> None:
    import torch

    torch._fused_adam_(
        [adam._params for adam in adams],
        list(gradients),
        [adam._mean for adam in adams],
        [adam._square for adam in adams],
        [],
        list(numbers),
        lr=adams[0]._length,
        beta1=BETA_1,
        beta2=BETA_2,
        weight_decay=0.0,
        eps=EPSILON,
        amsgrad=False,
        maximize=False,
        found_inf=stopped,
    )


@dataclass(frozen=True, slots=True)
class Penalty:
    """Weights of the three terms, (P,) each, none negative."""

    l1: Float
    l2: Float
    ridge: Float

    @classmethod
    def none(cls, n_features: int) -> Penalty:
        return cls(np.zeros(n_features), np.zeros(n_features), np.zeros(n_features))

    def of(self, weights: Float) -> float:
        """R(W). O(K P)."""
        return float(self.by_feature(weights).sum())

    def by_feature(self, weights: Float) -> Float:
        """(P,) the contribution of each column to R(W)."""
        squared = (weights * weights).sum(axis=0)
        absolute = np.abs(weights).sum(axis=0)
        total: Float = self.l1 * absolute + self.l2 * np.sqrt(squared) + self.ridge * squared
        return total

    def proximal(self, values: Float, step: float = 1.0) -> Float:
        """The W with the least R(W) + |W - values|^2 / (2 step). O(K P)."""
        weights = soft(values, step * self.l1)
        length = np.sqrt((weights * weights).sum(axis=0))
        shrunk = np.maximum(length - step * self.l2, 0.0)
        weights *= np.divide(shrunk, length, out=np.zeros_like(length), where=length > 0)
        weights /= 1.0 + 2.0 * step * self.ridge
        return weights

    def least_subgradient(self, weights: Float, gradient: Float) -> Float:
        """(K, P) the shortest element of `gradient` + the subdifferential of R at W.

        It is zero exactly where W minimises a convex function with this gradient plus R. O(K P).
        """
        smooth = gradient + 2.0 * self.ridge * weights
        length = np.sqrt((weights * weights).sum(axis=0))
        inside = length > 0
        pull = np.divide(self.l2, length, out=np.zeros_like(length), where=inside)
        smooth = smooth + pull * weights
        least = np.where(weights != 0, smooth + self.l1 * np.sign(weights), soft(smooth, self.l1))
        size = np.sqrt((least * least).sum(axis=0))
        left = np.divide(
            np.maximum(size - self.l2, 0.0), size, out=np.zeros_like(size), where=size > 0
        )
        result: Float = np.where(inside, least, left * least)
        return result


def soft(values: Float, threshold: Float | float) -> Float:
    """Soft-thresholding: values moved towards 0 by `threshold`, and no further."""
    moved: Float = np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)
    return moved
