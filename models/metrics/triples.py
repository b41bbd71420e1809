"""The Wang-Wang ratio: the cost of a tree for triples of points, over the least possible cost.

Source: gHHC eq. 8 and 9 (Wang and Wang, "An Improved Cost Function for Hierarchical Cluster Trees",
2018), over unordered triples of distinct points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.metrics.costs import EXACT_POINTS, triplet_cost
from models.metrics.estimate import Estimate, mean_of
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.loops import triples
from models.metrics.pairs import BLOCK_VALUES, Pairs, SparsePairs
from models.tree.tree import Tree

EXACT_STEPS = 1_000_000_000
"""Triangles of a sparse similarity are counted exactly in up to this many steps, a few seconds."""
SAMPLED_TRIPLES = 1_000_000
"""The number of triples drawn to estimate the ratio."""
MOST_VALUES = 2_000_000_000
"""Fewer are drawn, but at least `AT_LEAST`, if this many values would be read for them."""
AT_LEAST = 10_000
FEW = "wang_wang_ratio is undefined for fewer than three points."
NEGATIVE = "wang_wang_ratio is undefined where similarities are negative."
NOTHING = "wang_wang_ratio is undefined: no triple of points has two pairs that are similar."


def wang_wang_ratio(
    tree: Tree,
    similarity: Pairs | SparsePairs,
    *,
    points: PointOrder | None = None,
    exact_points: int = EXACT_POINTS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """The triplet cost over the sum of each triple's least cost, its two lesser similarities.

    1 or more, 1 if every triple's most similar pair meets first; lower is better.

    None below three points, for negative similarities and if all least costs are 0. It is exact up
    to `exact_points` points, in O(N^3) time and 8 N^2 bytes, and for a sparse similarity while it
    takes up to `EXACT_STEPS` steps, in O(m^1.5) for m pairs and O(N + m) memory. Otherwise it is
    estimated from up to `SAMPLED_TRIPLES` draws, with the standard error (delta method).
    """
    if tree.n_points < 3:
        return Estimate(None, warnings=(FEW,))
    if similarity.negative:
        return Estimate(None, warnings=(NEGATIVE, *similarity.warnings))
    points = points or PointOrder.of(tree, LeafOrder.of(tree))
    rng = rng or np.random.default_rng(0)
    if not isinstance(similarity, SparsePairs) and tree.n_points > exact_points:
        return _from_draws(tree, similarity, points, rng)
    cost = triplet_cost(tree, similarity, points=points, exact_points=exact_points).value
    assert cost is not None
    error = 0.0
    notes = similarity.warnings
    if isinstance(similarity, SparsePairs):
        least, error = _least_of_sparse(similarity, tree.n_points, rng)
    else:
        least = triples.least_costs(_full(similarity, tree.n_points))
    if least <= 0.0:
        return Estimate(None, warnings=(NOTHING, *notes))
    value = cost / least
    if value < 1.0:
        # No tree costs less than the least, apart from rounding.
        value = 1.0
    if error == 0.0:
        return Estimate(value, warnings=notes)
    note = f"wang_wang_ratio is estimated from {SAMPLED_TRIPLES} sampled triples of similar points."
    return Estimate(value, value * error / least, (note, *notes))


def _full(similarity: Pairs, n_points: int) -> Float:
    weight = np.empty((n_points, n_points), dtype=np.float64)
    everyone = np.arange(n_points)
    step = max(1, BLOCK_VALUES // n_points)
    for start in range(0, n_points, step):
        weight[start : start + step] = similarity.block(everyone[start : start + step], everyone)
    return weight


def _from_draws(
    tree: Tree, similarity: Pairs, points: PointOrder, rng: np.random.Generator
) -> Estimate:
    """Mean cost over mean least cost of drawn triples."""
    n_points = tree.n_points
    n_drawn = min(SAMPLED_TRIPLES, max(AT_LEAST, MOST_VALUES // (6 * similarity.width)))
    first = rng.integers(n_points, size=n_drawn)
    second = rng.integers(n_points - 1, size=n_drawn)
    second += second >= first
    third = rng.integers(n_points - 2, size=n_drawn)
    third += third >= np.minimum(first, second)
    third += third >= np.maximum(first, second)
    a, b, c = np.sort(np.stack([first, second, third]), axis=0)
    # The outer two meet no lower than either of them meets the middle one.
    left, right = points.topmost(a, b), points.topmost(b, c)
    a, b, c = points.order[a], points.order[b], points.order[c]
    near, far, across = similarity.at(a, b), similarity.at(b, c), similarity.at(a, c)
    whole = near + far + across
    least = whole - np.maximum(np.maximum(near, far), across)
    cost = whole - np.where(left > right, near, np.where(right > left, far, 0.0))
    mean = float(least.mean())
    if mean <= 0.0:
        return Estimate(None, warnings=(NOTHING, *similarity.warnings))
    value = float(cost.mean()) / mean
    _, error = mean_of((cost - value * least) / mean)
    note = (
        f"wang_wang_ratio is estimated from {n_drawn} sampled triples: {n_points} points are too "
        "many for all triples."
    )
    return Estimate(value, error, (note, *similarity.warnings))


def _least_of_sparse(
    similarity: SparsePairs, n_points: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Sum of least costs over all triples, and its standard error, 0 where it is exact.

    The lesser of two similarities that share a point, summed over all these pairs, counts b once
    and c twice for a triple a >= b >= c, whose least cost is b + c; so the least similarity of each
    triangle is subtracted again.
    """
    kept = similarity.value > 0.0
    value = similarity.value[kept]
    first, second = similarity.first[kept], similarity.second[kept]
    point = np.concatenate([first, second])
    both = np.concatenate([value, value])
    order = np.lexsort((both, point))
    degree = np.bincount(point, minlength=n_points)
    begin = np.cumsum(degree) - degree
    # The number of a point's similarities after each one, in ascending order.
    after = np.empty(point.shape[0], dtype=np.int64)
    after[order] = (begin + degree - 1)[point[order]] - np.arange(point.shape[0])
    shared = float(both @ after)
    edges = _Edges.of(first, second, value, degree)
    if edges.n_steps <= EXACT_STEPS:
        triangles = triples.least_of_triangles(edges.start, edges.end, edges.value)
        return shared - triangles, 0.0
    triangles, error = edges.sampled(rng)
    return shared - triangles, error


