"""Agglomerative clustering that compares all pairs; single linkage along a minimum spanning tree.

Similarities become distances: the largest value of the matrix minus each similarity. The most
similar pairs are then the nearest, whatever the scale: 1 - s where the diagonal is 1. Adding a
constant changes no merge of single, complete, average or weighted linkage.

`tie_warnings` warns of trees that the order of the points makes.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, row_blocks
from models.clusters.row_weights import row_weights, unused
from models.errors import UsageError
from models.graphs.spanning import METRICS, condensed_rows, spanning_tree, tree_by_rows
from models.inputs.data import Data
from models.numerics.agglomeration import BY_CENTRE, merged, merged_points
from models.numerics.distances import (
    BY_PAIRS,
    FLAT,
    TILE,
    DistanceMetric,
    as_metric,
    condensed,
    flat_exactly,
    pairwise,
    refuse_distance,
)
from models.running.progress import Progress, subprogress


def condensed_distances(similarity: npt.NDArray[Any]) -> Float:
    """(n (n - 1) / 2,) distances in SciPy's order: the mean of both halves of the matrix.

    The matrix is read by tiles. Raises UsageError if the halves differ by more than rounding (the
    square root of the type's precision times the largest magnitude).
    """
    n_points = len(similarity)
    strips = [similarity[r : r + TILE] for r in range(0, n_points, TILE)]
    largest = max(float(strip.max()) for strip in strips)
    smallest = min(float(strip.min()) for strip in strips)
    kind = similarity.dtype if similarity.dtype.kind == "f" else np.dtype(np.float64)
    slack = float(np.sqrt(np.finfo(kind).eps)) * max(abs(largest), abs(smallest))
    out = np.empty(n_points * (n_points - 1) // 2)
    for top in range(0, n_points, TILE):
        for west in range(top, n_points, TILE):
            upper = similarity[top : top + TILE, west : west + TILE].astype(np.float64)
            lower = similarity[west : west + TILE, top : top + TILE].astype(np.float64).T
            _require_symmetric(upper, lower, top, west, slack)
            distance = (largest - upper) / 2 + (largest - lower) / 2
            for i in range(len(distance)):
                row = top + i
                begin, end = max(west, row + 1), west + distance.shape[1]
                if begin < end:
                    # The rows above hold n - 1, n - 2, ... distances.
                    at = row * n_points - row * (row + 1) // 2 - row - 1
                    out[at + begin : at + end] = distance[i, begin - west :]
    return np.maximum(out, 0.0, out=out)


def _require_symmetric(upper: Float, lower: Float, top: int, west: int, slack: float) -> None:
    apart = np.abs(upper - lower) > slack
    if apart.any():
        i, j = (int(x) for x in np.argwhere(apart)[0])
        raise UsageError(
            f"Input 'similarity' has the value {upper[i, j]:g} at row {top + i}, column "
            f"{west + j}: the value across the diagonal is {lower[i, j]:g}; the matrix must be "
            "symmetric.",
            code="not-similarities",
            role="similarity",
            row=top + i,
            column=west + j,
        )


FEW_POINTS = 11_000
"""Most points of which distances are stored though the linkage needs none: 484 MB."""

MANY_FEATURES = {"ward": 256, "centroid": 256, "median": 96}
"""Fewest features from which that is faster, by linkage."""

Linkage = Literal["average", "single", "complete", "weighted", "ward", "centroid", "median"]

EUCLIDEAN_ONLY = BY_CENTRE

BY_SIZE = ("average", "ward", "centroid")
"""Linkages in which the sizes of groups, and so the weights of points, count."""


def sizes_of(
    data: Data, n_points: int, linkage: Linkage, constrained: bool, along_graph: bool
) -> tuple[Float | None, tuple[str, ...]]:
    """The weights of the rows where the linkage counts them, and a warning where they do not.

    Raises UsageError as `row_weights`.
    """
    weight = row_weights(data, n_points, zeros=False)
    if weight is None:
        return None, ()
    if linkage not in BY_SIZE:
        return None, unused(f"linkage {linkage!r} does not depend on the sizes of groups")
    if constrained:
        return None, unused("with constraints, groups have the sizes of their rows")
    if along_graph:
        return None, unused("along nearest neighbours, groups have the sizes of their rows")
    return weight, ()


def merges_among_all(
    values: npt.NDArray[Any],
    role: str,
    linkage: Linkage,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    weight: Float | None = None,
) -> tuple[Int, Float]:
    """(n_points - 1, 2) merges in SciPy's numbering, where any two groups may merge; their heights.

    role : what `values` are: 'features', 'distances' or 'similarity'. weight : (n_points,) of the
        points, for the linkages `BY_SIZE`; None: 1 each.

    Raises UsageError for distances that are not defined; heights are not finite where a merge
    overflows.
    """
    if len(values) == 1:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    if follows_tree(linkage, role, metric):
        merges = _along_tree(values, metric, threads, progress)
    elif linkage == "single" and role == "features":
        merges = _along_rows(values, metric, progress)
    elif linkage in BY_CENTRE and keeps_no_distances(linkage, role, *values.shape):
        merges = merged_points(values, linkage, subprogress(progress, 0.05, 0.95), weight)
    else:
        progress(0.05, "measuring distances")
        distances = all_distances(values, role, metric)
        within = subprogress(progress, 0.4, 0.95)
        if linkage == "single":
            row_of = condensed_rows(distances, len(values))
            merges = tree_by_rows(row_of, np.zeros(len(values)), within).linkage()
        else:
            if weight is not None and linkage == "ward":
                _weigh(distances, weight)
            merges = merged(distances, linkage, within, weight)
    return merges[:, :2].astype(np.int64), merges[:, 2]


def _weigh(distances: Float, weight: Float) -> None:
    """Give distances the scale that Ward's linkage has between groups of these weights."""
    begin, n_points = 0, len(weight)
    for point in range(n_points - 1):
        others = weight[point + 1 :]
        share = 2.0 * weight[point] * others / (weight[point] + others)
        distances[begin : begin + others.size] *= np.sqrt(share)
        begin += others.size


def all_distances(values: npt.NDArray[Any], role: str, metric: DistanceMetric) -> Float:
    """(n (n - 1) / 2,) distances in SciPy's order, to be overwritten. Raises UsageError."""
    if role == "features":
        return pairwise(values, metric)
    return condensed(values) if role == "distances" else condensed_distances(values)


def follows_tree(linkage: Linkage, role: str, metric: DistanceMetric) -> bool:
    """Whether the merges are those along the minimum spanning tree, found without all distances."""
    return role == "features" and linkage == "single" and metric not in BY_PAIRS


def _along_tree(
    values: npt.NDArray[Any], metric: DistanceMetric, threads: int, progress: Progress
) -> Float:
    if metric in METRICS and metric != "euclidean":
        points, scale = _scaled(values)
        merges = spanning_tree(points, 0, threads, progress, metric).linkage()
        # Canberra distances are the same at any scale.
        scale = 1.0 if metric == "canberra" else scale
    else:
        points, scale = _scaled(flat_exactly(values, metric))
        merges = spanning_tree(points, 0, threads, progress).linkage()
    with np.errstate(over="ignore"):
        height = merges[:, 2] * scale
        merges[:, 2] = as_metric(height, metric) if metric in FLAT else height
    return merges


def _along_rows(values: npt.NDArray[Any], metric: DistanceMetric, progress: Progress) -> Float:
    """Raises UsageError for a distance that is not defined."""
    from scipy.spatial.distance import cdist

    points = np.ascontiguousarray(values, dtype=np.float64)

    def row_of(point: int) -> Float:
        with np.errstate(all="ignore"):
            row: Float = cdist(points[point : point + 1], points, metric)[0]
        row[point] = 0.0
        if not np.isfinite(row).all():
            _name_undefined(points, metric)
        return row

    return tree_by_rows(row_of, np.zeros(len(points)), progress).linkage()


def _scaled(points: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], float]:
    """Points whose squared distances do not overflow, and the power of two they were divided by."""
    largest = max(float(points.max()), -float(points.min()))
    if largest < np.sqrt(np.finfo(np.float64).max / (8.0 * points.shape[1])):
        return points, 1.0
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    return points / scale, scale


