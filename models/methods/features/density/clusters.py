"""The condensed tree of HDBSCAN, and the clusters that it chooses along merges of single linkage.

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
from models.tree.build import from_parents
from models.tree.noise import COLUMN, LABEL, NAME
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import contract_unary


@dataclass(frozen=True, slots=True)
class Condensed:
    """The condensed tree of n_points; clusters are numbered from the root, 0, parents first.

    above : (n_clusters,) parent of each cluster, -1 for the root.
    birth : (n_clusters,) density (1 / distance) at which it splits off; 0 for the root.
    cluster, fall : (n_points,) the last cluster that contains each point and the density at which
        the point falls out of it; infinite for a point at distance 0.
    """

    above: Int
    birth: Float
    cluster: Int
    fall: Float

    @property
    def n_clusters(self) -> int:
        return int(self.above.size)

    def stability(self) -> Float:
        """(n_clusters,) sum over the points of the density to which they stay, minus its birth.

        Points stay until they fall out or the cluster splits. Infinite densities count as the
        largest finite one, so that sums stay finite.
        """
        most = max(largest_finite(self.fall), largest_finite(self.birth))
        birth, fall = np.minimum(self.birth, most), np.minimum(self.fall, most)
        inside = np.bincount(self.cluster, minlength=self.n_clusters)
        size = under(self.above.astype(np.int32), inside)
        total = np.bincount(self.cluster, fall, self.n_clusters)
        child = np.arange(1, self.n_clusters)
        total += np.bincount(self.above[child], birth[child] * size[child], self.n_clusters)
        return total - birth * size

    def death(self) -> Float:
        """(n_clusters,) the largest density at which a point or a cluster leaves each cluster."""
        death = np.zeros(self.n_clusters)
        np.maximum.at(death, self.cluster, self.fall)
        np.maximum.at(death, self.above[1:], self.birth[1:])
        return death

    def split_distance(self) -> Float:
        """(n_clusters,) distance at which a cluster splits into clusters; 0 where it does not."""
        height = np.zeros(self.n_clusters)
        child = np.arange(1, self.n_clusters)
        height[self.above[child]] = 1.0 / self.birth[child]
        return height

    def sides(self, most: int) -> list[Int]:
        """For each of the highest splits, `most` at most, (n_clusters,) the side of each cluster: 1
        or 2, and 0 for what is on neither. O(n_clusters) each."""
        from models.methods.features.density import loops

        # Both parts of a split follow the same cluster.
        parts = 1 + np.argsort(self.above[1:], kind="stable").reshape(-1, 2)
        parts = parts[np.argsort(self.birth[parts[:, 0]], kind="stable")[:most]]
        found = []
        for part in parts:
            picked, side = np.zeros(self.n_clusters, dtype=bool), np.zeros(self.n_clusters, int)
            picked[part], side[part] = True, (1, 2)
            found.append(side[loops.lowest(self.above, picked)])
        return found

    def chosen(self, label: Int) -> Int:
        """(n_labels,) the cluster that each label stands for: the lowest over all its points.

        All points below that one have its label or none. O(n_points + n_clusters).
        """
        has = label >= 0
        n_points = np.bincount(label[has])
        inside = np.bincount(self.cluster[has], minlength=self.n_clusters).tolist()
        own = np.full(self.n_clusters, -1, dtype=np.int64)
        own[self.cluster[has]] = label[has]
        # A cluster whose own points have several labels lies above those that are chosen.
        several = np.zeros(self.n_clusters, dtype=bool)
        several[self.cluster[has][own[self.cluster[has]] != label[has]]] = True
        of, mixed, above = own.tolist(), several.tolist(), self.above.tolist()
        for cluster in range(self.n_clusters - 1, 0, -1):
            parent = above[cluster]
            inside[parent] += inside[cluster]
            mixed[parent] |= mixed[cluster] or (of[cluster] >= 0 <= of[parent] != of[cluster])
            of[parent] = max(of[parent], of[cluster])
        lowest = np.full(n_points.size, -1, dtype=np.int64)
        total = n_points.tolist()
        for cluster in range(self.n_clusters):
            number = of[cluster]
            if number >= 0 and not mixed[cluster] and inside[cluster] == total[number]:
                lowest[number] = cluster
        return lowest


def tree_of(condensed: Condensed, label: Int, given: Int | None = None) -> Tree:
    """The tree with the chosen clusters as leaves, named by their labels, below their ancestors.

    label : (n_points,) chosen cluster of each point, -1 for noise, which lies in the leaf 'noise'
        under the root. Clusters of noise only, and splits with one remaining side, are left out.
    given : (n_points,) the same with clusters for some of the noise, whose leaves these points are
        in; None: all noise stays.

    Heights are the distances at which a node splits; leaves have 0. Extra columns: `cluster`, the
    label of a chosen cluster, else -1; `birth`, the density (1 / distance) at which it splits off;
    `stability`; `noise`, whether a node is the leaf of noise.
    """
    given = label if given is None else given
    node = condensed.chosen(label)
    retained = np.zeros(condensed.n_clusters, dtype=bool)
    retained[0] = True
    for cluster in node.tolist():
        while not retained[cluster]:
            retained[cluster] = True
            cluster = int(condensed.above[cluster])
    row_of = np.cumsum(retained) - 1
    rows = np.flatnonzero(retained)
    parent = np.where(rows == 0, -1, row_of[condensed.above[rows]])
    height = condensed.split_distance()[rows]
    height[np.bincount(parent[1:], minlength=rows.size) == 0] = 0.0
    most = largest_finite(condensed.birth)
    birth, stability = np.minimum(condensed.birth, most)[rows], condensed.stability()[rows]
    place = row_of[node]
    leaf = place[given] if node.size else np.zeros_like(given)
    columns = [parent, height, birth, stability]
    if node.size and node[0] == 0:
        # The root is the only cluster: it becomes a leaf beside the noise.
        columns = [np.append(column, column[0]) for column in columns]
        columns[0][-1], columns[1][-1] = 0, 0.0
        place = np.array([rows.size])
        leaf = np.full_like(given, rows.size)
    n_rows = columns[0].size
    cluster, name = np.full(n_rows, -1), np.full(n_rows, None, dtype=object)
    cluster[place] = np.arange(node.size)
    name[place] = [str(number) for number in range(node.size)]
    noise = np.zeros(n_rows, dtype=bool)
    if (given < 0).any():
        leaf[given < 0] = n_rows
        columns = [np.append(column, 0.0 if column.dtype.kind == "f" else 0) for column in columns]
        cluster, name = np.append(cluster, LABEL), np.append(name, NAME)
        noise = np.append(noise, True)
    parent, height, birth, stability = columns
    if not height[0] and parent.size > 1:
        # With one cluster or none the root does not split: its height is the least density's.
        least = condensed.fall.min()
        height[0] = 1.0 / least if least > 0 else 0.0
    extra = {"cluster": cluster, "birth": birth, "stability": stability, COLUMN: noise}
    return contract_unary(from_parents(parent, height, name, leaf, extra=extra))


def largest_finite(values: Float) -> float:
    """The largest finite value, at least 0."""
    return float(values[np.isfinite(values)].max(initial=0.0))


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
