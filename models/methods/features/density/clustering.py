"""The clusters that HDBSCAN chooses along merges of single linkage.

Distances that count as a neighbour's are equal by the dozen, and the edges of a spanning tree at
one distance are to be removed at once (Campello et al. 2015, algorithm 1). Libraries remove them
one after the other, in an order that depends on that of the points; pieces of them can then be
large enough for a cluster that begins and ends at this distance. Here the groups that become one at
a distance are merged from the largest to the smallest, so that the small ones fall out one by one
and only those remain that are large enough by themselves.

Details that the paper leaves open follow the library hdbscan: the sizes and distances that limit
the choice, what belongs to the root as the only cluster, and strengths.

Source: Campello, Moulavi, Zimek and Sander (2015), sections 4 to 6; Malzer and Baum, "A Hybrid
Approach To Hierarchical Density-based Cluster Selection" (2020) for `cluster_selection_epsilon`.

Cost: O(N log N) time for the order of merges at one distance, O(N) else; no recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Mask
from models.methods.features.density.condensed import Condensed

ROUNDING = 1e-14
"""The share of a height by which rounding may raise it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which clusters are chosen; the parameters of the method of these names, 0 for no limit."""

    min_cluster_size: int
    cluster_selection_method: str
    cluster_selection_epsilon: float
    max_cluster_size: int
    allow_single_cluster: bool


@dataclass(frozen=True, slots=True)
class Clustering:
    """label : (n_points,) -1 for noise. probability, outlier : (n_points,) strength and GLOSH."""

    label: Int
    probability: Float
    outlier: Float
    condensed: Condensed


def along(linkage: Float, chosen: Chosen) -> Clustering:
    """From merges of single linkage, (n_points - 1, 4) as SciPy's, heights ascending."""
    from models.methods.features.density import loops

    merges = np.empty((len(linkage), 4))
    linkage = np.ascontiguousarray(linkage, dtype=np.float64)
    loops.chain_ties(np.column_stack([linkage[:, :2], level(linkage[:, 2]), linkage[:, 3]]), merges)
    cluster, fall, above, birth, size, mass = loops.condense(merges, chosen.min_cluster_size)
    condensed = Condensed(above, birth, cluster, fall)
    label, by_label = _labels(condensed, _picked(condensed, size, mass, chosen), chosen)
    return Clustering(
        label, _strength(condensed, label, by_label), outlier_scores(condensed), condensed
    )


def level(height: Float) -> Float:
    """Ascending heights, of which those that differ by rounding alone are one, the lowest: ties of
    rows on a grid are ties on any scale."""
    (rises,) = np.nonzero(height[1:] > height[:-1] * (1.0 + ROUNDING))
    first = np.zeros(len(height), dtype=np.int64)
    first[rises + 1] = rises + 1
    even: Float = height[np.maximum.accumulate(first)]
    return even


def _picked(condensed: Condensed, size: Int, mass: Float, chosen: Chosen) -> Mask:
    """(n_clusters,) which clusters are chosen.

    size : (n_clusters,) points when a cluster begins. mass : (n_clusters,) its stability (excess of
        mass), where densities may be infinite.
    """
    from models.methods.features.density import loops

    above, epsilon = condensed.above, chosen.cluster_selection_epsilon
    if chosen.cluster_selection_method == "leaf":
        picked = np.ones(above.size, dtype=bool)
        picked[above[1:]] = False
        # A root that does not split is no leaf.
        picked[0] = False
    else:
        # Points that fall out of the root before it splits do not count.
        size = np.append(size[1:][above[1:] == 0].sum(), size[1:])
        most = chosen.max_cluster_size or size.sum() + 1
        picked = loops.most_stable(above, size, mass, most, chosen.allow_single_cluster)
    if epsilon and not picked[0]:
        with np.errstate(divide="ignore"):
            began = 1.0 / condensed.birth
        rises = picked & (began < epsilon)
        over = loops.over(above, began, epsilon, chosen.allow_single_cluster)
        picked &= ~rises
        picked[over[rises]] = True
    return picked


def _labels(condensed: Condensed, picked: Mask, chosen: Chosen) -> tuple[Int, Int]:
    """(n_points,) the number of the lowest chosen cluster above each point, -1 for noise; and the
    chosen clusters by their numbers.

    Points of the root are noise, or if it is the only cluster those that it keeps to the end, or as
    long as to epsilon.
    """
    from models.methods.features.density import loops

    by_label = np.flatnonzero(picked)
    number = np.full(picked.size, -1)
    number[by_label] = np.arange(by_label.size)
    owner = loops.lowest(condensed.above, picked)[condensed.cluster]
    label = number[owner]
    inside = np.zeros(label.size, dtype=bool)
    if by_label.tolist() == [0]:
        epsilon = chosen.cluster_selection_epsilon
        least = 1.0 / epsilon if epsilon else condensed.death()[0]
        inside = condensed.fall >= least
    label[(owner == 0) & ~inside] = -1
    return label, by_label


def _strength(condensed: Condensed, label: Int, by_label: Int) -> Float:
    """(n_points,) the density at which a point falls over the largest in its cluster; 0 for noise,
    1 where points coincide."""
    strength = np.zeros(label.size)
    inside = np.flatnonzero(label >= 0)
    most, fall = condensed.death()[by_label[label[inside]]], condensed.fall[inside]
    graded = np.isfinite(fall) & (most > 0)
    strength[inside[~graded]] = 1.0
    most, fall = most[graded], fall[graded]
    strength[inside[graded]] = np.minimum(fall, most) / most
    return strength


def outlier_scores(condensed: Condensed) -> Float:
    """(n_points,) GLOSH: 1 minus the density at which a point falls over the largest density that
    points at or below its cluster fall at. 0 where that is infinite."""
    from models.methods.features.density import loops

    most = condensed.death()
    loops.raise_above(condensed.above, most)
    most = most[condensed.cluster]
    graded = np.isfinite(most) & (most > 0)
    score = np.zeros(most.size)
    score[graded] = (most[graded] - condensed.fall[graded]) / most[graded]
    return score
