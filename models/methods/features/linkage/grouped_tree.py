"""The tree of merges of groups of rows: below each group, at height 0, its rows.

A group of rows that must link is a node with its rows for children, unless a known tree has clades
within the group: these are nodes at height 0, too.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int
from models.methods.features.linkage.constraints import Constraints
from models.tree.build import from_merges, from_parents
from models.tree.tree import Tree


def grouped_tree(
    merges: Int, height: Float, constraints: Constraints, names: list[str], *, monotone: bool
) -> Tree:
    """The tree of all rows, whose leaves are the rows.

    merges, height : (n_groups - 1, 2) in SciPy's numbering, and (n_groups - 1,).
    """
    group, n_groups, n_rows = constraints.group, constraints.n_groups, len(names)
    if n_groups == n_rows:
        return from_merges(merges[:, 0], merges[:, 1], height, names=names, monotone=monotone)
    # The rows, then a node for each group of several, for each clade within one, for each merge.
    several = np.flatnonzero(constraints.size > 1)
    first = np.unique(group, return_index=True)[1]
    of_group = first.copy()
    of_group[several] = n_rows + np.arange(several.size)
    above = np.where(constraints.size[group] > 1, of_group[group], -1)
    inner, leaf = clades_within(constraints, n_rows + several.size, of_group)
    row = np.flatnonzero(leaf >= 0)
    above[row] = leaf[row]
    begin = n_rows + several.size + inner.size
    node_of = np.concatenate([of_group, begin + np.arange(len(merges))])
    parent = np.concatenate(
        [above, np.full(several.size, -1), inner, np.full(len(merges), -1)]
    )  # fmt: skip
    parent[node_of[merges]] = begin + np.arange(len(merges))[:, None]
    heights = np.zeros(parent.size)
    heights[begin:] = height
    name = np.full(parent.size, None, dtype=object)
    name[:n_rows] = names
    return from_parents(parent, heights, name, np.arange(n_rows), monotone=monotone)


def clades_within(constraints: Constraints, begin: int, of_group: Int) -> tuple[Int, Int]:
    """The parent of each clade within a group, the clades being nodes from `begin` on; the parent
    of each row that is in one, -1 for others."""
    clades, leaf = constraints.clades, np.full(constraints.group.size, -1, dtype=np.int64)
    if clades is None:
        return np.empty(0, dtype=np.int64), leaf
    within = clades.within(constraints.group, constraints.n_groups)
    n_rows = clades.n_rows[:-1]
    # Single rows are no clades, and all rows of a group are the group's node.
    is_node = (within >= 0) & (n_rows > 1) & (n_rows < constraints.size[within])
    node = np.flatnonzero(is_node)
    number = np.full(clades.n_nodes + 1, -1, dtype=np.int64)
    number[node] = begin + np.arange(node.size)
    above = number[clades.above[node]]
    held = number[clades.node]
    # The node of a single row stands below the clade of its parent.
    single = clades.n_rows[clades.node] == 1
    held[single] = number[clades.above[clades.node[single]]]
    leaf[clades.row] = held
    return np.where(above >= 0, above, of_group[within[node]]), leaf
