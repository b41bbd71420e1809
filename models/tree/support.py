"""Bootstrap support: how often the clusters of a tree recur when its method runs again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.tree.sets import random_keys, set_hashes
from models.tree.tree import Tree


def support(tree: Tree, replicates: Iterable[tuple[Tree, Int]]) -> Float:
    """(n_nodes,) support of each node, NaN where no replicate bears on it.

    replicates : each a tree, and for each of its points the row of `tree`'s data; a row may occur
        several times (its first point then represents it) or not at all.

    In a hierarchy support is the share of replicates with a node that holds exactly the same rows,
    among the rows of the replicate (Felsenstein, "Confidence limits on phylogenies", 1985); nodes
    that hold fewer than two of these, or all, are left out. In a partition it is the mean, over the
    replicates, of the greatest Jaccard index of the cluster with one of theirs (Hennig,
    "Cluster-wise assessment of cluster stability", 2007).

    Sets are compared by sums of random keys of 64 bits. O(n_nodes log depth + n_points) a
    replicate.
    """
    supported, counted = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    keys = random_keys(tree.n_points)
    for other, row in replicates:
        first = np.zeros(len(row), dtype=bool)
        first[np.unique(row, return_index=True)[1]] = True
        present = np.zeros(tree.n_points, dtype=bool)
        present[row] = True
        if tree.kind == "partition":
            best, counts = _jaccard(tree, other, row[first], other.leaf_of_point[first])
        else:
            own, n_own = set_hashes(tree, np.where(present, keys, 0), present)
            theirs, _ = set_hashes(other, np.where(first, keys[:, row], 0), first)
            best = np.isin(own, theirs).astype(np.float64)
            counts = (n_own >= 2) & (n_own < np.count_nonzero(present))
        supported += np.where(counts, best, 0.0)
        counted += counts
    share: Float = np.divide(
        supported, counted, out=np.full(tree.n_nodes, np.nan), where=counted > 0
    )
    return share


def _jaccard(
    tree: Tree, other: Tree, row: Int, leaf: npt.NDArray[np.int32]
) -> tuple[Float, npt.NDArray[np.bool_]]:
    """The best index of each node with one of `other`'s leaves, and the nodes that it bears on."""
    own = tree.leaf_of_point[row].astype(np.int64)
    pair, both = np.unique(own * other.n_nodes + leaf, return_counts=True)
    a, b = pair // other.n_nodes, pair % other.n_nodes
    n_own, n_other = np.bincount(own, minlength=tree.n_nodes), np.bincount(leaf)
    index = both / (n_own[a] + n_other[b] - both)
    best = np.zeros(tree.n_nodes)
    np.maximum.at(best, a, index)
    return best, (n_own > 0) & (np.arange(tree.n_nodes) > 0)