def keeps_no_distances(linkage: Linkage, role: str, n_points: int, n_columns: int) -> bool:
    """Whether distances are computed as needed, without storing all pairs' distances.

    For few points with many features they are stored, since each is then computed once.
    """
    if role != "features":
        return False
    if linkage not in MANY_FEATURES:
        return linkage == "single"
    return n_points > FEW_POINTS or n_columns < MANY_FEATURES[linkage]


def _name_undefined(points: Float, metric: DistanceMetric) -> None:
    """Raises UsageError naming the first two rows whose distance is not a number."""
    from scipy.spatial.distance import cdist

    for block in row_blocks(len(points), len(points), 1 << 22):
        with np.errstate(all="ignore"):
            distances = cdist(points[block], points, metric)
        # The distance of a row to itself is 0, even where the metric is not defined for it.
        distances[np.arange(len(distances)), np.arange(block.start, block.stop)] = 0.0
        odd = np.argwhere(~np.isfinite(distances))
        if odd.size:
            row, column = int(odd[0, 0]), int(odd[0, 1])
            pair = points[[row + block.start, column]]
            value = float(distances[row, column])
            refuse_distance(metric, row + block.start, column, value, pair=pair)


_EQUAL = 1e-6
"""Distances within this of the largest are equal, up to the rounding of float32. Similarities may
have an offset, so they are compared by the rounding of their type."""


