"""The priors of the Bayesian mixture and their empirical Bayes.

pi ~ Dirichlet(alpha, ..., alpha), or a stick broken with alpha (`proportions`); mu_k ~ vMF(mu0,
C0); log kappa_k ~ N(m, sigma^2), for each cluster or for one kappa of all.

Source: the thesis, sections 5.3 and 5.3.1.3. Each method `of_...` gives the priors with some
parameters at the maximum of the lower bound, given expectations; C0 by the exact inverse of the
Bessel ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from models.arrays import Arrays, Float
from models.numerics import bessel

LEAST_SIGMA, MOST_SIGMA = 0.05, 4.0
"""Bounds of the estimate of sigma. With clusters all alike it would go to 0; where one of few has
identical rows, the others' means of kappa would overflow."""

LEAST_ALPHA, MOST_ALPHA = 1e-3, 1e3


@dataclass(frozen=True, slots=True)
class Priors:
    """alpha, mu0 (D,) a unit vector, c0, m, sigma as above."""

    alpha: float
    mu0: Float
    c0: float
    m: float
    sigma: float

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        numbers = np.array([self.alpha, self.c0, self.m, self.sigma])
        return {f"{prefix}mu0": self.mu0, f"{prefix}priors": numbers}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Priors:
        alpha, c0, m, sigma = arrays[f"{prefix}priors"].tolist()
        return cls(alpha, np.asarray(arrays[f"{prefix}mu0"], dtype=np.float64), c0, m, sigma)

    def log_densities(self, log_kappa: Float) -> Float:
        """The log density of each log kappa."""
        off = (log_kappa - self.m) / self.sigma
        return np.asarray(-0.5 * off * off - math.log(self.sigma) - 0.5 * math.log(2.0 * math.pi))

    def of_kappas(self, log_mean: float, log_square: float) -> Priors:
        """With m and sigma by the clusters' mean E[log kappa_k] and E[(log kappa_k)^2]."""
        variance = max(0.0, log_square - log_mean**2)
        # The upper limit alone never lowers it, so that the lower bound does not fall.
        sigma = min(max(LEAST_SIGMA, math.sqrt(variance)), max(MOST_SIGMA, self.sigma))
        return replace(self, m=log_mean, sigma=sigma)

    def of_shared_kappa(self, log_mean: float) -> Priors:
        """With m by the E[log kappa] of one kappa for all clusters.

        sigma stays: a single draw says nothing of how far from its median it may be, and the bound
        is highest at the least sigma.
        """
        return replace(self, m=log_mean)

    def of_means(self, mean: Float, max_kappa: float) -> Priors:
        """With mu0 and C0 by the clusters' mean E[mu_k], (D,)."""
        length = float(np.linalg.norm(mean))
        if length == 0.0:
            return replace(self, c0=0.0)
        c0 = bessel.concentration(len(mean), min(1.0, length))
        return replace(self, mu0=mean / length, c0=float(np.minimum(c0, max_kappa)))

    def of_weights(self, mean: float, n: int) -> Priors:
        """With alpha by the n clusters' mean E[log pi_k]: Newton's method within bounds."""
        low, high = np.log(LEAST_ALPHA), np.log(MOST_ALPHA)
        log_alpha = float(np.clip(np.log(self.alpha), low, high))
        for _ in range(100):
            alpha = float(np.exp(log_alpha))
            slope = n * alpha * (digamma(n * alpha) - digamma(alpha) + mean)
            # The slope falls where it is 0, so its sign says on which side that is.
            low, high = (log_alpha, high) if slope > 0 else (low, log_alpha)
            curve = slope + n * alpha**2 * (n * polygamma(1, n * alpha) - polygamma(1, alpha))
            after = log_alpha - slope / curve if curve < 0 else 0.5 * (low + high)
            if not low <= after <= high:
                after = 0.5 * (low + high)
            if abs(after - log_alpha) < 1e-12:
                break
            log_alpha = float(after)
        return replace(self, alpha=float(np.exp(log_alpha)))


def dirichlet_divergence(rho: Float, alpha: float) -> float:
    """KL(Dirichlet(rho) || Dirichlet(alpha, ..., alpha))."""
    total = float(rho.sum())
    spread = digamma(rho) - digamma(total)
    own = gammaln(total) - gammaln(rho).sum() + ((rho - 1.0) * spread).sum()
    prior = gammaln(alpha * len(rho)) - len(rho) * gammaln(alpha) + (alpha - 1.0) * spread.sum()
    return float(own - prior)


def vmf_divergence(psi: Float, gamma: Float, mu0: Float, c0: float) -> Float:
    """(K,) KL(vMF(psi_k, gamma_k) || vMF(mu0, C0))."""
    n_features = len(mu0)
    a = bessel.ratio(n_features, gamma)
    own = bessel.log_c(n_features, gamma) + gamma * a
    prior = bessel.log_c(n_features, c0) + c0 * a * (psi @ mu0)
    return np.asarray(own - prior)
