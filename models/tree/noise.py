"""Noise: the rows of a tree that are in no cluster.

A leaf is noise where the tree's column `noise` is true. An inner node is noise where all leaves
under it are. So a cut has its noise apart from its clusters wherever it comes between the two; in a
cluster that lies above, the noise is a part like any other.

Trees of hdbscan that were stored before they had this column are recognised by their other columns:
the leaf that has no number among the chosen clusters is their noise.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Int, Mask
from models.tree.parents import under
from models.tree.tree import Tree

COLUMN = "noise"
"""The column of a tree that marks its leaves of noise."""

NAME = "noise"
"""What noise is called where clusters have names."""

LABEL = -1
"""The cluster of a row that is noise."""

_OF_HDBSCAN = {"cluster", "birth", "stability", "outlier_score"}


def noise_of(tree: Tree) -> Mask:
    """(n_nodes,) whether each node is noise. O(n_nodes log depth) where any is, else O(n_nodes)."""
    leaf = np.zeros(tree.n_nodes, dtype=bool)
    leaf[tree.leaves] = _marked(tree)[tree.leaves]
    if not leaf.any():
        return leaf
    is_leaf = tree.n_children == 0
    return np.asarray(
        under(tree.parent, leaf.astype(np.int64)) == under(tree.parent, is_leaf.astype(np.int64))
    )


def noise_leaves(tree: Tree) -> Int:
    """The rows of the leaves that are noise, ascending. O(n_nodes)."""
    return tree.leaves[_marked(tree)[tree.leaves]]


def counted_as_cluster(tree: Tree) -> bool:
    """Whether the tree has noise and was stored before it was marked: what was measured then of
    cuts by their number of clusters counts the noise as one."""
    return COLUMN not in tree.extra and bool(noise_leaves(tree).size)


def _marked(tree: Tree) -> Mask:
    own = np.asarray(tree.extra.get(COLUMN, False))
    if COLUMN not in tree.extra and tree.extra.keys() >= _OF_HDBSCAN:
        own = np.asarray(tree.extra["cluster"]) == LABEL
    if own.dtype.kind == "O" and own.ndim == 1:
        # Nodes that an edition added, and fields of JSON that are missing somewhere, have None.
        own = np.array([value is True for value in own.tolist()], dtype=bool)
    marked = own.shape == (tree.n_nodes,) and own.dtype.kind == "b"
    return own if marked else np.zeros(tree.n_nodes, dtype=bool)