_SHARED = 1e-9
"""Heights within this share of each other are one, up to the rounding of sums of distances."""

MANY_SHARED = 0.4
"""Share of merges above 0 with a height of others from which trees of whole numbers, of answers on
scales and of binary columns were seen to change with the order of their rows."""

_FEWEST_MERGES = 10


def tie_warnings(values: npt.NDArray[Any], role: str, height: Float) -> tuple[str, ...]:
    """A warning where the order of the points decides merges: all distances are equal, or, of
    features, all merges have one height; or many merges share their heights with others.

    O(N log N), for given distances or similarities O(N^2).
    """
    return _all_tied(values, role, height) or _heights_shared(height)


def _heights_shared(height: Float) -> tuple[str, ...]:
    """Equal rows, which merge at 0, are one place: their order changes no cluster of places."""
    apart = np.sort(height[height > 0])
    if apart.size < _FEWEST_MERGES:
        return ()
    equal = np.diff(apart) <= _SHARED * apart[1:]
    n_shared = int((np.append(equal, False) | np.append(False, equal)).sum())
    if n_shared < MANY_SHARED * apart.size:
        return ()
    return (
        f"{n_shared} of {apart.size} merges have the height of others: many distances are equal, "
        "as of columns with few values, and the order of the points decides among equals. Another "
        "order may give another tree.",
    )


def _all_tied(values: npt.NDArray[Any], role: str, height: Float) -> tuple[str, ...]:
    n_merges = len(height)
    if n_merges < 2:
        return ()
    equal_within = _EQUAL
    if role == "features":
        low, high = float(height.min()), float(height.max())
    else:
        if role == "similarity" and values.dtype.kind == "f":
            equal_within = min(_EQUAL, 4 * float(np.finfo(values.dtype).eps))
        low, high = np.inf, -np.inf
        for block in row_blocks(*values.shape):
            rows = np.array(values[block], dtype=np.float64)
            # The diagonal is no distance between points.
            own = np.arange(len(rows))
            rows[own, own + block.start] = rows[own, (own + block.start + 1) % len(values)]
            low, high = min(low, float(rows.min())), max(high, float(rows.max()))
            if high - low > equal_within * max(abs(low), abs(high)):
                return ()
    if high - low > equal_within * max(abs(low), abs(high)):
        return ()
    equal = "merges are at one height" if role == "features" else "distances are equal"
    return (
        f"{n_merges} of {n_merges} merges were decided by ties alone: all {equal}, and the order "
        "of the points makes the tree.",
    )


def refuse_overflow(role: str) -> NoReturn:
    """Raises UsageError: heights are not finite."""
    raise UsageError(
        f"The distances in input {role!r} are too large: merging them overflows. Scale the input "
        "down.",
        code="too-large",
        role=role,
    )


def n_inversions(merges: Int, height: Float) -> int:
    """Number of merges that lie lower than one of the two groups they join."""
    below = np.concatenate([np.zeros(len(height) + 1), height])
    return int((height < below[merges].max(axis=1, initial=0.0)).sum())
