"""The unit sphere: draws from it and from von Mises-Fisher distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float


def uniform(n_points: int, n_features: int, rng: np.random.Generator) -> Float:
    """(n_points, n_features) unit vectors, uniform over directions."""
    return unit(rng.standard_normal((n_points, n_features)))


def unit(vectors: npt.NDArray[Any]) -> Float:
    """Rows brought to length 1 in double precision; rows of zeros stay so."""
    wide = np.asarray(vectors, dtype=np.float64)
    # Neither the squares nor the length of a scaled row overflow.
    scale = np.abs(wide).max(axis=-1, keepdims=True)
    wide = np.divide(wide, scale, out=np.zeros_like(wide), where=scale > 0)
    length = np.linalg.norm(wide, axis=-1, keepdims=True)
    rows: Float = np.divide(wide, length, out=wide, where=length > 0)
    return rows


def draw_vmf(means: npt.ArrayLike, kappa: npt.ArrayLike, rng: np.random.Generator) -> Float:
    """(n_points, D) one draw from the vMF of each row of `means`, unit vectors, D >= 2.

    kappa : (n_points,) or one number, >= 0. The cosine of a draw with its mean is from
    `draw_cosines`; the direction around the mean is uniform. O(n D).
    """
    centers = np.asarray(means, dtype=np.float64)
    n_points, n_features = centers.shape
    cosine, sine = draw_cosines(n_features, np.broadcast_to(kappa, n_points), rng)
    around = rng.standard_normal((n_points, n_features))
    around -= np.einsum("nd,nd->n", around, centers)[:, None] * centers
    return unit(cosine[:, None] * centers + sine[:, None] * unit(around))


def draw_cosines(
    n_features: int, kappa: npt.ArrayLike, rng: np.random.Generator
) -> tuple[Float, Float]:
    """Cosine and sine of the angle between a draw from the vMF and its mean, for each kappa >= 0.

    Ulrich, "Computer Generation of Distributions on the M-Sphere" (1984), corrected by Wood,
    "Simulation of the von Mises Fisher Distribution" (1994): rejection from a transformed beta
    distribution, about two draws in three are accepted. Differences from 1 are computed before
    rounding would lose them, so that the sine is right for any kappa.
    """
    at = np.asarray(kappa, dtype=np.float64).ravel()
    m = n_features - 1.0
    b = m / (2.0 * at + np.sqrt(4.0 * at * at + m * m))
    # The mode of the envelope lies at (1 - b) / (1 + b).
    short = 2.0 * b / (1.0 + b)
    cosine, gap = np.empty_like(at), np.empty_like(at)
    left = np.arange(at.size)
    while left.size:
        z = rng.beta(0.5 * m, 0.5 * m, size=left.size)
        own, k, near = b[left], at[left], short[left]
        away = 2.0 * own * z / (1.0 - (1.0 - own) * z)
        # k (w - x0) + m log((1 - x0 w) / (1 - x0^2)), with w = 1 - away and x0 = 1 - near.
        joint = near + away - near * away
        fit = k * (near - away) + m * np.log(joint / (near * (2.0 - near)))
        taken = fit >= -rng.standard_exponential(left.size)
        gap[left[taken]] = away[taken]
        left = left[~taken]
    cosine[:] = 1.0 - gap
    return cosine, np.sqrt(gap * (2.0 - gap))
