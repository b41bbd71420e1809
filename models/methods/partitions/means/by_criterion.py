"""k-means for every candidate number of clusters, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Matrix
from models.clusters.choosing import Choice, Count, by_gap, by_silhouette, candidates, lowest
from models.clusters.kmeans import KMeansEffort, KMeansRun, best_run, bic
from models.errors import UsageError
from models.inputs.checks import as_floats
from models.inputs.data import Data
from models.running.progress import Progress, progress_parts, silent, subprogress


def require_dense_for_gap(data: Data, params: Count) -> None:
    """Raises UsageError if the choice is by the gap statistic and features are sparse."""
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
    effort: KMeansEffort,
    n_references: int,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Choice, Mapping[int, KMeansRun]]:
    """The choice by `params.choose` ('bic', 'silhouette' or 'gap') and the best run of each number.

    O(sum of the fits); the gap statistic adds as many for each of `n_references` draws.
    """
    progress(0.0, "fitting")
    numbers, notes = candidates(features, params)

    n_drawn = n_references if params.choose == "gap" else 0
    fits_end = 0.9 / (1 + n_drawn)
    runs = {}
    for part, number in progress_parts(progress, fits_end, numbers):
        runs[number] = best_run(features, number, effort, rng, part)
    rest = subprogress(progress, fits_end, 1.0)
    if params.choose == "bic":
        values = [bic(run.inertia, run.size, features.shape[1]) for run in runs.values()]
        return lowest("bic", numbers, values, notes), runs
    if params.choose == "silhouette":
        partitions = [run.cluster for run in runs.values()]
        return by_silhouette(features, numbers, partitions, rng, rest, notes), runs

    def dispersion(points: npt.NDArray[np.floating], n_clusters: int) -> float:
        return best_run(points, n_clusters, effort, rng, silent).inertia

    inertias = [run.inertia for run in runs.values()]
    assert not isinstance(features, sp.csr_array)
    choice = by_gap(
        as_floats(features), numbers, inertias, dispersion, n_references, rng, rest, notes
    )
    return choice, runs
