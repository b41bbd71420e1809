"""What is asked of `bvmf`, and how a run climbs that does it.

A number of clusters that was found: of those there may be, the ones that hold rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.clusters.choosing import MOST_CLUSTERS, Choice
from models.data import Data
from models.errors import UsageError
from models.methods.sphere.bayes.merging import Merging
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.bayes.proportions import Dirichlet, Sticks, Weighing
from models.methods.sphere.bayes.variational import Posterior, Variational
from models.methods.sphere.gibbs.dirichlet_process import MOST_KEPT, Process
from models.methods.sphere.gibbs.gibbs import Gibbs
from models.methods.sphere.mixture.mixture import Spread
from models.methods.sphere.mixture.parameters import (
    BatchSize,
    Delay,
    Device,
    Forgetting,
    HeldOut,
    KappaMedian,
    KappaSigma,
    Level,
    MaxIter,
    MaxKappa,
    Tol,
)
from models.methods.sphere.mixture.passes import Passes, direction
from models.parameters import Params, Seed

_ENDS = (0.025, 0.975)

LEAST_SAID = 0.01
"""Share of the weight from which on it is said that clusters were left out."""


def check_found(data: Data) -> None:
    """UsageError for what needs a given number of clusters."""
    if "names" in data:
        raise UsageError(
            "Input 'names' holds one name for each cluster, but with 'weights' = 'stick-breaking' "
            "their number is yet to be found; leave out 'names', or ask for 'dirichlet'.",
            code="wrong-input",
            role="names",
        )


def occupied(
    posterior: Posterior, cluster: Int, objective: float, most: int
) -> tuple[Posterior, Choice]:
    """The posterior of the clusters that hold rows alone, and their number.

    A cluster is empty where it is the likeliest one of no row, fitted or held out, however much of
    rows' posteriors it has; its weight goes to the others in proportion. cluster : (n_points,)
    each row's likeliest. objective : the lower bound. most : clusters that there might have been.
    """
    there = np.unique(cluster)
    n_clusters, notes = len(there), []
    if n_clusters == most > 1:
        notes.append(
            f"All {most} clusters that 'n_clusters' allows hold rows, so there may be more; ask "
            "for more."
        )
    lost = 1.0 - float(posterior.proportions.means[there].sum())
    if lost > LEAST_SAID:
        notes.append(
            f"{len(posterior.psi) - n_clusters} cluster(s) that are the likeliest of no row were "
            f"left out, with {100.0 * lost:.1f}% of the weight."
        )
    if n_clusters < len(posterior.psi):
        posterior = posterior.kept(there)
    value = (float(objective),)
    return posterior, Choice("lower_bound", n_clusters, (n_clusters,), value, None, tuple(notes))


def visited(choice: Choice, numbers: Int, most: int) -> tuple[Choice, dict[str, float]]:
    """The choice with the posterior of the number of clusters as its curve, and as metrics the ends
    of that number's 95% credible interval.

    numbers : (n_sweeps,) of a chain. most : clusters that there might have been.
    """
    low, high = (int(end) for end in np.quantile(numbers, _ENDS, method="inverted_cdf"))
    first, last = (int(end) for end in (numbers.min(), numbers.max()))
    tried = tuple(range(min(first, choice.n_clusters), max(last, choice.n_clusters) + 1))
    share = tuple(float((numbers == number).mean()) for number in tried)
    notes = choice.warnings
    if high == most > max(1, choice.n_clusters):
        notes = (
            *notes,
            f"All {most} clusters that 'n_clusters' allows hold rows in {100 * share[-1]:.0f}% of "
            "the sweeps, so there may be more; ask for more.",
        )
    found = replace(
        choice, criterion="n_clusters_probability", candidates=tried, value=share, warnings=notes
    )
    return found, {"n_clusters_low": float(low), "n_clusters_high": float(high)}


class BVMFParams(Params):
    n_clusters: int = Field(
        8,
        ge=1,
        le=MOST_CLUSTERS,
        description="Number of clusters; the most there may be, with weights 'stick-breaking'.",
    )
    weights: Literal["dirichlet", "stick-breaking"] = Field(
        "dirichlet",
        description=(
            "Prior of the clusters' weights: 'dirichlet' for 'n_clusters' clusters, or "
            "'stick-breaking', a Dirichlet process by which their number is found."
        ),
    )
    inference: Literal["variational-sampling", "variational-bounding", "gibbs"] = Field(
        "variational-sampling",
        description=(
            "How the posterior is found: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound, 'gibbs' by collapsed Gibbs sampling."
        ),
    )
    kappa: Spread = Field(
        "own",
        description=(
            "Whether all clusters share one concentration or have their own. Own ones make rows "
            "likelier; with one for all known classes come back better on most sets tried. Of one "
            "that is 'shared' 'kappa_sigma' is not estimated."
        ),
    )
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the priors are estimated; 'alpha' and 'kappa_sigma' are where that starts."
        ),
    )
    alpha: float = Field(
        1.0,
        ge=1e-3,
        le=1e3,
        description=(
            "Of the weights' prior: each cluster's parameter of the Dirichlet distribution, or "
            "the Dirichlet process's concentration, the more the more clusters."
        ),
    )
    c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description=(
            "Concentration of the clusters' means around the direction of all rows; without "
            "'empirical_bayes'."
        ),
    )
    kappa_median: KappaMedian = 100.0
    kappa_sigma: KappaSigma = 1.0
    max_kappa: MaxKappa = 1e6
    burn_in: int = Field(
        300, ge=0, le=1_000_000, description="Sweeps of Gibbs sampling that are thrown away."
    )
    n_samples: int = Field(
        200, ge=1, le=1_000_000, description="Sweeps of Gibbs sampling that are kept."
    )
    held_out: HeldOut = 0.0
    level: Level = 0.95
    n_init: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "Number of runs from different seeds; the one with the highest bound, or of Gibbs "
            "chains the highest mean joint density, serves."
        ),
    )
    max_iter: MaxIter = 200
    tol: Tol = 1e-4
    batch_size: BatchSize = None
    delay: Delay = 10.0
    forgetting: Forgetting = 0.7
    device: Device = "cpu"
    seed: Seed = 0


def check_asked(data: Data, params: BVMFParams) -> None:
    """UsageError for parameters that do not go together, or not with the inputs."""
    if params.batch_size is not None and params.inference == "gibbs":
        raise UsageError(
            "Parameter 'batch_size' is given, but 'inference' = 'gibbs' draws every row in "
            "turn: leave out 'batch_size', or use 'variational-sampling' or "
            "'variational-bounding'.",
            code="wrong-parameter",
            parameter="batch_size",
        )
    if params.device == "cuda" and params.inference == "gibbs":
        raise UsageError(
            "Parameter 'device' is 'cuda', but 'inference' = 'gibbs' draws one row after "
            "another, on the processor: use 'device': 'cpu', or another inference.",
            code="wrong-parameter",
            parameter="device",
        )
    if params.weights == "stick-breaking":
        check_found(data)


def bytes_of_chains(n_points: int, params: BVMFParams) -> int:
    """What a chain keeps, and the best one of others, and what is made of it; 0 of other ways."""
    if params.inference != "gibbs":
        return 0
    kept = 8 * params.n_samples * params.n_clusters
    if params.weights == "stick-breaking":
        each = np.min_scalar_type(params.n_clusters).itemsize
        kept += 4 * min(params.n_samples, MOST_KEPT) * n_points * each + 24 * params.n_clusters**2
    return kept


_WEIGHTS: dict[str, tuple[type[Variational], Weighing]] = {
    "dirichlet": (Variational, Dirichlet),
    "stick-breaking": (Merging, Sticks),
}


def gibbs(passes: Passes, counted: Float, params: BVMFParams) -> Gibbs:
    """The way of 'inference' = 'gibbs'."""
    given = (
        passes,
        counted,
        _priors(passes, counted, params),
        params.empirical_bayes,
        params.max_kappa,
        params.burn_in,
        params.n_samples,
        params.kappa,
    )
    if params.weights == "dirichlet":
        return Gibbs(*given)
    return Process(*given, most=params.n_clusters)


def variational(passes: Passes, counted: Float, params: BVMFParams) -> Variational:
    """The way of the other two."""
    kind, weighing = _WEIGHTS[params.weights]
    return kind(
        passes,
        counted,
        "grid" if params.inference == "variational-sampling" else "bound",
        _priors(passes, counted, params),
        params.empirical_bayes,
        params.max_kappa,
        params.max_iter,
        params.tol,
        weighing,
        params.kappa,
    )


def _priors(passes: Passes, counted: Float, params: BVMFParams) -> Priors:
    """As given, around the direction of all rows that count."""
    m = float(np.log(params.kappa_median))
    return Priors(params.alpha, direction(passes.points, counted), params.c0, m, params.kappa_sigma)
