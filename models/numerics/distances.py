"""Distances between points: condensed as SciPy's pdist orders them, and metrics that are Euclidean.

Condensed, the distance between rows i < j of n is at position i n - i (i + 1) / 2 + j - i - 1.
Metrics in `FLAT` rise with the Euclidean distance between rows that `flat` prepares, so that an
index for Euclidean neighbours serves them too.

Rows with empty values, NaN, are compared over the columns in which both have a value (`between`).
By the rule of `dist` in R, a sum over columns is scaled up by D / p, where p of the D columns have
a value in both rows: of squares for 'euclidean' and 'sqeuclidean', of differences for 'cityblock',
of ratios for 'canberra'. 'hamming', 'jaccard', 'braycurtis', 'cosine' and 'correlation' are ratios
of two sums, or means, over these columns, and 'chebyshev' is the largest difference in one of them:
nothing is scaled. Where no value is empty each is what SciPy's pdist defines; so a column in which
both rows are 0 counts for 'canberra' as one without a difference, which R leaves out.

Cost: O(M N D) time for M rows and N points, some 30 bytes for each pair that is compared at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix, row_blocks
from models.errors import UsageError
from models.inputs.rows import ArrayRows, Rows, widened

DistanceMetric = Literal[
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
    "hamming",
    "jaccard",
]

FLAT: tuple[DistanceMetric, ...] = ("euclidean", "sqeuclidean", "cosine", "correlation")
"""Metrics that rise with the Euclidean distance between rows that `flat` prepares."""

COUNTED: tuple[DistanceMetric, ...] = ("hamming", "jaccard")
"""Metrics that count the columns in which two rows differ, so that many pairs are equally far;
'jaccard' those in which one of them is 0, among those in which not both are."""

BY_PAIRS: tuple[DistanceMetric, ...] = ("braycurtis", *COUNTED)
"""Metrics that no search tree supports."""

LARGE = 1e100
"""A distance that is not a number may be so for values beyond it."""

TILE = 1024
"""Rows and columns of a square matrix that are checked at a time."""


def pairwise(features: npt.NDArray[Any], metric: DistanceMetric) -> Float:
    """Condensed distances. Raises UsageError naming the points if one is not a number."""
    from scipy.spatial.distance import pdist

    with np.errstate(all="ignore"):
        distances: Float = pdist(features.astype(np.float64, copy=False), metric)
        total = distances.sum()
    if np.isfinite(total):
        return distances
    odd = np.flatnonzero(~np.isfinite(distances))
    if odd.size:
        row, column = _pair(int(odd[0]), len(features))
        pair = features[[row, column]]
        refuse_distance(metric, row, column, float(distances[odd[0]]), pair=pair)
    return distances


DOUBTFUL = 1e-9
"""Squared distances below this share of the squared lengths are rounding, to their sixth digit."""


MANY = 16
"""With more doubtful distances a row, equal rows are measured once."""


def euclidean(rows: Matrix) -> Array:
    """(m, m) distances between all rows: by products, and by differences where dense rows lie so
    near each other for their lengths that products are rounding. O(m^2 D)."""
    from scipy.spatial.distance import cdist
    from sklearn.metrics import pairwise_distances

    if isinstance(rows, sp.csr_array):
        apart: Array = pairwise_distances(rows)
        return apart
    apart = pairwise_distances(rows)
    wide = rows.astype(np.float64)
    length = np.einsum("nd,nd->n", wide, wide)
    most = np.sqrt(2 * DOUBTFUL * length.max(initial=0.0))
    if np.count_nonzero(apart < most) <= len(rows):
        return apart
    near = apart.astype(np.float64) ** 2 < DOUBTFUL * (length[:, None] + length)
    np.fill_diagonal(near, False)
    if near.sum() > MANY * len(rows):
        unique, place = np.unique(rows, axis=0, return_inverse=True)
        if len(unique) < len(rows):
            return euclidean(unique)[np.ix_(place, place)]
    for row in np.flatnonzero(near.any(axis=1)):
        others = np.flatnonzero(near[row])
        apart[row, others] = cdist(wide[row : row + 1], wide[others])[0]
    return apart


def presence_warnings(features: Array | Rows, metric: DistanceMetric) -> tuple[str, ...]:
    """A warning where `metric` takes values other than 0 and 1 for present. O(N D)."""
    if metric != "jaccard":
        return ()
    rows = features if isinstance(features, Rows) else ArrayRows(features)
    for block in row_blocks(rows.shape[0], rows.shape[1], 1 << 22):
        part = rows.values(block.start, block.stop)
        if ((part != 0) & (part != 1)).any():
            return (
                "The metric 'jaccard' takes each value other than 0 as present, whatever it is: "
                "input 'features' has values other than 0 and 1. 'hamming' compares values.",
            )
    return ()


def refuse_distance(
    metric: DistanceMetric,
    row: int,
    column: int,
    value: float,
    what: str = "rows",
    *,
    pair: Array | None = None,
) -> NoReturn:
    """UsageError: the distance between two rows is not a number, or too large for one.

    pair : (2, D) the rows, whose largest value is named with its column if it is why.
    """
    where = {}
    why = "and values must not be so large that it overflows"
    if pair is not None:
        size = np.abs(np.nan_to_num(pair.astype(np.float64), nan=0.0)).max(axis=0)
        at = int(size.argmax())
        if size[at] > LARGE:
            why += f": column {at} (counted from 0) has {size[at]:.1e}; scale it down"
            where["column"] = at
    raise UsageError(
        f"The {metric} distance between {what} {row} and {column} of input 'features' is {value}: "
        "it is not defined for rows of zeros (cosine, braycurtis) or of one value (correlation), "
        f"{why}.",
        code="no-distance",
        role="features",
        row=row,
        **where,
    )


def _pair(position: int, n_points: int) -> tuple[int, int]:
    """Row and column of a position in a condensed matrix."""
    first = _row_starts(n_points)
    row = int(np.searchsorted(first, position, side="right")) - 1
    return row, int(position - first[row]) + row + 1


def condensed(distances: npt.NDArray[Any]) -> Float:
    """Condensed form of a square matrix, by tiles; the mean of both halves.

    Raises UsageError for a negative value, a diagonal that is not zero or halves that differ by
    more than rounding (the square root of the type's precision times the largest distance).
    """
    n_points = len(distances)
    largest = max(float(distances[r : r + TILE].max()) for r in range(0, n_points, TILE))
    kind = distances.dtype if distances.dtype.kind == "f" else np.dtype(np.float64)
    slack = float(np.sqrt(np.finfo(kind).eps)) * max(largest, 0.0)
    diagonal = np.abs(np.diagonal(distances).astype(np.float64))
    if (diagonal > slack).any():
        row = int(np.argmax(diagonal > slack))
        _refuse_distance(row, row, float(distances[row, row]), "the diagonal must be zero")
    first = _row_starts(n_points)
    out = np.empty(n_points * (n_points - 1) // 2)
    for top in range(0, n_points, TILE):
        for west in range(top, n_points, TILE):
            upper = distances[top : top + TILE, west : west + TILE].astype(np.float64)
            lower = distances[west : west + TILE, top : top + TILE].astype(np.float64).T
            _check_tile(upper, lower, top, west, slack)
            mean = upper / 2 + lower / 2
            for i in range(len(mean)):
                row = top + i
                begin = max(west, row + 1)
                end = west + mean.shape[1]
                if begin < end:
                    at = first[row] - row - 1
                    out[at + begin : at + end] = mean[i, begin - west :]
    return out


def _check_tile(upper: Float, lower: Float, top: int, west: int, slack: float) -> None:
    for tile, mirrored in ((upper, False), (lower, True)):
        off_diagonal = tile < 0
        if top == west:
            np.fill_diagonal(off_diagonal, False)
        if off_diagonal.any():
            i, j = (int(x) for x in np.argwhere(off_diagonal)[0])
            row, column = (west + j, top + i) if mirrored else (top + i, west + j)
            _refuse_distance(row, column, float(tile[i, j]), "distances must not be negative")
    apart = np.abs(upper - lower) > slack
    if apart.any():
        i, j = (int(x) for x in np.argwhere(apart)[0])
        _refuse_distance(
            top + i,
            west + j,
            float(upper[i, j]),
            f"the value across the diagonal is {lower[i, j]:g}; the matrix must be symmetric",
        )


def _refuse_distance(row: int, column: int, value: float, why: str) -> None:
    raise UsageError(
        f"Input 'distances' has the value {value:g} at row {row}, column {column}: {why}.",
        code="not-distances",
        role="distances",
        row=row,
        column=column,
    )


def _row_starts(n_points: int) -> npt.NDArray[np.int64]:
    """(n_points,) position of the first distance of each row."""
    return np.concatenate(([0], np.cumsum(np.arange(n_points - 1, 0, -1, dtype=np.int64))))


class FlatRows(Rows):
    """The rows of `flat`, read from others; float32 where those are float32 or have at most 16 bits
    a value, else float64."""

    def __init__(self, rows: Rows, metric: DistanceMetric) -> None:
        single = rows.dtype == np.float32 or rows.dtype.itemsize <= 2
        self.shape, self.far = rows.shape, rows.far
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._rows, self._metric = rows, metric

    def read(self, start: int, stop: int) -> Array:
        return self._flat(self._rows.values(start, stop), range(start, stop))

    def take(self, rows: Int) -> Array:
        taken = self._rows.take(rows)
        return self._flat(widened(taken) if self._rows.bfloat16 else taken, rows)

    def _flat(self, values: Array, rows: Sequence[int] | Int) -> Array:
        return flat(values.astype(self.dtype, copy=False), self._metric, rows)


def flat(
    points: Array, metric: DistanceMetric, numbers: Sequence[int] | Int | None = None
) -> Array:
    """Rows whose Euclidean distances give `metric` by `as_metric`; copied only if needed.

    'cosine': unit rows. 'correlation': unit rows about their own mean. Keeps float32.
    numbers : the rows' numbers, for errors; None: from 0 on.
    Raises UsageError naming the row for which the metric is not defined.
    """
    kind = np.float32 if points.dtype == np.float32 else np.float64
    if metric in ("euclidean", "sqeuclidean"):
        return points if points.dtype == kind else points.astype(kind)
    out = np.empty(points.shape, dtype=kind)
    for block in row_blocks(len(points), points.shape[1], 1 << 20):
        rows = points[block].astype(np.float64)
        if metric == "correlation":
            # The mean is rounded, so constant rows would not become exactly zero.
            steady = rows.max(axis=1) == rows.min(axis=1)
            rows -= rows.mean(axis=1, keepdims=True)
            rows[steady] = 0.0
        top = np.abs(rows).max(axis=1, keepdims=True)
        odd = np.flatnonzero(top[:, 0] == 0)
        if odd.size:
            row = block.start + int(odd[0])
            row = row if numbers is None else int(numbers[row])
            what = "is all zeros" if metric == "cosine" else "has one value throughout"
            raise UsageError(
                f"Row {row} of input 'features' {what}; the {metric} distance to it is not "
                "defined.",
                code="no-distance",
                role="features",
                row=row,
            )
        rows /= top
        rows /= np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
        out[block] = rows
    return out


def flat_exactly(points: Array, metric: DistanceMetric) -> Array:
    """As `flat`, with unit rows in double precision."""
    exact = points if metric in ("euclidean", "sqeuclidean") else points.astype(np.float64)
    return flat(exact, metric)


def as_metric(euclidean: Float, metric: DistanceMetric) -> Float:
    """Distances by `metric` from those between rows of `flat`."""
    if metric == "euclidean":
        return euclidean
    squared = euclidean * euclidean
    return squared if metric == "sqeuclidean" else squared / 2


AT_ONCE = 1 << 20
"""Pairs of rows that are compared at a time."""

_SPREAD = 1e-24
"""Rows whose variance over the shared columns is this share of their squares are of one value."""


def between(
    rows: Array, points: Array, metric: DistanceMetric, first_row: int = 0, what: str = "Rows"
) -> Float:
    """(M, N) distances of rows to points, each (., D) with NaN for an empty value.

    first_row, what : the number of the first row and what the pair is, for messages.

    Raises UsageError `no-distance` naming the two rows where no column has a value in both, and
    where the distance is not defined or overflows.
    """
    out = np.empty((len(rows), len(points)))
    whole = not (_gaps(rows) or _gaps(points))
    with np.errstate(all="ignore"):
        for block in row_blocks(len(rows), len(points), AT_ONCE):
            if whole:
                from scipy.spatial.distance import cdist

                some = rows[block].astype(np.float64, copy=False)
                out[block] = cdist(some, points.astype(np.float64, copy=False), metric)
            else:
                out[block] = _shared(rows[block], points, metric, first_row + block.start, what)
    odd = np.argwhere(~np.isfinite(out))
    if odd.size:
        row, point = int(odd[0, 0]), int(odd[0, 1])
        refuse_distance(
            metric,
            first_row + row,
            point,
            float(out[row, point]),
            f"{what.lower()} number",
            pair=np.stack([rows[row], points[point]]),
        )
    return out


def _gaps(rows: Array) -> bool:
    return rows.dtype.kind == "f" and bool(np.isnan(rows).any())


def _shared(rows: Array, points: Array, metric: DistanceMetric, first_row: int, what: str) -> Float:
    held = ~np.isnan(rows.astype(np.float64)).T, ~np.isnan(points.astype(np.float64)).T
    values = tuple(
        np.where(has, each.T.astype(np.float64), 0.0)
        for has, each in zip(held, (rows, points), strict=True)
    )
    shared: Float = held[0].astype(np.float64).T @ held[1].astype(np.float64)
    bare = np.argwhere(shared == 0)
    if bare.size:
        row, point = first_row + int(bare[0, 0]), int(bare[0, 1])
        raise UsageError(
            f"{what} {row} and {point} of input 'features' (counted from 0) have no column in "
            "which both have a value, so no distance. Leave one out, or fill empty values by their "
            "mean or median.",
            code="no-distance",
            role="features",
            row=row,
        )
    if metric in ("cosine", "correlation"):
        return _by_angle(values, held, shared, centred=metric == "correlation")
    total, weight = np.zeros(shared.shape), np.zeros(shared.shape)
    for a, b, has_a, has_b in zip(values[0], values[1], *held, strict=True):
        both = has_a[:, None] & has_b
        here, there = a[:, None], b[None, :]
        if metric == "jaccard":
            one, other = here != 0, there != 0
            weight += (one | other) & both
            total += (one != other) & both
            continue
        apart = np.where(both, np.abs(here - there), 0.0)
        match metric:
            case "euclidean" | "sqeuclidean":
                total += apart * apart
            case "cityblock":
                total += apart
            case "chebyshev":
                np.maximum(total, apart, out=total)
            case "hamming":
                total += apart > 0
            case "canberra":
                size = np.abs(here) + np.abs(there)
                total += np.divide(apart, size, out=np.zeros_like(apart), where=size > 0)
            case _:
                total += apart
                weight += np.where(both, np.abs(here + there), 0.0)
    match metric:
        case "jaccard":
            return total / np.maximum(weight, 1.0)
        case "braycurtis":
            return total / weight
        case "hamming":
            return total / shared
        case "chebyshev":
            return total
    total *= len(values[0]) / shared
    return np.sqrt(total) if metric == "euclidean" else total


def _by_angle(
    values: tuple[Float, ...], held: tuple[Array, ...], shared: Float, *, centred: bool
) -> Float:
    """1 - the cosine over shared columns, of rows about their means there if `centred`."""
    mean_a = mean_b = np.zeros(shared.shape)
    if centred:
        mean_a = values[0].T @ held[1].astype(np.float64) / shared
        mean_b = held[0].astype(np.float64).T @ values[1] / shared
    dot, square_a, square_b = (np.zeros(shared.shape) for _ in range(3))
    for a, b, has_a, has_b in zip(values[0], values[1], *held, strict=True):
        both = has_a[:, None] & has_b
        here = np.where(both, a[:, None] - mean_a, 0.0)
        there = np.where(both, b[None, :] - mean_b, 0.0)
        dot += here * there
        square_a += here * here
        square_b += there * there
    if centred:
        square_a[square_a <= _SPREAD * shared * mean_a**2] = 0.0
        square_b[square_b <= _SPREAD * shared * mean_b**2] = 0.0
    apart: Float = np.clip(1.0 - dot / (np.sqrt(square_a) * np.sqrt(square_b)), 0.0, 2.0)
    return apart
