"""Criteria for choosing the number of clusters: the mean silhouette and the gap statistic.

The silhouette of a point is (b - a) / max(a, b), a its mean Euclidean distance to the other points
of its cluster, b the lowest of its mean distances to the points of another cluster; 0 for a point
alone in its cluster. Its mean is exact for few points and sampled for many. Source: Rousseeuw,
"Silhouettes" (1987).

The gap statistic compares the within-cluster dispersion with that of points without clusters.
Source: Tibshirani, Walther and Hastie, "Estimating the number of clusters in a data set via the
gap statistic" (2001), section 3 with reference (b): uniform over a box along the principal
components, and the rule of section 4, step 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix
from models.clusters.choosing import Choice, highest
from models.clusters.kmeans import TINY, squared_distances
from models.running.progress import Progress

Dispersion = Callable[[npt.NDArray[np.floating], int], float]
"""The inertia of a partition of these points into this many clusters."""

EXACT_UP_TO = 10_000
"""Up to this many points all silhouettes are measured; beyond it, only for `SAMPLE` points."""

SAMPLE = 2_000

BLOCK = 1 << 22
"""Values of a block of distances."""


@dataclass(frozen=True, slots=True)
class Silhouette:
    """mean : the mean over all points.

    error : its standard error, 0 if every point was measured.
    """

    mean: float
    error: float


def silhouettes(
    features: Matrix, partitions: Sequence[Int], rng: np.random.Generator, progress: Progress
) -> list[Silhouette]:
    """The mean silhouette of each partition of the same points.

    partitions : (n_points,) clusters from 0 on; at least two of them must have points.

    Each silhouette in a sample is exact too: it uses the distances to all points, which are
    computed once for all partitions. O(S N (D + number of partitions)) for S points measured.
    """
    n_points = features.shape[0]
    measured = np.arange(n_points)
    if n_points > EXACT_UP_TO:
        measured = np.sort(rng.choice(n_points, SAMPLE, replace=False))
    sizes = [np.bincount(cluster).astype(np.float64) for cluster in partitions]
    values = np.empty((len(partitions), len(measured)))
    step = _step(features.shape[1], sizes)
    for start in range(0, len(measured), step):
        progress(start / len(measured), "measuring silhouettes")
        rows = measured[start : start + step]
        sums = _sums(features, rows, partitions, sizes)
        for number, (cluster, size) in enumerate(zip(partitions, sizes, strict=True)):
            values[number, start : start + step] = _silhouettes(sums[number], cluster[rows], size)
    left_out = 1.0 - len(measured) / n_points
    error = values.std(axis=1, ddof=1) * np.sqrt(left_out / len(measured))
    means = values.mean(axis=1)
    return [Silhouette(float(m), float(e)) for m, e in zip(means, error, strict=True)]


def by_silhouette(
    features: Matrix,
    numbers: Sequence[int],
    partitions: Sequence[Int],
    rng: np.random.Generator,
    progress: Progress,
    notes: Sequence[str] = (),
) -> Choice:
    """The number of clusters with the highest mean silhouette.

    numbers, partitions : the candidates, and the partition of the points for each.
    """
    measured = silhouettes(features, partitions, rng, progress)
    means, errors = [each.mean for each in measured], [each.error for each in measured]
    return highest("silhouette", numbers, means, errors, notes)


def _step(n_features: int, sizes: Sequence[Float]) -> int:
    """The number of points measured at a time, so that their sums and rows stay small."""
    widest = max(n_features, sum(map(len, sizes)))
    return int(np.clip(BLOCK // widest, 8, 256))


def _sums(
    features: Matrix, rows: Int, partitions: Sequence[Int], sizes: Sequence[Float]
) -> list[Float]:
    """(n_clusters, len(rows)) sums of distances from `rows` to the clusters, for each partition."""
    measured = features[rows]
    centers = measured.toarray() if isinstance(measured, sp.csr_array) else measured
    sums = [np.zeros((len(size), len(rows))) for size in sizes]
    step = max(1, BLOCK // len(rows))
    for start in range(0, features.shape[0], step):
        squared = squared_distances(features[start : start + step], centers.astype(np.float64))
        distance = np.sqrt(squared, out=squared)
        n_rows = len(distance)
        for total, cluster in zip(sums, partitions, strict=True):
            member = (np.ones(n_rows), cluster[start : start + step], np.arange(n_rows + 1))
            total += sp.csr_array(member, shape=(n_rows, len(total))).T @ distance
    return sums


def _silhouettes(sums: Float, own: Int, size: Float) -> Float:
    """(n,) silhouettes of points in the clusters `own`; 0 where no other cluster has points."""
    columns = np.arange(len(own))
    inside = sums[own, columns] / np.maximum(size[own] - 1.0, 1.0)
    mean = sums / np.maximum(size, 1.0)[:, None]
    mean[size == 0] = np.inf
    mean[own, columns] = np.inf
    outside = mean.min(axis=0)
    widest = np.maximum(inside, outside)
    measured = (widest > 0) & np.isfinite(outside) & (size[own] > 1)
    value = np.zeros(len(own))
    np.divide(outside - inside, widest, out=value, where=measured)
    return value


class GapReference:
    """Draws points without clusters from the bounding box of the given points.

    features : (n_points, n_features) dense floats.

    Points are drawn in coordinates along the principal components, which keep the distances.
    O(N D min(N, D)).
    """

    def __init__(self, features: npt.NDArray[np.floating]) -> None:
        centered = features.astype(np.float64)
        centered -= centered.mean(axis=0)
        triangle = np.linalg.qr(centered, mode="r")
        components = np.linalg.svd(triangle, full_matrices=False)[2]
        scores = centered @ components.T
        low, high = scores.min(axis=0), scores.max(axis=0)
        wide = high - low > 1e-12 * float((high - low).max())
        self._low, self._high = low[wide], high[wide]
        self._n_points, self._dtype = len(features), features.dtype

    def draw(self, rng: np.random.Generator) -> npt.NDArray[np.floating]:
        """(n_points, n_components) points in the features' precision."""
        shape = (self._n_points, len(self._low))
        return rng.uniform(self._low, self._high, shape).astype(self._dtype, copy=False)


