"""Clusters by size, log posteriors normalized in place, and rows placed in a tree."""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.method import Predictions, Shapes
from models.running import budget
from models.tree.tree import Tree
from models.tree.walk import paths


def bytes_of_logits(shapes: Shapes, n_clusters: int, role: str = "features") -> int:
    """Bytes of the soft assignment; 0 where the shape of `role` is not known yet."""
    return 8 * shapes[role][0] * n_clusters if role in shapes else 0


def by_size(size: Int, rows: Float) -> Int:
    """Order of clusters: larger ones first, then by their rows (centres, say), first column first.

    size : (n_clusters,) points of each; rows : (n_clusters, n).
    """
    order = np.argsort(-size, kind="stable")
    cuts = np.flatnonzero(np.diff(size[order])) + 1
    for same in np.split(order, cuts):
        if len(same) > 1:
            same[:] = same[np.lexsort(rows[same].T[::-1])]
    return order


def reorder(cluster: Int, order: Int) -> Int:
    """(n_points,) the cluster of each point when cluster `order[c]` gets number c."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[cluster]


def normalize(joint: Float) -> Float:
    """(n_rows,) the logarithm of each row's sum of exponentials; the rows become log probabilities.

    joint : (n_rows, n_clusters), finite, overwritten. If it is the log joint probability of a
        mixture, the result is the log evidence.
    """
    evidence = np.empty(len(joint))
    for block in row_blocks(*joint.shape):
        part = joint[block]
        top = part.max(axis=1)
        part -= top[:, None]
        rest = np.log(np.exp(part).sum(axis=1))
        part -= rest[:, None]
        evidence[block] = top + rest
    return evidence


def permute(values: Float, order: Int) -> None:
    """Put column `order[c]` in place c, in place."""
    for block in row_blocks(*values.shape):
        values[block] = values[block][:, order]


def placed(tree: Tree, cluster: Int, logits: Float) -> Predictions:
    """Rows in the leaves of their clusters, with their posteriors.

    cluster : (n_rows,); logits : (n_rows, n_clusters) log probabilities.
    """
    n_rows = len(cluster)
    leaf = tree.leaves[cluster]
    node = np.zeros((n_rows, 2), dtype=np.int64)
    node[:, 1] = leaf
    probability = np.ones((n_rows, 2))
    probability[:, 1] = np.exp(logits[np.arange(n_rows), cluster])
    return Predictions(leaf, 2 * np.arange(n_rows + 1), node.ravel(), probability.ravel())


def at_leaves(
    method: str, tree: Tree, leaf: Int, leaf_probability: Float | None = None
) -> Predictions:
    """Rows at leaves. Every node of a path has the probability 1, or a leaf its own.

    method : its id, for the message. leaf, leaf_probability : (n_rows,).

    Raises UsageError where the paths would not fit in memory, as of many rows in a chain.
    """
    n_nodes = int((tree.depth[leaf] + 1).sum())
    budget.require(method, 40 * n_nodes, "Place fewer rows at a time.")
    start, node = paths(tree, leaf)
    probability = np.ones(node.size)
    if leaf_probability is not None:
        inner = tree.depth[leaf] > 0
        probability[start[1:][inner] - 1] = leaf_probability[inner]
    return Predictions(leaf, start, node, probability)


def empty_cluster_warnings(cluster: Int, n_clusters: int, what: str = "cluster") -> tuple[str, ...]:
    """A warning if clusters have no point.

    what : the word for a cluster in the message.
    """
    empty = int((np.bincount(cluster, minlength=n_clusters) == 0).sum())
    return (f"{empty} {what}(s) have no point.",) if empty else ()
