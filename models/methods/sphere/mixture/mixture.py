"""A mixture of vMF distributions: its densities, and the likeliest mixture given posteriors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Arrays, Float, Int
from models.clusters.placing import normalize
from models.methods.sphere.mixture.passes import Sums, log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere

Spread = Literal["shared", "own"]
"""Whether clusters share one concentration or have their own."""

SMALLEST = 1e-300
"""The log weight of a cluster that has lost all its rows."""

EMPTIED = 1e-6
"""A cluster with fewer expected rows counts as empty."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """log_weights (K,), means (K, D) unit vectors, kappa (K,)."""

    log_weights: Float
    means: Float
    kappa: Float

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Mixture:
        """The mixture from arrays named like its fields."""
        names = ("log_weights", "means", "kappa")
        return cls(*(np.asarray(arrays[prefix + name], dtype=np.float64) for name in names))

    @classmethod
    def at(cls, means: Float) -> Mixture:
        """Clusters of equal weight and kappa 1 at these means."""
        n_clusters = len(means)
        return cls(np.full(n_clusters, -np.log(n_clusters)), means, np.ones(n_clusters))

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}log_weights": self.log_weights,
            f"{prefix}means": self.means,
            f"{prefix}kappa": self.kappa,
        }

    @property
    def weights(self) -> Float:
        """(K, D) the coefficients of a row: kappa_k mu_k."""
        return self.kappa[:, None] * self.means

    @property
    def offsets(self) -> Float:
        """(K,) the constants added to them: log pi_k + log C_D(kappa_k)."""
        return self.log_weights + sphere.log_c(self.means.shape[1], self.kappa)

    def log_posterior(self, points: UnitRows) -> tuple[Float, Float]:
        """(n_points, K) log p(k | x), and (n_points,) log p(x). O(N D K), sparse O(nnz K)."""
        joint = log_joint(points, self.weights, self.offsets)
        return joint, normalize(joint)

    def reordered(self, order: Int) -> Mixture:
        """The mixture with component `order[k]` as component k."""
        return Mixture(self.log_weights[order], self.means[order], self.kappa[order])


@dataclass(frozen=True, slots=True)
class Constraints:
    """The mixtures that a fit may choose from.

    spread : whether clusters share one kappa. equal : whether all clusters have the same weight.
    """

    spread: Spread
    max_kappa: float
    equal: bool = False

    def n_free(self, mixture: Mixture) -> int:
        """The number of free parameters."""
        n_clusters, n_features = (int(n) for n in mixture.means.shape)
        kappas = 1 if self.spread == "shared" else n_clusters
        return n_clusters * (n_features - 1) + kappas + (0 if self.equal else n_clusters - 1)

    def bic(self, mixture: Mixture, likelihood: float, n_points: int) -> float:
        """Bayesian information criterion for a log-likelihood of all points; lowest is best."""
        return self.n_free(mixture) * math.log(n_points) - 2.0 * likelihood


def maximize(sums: Sums, before: Mixture, constraints: Constraints) -> Mixture:
    """The likeliest mixture given posteriors.

    pi_k = n_k / N, mu_k = R_k / |R_k|; kappa is A_D's inverse of |R_k| / n_k, or, shared, of
    sum_k |R_k| / N (Banerjee et al. 2005, section 3; thesis section 5.2), at most `max_kappa`.
    A cluster without rows, or whose rows cancel, keeps its mean.
    """
    n_features = before.means.shape[1]
    length = np.sqrt(np.einsum("kd,kd->k", sums.total, sums.total))
    cancels = length == 0.0
    means = sums.total / np.where(cancels, 1.0, length)[:, None]
    means[cancels] = before.means[cancels]
    n_rows = float(sums.size.sum())
    if constraints.spread == "shared":
        shared = sphere.concentration(n_features, min(1.0, float(length.sum()) / n_rows))
        kappa = np.full(len(length), float(np.minimum(shared, constraints.max_kappa)))
    else:
        empty = sums.size <= SMALLEST
        r = np.minimum(1.0, length / np.where(empty, 1.0, sums.size))
        kappa = np.minimum(sphere.concentration(n_features, r), constraints.max_kappa)
        kappa[empty] = before.kappa[empty]
    if constraints.equal:
        return Mixture(before.log_weights, means, kappa)
    return Mixture(np.log(np.maximum(sums.size / n_rows, SMALLEST)), means, kappa)


def pooled_kappa(mixture: Mixture, max_kappa: float) -> float:
    """The kappa of the whole mixture: that of the vMF with the same mean."""
    n_features = mixture.means.shape[1]
    length = np.exp(mixture.log_weights) * sphere.ratio(n_features, mixture.kappa)
    r = min(1.0, float(np.linalg.norm(length @ mixture.means)))
    return float(np.minimum(sphere.concentration(n_features, r), max_kappa))
