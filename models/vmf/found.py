"""A number of clusters that was found: of those there may be, the ones that hold rows."""

from __future__ import annotations

import numpy as np

from models.data import Data
from models.errors import UsageError
from models.partitions.choosing import Choice
from models.partitions.points import Int
from models.vmf.variational import Posterior

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