def by_gap(
    features: npt.NDArray[np.floating],
    numbers: Sequence[int],
    inertias: Sequence[float],
    dispersion: Dispersion,
    n_references: int,
    rng: np.random.Generator,
    progress: Progress,
    notes: Sequence[str] = (),
) -> Choice:
    """The fewest clusters whose gap is at least the next gap minus its standard error.

    numbers, inertias : the candidates in ascending order, and the dispersion of `features` in each.
    dispersion : the same procedure, for reference points. It runs for each number on each of
        `n_references` draws.
    """
    reference = GapReference(features)
    logs = np.empty((n_references, len(numbers)))
    for draw in range(n_references):
        points = reference.draw(rng)
        for column, number in enumerate(numbers):
            done = (draw + column / len(numbers)) / n_references
            progress(done, "drawing references", f"{draw + 1} of {n_references}")
            logs[draw, column] = _log(dispersion(points, number))
    gap = logs.mean(axis=0) - np.array([_log(inertia) for inertia in inertias])
    error = logs.std(axis=0) * np.sqrt(1.0 + 1.0 / n_references)
    at, settled = first_within(gap, error)
    warnings = tuple(notes)
    if not settled:
        warnings += (
            "The gap statistic rises up to the largest number of clusters that was tried, "
            f"{numbers[at]}; more may be better.",
        )
    return Choice("gap", numbers[at], tuple(numbers), tuple(gap), tuple(error), warnings)


def _log(inertia: float) -> float:
    return math.log(max(inertia, TINY))


def first_within(gap: Float, error: Float) -> tuple[int, bool]:
    """The first position whose gap is at least the next one minus its error, and True.

    If there is none the last, and False.
    """
    within = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return (int(within[0]), True) if within.size else (len(gap) - 1, False)
