"""A mixture of vMF distributions: its densities, its likelihood's maximum given posteriors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Arrays, Float, Int
from models.clusters.placing import normalize
from models.methods.sphere.mixture.passes import Sums, log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import bessel

Spread = Literal["shared", "own"]

SMALLEST = 1e-300
"""Stands for the weight of a cluster that has lost all its rows."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """log_weights (K,), means (K, D) unit vectors, kappa (K,)."""

    log_weights: Float
    means: Float
    kappa: Float

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Mixture:
        """From arrays named like the fields."""
        names = ("log_weights", "means", "kappa")
        return cls(*(np.asarray(arrays[prefix + name], dtype=np.float64) for name in names))

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}log_weights": self.log_weights,
            f"{prefix}means": self.means,
            f"{prefix}kappa": self.kappa,
        }

    @property
    def weights(self) -> Float:
        """(K, D) by which rows are multiplied."""
        return self.kappa[:, None] * self.means

    @property
    def offsets(self) -> Float:
        """(K,) what is added: log pi_k + log C_D(kappa_k)."""
        return self.log_weights + bessel.log_c(self.means.shape[1], self.kappa)

    def log_posterior(self, points: UnitRows) -> tuple[Float, Float]:
        """(n_points, K) log p(k | x), and (n_points,) log p(x). O(N D K), sparse O(nnz K)."""
        joint = log_joint(points, self.weights, self.offsets)
        return joint, normalize(joint)

    def reordered(self, order: Int) -> Mixture:
        """With component `order[k]` as component k."""
        return Mixture(self.log_weights[order], self.means[order], self.kappa[order])


@dataclass(frozen=True, slots=True)
class Shape:
    """What is fitted, as the parameters of `vmf`.

    equal : whether all clusters have one weight.
    """

    spread: Spread
    max_kappa: float
    equal: bool = False

    def n_parameters(self, mixture: Mixture) -> int:
        """Free ones."""
        n_clusters, n_features = (int(n) for n in mixture.means.shape)
        kappas = 1 if self.spread == "shared" else n_clusters
        return n_clusters * (n_features - 1) + kappas + (0 if self.equal else n_clusters - 1)

    def bic(self, mixture: Mixture, likelihood: float, n_points: int) -> float:
        """Bayesian information criterion, by the log-likelihood of all points; lowest is best."""
        return self.n_parameters(mixture) * math.log(n_points) - 2.0 * likelihood


def maximize(sums: Sums, before: Mixture, shape: Shape) -> Mixture:
    """The likeliest mixture given posteriors.

    pi_k = n_k / N, mu_k = R_k / |R_k|; kappa is A_D's inverse of |R_k| / n_k, or, shared, of
    sum_k |R_k| / N (Banerjee et al. 2005, section 3; thesis section 5.2), at most `max_kappa`.
    A cluster without rows, or whose rows cancel, keeps its mean.
    """
    n_features = before.means.shape[1]
    length = np.sqrt(np.einsum("kd,kd->k", sums.total, sums.total))
    lost = length == 0.0
    means = sums.total / np.where(lost, 1.0, length)[:, None]
    means[lost] = before.means[lost]
    whole = float(sums.size.sum())
    if shape.spread == "shared":
        found = bessel.concentration(n_features, min(1.0, float(length.sum()) / whole))
        kappa = np.full(len(length), float(np.minimum(found, shape.max_kappa)))
    else:
        gone = sums.size <= SMALLEST
        r = np.minimum(1.0, length / np.where(gone, 1.0, sums.size))
        kappa = np.minimum(bessel.concentration(n_features, r), shape.max_kappa)
        kappa[gone] = before.kappa[gone]
    if shape.equal:
        return Mixture(before.log_weights, means, kappa)
    return Mixture(np.log(np.maximum(sums.size / whole, SMALLEST)), means, kappa)


def together(mixture: Mixture, max_kappa: float) -> float:
    """The kappa of all clusters as one: of the vMF with the mixture's mean."""
    n_features = mixture.means.shape[1]
    length = np.exp(mixture.log_weights) * bessel.ratio(n_features, mixture.kappa)
    r = min(1.0, float(np.linalg.norm(length @ mixture.means)))
    return float(np.minimum(bessel.concentration(n_features, r), max_kappa))
