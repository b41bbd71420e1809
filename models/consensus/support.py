"""Support of a tree's nodes: how much of the tree others have, or runs of its method again.

`support_by` takes a list of trees at once, `SupportCount` one after the other.
`agreement_of_halves` and `halves_alike` show whether more trees would change how often clusters
occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Mask
from models.consensus import loops
from models.consensus.items import ENOUGH, Items, Support
from models.consensus.rules import Clusters, ordered, random_keys, set_hashes
from models.running.progress import Progress, silent
from models.tree.tree import Tree, sizes

N_SPLITS = 100


def agreement_of_halves(clusters: Clusters, rng: np.random.Generator) -> tuple[float, float] | None:
    """The mean correlation of the numbers of trees with each cluster in two random halves of the
    trees, over `N_SPLITS` ways to halve them, and the share of ways in which it is at least
    `ENOUGH`. None below 4 trees, and where all clusters are equally frequent.

    As many trees are enough as give a share of at least .99: the frequency criterion of Pattengale
    et al., "How many bootstrap replicates are necessary?" (2010), for clusters in place of splits.
    O(N_SPLITS n_trees n_nodes).
    """
    columns = [number[number > 0] for number in clusters.number]
    bounds = np.concatenate([[0], np.cumsum([len(column) for column in columns])])
    column = np.concatenate(columns)
    shape = (clusters.n_trees, len(clusters.count))
    has = sp.csr_array((np.ones(len(column)), column, bounds), shape=shape)

    def of_halves(chosen: Array) -> Float:
        halves: Float = np.asarray(chosen @ has)[:, 1:]
        return halves[:, halves.any(axis=0)]

    return halves_alike(clusters.n_trees, of_halves, rng)


def halves_alike(
    n_trees: int, of_halves: Callable[[Array], Float], rng: np.random.Generator
) -> tuple[float, float] | None:
    """The mean correlation of two halves of the trees, over `N_SPLITS` ways to halve them, and the
    share of ways in which it is at least `ENOUGH`.

    of_halves : from (2, n_trees), 1 where a tree is in a half, to (2, n) what each half counts.
    None below 4 trees, and where one half counts everything alike and the other does not.
    """
    if n_trees < 4:
        return None
    correlations = []
    for _ in range(N_SPLITS):
        order = rng.permutation(n_trees)
        chosen = np.zeros((2, n_trees))
        chosen[0, order[: n_trees // 2]] = 1.0
        chosen[1, order[n_trees // 2 : 2 * (n_trees // 2)]] = 1.0
        halves = of_halves(chosen)
        if (halves == halves[:, :1]).all(axis=1).any():
            # Both halves count everything equally often.
            correlations.append(1.0 if halves.size and (halves[0] == halves[1]).all() else np.nan)
            continue
        correlations.append(float(np.corrcoef(*halves)[0, 1]))
    if np.isnan(correlations).any():
        return None
    return float(np.mean(correlations)), float(np.mean(np.array(correlations) >= ENOUGH))


@dataclass(slots=True)
class SupportCount:
    """The support that replicates give to the nodes of a tree, counted one after the other.

    A replicate is a tree, and for each of its points the row of `tree`'s data; a row may occur
    several times (its first point then represents it) or not at all.

    measure : of a hierarchy. `share`: the share of replicates with a node that holds exactly the
        same rows, among the rows of the replicate (Felsenstein, "Confidence limits on phylogenies",
        1985); nodes that hold fewer than two of these, or all, are left out. `transfer`: the mean
        over replicates of 1 - d / (p - 1), d the least number of rows that must move for the node
        to be one of the replicate's, p the rows on its smaller side (Lemoine et al., "Renewing
        Felsenstein's phylogenetic bootstrap in the era of big data", 2018); as published it is of
        splits, and here of the rows that the replicate has. Nodes with p < 2 are left out.

    The support of a partition's clusters is the mean, over the replicates, of the greatest Jaccard
    index of the cluster with one of theirs (Hennig, "Cluster-wise assessment of cluster stability",
    2007).

    keep : whether the values of single replicates are kept, which `settled` needs: 4 bytes for each
    node and replicate.

    Sets are compared by sums of random keys of 64 bits. A replicate takes O(n_nodes log depth +
    n_points), by `transfer` O(n_nodes^2 + n_nodes n_points).
    """

    tree: Tree
    measure: Support = "share"
    keep: bool = False
    _total: Float = field(init=False)
    _counted: Float = field(init=False)
    _kept: list[npt.NDArray[np.float32]] = field(init=False, default_factory=list)
    _keys: Int = field(init=False)
    _order: tuple[Int, Int] = field(init=False)

    def __post_init__(self) -> None:
        self._total, self._counted = np.zeros(self.tree.n_nodes), np.zeros(self.tree.n_nodes)
        self._keys, self._order = random_keys(self.tree.n_points), ordered(self.tree)

    def add(self, other: Tree, row: Int) -> None:
        """Count one more replicate."""
        first = np.zeros(len(row), dtype=bool)
        first[np.unique(row, return_index=True)[1]] = True
        if self.tree.kind == "partition":
            value, counts = _jaccard(self.tree, other, row[first], other.leaf_of_point[first])
        elif self.measure == "transfer":
            value, counts = self._moves(other, row, first)
        else:
            value, counts = self._same_sets(other, row, first)
        self._total += np.where(counts, value, 0.0)
        self._counted += counts
        if self.keep:
            self._kept.append(np.where(counts, value, np.nan).astype(np.float32))

    @property
    def support(self) -> Float:
        """(n_nodes,) NaN where no replicate bears on a node."""
        none = np.full(self.tree.n_nodes, np.nan)
        share: Float = np.divide(self._total, self._counted, out=none, where=self._counted > 0)
        return share

    def halves(self, rng: np.random.Generator) -> tuple[float, float] | None:
        """The mean correlation of the support by two halves of the replicates, and the share of
        ways to halve them in which it is at least `models.consensus.items.ENOUGH`: the frequency
        criterion of Pattengale et al., "How many bootstrap replicates are necessary?" (2010), for
        the nodes of one tree. None as of `halves_alike`.
        """
        values = np.array(self._kept)
        known = np.isfinite(values)
        values = np.where(known, values, 0.0)

        def of_halves(chosen: Array) -> Float:
            counted = chosen @ known
            both = (counted > 0).all(axis=0)
            shares: Float = (chosen @ values)[:, both] / counted[:, both]
            return shares

        return halves_alike(len(values), of_halves, rng)

    def _same_sets(self, other: Tree, row: Int, first: Mask) -> tuple[Float, Mask]:
        present = np.zeros(self.tree.n_points, dtype=bool)
        present[row] = True
        own, n_own = set_hashes(self.tree, np.where(present, self._keys, 0), present)
        theirs, _ = set_hashes(other, np.where(first, self._keys[:, row], 0), first)
        counts = (n_own >= 2) & (n_own < np.count_nonzero(present))
        return np.isin(own, theirs).astype(np.float64), counts

    def _moves(self, other: Tree, row: Int, first: Mask) -> tuple[Float, Mask]:
        order, start = self._order
        present = np.zeros(self.tree.n_points, dtype=bool)
        present[row] = True
        # Rows of the replicate have numbers of their own, `item`.
        item, kept = np.cumsum(present) - 1, present[order]
        before = np.append(0, np.cumsum(kept))
        begin = before[start]
        size = before[start + self.tree.size] - begin
        leaf = np.empty(int(present.sum()), dtype=np.int32)
        leaf[item[row[first]]] = other.leaf_of_point[first]
        smaller = np.minimum(size, len(leaf) - size)
        tested = np.flatnonzero(smaller >= 2)
        moves = loops.least_moves(
            *(item[order[kept]], begin[tested], size[tested]),
            *(other.parent, leaf, sizes(other.parent, leaf)),
        )
        value = np.zeros(self.tree.n_nodes)
        value[tested] = 1.0 - moves / (smaller[tested] - 1)
        return value, smaller >= 2


def support(
    tree: Tree, replicates: Iterable[tuple[Tree, Int]], measure: Support = "share"
) -> Float:
    """(n_nodes,) support of each node by `SupportCount`, NaN where no replicate bears on it."""
    count = SupportCount(tree, measure)
    for other, row in replicates:
        count.add(other, row)
    return count.support


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


_AT_ONCE = 64
"""Splits between two reports of progress."""


def same_nodes(tree: Tree, items: Items) -> Int:
    """(n_nodes,) the node of `items.trees[0]` with the same items as each node of the tree, -1 for
    a node of none.

    tree : the first of the trees that `items` match, as it was given: it may have leaves that are
        no items, and parents of one child.
    """
    keys, present = random_keys(items.n_items), np.ones(items.n_items, dtype=bool)
    own, _ = set_hashes(items.trees[0], keys, present)
    placed = replace(tree, leaf_of_point=items.leaf, size=sizes(tree.parent, items.leaf))
    theirs, _ = set_hashes(placed, keys, present)
    order = np.argsort(own)
    at = order[np.minimum(np.searchsorted(own, theirs, sorter=order), len(own) - 1)]
    return np.where(own[at] == theirs, at, -1)


def having(items: Items) -> npt.NDArray[np.bool_]:
    """(n_trees - 1, n_nodes) whether each tree but the first has the items of a node of the first
    as a cluster; all have single items.
    """
    clusters = Clusters.of(items.trees)
    number = clusters.number[0]
    node = np.flatnonzero(number >= 0)
    has = np.ones((len(items.trees) - 1, items.trees[0].n_nodes), dtype=bool)
    has[:, node] = clusters.having(number[node].astype(np.int64))[1:]
    return has


def support_by(items: Items, support: Support = "share", progress: Progress = silent) -> Float:
    """(n_nodes,) support of each node of the first tree by the others; NaN for single items, and
    for what every tree has.

    `share`: the share of the trees with a node of exactly the same items (Felsenstein, "Confidence
    limits on phylogenies", 1985), clusters of rooted trees. O(n_trees n_nodes log n_nodes).

    `transfer`: 1 - (mean least number of items that must move for the node to be one of the other
    tree) / (p - 1), p the items on the smaller side of the node (Lemoine et al., "Renewing
    Felsenstein's phylogenetic bootstrap in the era of big data", 2018). As published it is of
    splits: a node and the rest of the items, in trees without a root. NaN where p < 2. Unlike the
    share it does not fall to 0 for a few items that stray. O(n_trees n_nodes^2): 100 trees of
    1,000 leaves take a second, of 10,000 two minutes.
    """
    reference, others = items.trees[0], items.trees[1:]
    n_items, size = items.n_items, reference.size
    smaller = np.minimum(size, n_items - size)
    if support == "share":
        proper = (size > 1) & (size < n_items)
        return np.where(proper, having(items).mean(axis=0), np.nan)
    tested = np.flatnonzero(smaller >= 2)
    order, start = ordered(reference)
    moves = np.zeros(len(tested), dtype=np.int64)
    for position, tree in enumerate(others):
        for first in range(0, len(tested), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            progress((position + first / len(tested)) / len(others), "measuring")
            moves[part] += loops.least_moves(
                order,
                start[tested[part]],
                size[tested[part]],
                tree.parent,
                tree.leaf_of_point,
                tree.size,
            )
    values = np.full(reference.n_nodes, np.nan)
    values[tested] = 1.0 - moves / len(others) / (smaller[tested] - 1)
    return values
