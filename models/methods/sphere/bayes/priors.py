"""The priors of the Bayesian mixture and their empirical Bayes.

pi ~ Dirichlet(alpha, ..., alpha), or a stick broken with alpha (`proportions`); mu_k ~ vMF(mu0,
C0); log kappa_k ~ N(m, sigma^2), for each cluster or for one shared kappa.

Source: the thesis, sections 5.3 and 5.3.1.3. Each method `of_...` returns the priors with some
parameters at the maximum of the lower bound, given expectations; C0 comes from the exact inverse of
the Bessel ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from models.arrays import Arrays, Float
from models.numerics import sphere

LEAST_SIGMA, MOST_SIGMA = 0.05, 4.0
"""Bounds of the estimate of sigma.

With identical clusters it would tend to 0; if one of few clusters has identical rows, the mean
kappas of the others would overflow.
"""

LEAST_ALPHA, MOST_ALPHA = 1e-3, 1e3


@dataclass(frozen=True, slots=True)
class Priors:
    """The parameters of the priors: alpha, mu0 (D,) a unit vector, c0, m and sigma as above."""

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
        """The priors with m and sigma from the means of E[log kappa_k] and E[(log kappa_k)^2]."""
        variance = max(0.0, log_square - log_mean**2)
        # The upper limit alone never lowers sigma, so the lower bound does not fall.
        sigma = min(max(LEAST_SIGMA, math.sqrt(variance)), max(MOST_SIGMA, self.sigma))
        return replace(self, m=log_mean, sigma=sigma)

    def of_shared_kappa(self, log_mean: float) -> Priors:
        """The priors with m from E[log kappa] of a kappa that all clusters share.

        sigma stays: a single draw carries no information on its spread, and the bound is highest at
        the least sigma.
        """
        return replace(self, m=log_mean)

    def of_means(self, mean: Float, max_kappa: float) -> Priors:
        """The priors with mu0 and C0 from the mean of E[mu_k] over clusters, (D,)."""
        length = float(np.linalg.norm(mean))
        if length == 0.0:
            return replace(self, c0=0.0)
        c0 = sphere.concentration(len(mean), min(1.0, length))
        return replace(self, mu0=mean / length, c0=float(np.minimum(c0, max_kappa)))

    def of_weights(self, mean: float, n: int) -> Priors:
        """The priors with alpha from the mean of E[log pi_k] over n clusters: bounded Newton's
        method."""
        low, high = np.log(LEAST_ALPHA), np.log(MOST_ALPHA)
        log_alpha = float(np.clip(np.log(self.alpha), low, high))
        for _ in range(100):
            alpha = float(np.exp(log_alpha))
            slope = n * alpha * (digamma(n * alpha) - digamma(alpha) + mean)
            # The slope decreases through its zero, so its sign tells on which side the zero lies.
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
    a = sphere.ratio(n_features, gamma)
    own = sphere.log_c(n_features, gamma) + gamma * a
    prior = sphere.log_c(n_features, c0) + c0 * a * (psi @ mu0)
    return np.asarray(own - prior)
