"""What a model of the Bayesian mixture keeps, how it places rows, and what is said of its fit."""

from __future__ import annotations

import numpy as np

from models.contract import Arrays
from models.partitions.points import Float
from models.vmf.points import UnitRows
from models.vmf.predictive import log_predictive
from models.vmf.said import said_of_bounding, said_of_caps, said_of_end
from models.vmf.variational import Ascent, Posterior


def kept(posterior: Posterior) -> dict[str, Float]:
    """A model's arrays."""
    kappas = posterior.kappas.each(len(posterior.psi))
    return {
        "log_weights": np.log(posterior.proportions.means),
        **posterior.proportions.arrays(),
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        **kappas.served,
        "mu0": posterior.priors.mu0,
    }


def placed(points: UnitRows, arrays: Arrays, threads: int) -> tuple[Float, Float]:
    """Log posterior and log-likelihood of rows under a model's arrays."""
    return log_predictive(
        points,
        arrays["log_weights"],
        arrays["psi"],
        arrays["gamma"],
        arrays["log_mean"],
        arrays["log_sd"],
        threads,
    )


def said_of(
    posterior: Posterior,
    best: Ascent | None,
    *,
    max_iter: int,
    by_batches: bool,
    inference: str,
    max_kappa: float,
    empirical: bool,
    n_clusters: int,
) -> list[str]:
    """Warnings; best : the run that serves, None of a chain. n_clusters : that were fitted."""
    why = "the points of a cluster are all but identical, so likelihoods hang on that bound"
    found = [
        *said_of_end(best is None or best.ended, max_iter, by_batches),
        *said_of_bounding(inference, posterior.n_features),
        *said_of_caps(posterior.kappas.high, max_kappa, why),
    ]
    if empirical and n_clusters == 1:
        found.append(
            "One cluster tells nothing of how clusters differ, so the priors were not estimated."
        )
    if empirical and posterior.priors.c0 >= max_kappa:
        found.append(
            f"The concentration of the clusters' means, C0, reached 'max_kappa' = "
            f"{max_kappa:g}: the clusters' means are all but the same."
        )
    return found
