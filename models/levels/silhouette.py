"""The curve of the mean silhouette over a tree's cuts, from the features, and its p-values.

`p_values` holds the curve against chance and asks for valleys between clusters; the larger p-value
counts.

`of_valleys` tests whether points are sparser between the clusters of a cut than within them.
Silhouettes are also high where connected points are merely cut up: the arcs of a circle, the ends
of long tails. `p_values_by_chance` does not see that, since its reference sets have neither hollows
nor tails. So a level needs valleys, too. Each cluster and its nearest one (by their means) are
projected onto the line through both means: the points near the middle are counted, and those near
either mean, of which the fewer count. If the density has one peak on that line, there are no fewer
in the middle, in expectation. The counts of all pairs are added up; the p-value is that of a
binomial for a middle at least `DEEPEST` times as dense, since clusters end where points happen to
be rare, times the number of k of a curve.

`p_values_by_chance` tells how strong a tree's silhouettes are against silhouettes of points without
structure. Reference sets are uniform in the box around the points, along their principal axes, as
for the gap statistic. Each is cut into k clusters by Ward's linkage, improved by `_MOVES` rounds of
k-means, and the better silhouette of both counts. The p-value is that of Student's t for one more
value beside the references' values, times the number of k of a curve.

Source: Tibshirani, Walther, Hastie, "Estimating the number of clusters in a data set via the gap
statistic" (2001), section 3, for the references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.inputs.frames import Frame
from models.inputs.rows import Rows
from models.numerics.agglomeration import merged
from models.numerics.distances import euclidean
from models.tree.cut import most_clusters, nested_cuts
from models.tree.tree import Tree

if TYPE_CHECKING:
    from models.arrays import Matrix


SAMPLE = 1000
"""Number of points that are measured: with more points the curve is an estimate."""

KS = (*range(2, 11), 12, 15, 20, 25, 30, 40, 50)


def curve(tree: Tree, features: Matrix | Rows) -> list[tuple[int, float]]:
    """(k, mean silhouette) of the cuts into `KS` clusters (Rousseeuw 1987), by Euclidean distance
    of at most `SAMPLE` evenly spaced points; numbers that no cut gives are left out. Noise counts
    as one more cluster.

    Distances are measured within the sample: O(SAMPLE^2 (D + len(KS))).
    """
    n_most = most_clusters(tree)
    if tree.n_points < 3 or n_most < 3:
        return []
    sample, apart = sampled_distances(tree.n_points, features, SAMPLE)
    cuts = nested_cuts(tree, min(KS[-1], n_most - 1))
    finest = cuts.part_of_point[sample]
    return [
        (k, mean_silhouette(apart, cuts.coarser[k][finest]))
        for k in KS
        if k in cuts.coarser and k < len(sample)
    ]


def sampled_distances(
    n_points: int, features: Matrix | Rows, most: int
) -> tuple[Int, npt.NDArray[Any]]:
    """At most `most` evenly spaced rows, and the Euclidean distances between them, in the unit of
    their frame."""
    sample = np.unique(np.linspace(0, n_points - 1, min(most, n_points)).astype(np.int64))
    points = features.take(sample) if isinstance(features, Rows) else features[sample]
    return sample, euclidean(Frame.of(points).rows(points))


def mean_silhouette(apart: npt.NDArray[Any], cluster: Int) -> float:
    """The mean over m points of their silhouettes; that of a point alone in its cluster is 0.

    apart : (m, m) distances. cluster : (m,).
    """
    names, cluster = np.unique(cluster, return_inverse=True)
    if len(names) < 2:
        return 0.0
    size = np.bincount(cluster)
    member = np.zeros((len(cluster), len(names)))
    member[np.arange(len(cluster)), cluster] = 1.0
    total = apart @ member
    own = np.arange(len(cluster)), cluster
    inside = total[own] / np.maximum(size[cluster] - 1, 1)
    total /= size
    total[own] = np.inf
    other = total.min(axis=1)
    largest = np.maximum(inside, other)
    value = np.divide(other - inside, largest, out=np.zeros_like(other), where=largest > 0)
    return float(np.where(size[cluster] > 1, value, 0.0).mean())


NEAR = 1 / 3
"""What is near: of a mean, or of the middle between two, in units of half their distance."""

DEEPEST = 0.7
"""The density in the middle, relative to that at the means, which is no valley yet."""

FEWEST_POINTS = 5
"""A smaller cluster is the end of a tail: its pairs are not counted."""


def p_values(
    tree: Tree, features: Matrix | Rows, curve: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """(k, p-value) of the (k, mean silhouette) in `curve` that are held against chance: the larger
    of that of `p_values_by_chance` and that of the valleys between the clusters.

    O(SAMPLE^2 (n_features + the sum of all k)).
    """
    by_chance = p_values_by_chance(tree.n_points, features, curve)
    if not by_chance:
        return []
    sample, apart = sampled_distances(tree.n_points, features, SAMPLE)
    cuts = nested_cuts(tree, max(k for k, _ in by_chance))
    finest, squares = cuts.part_of_point[sample], apart**2
    valleys = [of_valleys(*counts(squares, cuts.coarser[k][finest])) for k, _ in by_chance]
    return [
        (k, max(p_value, min(len(KS) * valley, 1.0)))
        for (k, p_value), valley in zip(by_chance, valleys, strict=True)
    ]


def of_valleys(middle: int, sides: int) -> float:
    """The probability of so few points in the middle, with as many at the sides, without valleys; 1
    where there are no points."""
    from scipy.stats import binom

    return float(binom.cdf(middle, middle + sides, DEEPEST / (1 + DEEPEST)))


def counts(squares: npt.NDArray[Any], cluster: Int) -> tuple[int, int]:
    """The points near the middle of each cluster and its nearest, each pair once, and the fewer of
    those near the one and near the other mean.

    squares : (m, m) squared Euclidean distances. cluster : (m,).
    """
    names, cluster, size = np.unique(cluster, return_inverse=True, return_counts=True)
    member = np.zeros((len(cluster), len(names)))
    member[np.arange(len(cluster)), cluster] = 1.0 / size[cluster]
    to_points = squares @ member
    inner = 0.5 * np.sum(member * to_points, axis=0)
    to_mean = to_points - inner
    between = member.T @ to_mean - inner[:, None]
    np.fill_diagonal(between, np.inf)
    nearest = np.argmin(between, axis=1)
    middle = sides = 0
    for a, b in {(min(pair), max(pair)) for pair in enumerate(nearest.tolist())}:
        if min(size[a], size[b]) < FEWEST_POINTS or between[a, b] <= 0:
            continue
        own = (cluster == a) | (cluster == b)
        place: Float = (to_mean[own, a] - to_mean[own, b]) / between[a, b]
        near = [int(np.sum(np.abs(place - at) < NEAR)) for at in (-1, 0, 1)]
        middle += near[1]
        sides += min(near[0], near[2])
    return middle, sides


CHANCE_SAMPLE = 200
"""Number of points of a reference set. With fewer points silhouettes of chance are larger, so that
the silhouettes of a tree over many points are held against more than they need."""

REFERENCES = 10
_MOVES = 3


def p_values_by_chance(
    n_points: int, features: Matrix | Rows, curve: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """(k, p-value) of the (k, mean silhouette) in `curve` with at least 3 points for each cluster.

    The same features give the same p-values. O(CHANCE_SAMPLE^2 (CHANCE_SAMPLE + n_features)).
    """
    from scipy.special import stdtr

    apart = sampled_distances(n_points, features, CHANCE_SAMPLE)[1]
    tested = [(k, score) for k, score in curve if 3 * k <= len(apart)]
    if not tested:
        return []
    ks = [k for k, _ in tested]
    values = np.array([_silhouettes(points, ks) for points in reference_points(apart)])
    above = np.array([score for _, score in tested]) - values.mean(axis=0)
    error = values.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / REFERENCES)
    # Without deviation, as of points that are all equal, chance gives nothing else.
    by_error = np.divide(above, error, out=np.zeros_like(above), where=error > 0)
    p_value = np.minimum(len(KS) * stdtr(REFERENCES - 1, -by_error), 1.0)
    return list(zip(ks, p_value.tolist(), strict=True))


def reference_points(apart: Float) -> Iterator[Float]:
    """`REFERENCES` times (m, rank) points, uniform in the box around m points with these distances
    along their principal axes; the same ones each time."""
    box = np.ptp(principal_coordinates(apart), axis=0)
    rng = np.random.default_rng(0)
    for _ in range(REFERENCES):
        yield box * rng.random((len(apart), box.size))


def principal_coordinates(apart: Float) -> Float:
    """(m, rank) coordinates along principal axes of m points with these Euclidean distances."""
    m = len(apart)
    centring = np.eye(m) - 1.0 / m
    value, axis = np.linalg.eigh(-0.5 * centring @ (apart**2) @ centring)
    kept = value > max(value[-1], 0.0) * 1e-10
    return np.asarray(axis[:, kept] * np.sqrt(value[kept]), dtype=np.float64)


def _silhouettes(points: Float, ks: Sequence[int]) -> list[float]:
    """The better mean silhouette of two partitions into k clusters, for each k."""
    return [
        max(mean_silhouette(apart, cluster) for cluster in clusters)
        for apart, clusters in _partitions(points, ks)
    ]


def partitions_of(points: Float, k: int) -> tuple[Float, list[Int]]:
    """The distances between points, and their partitions into k clusters by Ward's linkage,
    without and with rounds of k-means."""
    ((apart, clusters),) = _partitions(points, [k])
    return apart, clusters


def _partitions(points: Float, ks: Sequence[int]) -> Iterator[tuple[Float, list[Int]]]:
    from scipy.cluster.hierarchy import fcluster
    from scipy.spatial.distance import pdist, squareform

    distances = pdist(points)
    apart = squareform(distances)
    merges = merged(distances, "ward")
    for k in ks:
        cluster = fcluster(merges, k, "maxclust").astype(np.int64) - 1
        yield apart, [cluster, _moved(points, cluster)]


def _moved(points: Float, cluster: Int) -> npt.NDArray[Any]:
    """The clusters after some rounds of k-means, without those that lose all their points."""
    for _ in range(_MOVES):
        cluster = np.unique(cluster, return_inverse=True)[1]
        member = np.zeros((cluster.max() + 1, len(points)))
        member[cluster, np.arange(len(points))] = 1.0
        centres = member @ points / member.sum(axis=1, keepdims=True)
        cluster = np.argmin((centres**2).sum(axis=1) - 2.0 * points @ centres.T, axis=1)
    return cluster
