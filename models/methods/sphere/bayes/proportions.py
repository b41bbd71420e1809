"""Posteriors of the mixing weights: what any of them gives, and the Dirichlet's.

Mixing weights by breaking a stick: a Dirichlet process of which K clusters are looked at.

pi_k = v_k prod_{j<k} (1 - v_j), v_k ~ Beta(1, alpha), for all k = 1, 2, ...; q gives rows to the
first K alone, q(v_k) = Beta(a_k, b_k) with a_k = 1 + n_k, b_k = alpha + sum_{j>k} n_j, and beyond K
it is the prior. So the bound is one of the whole process's evidence, clusters without rows cost it
nothing, and K is the most that there may be. (Blei and Jordan's v_K = 1 cuts off the prior too;
its last piece, which costs nothing, then draws alpha up where few are left over.)

The labels' order is part of q. The best one, whatever alpha, goes by size: of the bound,
-sum_{k>1} log(alpha + sum_{j>=k} n_j) depends on it.

Source: Blei and Jordan, "Variational Inference for Dirichlet Process Mixtures" (2006), section 3;
Kurihara, Welling and Vlassis, "Accelerated Variational Dirichlet Process Mixtures" (2006), for what
is beyond K and the order.
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
    """q(pi) under its prior, whose one parameter is `Priors.alpha`; immutable."""

    @property
    def means(self) -> Float:
        """(K,) E[pi_k], of sum 1."""
        ...

    @property
    def log_means(self) -> Float:
        """(K,) E[log pi_k]."""
        ...

    def given(self, size: Float, priors: Priors) -> Proportions:
        """The maximum of the lower bound for expected numbers of rows `size`, (K,); O(K log K)."""
        ...

    def divergence(self, priors: Priors) -> float:
        """KL(q || prior)."""
        ...

    def learned(self, size: Float, priors: Priors) -> tuple[Proportions, Priors]:
        """As `given`, and the priors with alpha at its maximum under q; at least two clusters."""
        ...

    def kept(self, order: Int) -> Dirichlet:
        """What is served of it: with cluster `order[k]` as cluster k, those left out not there."""
        ...

    def arrays(self, prefix: str = "") -> dict[str, Float]: ...


class Weighing(Protocol):
    """A kind of q(pi)."""

    def first(self, size: Float, priors: Priors) -> Proportions:
        """As `Proportions.given`, to begin with."""
        ...

    def of(self, arrays: Arrays, prefix: str) -> Proportions:
        """What `Proportions.arrays` kept."""
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

    def given(self, size: Float, priors: Priors) -> Dirichlet:
        return Dirichlet(priors.alpha + size)

    def divergence(self, priors: Priors) -> float:
        return dirichlet_divergence(self.rho, priors.alpha)

    def learned(self, size: Float, priors: Priors) -> tuple[Dirichlet, Priors]:
        found = self.given(size, priors)
        return found, priors.of_weights(float(found.log_means.mean()), len(found.rho))

    def kept(self, order: Int) -> Dirichlet:
        return Dirichlet(self.rho[order])

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {f"{prefix}rho": self.rho}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Dirichlet:
        return cls(np.asarray(arrays[f"{prefix}rho"], dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Sticks:
    """q(v) at its maximum for expected numbers of rows.

    size : (K,) n of the clusters. alpha : that q was made with.
    """

    size: Float
    alpha: float

    @property
    def place(self) -> Int:
        """(K,) which cluster is the k-th to be broken off: the larger first."""
        return np.argsort(-self.size, kind="stable")

    @property
    def beta(self) -> tuple[Float, Float]:
        """(K,) each: a_k, b_k, in that order."""
        size = self.size[self.place]
        return 1.0 + size, self.alpha + _after(size)

    @property
    def means(self) -> Float:
        """E[pi_k] over the sum of these."""
        a, b = self.beta
        left = np.concatenate([[1.0], np.cumprod(b / (a + b))])[:-1]
        found = self._by_cluster(left * a / (a + b))
        return np.asarray(found / found.sum())

    @property
    def log_means(self) -> Float:
        broken, kept = self._logs()
        left = np.concatenate([[0.0], np.cumsum(kept)])[:-1]
        return self._by_cluster(left + broken)

    @classmethod
    def first(cls, size: Float, priors: Priors) -> Sticks:
        return cls(size, priors.alpha)

    def given(self, size: Float, priors: Priors) -> Sticks:
        return Sticks(size, priors.alpha)

    def learned(self, size: Float, priors: Priors) -> tuple[Sticks, Priors]:
        """q and alpha at their maximum together."""
        alpha = _alpha(size, priors.alpha)
        return Sticks(size, alpha), replace(priors, alpha=alpha)

    def divergence(self, priors: Priors) -> float:
        a, b = self.beta
        broken, kept = self._logs()
        own = (a - 1.0) * broken + (b - priors.alpha) * kept - betaln(a, b)
        return float(own.sum() - len(a) * math.log(priors.alpha))

    def kept(self, order: Int) -> Dirichlet:
        """With the same E[pi_k] but for the share of those left out, and as many rows."""
        means = self.means[order]
        return Dirichlet((self.size.sum() + self.alpha) * means / means.sum())

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {f"{prefix}size": self.size, f"{prefix}stick_alpha": np.array([self.alpha])}

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Sticks:
        size = np.asarray(arrays[f"{prefix}size"], dtype=np.float64)
        return cls(size, float(arrays[f"{prefix}stick_alpha"][0]))

    def _logs(self) -> tuple[Float, Float]:
        """(K,) each: E[log v_k], E[log(1 - v_k)], in the order of `place`."""
        a, b = self.beta
        whole = digamma(a + b)
        return digamma(a) - whole, digamma(b) - whole

    def _by_cluster(self, values: Float) -> Float:
        out = np.empty_like(values)
        out[self.place] = values
        return out


def value(size: Float, alpha: float) -> float:
    """What the bound has of the weights, at their best q(v).

    size : (K,) in the pieces' order.
    """
    return float((math.log(alpha) + betaln(1.0 + size, alpha + _after(size))).sum())


def _after(size: Float) -> Float:
    """(K,) of later pieces together."""
    return np.append(np.cumsum(size[:0:-1])[::-1], 0.0)


def _alpha(size: Float, before: float) -> float:
    """The best alpha for given rows, never worse than `before`."""
    from scipy.optimize import minimize_scalar

    size = np.sort(size)[::-1]
    found = minimize_scalar(
        lambda log_alpha: -value(size, math.exp(log_alpha)),
        bounds=(math.log(LEAST_ALPHA), math.log(MOST_ALPHA)),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return max((math.exp(float(found.x)), before), key=lambda alpha: value(size, alpha))
