"""The shortest path similarity (SP) of a tree, split into the parts of its form and its points.

SP is 1 - mean (s - t)^2 over pairs of points, with similarity s in the tree and t in the hierarchy:

    SP = 1 - (mean s - mean t)^2 - var s - var t + 2 r sd s sd t

If the points are shuffled, r becomes 0 and nothing else changes: all terms but the last depend on
the form of the tree alone, whatever its points. Most pairs are dissimilar in a balanced tree, and
less so in a deep one; which form is closer to the hierarchy is no merit of a method. The
correlation r measures what tree and hierarchy have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.truths import TrueSet
from models.arrays import Float
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class SimilarityTerms:
    """The parts of SP of a tree and a hierarchy, over pairs of points.

    level, true_level : mean similarity in each. correlation : between the two, 0 for a flat tree of
    single points. shuffled : SP with shuffled points. alike : SP of the constant similarity
    `true_level`.
    """

    level: float
    true_level: float
    correlation: float
    shuffled: float
    alike: float


def similarity_terms(tree: Tree, true_set: TrueSet) -> SimilarityTerms:
    """O(n_nodes^2) time and memory: for trees of clusters. Two points or more."""
    own, true = _similarity(tree), _similarity(true_set.hierarchy)
    count = np.zeros((len(own), len(true)))
    leaf = np.searchsorted(tree.leaves, tree.leaf_of_point)
    class_ = np.searchsorted(
        true_set.hierarchy.leaves, true_set.hierarchy.leaf_of_point[true_set.label]
    )
    np.add.at(count, (leaf, class_), 1.0)
    n_pairs = len(leaf) * (len(leaf) - 1)
    level, variance = _moments(own, count.sum(axis=1), n_pairs)
    true_level, true_variance = _moments(true, count.sum(axis=0), n_pairs)
    # A point with itself, whose similarity is 1 in both, is not a pair.
    product_mean = (float(((count.T @ own @ count) * true).sum()) - len(leaf)) / n_pairs
    product = product_mean - level * true_level
    scale = np.sqrt(variance * true_variance)
    return SimilarityTerms(
        level,
        true_level,
        product / scale if scale > 0 else 0.0,
        1.0 - (level - true_level) ** 2 - variance - true_variance,
        1.0 - true_variance,
    )


def _moments(similarity: Float, count: Float, n_pairs: int) -> tuple[float, float]:
    """Mean and variance over ordered pairs of distinct points; self-similarities are 1."""
    n_points = count.sum()
    mean = float(count @ similarity @ count - n_points) / n_pairs
    square = float(count @ (similarity * similarity) @ count - n_points) / n_pairs
    return mean, max(square - mean * mean, 0.0)


def _similarity(tree: Tree) -> Float:
    """(n_leaves, n_leaves) 1 minus the number of edges between two leaves over its maximum."""
    above = np.eye(tree.n_nodes)
    for node in range(1, tree.n_nodes):
        above[node] += above[tree.parent[node]]
    above = above[tree.leaves]
    n_above = above.sum(axis=1)
    edges = n_above[:, None] + n_above - 2.0 * (above @ above.T)
    return 1.0 - edges / max(float(edges.max()), 1.0)
