"""The tree that walks of several reaches, average linkage and Ward's linkage agree on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Array, Float, row_blocks
from models.graphs.lengths import Neighbours
from models.methods.features.walks.similarities import affinities, by_columns, walked
from models.numerics.agglomeration import merged, merged_points
from models.numerics.distances import pairwise
from models.numerics.merges import keys_of_groups, spans, top_agreement
from models.running.progress import Progress, subprogress

Rule = Literal["consensus", "walk"]

_LEANING = 1e-9
"""Part of the distance in the distance by a walk, for places that no walk joins."""

_TIED = 1e-6
"""Part of the distance in the consensus: it decides where the trees leave a tie."""

_PAIRS = 1 << 24
"""Pairs of which trees are compared between two reports of progress."""


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


def walks_of(n_neighbors: int, steps: int) -> list[tuple[int, int]]:
    """The neighbours and the steps of each walk of a consensus."""
    near = n_neighbors
    return [(max(1, near // 2), steps), (2 * near, steps), (near, steps), (near, 4 * steps)]


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
        """The tree by a rule. O(n^2 (D + k t)) time, k neighbours and t steps, O(n^3) where walks
        are dense; O(n^2) memory."""
        distances = pairwise(self.points, "euclidean")
        if rule == "walk":
            return Agreed(self._by_walk(self.n_neighbors, steps, distances, progress))
        trees = list(self._trees(steps, distances, subprogress(progress, 0.0, 0.8)))
        apart = distances
        apart *= _TIED / max(float(apart.max()), np.finfo(float).tiny)
        self._add_joins(trees, apart, subprogress(progress, 0.8, 0.9))
        apart /= len(trees)
        merges = merged(apart, "average", subprogress(progress, 0.9, 1.0), self.size)
        rng = np.random.default_rng(0)
        keys = rng.integers(-(1 << 63), (1 << 63) - 1, (len(self.points),))
        own = keys_of_groups(merges, keys)
        each = [np.isin(own, keys_of_groups(tree, keys)) for tree in trees]
        return Agreed(merges, np.mean(each, axis=0), top_agreement(merges, trees))

    def _trees(self, steps: int, distances: Float, progress: Progress) -> Iterator[Float]:
        """The merges of each tree of the consensus."""
        part = [subprogress(progress, number / 6, (number + 1) / 6) for number in range(6)]
        part[0](0.0, "merging", "average linkage")
        yield merged(distances.copy(), "average", part[0], self.size)
        yield merged_points(self.points, "ward", part[1], self.size)
        each = zip(walks_of(self.n_neighbors, steps), part[2:], strict=True)
        for (n_neighbors, length), within in each:
            yield self._by_walk(n_neighbors, length, distances, within)

    def _by_walk(self, n_neighbors: int, steps: int, distances: Float, progress: Progress) -> Float:
        """Average linkage of a walk."""
        from models.methods.features.walks.loops import unlike

        n_neighbors = min(n_neighbors, len(self.points) - 1)
        affinity = affinities(self.near, n_neighbors, self.size)
        columns = by_columns(len(self.points), n_neighbors, steps)
        apart = walked(affinity, steps, columns, subprogress(progress, 0.0, 0.6))
        progress(0.6, "merging")
        unlike(apart, _LEANING, distances)
        return merged(apart, "average", subprogress(progress, 0.6, 1.0), self.size)

    def _add_joins(self, trees: Sequence[Float], apart: Float, progress: Progress) -> None:
        """Add to each pair, for each tree, the logarithm of the share of all points that the
        smallest group with both has."""
        from models.methods.features.walks.loops import add_joins

        order, span = (np.stack(parts) for parts in zip(*map(spans, trees), strict=True))
        before = np.cumsum(np.pad(self.size[order], ((0, 0), (1, 0))), axis=1)
        own = span[:, len(self.points) :]
        under = np.take_along_axis(before, own[..., 1], axis=1)
        under -= np.take_along_axis(before, own[..., 0], axis=1)
        value = np.log(under) / np.log(self.size.sum())
        ends = np.stack([tree[:, :2] for tree in trees]).astype(np.int64)
        n = len(self.points)
        for block in row_blocks(n, n, _PAIRS):
            progress(block.start / n, "comparing trees")
            add_joins(order, span, ends, value, block.start, block.stop, apart)
