"""The condensed tree of HDBSCAN, and the tree of its chosen clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
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
