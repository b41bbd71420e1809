"""The number of clusters: candidates, criteria with their curves, and the choice.

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
from pydantic import Field

from models.arrays import Float, Int, Matrix
from models.clusters.kmeans import TINY, squared_distances
from models.errors import UsageError
from models.inputs.checks import Points, count_distinct, refuse_clusters
from models.inputs.data import Data
from models.parameters import Params
from models.running.progress import Progress

MOST_CLUSTERS = 100_000


class Count(Params):
    """Parameters of a method whose number of clusters is given or chosen.

    A method's own field `choose` lists the criteria that it takes.
    """

    n_clusters: int = Field(
        8,
        ge=1,
        le=MOST_CLUSTERS,
        description="Number of clusters. Ignored where 'choose' says how to choose it.",
    )
    choose: str | None = None
    min_clusters: int = Field(
        2, ge=1, le=MOST_CLUSTERS, description="The fewest clusters that 'choose' tries."
    )
    max_clusters: int = Field(
        20, ge=1, le=MOST_CLUSTERS, description="The most clusters that 'choose' tries."
    )

    @property
    def fewest(self) -> int:
        """The smallest possible number of clusters; there must be at least as many points."""
        return self.n_clusters if self.choose is None else self.min_clusters

    @property
    def most(self) -> int:
        """The largest possible number of clusters."""
        return self.n_clusters if self.choose is None else self.max_clusters

    @property
    def count_parameter(self) -> str:
        """The name of the parameter whose value is `fewest`."""
        return "n_clusters" if self.choose is None else "min_clusters"


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of clusters and the criterion that chose it; `given` for one that was not chosen.

    value, error : the criterion at each candidate and its standard error, None if it has none.
    warnings : what a user should know about the choice.
    """

    criterion: str
    n_clusters: int
    candidates: tuple[int, ...]
    value: tuple[float, ...]
    error: tuple[float, ...] | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def given(cls, n_clusters: int) -> Choice:
        """A number of clusters that was a parameter."""
        return cls("", n_clusters, (), ())

    @property
    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The criterion and its standard error by name, each as points (n_clusters, value)."""
        if not self.candidates:
            return {}
        curves = {self.criterion: self._points(self.value)}
        if self.error is not None:
            curves[f"{self.criterion}_standard_error"] = self._points(self.error)
        return curves

    @property
    def metrics(self) -> dict[str, float]:
        """The chosen number of clusters and the value of each curve at it."""
        if not self.candidates:
            return {}
        at = self.candidates.index(self.n_clusters)
        values = {name: curve[at][1] for name, curve in self.curves.items()}
        return {"n_clusters": float(self.n_clusters), **values}

    def _points(self, values: Sequence[float]) -> list[tuple[int, float]]:
        return [(k, float(v)) for k, v in zip(self.candidates, values, strict=True)]


def check_count(data: Data, params: Count, unnamed: str = "cluster") -> None:
    """Raises UsageError for an impossible choice, or if the number of names is not that of
    clusters.

    unnamed : what one name refers to, for the message.
    """
    if params.choose is None:
        data.leaf_names(params.n_clusters, unnamed)
        return
    if params.min_clusters > params.max_clusters:
        raise UsageError(
            f"Parameter 'min_clusters' is {params.min_clusters} and 'max_clusters' "
            f"{params.max_clusters}; it must not be larger.",
            code="wrong-parameter",
            parameter="min_clusters",
        )
    if params.choose == "silhouette" and params.min_clusters < 2:
        raise UsageError(
            "Parameter 'min_clusters' is 1, but a silhouette compares a cluster with another: it "
            "is defined from 2 clusters on.",
            code="wrong-parameter",
            parameter="min_clusters",
        )
    if "names" in data:
        raise UsageError(
            f"Input 'names' holds one name for each {unnamed}, but their number is yet to be "
            "chosen; leave out 'names' or 'choose'.",
            code="wrong-input",
            role="names",
        )


def candidates(features: Points, params: Count) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of clusters that are tried, and a warning where `max_clusters` is not reached.

    All are below the number of distinct points: with single points as clusters no criterion is
    finite.
    """
    n_distinct = count_distinct(features, params.max_clusters + 1)
    most = min(params.max_clusters, n_distinct - 1)
    if most < params.min_clusters:
        refuse_clusters(
            params.min_clusters,
            n_distinct,
            "distinct point(s), and the choice ends before that number",
            "min_clusters",
        )
    notes: tuple[str, ...] = ()
    if most < params.max_clusters:
        notes = (
            f"There are {n_distinct} distinct points, so the number of clusters was chosen up to "
            f"{most}, not 'max_clusters' = {params.max_clusters}.",
        )
    return tuple(range(params.min_clusters, most + 1)), notes


def lowest(
    criterion: str, numbers: Sequence[int], values: Sequence[float], notes: Sequence[str] = ()
) -> Choice:
    """The number of clusters with the lowest value, the smallest of several."""
    return _choice(criterion, numbers, values, None, notes, int(np.argmin(values)))


def highest(
    criterion: str,
    numbers: Sequence[int],
    values: Sequence[float],
    errors: Sequence[float] | None = None,
    notes: Sequence[str] = (),
) -> Choice:
    """The number of clusters with the highest value, the smallest of several."""
    return _choice(criterion, numbers, values, errors, notes, int(np.argmax(values)))


def _choice(
    criterion: str,
    numbers: Sequence[int],
    values: Sequence[float],
    errors: Sequence[float] | None,
    notes: Sequence[str],
    at: int,
) -> Choice:
    """`numbers[at]`, with a warning if that is the last of several."""
    warnings = tuple(notes)
    if len(numbers) > 1 and at == len(numbers) - 1:
        warnings += (
            f"The best number of clusters by {criterion} is the largest that was tried, "
            f"{numbers[at]}; more may be better.",
        )
    error = None if errors is None else tuple(errors)
    return Choice(criterion, numbers[at], tuple(numbers), tuple(values), error, warnings)


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
