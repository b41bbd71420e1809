"""The priors of the Bayesian mixture, their empirical Bayes, and posteriors of the mixing weights.

pi ~ Dirichlet(alpha, ..., alpha), or a stick broken with alpha; mu_k ~ vMF(mu0, C0); log kappa_k ~
N(m, sigma^2), for each cluster or for one shared kappa. Each method `of_...` of `Priors` returns
the priors with some parameters at the maximum of the lower bound, given expectations; C0 comes from
the exact inverse of the Bessel ratio.

The posterior of the weights is `Dirichlet` or, under a Dirichlet process, `Sticks`: pi_k = v_k
prod_{j<k} (1 - v_j), v_k ~ Beta(1, alpha), for all k = 1, 2, ... q assigns rows to the first K
pieces only, with q(v_k) = Beta(a_k, b_k), a_k = 1 + n_k, b_k = alpha + sum_{j>k} n_j, and equals
the prior beyond K. So the bound is one of the evidence of the whole process, clusters without rows
cost nothing, and K is the largest number of clusters. (With v_K = 1, Blei and Jordan truncate the
prior too; the last piece then costs nothing and pulls alpha up if few pieces are left over.)

The order of the labels is part of q. For every alpha the best order is by size: only the bound's
term -sum_{k>1} log(alpha + sum_{j>=k} n_j) depends on it.

Source: the thesis, sections 5.3 and 5.3.1.3; Blei and Jordan, "Variational Inference for Dirichlet
Process Mixtures" (2006), section 3; Kurihara, Welling and Vlassis, "Accelerated Variational
Dirichlet Process Mixtures" (2006), for the prior beyond K and for the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import betaln, digamma, gammaln, polygamma

from models.arrays import Arrays, Float, Int
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


class Proportions(Protocol):
    """q(pi) under its prior, whose only parameter is `Priors.alpha`; immutable."""

    @property
    def means(self) -> Float:
        """(K,) E[pi_k], of sum 1."""
        ...

    @property
    def log_means(self) -> Float:
        """(K,) E[log pi_k]."""
        ...

    def updated(self, size: Float, priors: Priors) -> Proportions:
        """q(pi) at its optimum for expected numbers of rows `size`, (K,); O(K log K)."""
        ...

    def divergence(self, priors: Priors) -> float:
        """KL(q || prior)."""
        ...

    def updated_with_alpha(self, size: Float, priors: Priors) -> tuple[Proportions, Priors]:
        """As `updated`, and the priors with alpha at its optimum under q.

        Needs two or more clusters.
        """
        ...

    def selected(self, order: Int) -> Dirichlet:
        """A Dirichlet with the same means, cluster `order[k]` as cluster k; others are left out."""
        ...

    def arrays(self, prefix: str = "") -> dict[str, Float]: ...


class ProportionsKind(Protocol):
    """A kind of q(pi)."""

    def first(self, size: Float, priors: Priors) -> Proportions:
        """As `Proportions.updated`, at the start of a run."""
        ...

    def of(self, arrays: Arrays, prefix: str) -> Proportions:
        """The proportions saved by `Proportions.arrays`."""
        ...


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """pi ~ Dirichlet(alpha, ..., alpha); q(pi) = Dirichlet(rho), rho (K,)."""

    rho: Float

    @property
    def means(self) -> Float:
        return np.asarray(self.rho / self.rho.sum())

    @property
    def log_means(self) -> Float:
        return np.asarray(digamma(self.rho) - digamma(self.rho.sum()))

    @classmethod
    def first(cls, size: Float, priors: Priors) -> Dirichlet:
        return cls(priors.alpha + size)

    def updated(self, size: Float, priors: Priors) -> Dirichlet:
        return Dirichlet(priors.alpha + size)

    def divergence(self, priors: Priors) -> float:
        return dirichlet_divergence(self.rho, priors.alpha)

    def updated_with_alpha(self, size: Float, priors: Priors) -> tuple[Dirichlet, Priors]:
        after = self.updated(size, priors)
        return after, priors.of_weights(float(after.log_means.mean()), len(after.rho))

    def selected(self, order: Int) -> Dirichlet:
        return Dirichlet(self.rho[order])

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {f"{prefix}rho": self.rho}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Dirichlet:
        return cls(np.asarray(arrays[f"{prefix}rho"], dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Sticks:
    """q(v) at its optimum for expected numbers of rows.

    size : (K,) n of the clusters. alpha : that of the prior when q was computed.
    """

    size: Float
    alpha: float

    @property
    def order(self) -> Int:
        """(K,) the cluster of each piece, larger clusters first."""
        return np.argsort(-self.size, kind="stable")

    @property
    def beta(self) -> tuple[Float, Float]:
        """(K,) each: a_k, b_k, in the order of the pieces."""
        size = self.size[self.order]
        return 1.0 + size, self.alpha + _after(size)

    @property
    def means(self) -> Float:
        """(K,) E[pi_k] divided by their sum."""
        a, b = self.beta
        left = np.concatenate([[1.0], np.cumprod(b / (a + b))])[:-1]
        means = self._by_cluster(left * a / (a + b))
        return np.asarray(means / means.sum())

    @property
    def log_means(self) -> Float:
        broken, kept = self._logs()
        left = np.concatenate([[0.0], np.cumsum(kept)])[:-1]
        return self._by_cluster(left + broken)

    @classmethod
    def first(cls, size: Float, priors: Priors) -> Sticks:
        return cls(size, priors.alpha)

    def updated(self, size: Float, priors: Priors) -> Sticks:
        return Sticks(size, priors.alpha)

    def updated_with_alpha(self, size: Float, priors: Priors) -> tuple[Sticks, Priors]:
        """q and alpha at their joint optimum."""
        alpha = _alpha(size, priors.alpha)
        return Sticks(size, alpha), replace(priors, alpha=alpha)

    def divergence(self, priors: Priors) -> float:
        a, b = self.beta
        broken, kept = self._logs()
        own = (a - 1.0) * broken + (b - priors.alpha) * kept - betaln(a, b)
        return float(own.sum() - len(a) * math.log(priors.alpha))

    def selected(self, order: Int) -> Dirichlet:
        """The proportions with the same E[pi_k], rescaled for clusters left out, and as many rows
        in all."""
        means = self.means[order]
        return Dirichlet((self.size.sum() + self.alpha) * means / means.sum())

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {f"{prefix}size": self.size, f"{prefix}stick_alpha": np.array([self.alpha])}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Sticks:
        size = np.asarray(arrays[f"{prefix}size"], dtype=np.float64)
        return cls(size, float(arrays[f"{prefix}stick_alpha"][0]))

    def _logs(self) -> tuple[Float, Float]:
        """(K,) each: E[log v_k], E[log(1 - v_k)], in the order of the pieces."""
        a, b = self.beta
        whole = digamma(a + b)
        return digamma(a) - whole, digamma(b) - whole

    def _by_cluster(self, values: Float) -> Float:
        out = np.empty_like(values)
        out[self.order] = values
        return out


def value(size: Float, alpha: float) -> float:
    """The contribution of the weights to the bound, at the optimal q(v).

    size : (K,) in the order of the pieces.
    """
    return float((math.log(alpha) + betaln(1.0 + size, alpha + _after(size))).sum())


def _after(size: Float) -> Float:
    """(K,) the number of rows in all later pieces."""
    return np.append(np.cumsum(size[:0:-1])[::-1], 0.0)


def _alpha(size: Float, before: float) -> float:
    """The best alpha for given sizes, never worse than `before`."""
    from scipy.optimize import minimize_scalar

    size = np.sort(size)[::-1]
    optimum = minimize_scalar(
        lambda log_alpha: -value(size, math.exp(log_alpha)),
        bounds=(math.log(LEAST_ALPHA), math.log(MOST_ALPHA)),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return max((math.exp(float(optimum.x)), before), key=lambda alpha: value(size, alpha))
