"""How much of a given tree others have: support of its nodes by a list of trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.consensus.clusters import Clusters, ordered, random_keys, set_hashes
from models.consensus.items import Items
from models.consensus.loops import transfer
from models.consensus.options import Support
from models.running.progress import Progress, silent
from models.tree.tree import Tree, sizes

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
            moves[part] += transfer.least_moves(
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
