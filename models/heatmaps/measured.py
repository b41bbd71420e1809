"""Distances between clusters as the means over the pairs of their points, measured as the method
`hac` measures points.

These are distances that do not follow from means of clusters: hamming and jaccard of features,
Gower's of items, and those over the columns in which both rows have a value.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, row_blocks
from models.errors import UsageError
from models.graphs.measured import (
    Measured,
    MeasuredFeatures,
    MeasuredItems,
    kept,
    measured_features,
)
from models.heatmaps.heatmap import Metric
from models.inputs.checks import Points
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.method import Model
from models.numerics.distances import AT_ONCE, presence_warnings
from models.running import budget
from models.running.progress import Progress

_OF_FIT = {
    "gower": "items by Gower's distance",
    "pairwise": "features with empty values, `missing` being filled 'pairwise',",
}


def of_fit(model: Model | None, metric: Metric) -> Measured:
    """What the fit measured, out of its model.

    metric : "gower" or "pairwise". Raises UsageError for a model that is gone, and for one that
    measured otherwise.
    """
    points = None if model is None else kept(model)
    wanted = MeasuredItems if metric == "gower" else MeasuredFeatures
    if isinstance(points, wanted):
        return points
    raise UsageError(
        f"Metric {metric!r} is of trees whose fit compared {_OF_FIT[metric]} and whose model keeps "
        "them; this tree has no such model.",
        code="wrong-parameter",
        parameter="metric",
    )


def of_features(rows: Points, metric: Metric) -> tuple[Measured, tuple[str, ...]]:
    """(features by "hamming" or "jaccard", warnings). Raises UsageError as `measured_features`."""
    assert metric in ("hamming", "jaccard")
    features = rows.as_array() if isinstance(rows, Rows) else rows
    values = measured_features(Data({"features": features}), metric).points
    notes = presence_warnings(values, metric)
    present = (values != 0).astype(np.float64) if metric == "jaccard" else values
    return MeasuredFeatures(metric, present), notes


def means_of_pairs(
    points: Measured, place: Int, group: Int, n_groups: int, progress: Progress
) -> Float:
    """(n_groups, n_groups) the mean distance between the points of two groups, 0 of a group to
    itself; NaN where one has no point that was measured.

    place : (N,) the numbers of the measured points among all. group : (n_points,) the group of each
    point, n_groups for none. Raises UsageError as `Measured.between`. O(N^2 D) time, 24 n_groups^2
    bytes.
    """
    budget.require("heatmap", 24 * n_groups**2 + 16 * AT_ONCE, "Give a `cut` into fewer clusters.")
    own = group[place]
    n = len(own)
    indicator = sp.csr_array((np.ones(n), (own, np.arange(n))), shape=(n_groups + 1, n))
    sums = np.zeros((n_groups + 1, n_groups + 1))
    for block in row_blocks(n, n, AT_ONCE):
        progress(block.start / n, "measuring distances")
        between = points.between(points.points[block], block.start, "Rows")
        sums += indicator[:, block] @ (indicator @ between.T).T
    counts = np.bincount(own, minlength=n_groups + 1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (sums / np.outer(counts, counts))[:n_groups, :n_groups]
    mean[np.diag_indices(n_groups)] = np.where(counts[:n_groups] > 0, 0.0, np.nan)
    return np.asarray(mean)