@dataclass(frozen=True)
class _Edges:
    """Pairs as edges from the point with fewer pairs to that with more, ties by number.

    start : (n_points + 1,) first edge out of each point. end, value : (n_edges,) by point, then
    end.
    """

    start: Int
    end: Int
    value: Float

    @classmethod
    def of(cls, first: Int, second: Int, value: Float, degree: Int) -> _Edges:
        n_points = degree.shape[0]
        rank = np.empty(n_points, dtype=np.int64)
        rank[np.lexsort((np.arange(n_points), degree))] = np.arange(n_points)
        low = np.minimum(rank[first], rank[second])
        high = np.maximum(rank[first], rank[second])
        order = np.lexsort((high, low))
        start = np.zeros(n_points + 1, dtype=np.int64)
        np.cumsum(np.bincount(low, minlength=n_points), out=start[1:])
        return cls(start, high[order], value[order])

    @property
    def _steps(self) -> Int:
        """(n_edges,) number of edges that continue from the end of each edge."""
        steps: Int = np.diff(self.start)[self.end]
        return steps

    @property
    def n_steps(self) -> int:
        return int(self._steps.sum())

    def sampled(self, rng: np.random.Generator) -> tuple[float, float]:
        """Sum, over triangles, of their least weight, from sampled paths of two edges."""
        n_points = self.start.shape[0] - 1
        begin = np.repeat(np.arange(n_points), np.diff(self.start))
        steps = np.cumsum(self._steps)
        draw = rng.integers(steps[-1], size=SAMPLED_TRIPLES)
        first = np.searchsorted(steps, draw, side="right")
        second = self.start[self.end[first] + 1] - (steps[first] - draw)
        key = begin * n_points + self.end
        closing_key = begin[first] * n_points + self.end[second]
        closing = np.minimum(np.searchsorted(key, closing_key), key.shape[0] - 1)
        least = np.minimum(np.minimum(self.value[first], self.value[second]), self.value[closing])
        return mean_of(np.where(key[closing] == closing_key, least, 0.0), scale=float(steps[-1]))
