"""Variational inference for the Bayesian mixture of vMF distributions.

q(pi) = Dirichlet(rho), q(mu_k) = vMF(psi_k, gamma_k), q(z_i) = Categorical(lambda_i), q(kappa_k) as
`models.vmf.concentrations` says. Coordinate ascent of the lower bound (thesis 5.1): one pass gives
lambda and what it sums to, then rho, psi and gamma with q(kappa), and the priors by empirical Bayes
each go to their maximum, so the bound never falls but for rounding. E_q[mu_k] = A_D(gamma_k) psi_k
(the thesis prints mu_k for psi_k), and the entropy of q(kappa) is added (printed: subtracted).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import digamma

from models.contract import Arrays, Progress
from models.numerics import bessel
from models.partitions.points import Float, Int
from models.vmf import ascent
from models.vmf.ascent import Ladder
from models.vmf.concentrations import Concentrations, Form, renewed
from models.vmf.mixture import Mixture, Shape, maximize
from models.vmf.passes import Passes, Sums
from models.vmf.priors import Priors, dirichlet_divergence, vmf_divergence

TURNS = 2
"""Updates of q(mu) and q(kappa) in turn after each pass."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """q of all but the assignments, and the priors.

    rho (K,); psi (K, D) unit vectors; gamma (K,).
    """

    rho: Float
    psi: Float
    gamma: Float
    kappas: Concentrations
    priors: Priors

    @property
    def n_features(self) -> int:
        return int(self.psi.shape[1])

    @property
    def means(self) -> Float:
        """(K, D) E[mu_k]."""
        return bessel.ratio(self.n_features, self.gamma)[:, None] * self.psi

    @property
    def log_weights(self) -> Float:
        """(K,) E[log pi_k]."""
        return np.asarray(digamma(self.rho) - digamma(self.rho.sum()))

    @property
    def weights(self) -> Float:
        """(K, D) by which rows are multiplied: E[kappa_k] E[mu_k]."""
        return self.kappas.mean[:, None] * self.means

    @property
    def offsets(self) -> Float:
        """(K,) what is added: E[log pi_k] + E[log C_D(kappa_k)]."""
        return self.log_weights + self.kappas.log_c

    def divergence(self) -> float:
        """KL(q || prior) of all but the assignments: what the bound is below the evidence's sum."""
        priors = self.priors
        of_means = vmf_divergence(self.psi, self.gamma, priors.mu0, priors.c0)
        of_kappas = self.kappas.divergence_from(priors)
        return (
            dirichlet_divergence(self.rho, priors.alpha)
            + float(of_means.sum())
            + float(of_kappas.sum())
        )

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        own = {"rho": self.rho, "psi": self.psi, "gamma": self.gamma}
        return {
            **{prefix + name: array for name, array in own.items()},
            **self.kappas.arrays(prefix),
            **self.priors.arrays(prefix),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Posterior:
        rho, psi, gamma = (
            np.asarray(arrays[prefix + name], dtype=np.float64) for name in ("rho", "psi", "gamma")
        )
        kappas, priors = Concentrations.of(arrays, prefix), Priors.of(arrays, prefix)
        return cls(rho, psi, gamma, kappas, priors)

    def reordered(self, order: Int) -> Posterior:
        """With component `order[k]` as component k."""
        return replace(
            self,
            rho=self.rho[order],
            psi=self.psi[order],
            gamma=self.gamma[order],
            kappas=self.kappas.reordered(order),
        )


Ascent: TypeAlias = ascent.Ascent[Posterior]


@dataclass(frozen=True, slots=True)
class Variational:
    """How a run climbs (`runs.Way`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    form : of q(kappa). priors : to begin with. empirical : whether they are
    estimated. tol : in nats a row.
    """

    passes: Passes
    counted: Float
    form: Form
    priors: Priors
    empirical: bool
    max_kappa: float
    max_iter: int
    tol: float

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Ascent:
        """The posterior where each row belongs to the nearest seed, kappa at its likeliest."""
        n_clusters, n_features = means.shape
        nearest = Mixture(np.full(n_clusters, -np.log(n_clusters)), means, np.ones(n_clusters))
        found = maximize(sums, nearest, Shape("shared", self.max_kappa))
        kappa, priors = found.kappa, self.priors
        if self.empirical and n_clusters > 1:
            m = float(np.log(np.maximum(kappa[0], 1e-12)))
            priors = replace(priors.of_means(found.means.mean(axis=0), self.max_kappa), m=m)
        start = Concentrations.at(kappa, n_features, priors)
        psi, gamma = found.means, sums.size * kappa
        posterior = Posterior(priors.alpha + sums.size, psi, gamma, start, priors)
        return ascent.Ascent(self._updated(posterior, sums, first=True))

    def restored(self, arrays: Arrays, prefix: str) -> Ascent | None:
        return ascent.restored(Posterior.of, arrays, prefix)

    def climb(self, one: Ascent, progress: Progress, save: Callable[[Ascent], None]) -> Ascent:
        """Until the bound rises by no more than `tol` for each row."""
        n_counted = float(self.counted.sum())
        ladder = Ladder(self._expected, self._updated, n_counted, self.max_iter, self.tol)
        return ladder.climb(one, progress, save)

    def _expected(self, posterior: Posterior, progress: Progress) -> tuple[Sums, float]:
        """The assignments' sums, and the lower bound."""
        sums = self.passes.expect(posterior.weights, posterior.offsets, self.counted, progress)
        return sums, float(sums.evidence @ self.counted) - posterior.divergence()

    def _updated(self, before: Posterior, sums: Sums, *, first: bool = False) -> Posterior:
        """Every factor at its maximum given the assignments, and the priors at theirs."""
        priors, kappas, psi, gamma = before.priors, before.kappas, before.psi, before.gamma
        n_features = before.n_features
        for turn in range(TURNS):
            total = kappas.mean[:, None] * sums.total + priors.c0 * priors.mu0
            gamma = np.sqrt(np.einsum("kd,kd->k", total, total))
            psi = np.where(
                gamma[:, None] > 0, total / np.where(gamma > 0, gamma, 1.0)[:, None], psi
            )
            along = bessel.ratio(n_features, gamma) * np.einsum("kd,kd->k", sums.total, psi)
            known = None if first and turn == 0 else kappas
            kappas = renewed(self.form, sums.size, along, n_features, priors, known, self.max_kappa)
        after = Posterior(priors.alpha + sums.size, psi, gamma, kappas, priors)
        return replace(after, priors=self._estimated(after)) if self.empirical else after

    def _estimated(self, posterior: Posterior) -> Priors:
        """Empirical Bayes; with one cluster there is nothing to tell priors of clusters by."""
        if len(posterior.rho) == 1:
            return posterior.priors
        kappas, n_clusters = posterior.kappas, len(posterior.rho)
        log_mean, log_square = float(kappas.log_mean.mean()), float(kappas.log_square.mean())
        return (
            posterior.priors.of_kappa(log_mean, log_square)
            .of_means(posterior.means.mean(axis=0), self.max_kappa)
            .of_weights(float(posterior.log_weights.mean()), n_clusters)
        )
