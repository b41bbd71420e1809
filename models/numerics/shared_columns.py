"""Distances between rows with empty values, NaN, over the columns in which both have a value.

By the rule of `dist` in R, a sum over columns is scaled up by D / p, where p of the D columns have
a value in both rows: of squares for 'euclidean' and 'sqeuclidean', of differences for 'cityblock',
of ratios for 'canberra'. 'hamming', 'jaccard', 'braycurtis', 'cosine' and 'correlation' are ratios
of two sums, or means, over these columns, and 'chebyshev' is the largest difference in one of them:
nothing is scaled. Where no value is empty each is what SciPy's pdist defines; so a column in which
both rows are 0 counts for 'canberra' as one without a difference, which R leaves out.

Cost: O(M N D) time for M rows and N points, some 30 bytes for each pair that is compared at a time.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Float, row_blocks
from models.errors import UsageError
from models.numerics.distances import DistanceMetric, refuse_distance

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
            metric, first_row + row, point, float(out[row, point]), f"{what.lower()} number"
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
