"""What of the shortest path similarity (SP) a tree owes to its form, and what to its points.

SP is 1 - mean (s - t)^2 over pairs of points, s what the tree says of a pair and t the hierarchy:

    SP = 1 - (mean s - mean t)^2 - var s - var t + 2 r sd s sd t

Where the points change places at random r is 0 and nothing else changes: all but the last term are
what the form of the tree is worth, whatever it was made of. A balanced tree says little of most
pairs, a deep one more; which of the two the hierarchy is nearer to is no merit of either. r, the
correlation, is what tree and hierarchy have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.truths import TrueSet
from models.arrays import Float
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Parts:
    """Of a tree against a hierarchy, over pairs of points.

    level, true_level : mean of what each says. correlation : between the two, 0 for a flat one of
    single points. shuffled : SP once the points have changed places. alike : SP of saying
    `true_level` of every pair.
    """

    level: float
    true_level: float
    correlation: float
    shuffled: float
    alike: float


def parts(tree: Tree, given: TrueSet) -> Parts:
    """O(n_nodes^2) time and memory: for trees of clusters. Two points or more."""
    own, true = _similarity(tree), _similarity(given.hierarchy)
    count = np.zeros((len(own), len(true)))
    leaf = np.searchsorted(tree.leaves, tree.leaf_of_point)
    class_ = np.searchsorted(given.hierarchy.leaves, given.hierarchy.leaf_of_point[given.label])
    np.add.at(count, (leaf, class_), 1.0)
    n_pairs = len(leaf) * (len(leaf) - 1)
    level, variance = _moments(own, count.sum(axis=1), n_pairs)
    true_level, true_variance = _moments(true, count.sum(axis=0), n_pairs)
    # A point and itself, of which both say 1, are no pair.
    both = (float(((count.T @ own @ count) * true).sum()) - len(leaf)) / n_pairs
    product = both - level * true_level
    scale = np.sqrt(variance * true_variance)
    return Parts(
        level,
        true_level,
        product / scale if scale > 0 else 0.0,
        1.0 - (level - true_level) ** 2 - variance - true_variance,
        1.0 - true_variance,
    )


def _moments(similarity: Float, count: Float, n_pairs: int) -> tuple[float, float]:
    """Mean and variance over ordered pairs of distinct points; all are 1 to themselves."""
    n_points = count.sum()
    mean = float(count @ similarity @ count - n_points) / n_pairs
    square = float(count @ (similarity * similarity) @ count - n_points) / n_pairs
    return mean, max(square - mean * mean, 0.0)


def _similarity(tree: Tree) -> Float:
    """(n_leaves, n_leaves) 1 less the edges between two leaves over the most there are."""
    above = np.eye(tree.n_nodes)
    for node in range(1, tree.n_nodes):
        above[node] += above[tree.parent[node]]
    above = above[tree.leaves]
    n_above = above.sum(axis=1)
    edges = n_above[:, None] + n_above - 2.0 * (above @ above.T)
    return 1.0 - edges / max(float(edges.max()), 1.0)
