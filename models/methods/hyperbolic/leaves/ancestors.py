"""Lowest common ancestors in the Poincaré ball: the depth at which two leaves split.

The ancestor of x and y is the point nearest to the origin on the geodesic between them; its depth
is its distance from the origin. With r_x, r_y the distances of the points to the origin, d that
between them and t the angle at the origin, it is the foot of the altitude of that triangle,

    sinh h = sinh r_x sinh r_y sin t / sinh d,

if both angles at x and y are acute, else the point that is nearer to the origin. If all leaves lie
on one sphere of radius r it is the middle of the geodesic, and

    tanh h = tanh r cos(t / 2).

Source: Chami, Gu, Chatziafratis and Ré, "From Trees to Continuous Embeddings and Back: Hyperbolic
Hierarchical Clustering" (2020); the formulas come from hyperbolic trigonometry.

Cost: O(D) a pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.numerics import poincare

if TYPE_CHECKING:
    from torch import Tensor


def depth(x: Tensor, y: Tensor) -> Tensor:
    """(...) depth of the ancestor of points x and y (..., D), anywhere in the ball."""
    import torch

    near, far = (poincare.hyperbolic_norm(point)[..., 0] for point in (x, y))
    apart = poincare.distance(x, y)
    product = (x * y).sum(dim=-1)
    lengths = (x * x).sum(dim=-1) * (y * y).sum(dim=-1)
    # The sine of t, from the part of x that is orthogonal to y.
    sine = ((lengths - product * product).clamp(min=0) / lengths.clamp(min=1e-300)).sqrt()
    foot = torch.asinh(near.sinh() * far.sinh() * sine / apart.sinh().clamp(min=1e-300))
    acute_x = apart.cosh() * near.cosh() >= far.cosh()
    acute_y = apart.cosh() * far.cosh() >= near.cosh()
    within = acute_x & acute_y & (apart > 0)
    return torch.where(within, foot, torch.minimum(near, far))


@dataclass(frozen=True, slots=True)
class Sphere:
    """The points at one distance from the origin.

    radius : that distance, above 0.
    """

    radius: float

    @property
    def norm(self) -> float:
        """Their Euclidean norm."""
        return math.tanh(self.radius / 2)

    def depths(self, quarter: Tensor) -> tuple[Tensor, Tensor]:
        """The depth of the ancestor of two directions u and v, and its slope along |u - v|^2 / 4.

        quarter : (...) |u - v|^2 / 4 = sin^2(t / 2). With c = cos(t / 2), 1 - tanh(r) c is a sum of
        parts that do not cancel. The slope is clipped near opposite directions, where it is
        infinite although steps along the sphere are not.
        """
        top, rest = math.tanh(self.radius), 2 / (math.exp(2 * self.radius) + 1)
        cosine = (1 - quarter).clamp(min=1e-12).sqrt()
        missing = rest + top * quarter / (1 + cosine)
        height = 0.5 * ((2 - missing) / missing).log()
        return height, -top / (2 * cosine * missing * (2 - missing))
