"""k-means for every candidate, and the number of clusters by a criterion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Matrix
from models.checks import as_floats
from models.clusters.choosing import Choice, Count, candidates, highest, lowest
from models.clusters.criteria import choose_by_gap, silhouettes
from models.clusters.kmeans import Centers, Effort, best_run, bic
from models.data import Data
from models.errors import UsageError
from models.progress import Progress, progress_parts, silent, subprogress


def require_dense_for_gap(data: Data, params: Count) -> None:
    """UsageError where the gap statistic is asked of sparse features."""
    if params.choose == "gap" and isinstance(data.values["features"], sp.csr_array):
        raise UsageError(
            "Parameter 'choose' is 'gap', whose reference points are dense; input 'features' is "
            "sparse. Choose by 'bic' or 'silhouette'.",
            code="wrong-parameter",
            parameter="choose",
        )


def choose_number(
    features: Matrix,
    params: Count,
    effort: Effort,
    n_references: int,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Choice, Mapping[int, Centers]]:
    """The choice by `params.choose` ('bic', 'silhouette' or 'gap') and the best run of each number.

    O(sum of the fits); for the gap as many again for each of `n_references` draws.
    """
    progress(0.0, "fitting")
    numbers, notes = candidates(features, params)

    drawn = n_references if params.choose == "gap" else 0
    fitted = 0.9 / (1 + drawn)
    runs = {}
    for part, number in progress_parts(progress, fitted, numbers):
        runs[number] = best_run(features, number, effort, rng, part)
    rest = subprogress(progress, fitted, 1.0)
    if params.choose == "bic":
        values = [bic(run.inertia, run.size, features.shape[1]) for run in runs.values()]
        return lowest("bic", numbers, values, notes), runs
    if params.choose == "silhouette":
        found = silhouettes(features, [run.cluster for run in runs.values()], rng, rest)
        means, errors = [one.mean for one in found], [one.error for one in found]
        return highest("silhouette", numbers, means, errors, notes), runs

    def dispersion(points: npt.NDArray[np.floating], n_clusters: int) -> float:
        return best_run(points, n_clusters, effort, rng, silent).inertia

    inertias = [run.inertia for run in runs.values()]
    assert not isinstance(features, sp.csr_array)
    choice = choose_by_gap(
        as_floats(features), numbers, inertias, dispersion, n_references, rng, rest, notes
    )
    return choice, runs
