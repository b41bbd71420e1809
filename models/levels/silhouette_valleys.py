"""Whether points are sparser between the clusters of a cut than within them.

Silhouettes are also high where connected points are merely cut up: the arcs of a circle, the ends
of long tails. `silhouette_chance` does not see that, since its reference sets have neither hollows
nor tails. So a level needs valleys, too. Each cluster and its nearest one (by their means) are
projected onto the line through both means: the points near the middle are counted, and those near
either mean, of which the fewer count. Of a density with one peak on that line there are no fewer in
the middle, in expectation. The counts of all pairs are added up; the p-value is that of a binomial
for a middle at least `DEEPEST` times as dense, since clusters end where points happen to be rare,
times the number of k of a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.inputs.rows import Rows
from models.levels import silhouette_chance
from models.levels.silhouette import KS, SAMPLE, sampled_distances
from models.tree.nested_cuts import nested_cuts
from models.tree.tree import Tree

if TYPE_CHECKING:
    from models.arrays import Matrix

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
    of that of `silhouette_chance` and that of the valleys between the clusters.

    O(SAMPLE^2 (n_features + the sum of all k)).
    """
    by_chance = silhouette_chance.p_values(tree.n_points, features, curve)
    if not by_chance:
        return []
    sample, apart = sampled_distances(tree.n_points, features, SAMPLE)
    cuts = nested_cuts(tree, max(k for k, _ in by_chance))
    finest, squares = cuts.cluster_of_point[sample], apart**2
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
