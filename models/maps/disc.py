"""Points of the Poincaré ball in its disc.

Of a ball with two dimensions they are the points themselves. Of one with more, they are projected
in the tangent space at the origin, where a point lies in its direction at its hyperbolic distance:
on the plane through the origin that holds most of the sum of squares, from which the exponential
map leads back into the disc. Distances to the origin never grow.

Cost: O(N d^2). Memory: twice the points in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Single
from models.numerics import poincare


@dataclass(frozen=True, slots=True)
class DiscPoints:
    """points : (n_points, 2) of norm below 1. explained : share of the sum of squared distances to
    the origin that the plane holds; 1 where the ball is the disc."""

    points: Single
    explained: float


def in_disc(ball: Array) -> DiscPoints:
    """The points `ball`, (n_points, d) of norm below 1 with d >= 2, in the disc."""
    if ball.shape[1] == 2:
        return DiscPoints(ball.astype(np.float32), 1.0)
    origin = np.zeros((1, ball.shape[1]))
    tangent = np.asarray(poincare.log_map(origin, ball.astype(np.float64)))
    squares, axes = np.linalg.eigh(tangent.T @ tangent)
    plane = axes[:, :-3:-1]
    largest = plane[np.abs(plane).argmax(axis=0), np.arange(2)]
    flat = tangent @ (plane * np.where(largest < 0, -1.0, 1.0))
    points = poincare.exp_map(np.zeros((1, 2)), flat)
    total = float(squares.sum())
    share = float(squares[-2:].sum()) / total if total > 0 else 1.0
    return DiscPoints(np.asarray(points, dtype=np.float32), min(share, 1.0))
