"""A number of clusters that was found: of those there may be, the ones that hold rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.data import Data
from models.errors import UsageError
from models.partitions.choosing import Choice
from models.partitions.points import Int
from models.vmf.variational import Posterior

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
