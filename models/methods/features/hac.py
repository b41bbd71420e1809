"""Agglomerative clustering (HAC): a binary tree over points, merging the two closest groups.

Leaves are the points, one each; the height of a node is the distance at which its two parts were
merged (for ward the increase of the error sum of squares as SciPy scales it). Centroid and median
linkage can merge at a smaller distance than a part was made at; the tree then is not monotone.

Source: fastcluster (Müllner, "fastcluster: Fast Hierarchical, Agglomerative Clustering Routines
for R and Python", 2013), with SciPy's definitions of the linkages and metrics.

Cost: O(N^2 D) time. Memory O(N D) for single, ward, centroid and median linkage on Euclidean
features, else 8 N^2 bytes for the distances. A run that would not fit is refused before it starts.
"""

from __future__ import annotations

import resource
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import psutil
from pydantic import Field

from models.contract import Fitted, Input, Method, Paper, Params, Progress, Run
from models.data import Data, require_finite
from models.errors import UsageError
from models.numerics.distances import Metric, condensed, pairwise
from models.tree.build import from_merges

Float = npt.NDArray[np.float64]
Linkage = Literal["average", "single", "complete", "weighted", "ward", "centroid", "median"]

EUCLIDEAN_ONLY = ("ward", "centroid", "median")
MAX_POINTS = 200_000
"""Where even the linkages that need little memory take the better part of an hour."""


class HACParams(Params):
    linkage: Linkage = Field(
        "average",
        description=(
            "Distance between groups: 'single' closest points, 'complete' farthest, 'average' mean "
            "over pairs, 'weighted' mean over the two parts, 'ward' increase of the within-group "
            "variance, 'centroid' between means, 'median' between midpoints."
        ),
    )
    metric: Metric = Field(
        "euclidean",
        description=(
            "Distance between points, as SciPy's pdist defines it. 'ward', 'centroid' and 'median' "
            "linkage take 'euclidean' only. With the input 'distances' it has no meaning and must "
            "stay 'euclidean'."
        ),
    )


class HAC(Method[HACParams]):
    """See the module's docstring."""

    id: ClassVar = "hac"
    title: ClassVar = "Agglomerative clustering"
    family: ClassVar = "features"
    paper: ClassVar = Paper(
        "fastcluster: Fast Hierarchical, Agglomerative Clustering Routines for R and Python",
        2013,
        "Journal of Statistical Software 53(9)",
    )
    Params: ClassVar = HACParams
    inputs: ClassVar = {
        "features": Input(required=False, description="One row per point."),
        "distances": Input(
            required=False,
            description="Square symmetric matrix of distances between points, zero diagonal.",
        ),
        "names": Input(required=False, description="One name per point."),
    }
    one_of: ClassVar = ("features", "distances")

    def _check(self, data: Data, params: HACParams) -> None:
        role = "features" if "features" in data else "distances"
        values = data.dense(role)
        n_points, n_columns = values.shape
        if n_points == 0 or n_columns == 0:
            raise UsageError(
                f"Input {role!r} has {n_points} rows and {n_columns} columns; at least one of "
                "each is needed.",
                code="wrong-shape",
                role=role,
            )
        if params.metric != "euclidean" and params.linkage in EUCLIDEAN_ONLY:
            raise UsageError(
                f"Linkage {params.linkage!r} is defined for the metric 'euclidean' only, not for "
                f"{params.metric!r}.",
                code="wrong-parameter",
                parameter="metric",
            )
        if params.metric != "euclidean" and role == "distances":
            raise UsageError(
                "Parameter 'metric' applies to the input 'features'; leave it out when 'distances' "
                "are given.",
                code="wrong-parameter",
                parameter="metric",
            )
        if role == "distances" and n_points != n_columns:
            raise UsageError(
                f"Input 'distances' has {n_points} rows and {n_columns} columns; it must be "
                "square.",
                code="wrong-shape",
                role=role,
            )
        data.leaf_names(n_points, "point")
        _check_size(n_points, n_columns, params, role)
        require_finite(values, role)

    def _fit(self, data: Data, params: HACParams, run: Run) -> Fitted:
        role = "features" if "features" in data else "distances"
        values = np.asarray(data.dense(role))
        n_points = values.shape[0]
        names = data.leaf_names(n_points, "point")
        try:
            merges = _merges(values, role, params, run.progress)
        except FloatingPointError:
            _refuse_overflow(role)
        run.progress(0.95, "building the tree")
        left, right = merges[:, :2].astype(np.int64).T
        height = merges[:, 2]
        if not np.isfinite(height).all():
            _refuse_overflow(role)
        falls = _n_inversions(left, right, height)
        tree = from_merges(left, right, height, names=names, monotone=falls == 0)
        return Fitted(
            tree=tree,
            metrics={"n_inversions": float(falls)},
            warnings=tuple(self._warnings(params, role, falls)),
        )

    def _warnings(self, params: HACParams, role: str, falls: int) -> tuple[str, ...]:
        found = []
        if falls:
            found.append(
                f"{falls} merge(s) lie lower than a merge below them, as {params.linkage} linkage "
                "allows: the tree is not monotone."
            )
        if role == "distances" and params.linkage in EUCLIDEAN_ONLY:
            found.append(
                f"Linkage {params.linkage!r} takes the given distances as Euclidean; nothing "
                "checks that they are."
            )
        return tuple(found)


