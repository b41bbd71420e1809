"""The point that the next step of a fixed-point iteration starts from: Anderson's mixing.

Of the last steps x_j -> g(x_j) it takes the affine combination whose residuals g(x_j) - x_j cancel
best, and mixes the g(x_j) in the same shares. It does not make any objective fall by itself: the
caller checks the step from the mixed point, and calls `clear` if it undoes the step.

Source: Walker and Ni, "Anderson Acceleration for Fixed-Point Iterations" (2011).
Cost: O(n m^2) for m of `DEPTH` steps.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from models.arrays import Array, Float

DEPTH = 10
"""Steps that are remembered, besides the last. From 5 to 20 make little difference."""

LEAST_SINGULAR = 1e-10
"""Singular values of the differences below this share of the largest are left out."""


class Anderson:
    """The last steps of an iteration in n numbers.

    points, images : rows of (n,).
    """

    def __init__(self, points: Iterable[Array] = (), images: Iterable[Array] = ()) -> None:
        self.points: list[Array] = list(points)
        self.images: list[Array] = list(images)

    def mixed(self, point: Float, image: Float) -> Float:
        """The next point, after a step from `point` to `image`, which are remembered."""
        self.points = [*self.points, point][-DEPTH - 1 :]
        self.images = [*self.images, image][-DEPTH - 1 :]
        if len(self.points) == 1:
            return image
        images = np.array(self.images)
        residuals = images - np.array(self.points)
        shares, *_ = np.linalg.lstsq(
            np.diff(residuals, axis=0).T, residuals[-1], rcond=LEAST_SINGULAR
        )
        return np.asarray(image - shares @ np.diff(images, axis=0))

    def clear(self) -> None:
        """Forget all steps."""
        self.points, self.images = [], []
