"""The conditional likelihood of known clusters under a metric.

A row x of cluster k has the probability softmax_k(-(x - m_k)' A (x - m_k) / 2), where m_k are the
clusters' means. x' A x is common to all clusters and cancels: what remains is linear in A, so that
a value with its gradient takes two products of the rows with K columns, and no pairs.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1. Its gradient lacks the factor 1/2,
and its density the square's.
"""

from __future__ import annotations

import numpy as np

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

    @property
    def n_columns(self) -> int:
        return int(self.means.shape[1])

    @property
    def curvature(self) -> float:
        """About the second derivative along a matrix of length 1 where all clusters are equally
        likely, averaged over directions of rows. O(N D + K D)."""
        squares = np.einsum("kd,kd->k", self.means, self.means)
        rows = float(np.square(self._points, dtype=np.float64).sum()) / self.n_columns
        return rows * float(squares.mean())

    def of_matrix(self, matrix: Float) -> tuple[float, Float]:
        """Minus the log likelihood, and its symmetric (D, D) gradient. O(N K D + K D^2).

        The gradient is that of a function of all matrices, restricted to symmetric ones: a step
        against it is steepest in the Frobenius norm.
        """
        value, back, total = self._sums(matrix @ self.means.T)
        outer = (back - 0.5 * self.means.T * total) @ self.means
        return value, 0.5 * (outer + outer.T)

    def of_diagonal(self, diagonal: Float) -> tuple[float, Float]:
        """The same for (D,) the diagonal of A. O(N K D)."""
        value, back, total = self._sums(diagonal[:, None] * self.means.T)
        return value, np.einsum("dk,kd->d", back - 0.5 * self.means.T * total, self.means)

    def _sums(self, image: Float) -> tuple[float, Float, Float]:
        """From (D, K) A m_k: minus the log likelihood, (D, K) the rows and (K,) the ones summed by
        how much more likely each cluster is than it should be."""
        logits = self._points @ image.astype(self._points.dtype)
        logits -= 0.5 * np.einsum("kd,dk->k", self.means, image).astype(logits.dtype)
        own = logits[np.arange(self._code.size), self._code].astype(np.float64)
        top = logits.max(axis=1)
        logits -= top[:, None]
        np.exp(logits, out=logits)
        total = logits.sum(axis=1, dtype=np.float64)
        value = float(self._weight @ (top + np.log(total) - own))
        logits /= total[:, None].astype(logits.dtype)
        logits[np.arange(self._code.size), self._code] -= 1.0
        logits *= self._weight.astype(logits.dtype)[:, None]
        back = (self._points.T @ logits).astype(np.float64)
        return value, back, logits.sum(axis=0, dtype=np.float64)
