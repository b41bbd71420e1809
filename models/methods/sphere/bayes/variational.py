"""Variational inference for the Bayesian mixture of vMF distributions.

q(pi) = Dirichlet(rho), or of `bayes.proportions`; q(mu_k) = vMF(psi_k, gamma_k), q(z_i) =
Categorical(lambda_i), q(kappa_k), or that of one kappa for all clusters, as
`bayes.concentrations` says. Coordinate ascent of the
lower bound (thesis 5.1): one pass gives lambda and what it sums to, then q(pi), psi and gamma with
q(kappa), and the priors by empirical Bayes each go to their maximum, so the bound never falls but
for rounding. E_q[mu_k] = A_D(gamma_k) psi_k (the thesis prints mu_k for psi_k), and the entropy of
q(kappa) is added (printed: subtracted).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes import ascent
from models.methods.sphere.bayes.ascent import Ladder
from models.methods.sphere.bayes.concentrations import Concentrations, Form, renewed
from models.methods.sphere.bayes.priors import Priors, vmf_divergence
from models.methods.sphere.bayes.proportions import Dirichlet, Proportions, Weighing
from models.methods.sphere.mixture.mixture import Mixture, Shape, Spread, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.numerics import bessel
from models.progress import Progress

TURNS = 2
"""Updates of q(mu) and q(kappa) in turn after each pass."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """q of all but the assignments, and the priors.

    proportions : q(pi). psi (K, D) unit vectors; gamma (K,).
    """

    proportions: Proportions
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
        return self.proportions.log_means

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
        return self.proportions.divergence(priors) + float(of_means.sum()) + float(of_kappas.sum())

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            **self.proportions.arrays(prefix),
            f"{prefix}psi": self.psi,
            f"{prefix}gamma": self.gamma,
            **self.kappas.arrays(prefix),
            **self.priors.arrays(prefix),
        }

    @classmethod
    def of(cls, weighing: Weighing, arrays: Arrays, prefix: str = "") -> Posterior:
        psi, gamma = (
            np.asarray(arrays[prefix + name], dtype=np.float64) for name in ("psi", "gamma")
        )
        kappas, priors = Concentrations.of(arrays, prefix), Priors.of(arrays, prefix)
        return cls(weighing.of(arrays, prefix), psi, gamma, kappas, priors)

    def kept(self, order: Int) -> Posterior:
        """With component `order[k]` as component k, those left out not there."""
        return replace(
            self,
            proportions=self.proportions.kept(order),
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
    estimated. tol : in nats a row. weighing : the kind of q(pi). spread : whether clusters have a
    kappa each or share one; of one no sigma is estimated (`Priors.of_one_kappa`).
    """

    passes: Passes
    counted: Float
    form: Form
    priors: Priors
    empirical: bool
    max_kappa: float
    max_iter: int
    tol: float
    weighing: Weighing = Dirichlet
    spread: Spread = "own"

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Ascent:
        """The posterior where each row belongs to the nearest seed, kappa at its likeliest."""
        n_clusters, n_features = means.shape
        nearest = Mixture(np.full(n_clusters, -np.log(n_clusters)), means, np.ones(n_clusters))
        found = maximize(sums, nearest, Shape("shared", self.max_kappa))
        kappa, priors = found.kappa, self.priors
        if self.empirical and n_clusters > 1:
            m = float(np.log(np.maximum(kappa[0], 1e-12)))
            priors = replace(priors.of_means(found.means.mean(axis=0), self.max_kappa), m=m)
        start = Concentrations.at(
            kappa[:1] if self.spread == "shared" else kappa, n_features, priors
        )
        psi, gamma = found.means, sums.size * kappa
        proportions = self.weighing.first(sums.size, priors)
        posterior = Posterior(proportions, psi, gamma, start, priors)
        return ascent.Ascent(self._updated(posterior, sums, first=True))

    def restored(self, arrays: Arrays, prefix: str) -> Ascent | None:
        def read(arrays: Arrays, prefix: str) -> Posterior:
            return Posterior.of(self.weighing, arrays, prefix)

        return ascent.restored(read, arrays, prefix)

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
        psi, gamma, kappas = self._components(
            before.psi, before.kappas, before.priors, sums, first=first
        )
        proportions, priors = before.proportions, before.priors
        # With one cluster there is nothing to tell priors of clusters by.
        if not self.empirical or len(psi) == 1:
            return Posterior(proportions.given(sums.size, priors), psi, gamma, kappas, priors)
        proportions, priors = proportions.learned(sums.size, priors)
        after = Posterior(proportions, psi, gamma, kappas, priors)
        log_mean, log_square = float(kappas.log_mean.mean()), float(kappas.log_square.mean())
        if self.spread == "shared":
            learned = priors.of_one_kappa(log_mean)
        else:
            learned = priors.of_kappa(log_mean, log_square)
        return replace(after, priors=learned.of_means(after.means.mean(axis=0), self.max_kappa))

    def _components(
        self, psi: Float, kappas: Concentrations, priors: Priors, sums: Sums, *, first: bool = False
    ) -> tuple[Float, Float, Concentrations]:
        """psi, gamma and q(kappa) at their maximum given the assignments, from q(kappa) on."""
        n_features, shared = psi.shape[1], self.spread == "shared"
        gamma = np.zeros(len(psi))
        for turn in range(TURNS):
            psi, gamma = directions(psi, kappas, priors, sums)
            size = sums.size
            along = bessel.ratio(n_features, gamma) * np.einsum("kd,kd->k", sums.total, psi)
            if shared:
                size, along = size.sum(keepdims=True), along.sum(keepdims=True)
            known = None if first and turn == 0 else kappas
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                # Trials of the search for q(kappa) may lie anywhere.
                kappas = renewed(self.form, size, along, n_features, priors, known, self.max_kappa)
        return psi, gamma, kappas


def directions(
    psi: Float, kappas: Concentrations, priors: Priors, sums: Sums
) -> tuple[Float, Float]:
    """psi and gamma at their maximum given the assignments and q(kappa); psi stays where gamma
    is 0."""
    total = kappas.mean[:, None] * sums.total + priors.c0 * priors.mu0
    gamma = np.sqrt(np.einsum("kd,kd->k", total, total))
    there = gamma > 0
    return np.where(there[:, None], total / np.where(there, gamma, 1.0)[:, None], psi), gamma
