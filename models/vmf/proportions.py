"""Posteriors of the mixing weights: what any of them gives, and the Dirichlet's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import digamma

from models.contract import Arrays
from models.partitions.points import Float, Int
from models.vmf.priors import Priors, dirichlet_divergence


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