def _merges(values: npt.NDArray[Any], role: str, params: HACParams, progress: Progress) -> Float:
    """(n_points - 1, 4) merges as SciPy writes them; FloatingPointError where one overflows."""
    import fastcluster

    merges: Float
    if len(values) == 1:
        merges = np.empty((0, 4))
    elif _keeps_no_distances(params, role):
        points = values.astype(np.float64)
        _check_squares(points)
        progress(0.05, "merging")
        merges = fastcluster.linkage_vector(points, method=params.linkage, metric="euclidean")
    else:
        progress(0.05, "measuring distances")
        by_features = role == "features"
        distances = pairwise(values, params.metric) if by_features else condensed(values)
        progress(0.4, "merging")
        merges = fastcluster.linkage(distances, method=params.linkage, preserve_input=False)
    return merges


def _refuse_overflow(role: str) -> NoReturn:
    raise UsageError(
        f"The distances in input {role!r} are too large: merging them overflows. Scale the input "
        "down.",
        code="too-large",
        role=role,
    )


def _keeps_no_distances(params: HACParams, role: str) -> bool:
    return (
        role == "features"
        and params.metric == "euclidean"
        and params.linkage in ("single", *EUCLIDEAN_ONLY)
    )


def _check_size(n_points: int, n_columns: int, params: HACParams, role: str) -> None:
    """Refuse what would not fit the memory or not end in reasonable time."""
    advice = "Use a sample of the points, or cluster the centres that 'kmeans' finds."
    if n_points > MAX_POINTS:
        raise UsageError(
            f"Method 'hac' compares all pairs of {n_points:,} points; it takes at most "
            f"{MAX_POINTS:,}. {advice}",
            code="too-large",
            role=role,
        )
    if _keeps_no_distances(params, role):
        needed, way = 8 * n_points * n_columns, ""
    else:
        # fastcluster copies the N (N - 1) / 2 distances; the features too are held in float64.
        needed = 8 * n_points * (n_points - 1) + 8 * n_points * n_columns * (role == "features")
        way = " Linkages 'single' and 'ward' with the metric 'euclidean' need far less."
        if role == "distances":
            way = ""
    room = _memory_left()
    if needed > 0.9 * room:
        raise UsageError(
            f"Method 'hac' would need about {needed / 2**30:.1f} GiB for the distances between "
            f"{n_points:,} points; a worker has {room / 2**30:.1f} GiB left.{way} {advice}",
            code="too-large",
            role=role,
        )


def _memory_left() -> int:
    """Bytes this process may still take: what the machine has free, within the process's limit."""
    room = int(psutil.virtual_memory().available)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        room = min(room, max(0, limit - int(psutil.Process().memory_info().vms)))
    return room


def _check_squares(points: Float) -> None:
    """Refuse features whose squared distances, summed as ward does, would overflow."""
    bound = np.sqrt(np.finfo(np.float64).max / (8.0 * points.size))
    for row in range(0, len(points), 4096):
        part = np.abs(points[row : row + 4096]).max(axis=1)
        if part.max() > bound:
            at = row + int(np.argmax(part > bound))
            raise UsageError(
                f"Input 'features' has a value beyond {bound:.0e} at row {at}; squared distances "
                "would overflow. Scale the input down.",
                code="too-large",
                role="features",
                row=at,
            )


def _n_inversions(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], height: Float) -> int:
    """Number of merges that lie lower than one of the two parts they join."""
    n_points = len(height) + 1
    below = np.concatenate([np.zeros(n_points), height])
    return int(((height < below[left]) | (height < below[right])).sum())
