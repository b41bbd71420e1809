"""Posteriors of the mixing weights, under a Dirichlet distribution and under a Dirichlet process.

The Dirichlet process is given by stick-breaking: pi_k = v_k prod_{j<k} (1 - v_j), v_k ~ Beta(1,
alpha), for all k = 1, 2, ... q assigns rows to the first K pieces only, with q(v_k) = Beta(a_k,
b_k), a_k = 1 + n_k, b_k = alpha + sum_{j>k} n_j, and equals the prior beyond K. So the bound is one
of the evidence of the whole process, clusters without rows cost nothing, and K is the largest
number of clusters. (With v_K = 1, Blei and Jordan truncate the prior too; the last piece then costs
nothing and pulls alpha up if few pieces are left over.)

The order of the labels is part of q. For every alpha the best order is by size: only the bound's
term -sum_{k>1} log(alpha + sum_{j>=k} n_j) depends on it.

Source: Blei and Jordan, "Variational Inference for Dirichlet Process Mixtures" (2006), section 3;
Kurihara, Welling and Vlassis, "Accelerated Variational Dirichlet Process Mixtures" (2006), for the
prior beyond K and for the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import betaln, digamma

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.priors import LEAST_ALPHA, MOST_ALPHA, Priors, dirichlet_divergence


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
