"""The conditional likelihood of known clusters under a metric.

A row x of cluster k has the probability softmax_k(-(x - m_k)' A (x - m_k) / 2), where m_k are the
clusters' means. x' A x is common to all clusters and cancels: what remains is linear in A, so that
a value with its gradient takes two products of the rows with K columns, and no pairs.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1. Its gradient lacks the factor 1/2,
and its density the square's.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from models.arrays import Array, Float, Int


class ConditionalLikelihood:
    """points : (N, D) of either precision, in which products are made. code : (N,) the cluster of
    each. weight : (N,) of each row's likelihood, 1 by default.

    All is measured from the mean of the means, which changes no distance.
    """

    def __init__(
        self, points: Array, code: Int, n_clusters: int, weight: Float | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self._code = code
        self._weight = np.ones(code.size) if weight is None else weight
        times = np.bincount(code, minlength=n_clusters)
        indicator = np.zeros((code.size, n_clusters), dtype=points.dtype)
        indicator[np.arange(code.size), code] = 1.0 / times[code]
        means = indicator.T @ points
        center = means.mean(axis=0)
        self.means: Float = (means - center).astype(np.float64)
        self._points = points - center

    def value(self, matrix: Float) -> float:
        """Minus the log likelihood. matrix : (D, D) A."""
        return self._value(self._logits(matrix))

    def value_and_gradient(self, matrix: Float) -> tuple[float, Float]:
        """Minus the log likelihood, and its symmetric (D, D) gradient. O(N K D + K D^2).

        The gradient is that of a function of all matrices, restricted to symmetric ones: a step
        against it is steepest in the Frobenius norm.
        """
        logits = self._logits(matrix)
        value = self._value(logits)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        logits[np.arange(self._code.size), self._code] -= 1.0
        logits *= self._weight.astype(logits.dtype)[:, None]
        total = logits.sum(axis=0, dtype=np.float64)
        back = (self._points.T @ logits).astype(np.float64)
        outer = (back - 0.5 * self.means.T * total) @ self.means
        return value, 0.5 * (outer + outer.T)

    def _logits(self, matrix: Float) -> Array:
        """(N, K) up to a constant in each row."""
        image = matrix @ self.means.T
        logits = self._points @ image.astype(self._points.dtype)
        logits -= 0.5 * np.einsum("kd,dk->k", self.means, image).astype(logits.dtype)
        return np.asarray(logits)

    def _value(self, logits: Array) -> float:
        own = logits[np.arange(self._code.size), self._code]
        return float(self._weight @ (logsumexp(logits, axis=1) - own).astype(np.float64))
