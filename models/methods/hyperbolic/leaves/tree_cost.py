"""Dasgupta's cost of a tree, by which the best of the decoded trees is chosen.

Exact for cosines of features, by sums over subtrees (`models.metrics.costs`), and for all
similarities up to `EXACT_POINTS` points; else from a fixed sample of pairs.

Source: Dasgupta, "A cost function for similarity-based hierarchical clustering" (2016), which
Chami et al. (2020) minimise.

Cost: O(N D) for cosines of D features, O(N^2) for few points, else O(N log N + pairs).
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from models.methods.hyperbolic.leaves.similarity import FeatureSimilarity, Similarity
from models.metrics.costs import PASSES, SUMS, dasgupta_cost
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.pairs import Cosine
from models.tree.tree import Tree

EXACT_POINTS = 1_500
"""Up to this many points all pairs are summed."""

PAIRS = 1 << 18
"""The number of pairs in a sample."""


class DasguptaCost:
    """The cost of trees over the same points, always from the same pairs.

    rng : draws the pairs if there are too many. exact : whether all pairs count.
    """

    def __init__(self, similarity: Similarity, rng: np.random.Generator) -> None:
        n_points = len(similarity.order)
        self._cosine: Cosine | None = None
        self.exact = True
        if _sums_over_subtrees(similarity):
            self._cosine = Cosine(similarity.points)
            return
        if n_points <= EXACT_POINTS:
            first, second = np.triu_indices(n_points, 1)
            self._scale = 1.0
        else:
            first = rng.integers(n_points, size=PAIRS)
            second = rng.integers(n_points - 1, size=PAIRS)
            second += second >= first
            self._scale = n_points * (n_points - 1) / 2 / PAIRS
            self.exact = False
        self._first, self._second = first, second
        self._weight = similarity.at(first, second) * self._scale

    def of(self, tree: Tree) -> float:
        """The cost of a tree over the points in canonical order."""
        order = PointOrder.of(tree, LeafOrder.of(tree))
        if self._cosine is not None:
            value = dasgupta_cost(tree, self._cosine, points=order, exact_points=0).value
            assert value is not None
            return value
        place = np.empty(tree.n_points, dtype=np.int64)
        place[order.order] = np.arange(tree.n_points)
        first, second = place[self._first], place[self._second]
        ancestor = order.topmost(np.minimum(first, second), np.maximum(first, second))
        return float(self._weight @ tree.size[ancestor])

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.exact:
            return ()
        return (
            f"Trees were compared by Dasgupta's cost over a sample of {PAIRS:,} pairs; "
            "'dasgupta_cost' is an estimate.",
        )


def _sums_over_subtrees(similarity: Similarity) -> TypeGuard[FeatureSimilarity]:
    """Whether the exact cost of cosines takes few passes over the features."""
    if not isinstance(similarity, FeatureSimilarity) or similarity.affinity != "cosine":
        return False
    n_points, n_columns = similarity.points.shape
    return bool(2 * n_points * n_columns <= PASSES * SUMS // 2)
