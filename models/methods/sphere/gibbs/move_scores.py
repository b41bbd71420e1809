"""What clusters are worth, their means integrated out: for moves of Gibbs sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtri

from models.arrays import Float
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.mixture import Spread
from models.numerics import bessel

WIDER = 1.2
"""Proposals of log kappa than its density's peak."""


@dataclass(frozen=True, slots=True)
class Worths:
    """Of clusters by the number of their rows and these rows' sum, size (K,) and total (K, D).

    priors : of a Dirichlet process. spread : whether clusters have a kappa each or share one.
    max_kappa : of the prior of kappa what lies above is cut off.
    """

    priors: Priors
    spread: Spread
    max_kappa: float
    n_features: int

    @property
    def most(self) -> float:
        """Of log kappa."""
        return math.log(self.max_kappa)

    def drawn(self, n: int, rng: np.random.Generator) -> Float:
        """(n,) log kappa from the prior, below `max_kappa`."""
        p = self.priors
        below = math.exp(self._log_inside)
        uniform = np.maximum(rng.random(n), 1e-300) * below
        return np.asarray(np.minimum(p.m + p.sigma * ndtri(uniform), self.most))

    def joint(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows, log kappa) of clusters, means integrated out; without log kappa's
        density where it is shared."""
        from models.methods.sphere.mixture.loops.constants import log_c

        n_features, p = total.shape[1], self.priors
        field = np.exp(log_kappa)[:, None] * total + p.c0 * p.mu0
        lengths = np.append(np.sqrt(np.einsum("kd,kd->k", field, field)), p.c0)
        wholes = log_c(n_features, lengths)
        found = size * log_c(n_features, np.exp(log_kappa)) + wholes[-1] - wholes[:-1]
        if self.spread == "own":
            found += p.log_densities(log_kappa) - self._log_inside
        return np.asarray(found)

    def change(
        self,
        whole: float,
        whole_total: Float,
        whole_kappa: float,
        size: Float,
        total: Float,
        log_kappa: Float,
    ) -> float:
        """log of how much likelier two clusters are than one of all their rows, kappas given."""
        prior = math.log(self.priors.alpha) + float(gammaln(size).sum() - gammaln(whole))
        parts = float(self.joint(size, total, log_kappa).sum())
        one = self.joint(np.array([whole]), whole_total[None], np.array([whole_kappa]))
        return prior + parts - float(one[0])

    def evidence(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows) of clusters: log kappa is integrated out by Laplace's method, or given
        where it is shared."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        return self.evidence_by(size, length, along, log_kappa)

    def evidence_by(self, size: Float, length: Float, along: Float, log_kappa: Float) -> Float:
        """As `evidence`, by `length` |S_k|^2 and `along` S_k . mu0, (K,)."""
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops.constants import table

        p, n_features = self.priors, self.n_features
        added = np.full(len(size), float(bessel.log_c(n_features, p.c0)))
        if self.spread == "own":
            found = self._found(size, length, along)
            log_kappa = found[:, 0]
            added += np.log(found[:, 1] / p.sigma) - self._log_inside
        else:
            added += 0.5 * ((log_kappa - p.m) / p.sigma) ** 2
        values = loops.log_densities(
            log_kappa, size, length, along, p.c0, p.m, p.sigma, table(n_features)
        )
        return np.asarray(values + added)

    def peaks(self, size: Float, total: Float) -> tuple[Float, Float]:
        """(K,) each: centre and width of the proposals of log kappa."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        found = self._found(size, length, along)
        return found[:, 0], WIDER * found[:, 1]

    def log_proposal(self, log_kappa: Float, size: Float, total: Float) -> float:
        """log of the density with which log kappas, (K,), would be proposed."""
        return float(log_normal(log_kappa, *self.peaks(size, total)).sum())

    def _found(self, size: Float, length: Float, along: Float) -> Float:
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops.constants import table

        p, n_features = self.priors, self.n_features
        return np.asarray(
            loops.peaks(
                size, length, along, p.c0, p.m, p.sigma, self.most, n_features, table(n_features)
            )
        )

    @property
    def _log_inside(self) -> float:
        """Of the prior's probability that a kappa is below `max_kappa`."""
        return float(log_ndtr((self.most - self.priors.m) / self.priors.sigma))


def log_normal(values: Float, centre: Float, width: Float) -> Float:
    off = (values - centre) / width
    return np.asarray(-0.5 * off * off - np.log(width) - 0.5 * math.log(2.0 * math.pi))
