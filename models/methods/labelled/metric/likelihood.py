"""The conditional likelihood of known clusters under a metric.

A row x of cluster k has the probability softmax_k(-(x - m_k)' A (x - m_k) / 2), where m_k are the
clusters' means. x' A x is common to all clusters and cancels: what remains is linear in A, so that
a value with its gradient takes two products of the rows with K columns, and no pairs. Products are
made in double precision, of some rows at a time: in single precision a gradient's rounding is more
than what is left of it near the minimum.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.1. Its gradient lacks the factor 1/2,
and its density the square's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks

BLOCK = 1 << 18
"""Values of rows that are widened at a time."""


class ConditionalLikelihood:
    """points : (N, D) of either precision. code : (N,) the cluster of each. weight : (N,) of each
    row's likelihood, 1 by default.

    All is measured from the mean of the means, which changes no distance.
    """

    def __init__(
        self, points: Array, code: Int, n_clusters: int, weight: Float | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self._points, self._code = points, code
        self._weight = np.ones(code.size) if weight is None else weight
        sums = np.zeros((n_clusters, points.shape[1]))
        for rows, some in self._blocks():
            indicator = np.zeros((code[rows].size, n_clusters))
            indicator[np.arange(indicator.shape[0]), code[rows]] = 1.0
            sums += indicator.T @ some
        means = sums / np.bincount(code, minlength=n_clusters)[:, None]
        self._center = means.mean(axis=0)
        self.means: Float = means - self._center

    @property
    def n_columns(self) -> int:
        return int(self.means.shape[1])

    def loss(self, diagonal: bool) -> LikelihoodLoss:
        """Minus the log likelihood, as a function of a matrix A or of its diagonal."""
        return LikelihoodLoss(self, diagonal)

    @property
    def curvature(self) -> float:
        """About the second derivative along a matrix of length 1 where all clusters are equally
        likely, averaged over directions of rows. O(N D + K D)."""
        means = np.einsum("kd,kd->k", self.means, self.means)
        rows = sum(float(np.square(some - self._center).sum()) for _, some in self._blocks())
        return rows / self.n_columns * float(means.mean())

    def of_matrix(self, matrix: Float) -> tuple[float, Float]:
        """Minus the log likelihood, and its symmetric (D, D) gradient. O(N K D + K D^2)."""
        loss = self.loss(diagonal=False)
        return loss.slope(loss.image(matrix))

    def of_diagonal(self, diagonal: Float) -> tuple[float, Float]:
        """The same for (D,) the diagonal of A. O(N K D)."""
        loss = self.loss(diagonal=True)
        return loss.slope(loss.image(diagonal))

    def logits(self, images: Float) -> Float:
        """(N, K) from (D, K) A m_k. O(N K D)."""
        logits = np.empty((self._code.size, self.n_clusters))
        for rows, points in self._blocks():
            np.matmul(points, images, out=logits[rows])
        logits -= self._center @ images + 0.5 * np.einsum("kd,dk->k", self.means, images)
        return logits

    def value(self, logits: Float) -> float:
        """Minus the log likelihood. O(N K)."""
        blocks = row_blocks(logits.shape[0], self._points.shape[1], BLOCK)
        return sum(self._likelihood(rows, logits[rows])[0] for rows in blocks)

    def sums(self, logits: Float) -> tuple[float, Float, Float]:
        """Minus the log likelihood, and (D, K) the rows and (K,) the ones summed by how much more
        likely each cluster is than it should be. O(N K D)."""
        value, total = 0.0, np.zeros(self.n_clusters)
        back = np.zeros((self.n_columns, self.n_clusters))
        for rows, points in self._blocks():
            lost, excess = self._likelihood(rows, logits[rows])
            excess[np.arange(excess.shape[0]), self._code[rows]] -= 1.0
            excess *= self._weight[rows, None]
            value += lost
            back += points.T @ excess
            total += excess.sum(axis=0)
        return value, back - np.outer(self._center, total), total

    def _likelihood(self, rows: slice, logits: Float) -> tuple[float, Float]:
        """Minus the log likelihood of some rows, and their probabilities."""
        top = logits.max(axis=1)
        own = logits[np.arange(top.size), self._code[rows]]
        probability = np.exp(logits - top[:, None])
        total = probability.sum(axis=1)
        value = float(self._weight[rows] @ (top + np.log(total) - own))
        probability /= total[:, None]
        return value, probability

    def _blocks(self) -> Iterator[tuple[slice, Float]]:
        """The rows, some at a time, in double precision."""
        for rows in row_blocks(self._points.shape[0], self._points.shape[1], BLOCK):
            yield rows, self._points[rows].astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class LikelihoodLoss:
    """Minus the log likelihood as a function of a metric, whose image are the logits
    (`descent.Loss`)."""

    likelihood: ConditionalLikelihood
    diagonal: bool

    def image(self, metric: Float) -> Float:
        means = self.likelihood.means.T
        return self.likelihood.logits(metric[:, None] * means if self.diagonal else metric @ means)

    def value(self, image: Float) -> float:
        return self.likelihood.value(image)

    def slope(self, image: Float) -> tuple[float, Float]:
        """The gradient is that of a function of all matrices, restricted to symmetric ones: a step
        against it is steepest in the Frobenius norm."""
        means = self.likelihood.means
        value, back, total = self.likelihood.sums(image)
        back -= 0.5 * means.T * total
        if self.diagonal:
            return value, np.einsum("dk,kd->d", back, means)
        outer = back @ means
        return value, 0.5 * (outer + outer.T)
