"""Distances between pairs of rows, and neighbours with theirs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int, Single, row_blocks
from models.inputs.checks import scattered
from models.inputs.rows import Rows
from models.numerics.distances import FLAT, DistanceMetric, as_metric, refuse_distance


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of each of U points, nearest first.

    index : (U, k) int32, never the point itself.
    distance : (U, k) by the metric, measured in float64 in any case; kept in float32 for rows that
        are read.
    recall : share of a sample's true neighbours that the index found; None if all pairs were
        compared.
    """

    index: npt.NDArray[np.int32]
    distance: Float | Single
    recall: float | None


def others(index: Int, first_row: int) -> Int:
    """Neighbours without the row itself, or without the last where it is not among them."""
    own = np.arange(first_row, first_row + len(index))[:, None]
    order = np.argsort(index == own, axis=1, kind="stable")
    return np.take_along_axis(index, order[:, :-1], axis=1)


def nearest_of_all(rows: Array, points: Array, n_nearest: int, metric: DistanceMetric) -> Int:
    """(M, n_nearest) the points nearest to each row among all, equally near ones by number."""
    from scipy.spatial.distance import cdist

    points = points.astype(np.float64, copy=False)
    index = np.empty((len(rows), n_nearest), dtype=np.int64)
    for block in row_blocks(len(rows), len(points), 1 << 22):
        far = cdist(rows[block].astype(np.float64, copy=False), points, metric)
        index[block] = np.argsort(far, axis=1, kind="stable")[:, :n_nearest]
    return index


def between(rows: Array | Rows, first: Array, second: Array, metric: DistanceMetric) -> Float:
    """(n,) distance by `metric` between pairs of rows; for a metric in `FLAT`, of `flat` rows.

    Raises UsageError naming the rows for which it is not defined.
    """
    out = np.empty(first.size)
    for block in row_blocks(first.size, rows.shape[1], 1 << 20):
        a, b = (scattered(rows, ends[block]).astype(np.float64) for ends in (first, second))
        out[block] = lengths(a, b, metric)
    odd = np.flatnonzero(~np.isfinite(out))
    if odd.size:
        row, column = sorted((int(first[odd[0]]), int(second[odd[0]])))
        pair = scattered(rows, np.array([row, column]))
        refuse_distance(metric, row, column, float(out[odd[0]]), "distinct rows number", pair=pair)
    return out


def lengths(a: Float, b: Float, metric: DistanceMetric) -> Float:
    """(n,) distance by `metric` between the rows of two matrices, of `flat` rows for a metric in
    `FLAT`; not finite where it is not defined."""
    apart = np.abs(a - b)
    with np.errstate(all="ignore"):
        if metric in FLAT:
            return as_metric(np.sqrt(np.einsum("nd,nd->n", apart, apart)), metric)
        if metric == "cityblock":
            total: Float = apart.sum(axis=1)
        elif metric == "chebyshev":
            total = apart.max(axis=1)
        elif metric == "hamming":
            total = (apart > 0).mean(axis=1)
        elif metric == "jaccard":
            present = ((a != 0) | (b != 0)).sum(axis=1)
            total = ((a != 0) != (b != 0)).sum(axis=1) / np.maximum(present, 1)
        elif metric == "canberra":
            weight = np.abs(a) + np.abs(b)
            total = np.divide(apart, weight, out=np.zeros_like(apart), where=weight > 0).sum(axis=1)
        else:
            total = apart.sum(axis=1) / np.abs(a + b).sum(axis=1)
    return total
