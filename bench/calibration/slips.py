"""Gibbs samplers with planted errors, to check that the calibration detects them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bench.calibration.ranks import Maker, sampler
from bench.calibration.worlds import Float, Int, Plan, World
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.gibbs.gibbs import Gibbs
from models.methods.sphere.mixture.loops import log_c
from models.methods.sphere.mixture.passes import Passes


def slips(priors: Priors) -> dict[str, Maker]:
    """Samplers with one error each, by its name, for worlds with these priors."""
    wrong = {
        "sigma of log kappa halved": replace(priors, sigma=0.5 * priors.sigma),
        "C0 left out": replace(priors, c0=0.0),
        "alpha doubled": replace(priors, alpha=2.0 * priors.alpha),
        # Omitting the factor is equivalent to shifting the normal distribution of log kappa.
        "walk without kappa' / kappa": replace(priors, m=priors.m - priors.sigma**2),
    }
    makers: dict[str, Maker] = {what: _under(changed) for what, changed in wrong.items()}
    return {**makers, "x_i not added for each candidate": _as_printed}


def _under(priors: Priors) -> Maker:
    def maker(passes: Passes, counted: Float, world: World, plan: Plan) -> Gibbs:
        return sampler(passes, counted, replace(world, priors=priors), plan)

    return maker


def _as_printed(passes: Passes, counted: Float, world: World, plan: Plan) -> Gibbs:
    right = sampler(passes, counted, world, plan)
    own = {name: getattr(right, name) for name in right.__dataclass_fields__}
    return Literal(**own, candidate=False)


@dataclass(frozen=True, slots=True)
class Literal(Gibbs):
    """Draws clusters by the last line of the thesis's section 5.3.2, with each sum recomputed.

    candidate : whether x_i is in the denominator's sum for each candidate, as it must be, or only
    for its current cluster, as printed. O(N^2 D) a sweep, dense rows.
    """

    candidate: bool = True

    def _assign(
        self, cluster: Int, log_kappa: Float, priors: Priors, rng: np.random.Generator
    ) -> None:
        n_points, n_features = self.passes.points.shape
        n_clusters = len(log_kappa)
        rows, kappa = np.asarray(self.passes.points.block(slice(0, n_points))), np.exp(log_kappa)
        single, drift = log_c(n_features, kappa), priors.c0 * priors.mu0
        for i in np.flatnonzero(self.counted):
            rest = (self.counted > 0) & (np.arange(n_points) != i)
            size, total = np.zeros(n_clusters), np.zeros((n_clusters, n_features))
            np.add.at(size, cluster[rest], 1.0)
            np.add.at(total, cluster[rest], rows[rest])
            added = np.ones(n_clusters) if self.candidate else np.eye(n_clusters)[cluster[i]]
            without = kappa[:, None] * total + drift
            within = kappa[:, None] * (total + added[:, None] * rows[i]) + drift
            lengths = np.linalg.norm(np.concatenate([without, within]), axis=1)
            wholes = log_c(n_features, lengths)
            log_p = np.log(priors.alpha + size) + single + wholes[:n_clusters] - wholes[n_clusters:]
            p = np.cumsum(np.exp(log_p - log_p.max()))
            cluster[i] = min(int(np.searchsorted(p, rng.random() * p[-1])), n_clusters - 1)
