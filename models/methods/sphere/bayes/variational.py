"""Variational inference for the Bayesian mixture of vMF distributions.

q(pi) is one of `Dirichlet` or `Sticks`, Dirichlet(rho) by default, q(mu_k) = vMF(psi_k, gamma_k),
q(z_i) = Categorical(lambda_i), and q(kappa_k), or q of a shared kappa, is one of `concentrations`.
The lower bound is raised by coordinate ascent (thesis 5.1): one pass gives lambda and its sums,
then q(pi), psi and gamma with q(kappa), and the priors by empirical Bayes are each set to their
optimum, so the bound never falls except by rounding. E_q[mu_k] = A_D(gamma_k) psi_k (the thesis
prints mu_k for psi_k), and the entropy of q(kappa) is added (printed: subtracted).

`StochasticVariational` does the same by batches of rows (`mixture.stochastic`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.concentrations import Concentrations, Form
from models.methods.sphere.bayes.priors import (
    Dirichlet,
    Priors,
    Proportions,
    ProportionsKind,
    vmf_divergence,
)
from models.methods.sphere.mixture.mixture import Constraints, Mixture, Spread, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.runs import Climb, alternating, climb, restored
from models.methods.sphere.mixture.stochastic import (
    BatchClimb,
    BatchState,
    Steps,
    StochasticAscent,
    restored_by_batches,
)
from models.numerics import sphere
from models.running.progress import Progress

TURNS = 2
"""The number of alternating updates of q(mu) and q(kappa) after each pass."""


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
        return sphere.ratio(self.n_features, self.gamma)[:, None] * self.psi

    @property
    def log_weights(self) -> Float:
        """(K,) E[log pi_k]."""
        return self.proportions.log_means

    @property
    def weights(self) -> Float:
        """(K, D) the coefficients of a row: E[kappa_k] E[mu_k]."""
        return self.kappas.mean[:, None] * self.means

    @property
    def offsets(self) -> Float:
        """(K,) the constants added to them: E[log pi_k] + E[log C_D(kappa_k)]."""
        return self.log_weights + self.kappas.log_c

    def divergence(self) -> float:
        """KL(q || prior) of all but the assignments: evidence of the rows minus lower bound."""
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
    def of(cls, kind: ProportionsKind, arrays: Arrays, prefix: str = "") -> Posterior:
        psi, gamma = (
            np.asarray(arrays[prefix + name], dtype=np.float64) for name in ("psi", "gamma")
        )
        kappas, priors = Concentrations.of(arrays, prefix), Priors.of(arrays, prefix)
        return cls(kind.of(arrays, prefix), psi, gamma, kappas, priors)

    def selected(self, order: Int) -> Posterior:
        """The posterior with component `order[k]` as component k, without the others."""
        return replace(
            self,
            proportions=self.proportions.selected(order),
            psi=self.psi[order],
            gamma=self.gamma[order],
            kappas=self.kappas.reordered(order),
        )

    def model_arrays(self) -> dict[str, Float]:
        """The arrays of a model, by which `concentrations.predict` places rows."""
        return {
            "log_weights": np.log(self.proportions.means),
            **self.proportions.arrays(),
            "psi": self.psi,
            "gamma": self.gamma,
            **self.kappas.per_cluster(len(self.psi)).model_arrays,
            "mu0": self.priors.mu0,
        }


@dataclass(frozen=True, slots=True)
class Variational:
    """How a run of variational inference starts and climbs (`runs.Algorithm`).

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.
    form : the form of q(kappa). priors : at the start. empirical : whether they are estimated.
    tol : in nats per row. proportions : the kind of q(pi). spread : whether clusters have a kappa
    each or share one; with a shared one sigma is not estimated (`Priors.of_shared_kappa`).
    """

    passes: Passes
    counted: Float
    form: Form
    priors: Priors
    empirical: bool
    max_kappa: float
    max_iter: int
    tol: float
    proportions: ProportionsKind = Dirichlet
    spread: Spread = "own"

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Climb[Posterior]:
        """The posterior with each row at its nearest seed and kappa at its mode."""
        n_clusters, n_features = means.shape
        mixture = maximize(sums, Mixture.at(means), Constraints("shared", self.max_kappa))
        kappa, priors = mixture.kappa, self.priors
        if self.empirical and n_clusters > 1:
            m = float(np.log(np.maximum(kappa[0], 1e-12)))
            priors = replace(priors.of_means(mixture.means.mean(axis=0), self.max_kappa), m=m)
        kappas = Concentrations.at(
            kappa[:1] if self.spread == "shared" else kappa, n_features, priors
        )
        proportions = self.proportions.first(sums.size, priors)
        posterior = Posterior(proportions, mixture.means, sums.size * kappa, kappas, priors)
        return Climb(self.updated(posterior, sums, first=True))

    def restored(self, arrays: Arrays, prefix: str) -> Climb[Posterior] | None:
        return restored(self.read, arrays, prefix)

    def read(self, arrays: Arrays, prefix: str) -> Posterior:
        """The posterior in a checkpoint."""
        return Posterior.of(self.proportions, arrays, prefix)

    def climb(
        self,
        run: Climb[Posterior],
        progress: Progress,
        save: Callable[[Climb[Posterior]], None],
    ) -> Climb[Posterior]:
        """The run until the bound rises by at most `tol` per row."""
        return climb(
            run,
            alternating(self.expected, self.updated),
            least_gain=self.tol * float(self.counted.sum()),
            max_iter=self.max_iter,
            progress=progress,
            save=save,
        )

    def expected(self, posterior: Posterior, progress: Progress) -> tuple[Sums, float]:
        """The sums under the assignments, and the lower bound."""
        sums = self.passes.expect(posterior.weights, posterior.offsets, self.counted, progress)
        return sums, float(sums.evidence @ self.counted) - posterior.divergence()

    def updated(self, before: Posterior, sums: Sums, *, first: bool = False) -> Posterior:
        """The posterior given the assignments: each factor, then the priors, at its optimum."""
        psi, gamma, kappas = self.components(
            before.psi, before.kappas, before.priors, sums, first=first
        )
        proportions, priors = before.proportions, before.priors
        # A single cluster does not show how clusters differ.
        if not self.empirical or len(psi) == 1:
            return Posterior(proportions.updated(sums.size, priors), psi, gamma, kappas, priors)
        proportions, priors = proportions.updated_with_alpha(sums.size, priors)
        after = Posterior(proportions, psi, gamma, kappas, priors)
        log_mean, log_square = float(kappas.log_mean.mean()), float(kappas.log_square.mean())
        if self.spread == "shared":
            priors = priors.of_shared_kappa(log_mean)
        else:
            priors = priors.of_kappas(log_mean, log_square)
        return replace(after, priors=priors.of_means(after.means.mean(axis=0), self.max_kappa))

    def components(
        self, psi: Float, kappas: Concentrations, priors: Priors, sums: Sums, *, first: bool = False
    ) -> tuple[Float, Float, Concentrations]:
        """psi, gamma and q(kappa) at their optimum given the assignments, starting from
        q(kappa)."""
        n_features, shared = psi.shape[1], self.spread == "shared"
        gamma = np.zeros(len(psi))
        for turn in range(TURNS):
            psi, gamma = directions(psi, kappas, priors, sums)
            size = sums.size
            along = sphere.ratio(n_features, gamma) * np.einsum("kd,kd->k", sums.total, psi)
            if shared:
                size, along = size.sum(keepdims=True), along.sum(keepdims=True)
            known = None if first and turn == 0 else kappas
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                # The search for q(kappa) may try any values.
                kappas = Concentrations.fitted(
                    self.form, size, along, n_features, priors, known, self.max_kappa
                )
        return psi, gamma, kappas


def directions(
    psi: Float, kappas: Concentrations, priors: Priors, sums: Sums
) -> tuple[Float, Float]:
    """psi and gamma at their optimum given the assignments and q(kappa).

    Psi stays where gamma is 0.
    """
    total = kappas.mean[:, None] * sums.total + priors.c0 * priors.mu0
    gamma = np.sqrt(np.einsum("kd,kd->k", total, total))
    positive = gamma > 0
    return np.where(positive[:, None], total / np.where(positive, gamma, 1.0)[:, None], psi), gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticVariational(Variational):
    """How a run of stochastic variational inference starts and climbs; `max_iter` counts epochs."""

    steps: Steps

    @classmethod
    def of(cls, variational: Variational, steps: Steps) -> StochasticVariational:
        """The same inference by batches; clusters are not merged."""
        own = {field.name: getattr(variational, field.name) for field in fields(variational)}
        return cls(**own, steps=steps)

    def start(self, means: Float, sums: Sums, seed: int = 0) -> BatchClimb[Posterior]:
        run = Variational.start(self, means, sums)
        return BatchClimb(run.estimate, state=BatchState.start(sums, seed))

    def restored(self, arrays: Arrays, prefix: str) -> Climb[Posterior] | None:
        return restored_by_batches(self.read, arrays, prefix)

    def climb(
        self,
        run: Climb[Posterior],
        progress: Progress,
        save: Callable[[Climb[Posterior]], None],
    ) -> Climb[Posterior]:
        assert isinstance(run, BatchClimb)
        ascent = StochasticAscent[Posterior](
            self.passes,
            self.counted,
            self.steps,
            False,
            self.max_iter,
            self.tol,
            update=self.updated,
            cost=Posterior.divergence,
        )
        return ascent.climb(run, progress, save)
