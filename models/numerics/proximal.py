"""The weighted sparse-group penalty: its value, its proximal operator, its least subgradient.

For a matrix W (K, P) whose columns are the groups it is

    R(W) = sum_kp l1_p |w_kp| + sum_p l2_p |w_:p| + sum_kp ridge_p w_kp^2

The proximal operator applies the l1 threshold first, then that of the group (Friedman et al., "A
note on the group lasso and a sparse group lasso", 2010; Zhou et al., "Hierarchical Maximum-Margin
Clustering", 2015, section 4.2). The other order is wrong: the factor of the group would shrink the
values that the l1 threshold is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float


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
