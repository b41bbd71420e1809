"""The number of clusters where inference determines it: the possible clusters that hold rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.arrays import Int
from models.clusters.choosing import Choice
from models.methods.sphere.bayes.variational import Posterior

LEAST_WEIGHT = 0.01
"""The weight of left-out clusters above which a warning is given."""

_INTERVAL = (0.025, 0.975)


def occupied(
    posterior: Posterior, cluster: Int, objective: float, most: int
) -> tuple[Posterior, Choice]:
    """The posterior of the clusters that hold rows, and their number.

    A cluster is empty if it is not the likeliest one of any row, fitted or held out, however large
    its posteriors are; its weight is divided among the others in proportion. cluster : (n_points,)
    the likeliest one of each row. objective : the lower bound. most : the number of clusters
    allowed.
    """
    with_rows = np.unique(cluster)
    n_clusters = len(with_rows)
    warnings = []
    if n_clusters == most > 1:
        warnings.append(
            f"All {most} clusters that 'n_clusters' allows hold rows, so there may be more; set "
            "it higher."
        )
    lost = 1.0 - float(posterior.proportions.means[with_rows].sum())
    if lost > LEAST_WEIGHT:
        warnings.append(
            f"{len(posterior.psi) - n_clusters} cluster(s) that are the likeliest of no row were "
            f"left out, with {100.0 * lost:.1f}% of the weight."
        )
    if n_clusters < len(posterior.psi):
        posterior = posterior.selected(with_rows)
    value = (float(objective),)
    return posterior, Choice("lower_bound", n_clusters, (n_clusters,), value, None, tuple(warnings))


def with_credible_number(
    choice: Choice, numbers: Int, most: int
) -> tuple[Choice, dict[str, float]]:
    """The choice of the number of clusters, its posterior as a curve and its interval as metrics.

    The metrics are the ends of the 95% credible interval.
    numbers : (n_sweeps,) the numbers of clusters in a chain. most : the number of clusters allowed.
    """
    low, high = (int(end) for end in np.quantile(numbers, _INTERVAL, method="inverted_cdf"))
    first, last = (int(end) for end in (numbers.min(), numbers.max()))
    tried = tuple(range(min(first, choice.n_clusters), max(last, choice.n_clusters) + 1))
    share = tuple(float((numbers == number).mean()) for number in tried)
    warnings = choice.warnings
    if high == most > max(1, choice.n_clusters):
        warnings = (
            *warnings,
            f"All {most} clusters that 'n_clusters' allows hold rows in {100 * share[-1]:.0f}% of "
            "the sweeps, so there may be more; set it higher.",
        )
    choice = replace(
        choice, criterion="n_clusters_probability", candidates=tried, value=share, warnings=warnings
    )
    return choice, {"n_clusters_low": float(low), "n_clusters_high": float(high)}
