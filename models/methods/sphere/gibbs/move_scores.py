"""Scores of clusters with their means integrated out, for split-merge moves of Gibbs sampling."""

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
"""How much wider proposals of log kappa are than the peak of its density."""


@dataclass(frozen=True, slots=True)
class MoveScores:
    """Scores of clusters from the numbers and sums of their rows, size (K,) and total (K, D).

    priors : of a Dirichlet process. spread : whether clusters have a kappa each or share one.
    max_kappa : where the prior of kappa is cut off.
    """

    priors: Priors
    spread: Spread
    max_kappa: float
    n_features: int

    @property
    def most(self) -> float:
        """The largest log kappa."""
        return math.log(self.max_kappa)

    def drawn(self, n: int, rng: np.random.Generator) -> Float:
        """(n,) draws of log kappa from the prior, below `max_kappa`."""
        p = self.priors
        below = math.exp(self._log_inside)
        uniform = np.maximum(rng.random(n), 1e-300) * below
        return np.asarray(np.minimum(p.m + p.sigma * ndtri(uniform), self.most))

    def joint(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows, log kappa) of clusters, means integrated out; without the density of a
        shared log kappa."""
        from models.methods.sphere.mixture.loops.constants import log_c

        n_features, p = total.shape[1], self.priors
        field = np.exp(log_kappa)[:, None] * total + p.c0 * p.mu0
        lengths = np.append(np.sqrt(np.einsum("kd,kd->k", field, field)), p.c0)
        of_means = log_c(n_features, lengths)
        joint = size * log_c(n_features, np.exp(log_kappa)) + of_means[-1] - of_means[:-1]
        if self.spread == "own":
            joint += p.log_densities(log_kappa) - self._log_inside
        return np.asarray(joint)

    def change(
        self,
        whole: float,
        whole_total: Float,
        whole_kappa: float,
        size: Float,
        total: Float,
        log_kappa: Float,
    ) -> float:
        """The log of how much likelier two clusters are than one of all their rows."""
        prior = math.log(self.priors.alpha) + float(gammaln(size).sum() - gammaln(whole))
        parts = float(self.joint(size, total, log_kappa).sum())
        joined = self.joint(np.array([whole]), whole_total[None], np.array([whole_kappa]))
        return prior + parts - float(joined[0])

    def evidence(self, size: Float, total: Float, log_kappa: Float) -> Float:
        """(K,) log p(rows) of clusters; log kappa is integrated out by Laplace's method, or stays
        as it is where it is shared."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        return self.evidence_by(size, length, along, log_kappa)

    def evidence_by(self, size: Float, length: Float, along: Float, log_kappa: Float) -> Float:
        """As `evidence`, by `length` |S_k|^2 and `along` S_k . mu0, (K,)."""
        from models.methods.sphere.gibbs import loops
        from models.methods.sphere.mixture.loops.constants import table

        p, n_features = self.priors, self.n_features
        added = np.full(len(size), float(bessel.log_c(n_features, p.c0)))
        if self.spread == "own":
            peaks = self._peaks(size, length, along)
            log_kappa = peaks[:, 0]
            added += np.log(peaks[:, 1] / p.sigma) - self._log_inside
        else:
            added += 0.5 * ((log_kappa - p.m) / p.sigma) ** 2
        values = loops.log_densities(
            log_kappa, size, length, along, p.c0, p.m, p.sigma, table(n_features)
        )
        return np.asarray(values + added)

    def peaks(self, size: Float, total: Float) -> tuple[Float, Float]:
        """(K,) each: the centre and width of the proposals of log kappa."""
        length, along = np.einsum("kd,kd->k", total, total), total @ self.priors.mu0
        peaks = self._peaks(size, length, along)
        return peaks[:, 0], WIDER * peaks[:, 1]

    def log_proposal(self, log_kappa: Float, size: Float, total: Float) -> float:
        """The log density of proposing these log kappas, (K,)."""
        return float(log_normal(log_kappa, *self.peaks(size, total)).sum())

    def _peaks(self, size: Float, length: Float, along: Float) -> Float:
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
        """The log of the prior's probability that a kappa is below `max_kappa`."""
        return float(log_ndtr((self.most - self.priors.m) / self.priors.sigma))


def log_normal(values: Float, centre: Float, width: Float) -> Float:
    off = (values - centre) / width
    return np.asarray(-0.5 * off * off - np.log(width) - 0.5 * math.log(2.0 * math.pi))
