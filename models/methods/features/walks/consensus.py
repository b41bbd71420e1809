"""The tree that walks of several reaches, average linkage and Ward's linkage agree on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from models.arrays import Array, Float
from models.graphs.lengths import Neighbours
from models.methods.features.walks.similarities import affinities, longer, walked
from models.numerics.agglomeration import merged, merged_points
from models.numerics.distances import pairwise
from models.numerics.merges import keys_of_groups, spans, top_agreement
from models.running.progress import Progress, subprogress

Rule = Literal["consensus", "walk"]

_LEANING = 1e-9
"""Part of the distance in the distance by a walk, for places that no walk joins."""

_TIED = 1e-6
"""Part of the distance in the consensus: it decides where the trees leave a tie."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """The tree of all n places.

    merges : (n - 1, 4) as SciPy's. agreement : (n - 1,) the share of the trees that have a merge's
        points together and alone. top : of the two parts at the top, how much of the smaller one
        is a part of theirs, on average. None and NaN for one tree.
    """

    merges: Float
    agreement: Float | None = None
    top: float = float("nan")


def widest(n_neighbors: int, n_points: int) -> int:
    """The neighbours that the trees of distinct points look at."""
    return min(2 * n_neighbors, n_points - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Distinct points, n > 1.

    points : (n, D), compared by Euclidean distance. size : (n,) the points at each place.
    near : the `widest(n_neighbors, n)` nearest of each.
    """

    points: Array
    size: Float
    near: Neighbours
    n_neighbors: int

    def agreed(self, rule: Rule, steps: int, progress: Progress) -> Agreed:
        """The tree by a rule. O(n^3) time for 'consensus', O(n^2 D) for 'walk'; O(n^2)
        memory."""
        if rule == "walk":
            progress(0.0, "walking")
            walk = self._walk(self.n_neighbors, steps, progress)
            return Agreed(self._by(walk, subprogress(progress, 0.5, 1.0)))
        from models.methods.features.walks.loops import add_joins

        apart = pairwise(self.points, "euclidean")
        apart *= _TIED / max(float(apart.max()), np.finfo(float).tiny)
        rng = np.random.default_rng(0)
        keys = rng.integers(-(1 << 63), (1 << 63) - 1, (len(self.points),))
        trees = []
        for merges in self._trees(steps, subprogress(progress, 0.0, 0.8)):
            order, span = spans(merges)
            places = span[:, 1] - span[:, 0]
            value = np.log(self._sizes(merges)) / np.log(self.size.sum())
            ends = merges[:, :2].astype(np.int64)
            add_joins(order, span[:, 0].copy(), ends, places, value, apart)
            trees.append(merges)
        apart /= len(trees)
        merges = merged(apart, "average", subprogress(progress, 0.8, 1.0), self.size)
        own = keys_of_groups(merges, keys)
        each = [np.isin(own, keys_of_groups(tree, keys)) for tree in trees]
        return Agreed(merges, np.mean(each, axis=0), top_agreement(merges, trees))

    def _trees(self, steps: int, progress: Progress) -> Iterator[Float]:
        """The merges of each tree of the consensus."""
        part = [subprogress(progress, number / 6, (number + 1) / 6) for number in range(6)]
        part[0](0.0, "merging", "average linkage")
        distances = pairwise(self.points, "euclidean")
        yield merged(distances, "average", part[0], self.size)
        del distances
        yield merged_points(self.points, "ward", part[1], self.size)
        k = self.n_neighbors
        walk = self._walk(max(1, k // 2), steps, part[2])
        yield self._by(walk, subprogress(part[2], 0.5, 1.0))
        del walk
        walk = self._walk(widest(k, len(self.points)), steps, part[3])
        yield self._by(walk, subprogress(part[3], 0.5, 1.0))
        del walk
        walk = self._walk(k, steps, part[4])
        yield self._by(walk, subprogress(part[4], 0.5, 1.0))
        walk = longer(walk, self._affinities(k), subprogress(part[5], 0.0, 0.5))
        yield self._by(walk, subprogress(part[5], 0.5, 1.0))

    def _walk(self, n_neighbors: int, steps: int, progress: Progress) -> Float:
        return walked(self._affinities(n_neighbors), steps, subprogress(progress, 0.0, 0.5))

    def _affinities(self, n_neighbors: int) -> csr_array:
        return affinities(self.near, min(n_neighbors, len(self.points) - 1), self.size)

    def _by(self, similarity: Float, progress: Progress) -> Float:
        """Average linkage of a similarity."""
        from models.methods.features.walks.loops import unlike

        progress(0.0, "merging")
        apart = pairwise(self.points, "euclidean")
        unlike(similarity, _LEANING, apart)
        return merged(apart, "average", progress, self.size)

    def _sizes(self, merges: Float) -> Float:
        """(n - 1,) the points under each merge."""
        n = len(merges) + 1
        total = np.concatenate([self.size, np.zeros(n - 1)])
        ends = merges[:, :2].astype(np.int64).tolist()
        for step, (a, b) in enumerate(ends):
            total[n + step] = total[a] + total[b]
        return total[n:]
