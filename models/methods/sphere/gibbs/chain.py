"""The state of a Gibbs chain, and the posterior from its sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.concentrations import Concentrations
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.bayes.proportions import Dirichlet
from models.methods.sphere.bayes.variational import Posterior
from models.numerics import bessel

MOST_GAMMA = 1e12

_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, under way or ended.

    cluster : (n_points,) of each row. log_kappa : (K,), all equal where it is shared.
    turn : number of sweeps done. seed : seeds the draws.
    learned : (3 + D,) the means over clusters that empirical Bayes uses: of log kappa, its square,
        E[log pi_k] and E[mu_k].
    reference : (n_points,) the clusters to which later sweeps are matched.
    size, means, log_c : sums of n_k, E[mu_k] and log C_D(kappa_k) over the kept sweeps.
    draws : (n_kept, K) log kappa of each, (n_kept, 1) of a shared one.
    trace : the log joint density after each sweep.
    """

    cluster: Int
    log_kappa: Float
    priors: Priors
    seed: int
    turn: int
    learned: Float
    reference: Int
    size: Float
    means: Float
    log_c: Float
    draws: Float
    trace: Float

    @property
    def objective(self) -> tuple[float, ...]:
        """The mean log joint density over the kept sweeps."""
        kept = self.trace[len(self.trace) - len(self.draws) :]
        return (float(kept.mean()) if kept.size else -np.inf,)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[np.float64]]:
        own = {name: getattr(self, name) for name in _ARRAYS}
        return {
            **{prefix + name: array for name, array in own.items()},
            **self.priors.arrays(prefix),
            f"{prefix}counts": np.array([self.seed, self.turn]),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str) -> Chain | None:
        if f"{prefix}cluster" not in arrays:
            return None
        seed, turn = arrays[f"{prefix}counts"].tolist()
        own = {name: np.array(arrays[prefix + name]) for name in _ARRAYS}
        return cls(priors=Priors.of(arrays, prefix), seed=int(seed), turn=int(turn), **own)

    def posterior(self) -> Posterior:
        """The moments over the kept sweeps, in the form of a variational posterior."""
        n_kept = len(self.draws)
        n = np.full(len(self.size), float(n_kept))
        return moments(self.size / n_kept, self.means, self.log_c, n, self.draws, self.priors)


def moments(
    size: Float, means: Float, log_c: Float, n: Float, draws: Float, priors: Priors
) -> Posterior:
    """Sums over sweeps in the form of a variational posterior.

    size : (K,) the mean number of rows. means, log_c : sums over n_k sweeps of E[mu_k] and of log
    C_D(kappa_k). draws : (n_sweeps, K), nan where a sweep has no such cluster; for a shared kappa
    (n_sweeps, 1) with `log_c` (1,). q(mu_k) is the vMF with the posterior mean of mu_k.
    """
    n_features = means.shape[1]
    means = means / n[:, None]
    length = np.sqrt(np.einsum("kd,kd->k", means, means))
    positive = length > 0
    psi = np.where(positive[:, None], means / np.where(positive, length, 1.0)[:, None], 0.0)
    psi[~positive] = priors.mu0
    gamma = bessel.concentration(n_features, np.minimum(length, 1.0))
    kappa = np.exp(draws)
    low, high = np.nanquantile(kappa, _INTERVAL, axis=0)
    kappas = Concentrations(
        np.nanmean(kappa, axis=0),
        log_c / (n if len(log_c) == len(n) else len(draws)),
        np.nanmean(draws, axis=0),
        np.nanmean(draws**2, axis=0),
        np.zeros(len(low)),
        low,
        high,
        priors.m,
        priors.sigma,
    )
    rho = priors.alpha + size
    return Posterior(Dirichlet(rho), psi, np.minimum(gamma, MOST_GAMMA), kappas, priors)


_ARRAYS = (
    "cluster",
    "log_kappa",
    "learned",
    "reference",
    "size",
    "means",
    "log_c",
    "draws",
    "trace",
)
