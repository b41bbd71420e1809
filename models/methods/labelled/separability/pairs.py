"""What a metric owes each two known clusters: means apart, for the clusters' spread.

The constraint of clusters i and j is <A, G> >= 0 with
G = (m_i - m_j)(m_i - m_j)' - gamma (C_i + C_j), from their means m and covariances C.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.labelled.supervision.known import KnownClusters


@dataclass(frozen=True, slots=True)
class Moments:
    """means : (K, D), measured from their mean. covariances : (K, D, D), 0 for a single row."""

    means: Float
    covariances: Float

    @classmethod
    def of(cls, known: KnownClusters) -> Moments:
        """O(N D^2); memory 8 K D^2 bytes."""
        means = known.means
        covariances = np.empty((known.n_clusters, means.shape[1], means.shape[1]))
        for cluster, mean in enumerate(means):
            away = known.points[known.code == cluster] - mean
            covariances[cluster] = away.T @ away / away.shape[0]
        return cls(means - means.mean(axis=0), covariances)

    @property
    def least_separation(self) -> float:
        """The gamma up to which the identity keeps all constraints; infinite without any spread."""
        first, second = np.triu_indices(len(self.means), 1)
        squares = ((self.means[first] - self.means[second]) ** 2).sum(axis=1)
        spread = np.trace(self.covariances, axis1=1, axis2=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = squares / (spread[first] + spread[second])
        ratios = ratios[~np.isnan(ratios)]
        return float(ratios.min()) if ratios.size else np.inf


class Pairs:
    """The constraints of all K (K - 1) / 2 pairs, each G divided by its length |G|."""

    def __init__(self, moments: Moments, gamma: float) -> None:
        self._moments, self._gamma = moments, gamma
        self._first, self._second = np.triu_indices(len(moments.means), 1)
        lengths = [
            float(np.linalg.norm(self._matrix(pair), axis=None)) for pair in range(self.size)
        ]
        # Two equal rows, each a cluster, have G = 0, which no metric changes.
        self._scale = 1.0 / np.where(np.array(lengths) > 0.0, lengths, 1.0)

    @property
    def size(self) -> int:
        return self._first.size

    @property
    def n_columns(self) -> int:
        return int(self._moments.means.shape[1])

    def values(self, metric: Float) -> Float:
        """(size,) <A, G> / |G|. O(K D^2 + K^2 D), without a matrix for each pair."""
        means = self._moments.means
        products = means @ metric @ means.T
        spread = np.einsum("kde,de->k", self._moments.covariances, metric)
        own = products.diagonal() - self._gamma * spread
        first, second = self._first, self._second
        return np.asarray((own[first] + own[second] - 2.0 * products[first, second]) * self._scale)

    def combined(self, multipliers: Float) -> Float:
        """(D, D) the sum of multiplier times G / |G|. O(K D^2 + K^2 D)."""
        means = self._moments.means
        weight = np.zeros((len(means), len(means)))
        weight[self._first, self._second] = multipliers * self._scale
        weight += weight.T
        total = weight.sum(axis=1)
        between = means.T @ (np.diag(total) - weight) @ means
        return np.asarray(
            between - self._gamma * np.einsum("k,kde->de", total, self._moments.covariances)
        )

    def matrices(self, pairs: Int) -> Float:
        """(n, D, D) G / |G| of some pairs."""
        return np.array([self._matrix(pair) * self._scale[pair] for pair in pairs.tolist()])

    def _matrix(self, pair: int) -> Float:
        first, second = self._first[pair], self._second[pair]
        apart = self._moments.means[first] - self._moments.means[second]
        covariances = self._moments.covariances
        spread = covariances[first] + covariances[second]
        return np.asarray(np.outer(apart, apart) - self._gamma * spread)
