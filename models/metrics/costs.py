"""Metrics of a tree against numbers for pairs of points: costs, revenue, cophenetic correlation.

All are over unordered pairs of distinct points. All pairs are used if they are given as a matrix or
are few; else pairs are drawn uniformly with replacement, which gives a standard error.

Dasgupta's cost, the triplet cost and the revenue are sums of w_ij times an integer that depends on
the lowest common ancestor of i and j. Each takes O(N^2) for all pairs, O(pairs) for a sparse
similarity and for drawn pairs; memory O(N). The cosine of dense features is a product of vectors,
and products of sums over subtrees give the exact sum in O((N + n_nodes) D) where D features need no
more than `PASSES` blocks of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.metrics.estimate import Estimate, mean_of
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.loops import trees
from models.metrics.pairs import BLOCK_VALUES, Cosine, Pairs, SparsePairs
from models.tree.tree import Tree

EXACT_POINTS = 5_000
"""Up to this many points, numbers from features are computed for all pairs."""
SAMPLED_PAIRS = 1_000_000
"""The number of pairs drawn to estimate a metric."""
SUMS = 1 << 24
"""The most numbers in sums over subtrees at a time."""
PASSES = 16
"""The largest number of passes over the features for these sums."""


def dasgupta_cost(
    tree: Tree,
    similarity: Pairs | SparsePairs,
    *,
    points: PointOrder | None = None,
    exact_points: int = EXACT_POINTS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Sum of w_ij times the number of points under lca(i, j), over unordered pairs i != j.

    0 or more for similarities of 0 or more; lower is better. 0 below two points. Source: gHHC
    eq. 7 (Dasgupta 2016), whose trees have one point a leaf, so leaves are counted as points.
    """
    points = points or PointOrder.of(tree, LeafOrder.of(tree))
    weigh = _Weighing("dasgupta_cost", tree, tree.size, points, exact_points, rng)
    return weigh.sum(similarity)


def triplet_cost(
    tree: Tree,
    similarity: Pairs | SparsePairs,
    *,
    points: PointOrder | None = None,
    exact_points: int = EXACT_POINTS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Sum, over unordered triples, of their similarities except that of the pair that meets first.

    A triple whose three pairs meet at one node pays all three. A pair is paid for once for each
    third point under its lowest common ancestor, so this is the sum of w_ij times the number of
    points there without the two: Dasgupta's cost minus twice the sum of all similarities. 0 or more
    for similarities of 0 or more; lower is better. Source: gHHC eq. 8 (Wang and Wang 2018).
    """
    points = points or PointOrder.of(tree, LeafOrder.of(tree))
    weigh = _Weighing("triplet_cost", tree, tree.size - 2, points, exact_points, rng)
    return weigh.sum(similarity)


def moseley_wang_revenue(
    tree: Tree,
    similarity: Pairs | SparsePairs,
    *,
    points: PointOrder | None = None,
    exact_points: int = EXACT_POINTS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Sum of w_ij times the number of points that are not under lca(i, j), pairs as above.

    0 or more for similarities of 0 or more; higher is better. Source: Moseley and Wang 2017.
    """
    points = points or PointOrder.of(tree, LeafOrder.of(tree))
    outside = tree.n_points - tree.size
    weigh = _Weighing("moseley_wang_revenue", tree, outside, points, exact_points, rng)
    return weigh.sum(similarity)


@dataclass(frozen=True)
class _Weighing:
    """The sum of w_ij `factor[lca(i, j)]` over pairs.

    factor : (n_nodes,) int64.
    """

    metric: str
    tree: Tree
    factor: Int
    points: PointOrder
    exact_points: int
    rng: np.random.Generator | None

    def sum(self, similarity: Pairs | SparsePairs) -> Estimate:
        tree, points = self.tree, self.points
        if isinstance(similarity, SparsePairs):
            place = np.empty(tree.n_points, dtype=np.int64)
            place[points.order] = np.arange(tree.n_points)
            a, b = place[similarity.first], place[similarity.second]
            node = points.topmost(np.minimum(a, b), np.maximum(a, b))
            total = float(similarity.value @ self.factor[node])
            return Estimate(total, warnings=similarity.warnings)
        if similarity.stored or tree.n_points <= self.exact_points:
            total = 0.0
            for node, weight in _all_pairs(points, similarity):
                total += float(weight @ self.factor[node])
            return Estimate(total, warnings=similarity.warnings)
        if isinstance(similarity, Cosine) and 0 < similarity.n_columns <= PASSES * _at_once(tree):
            total = _sum_of_cosines(tree, similarity, self.factor)
            return Estimate(total, warnings=similarity.warnings)
        node, weight = _some_pairs(points, similarity, self.rng)
        n_pairs = tree.n_points * (tree.n_points - 1) // 2
        total, error = mean_of(weight * self.factor[node], scale=n_pairs)
        return Estimate(total, error, (_sampled(self.metric, tree), *similarity.warnings))


def cophenetic_correlation(
    tree: Tree,
    distances: Pairs,
    *,
    points: PointOrder | None = None,
    exact_points: int = EXACT_POINTS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Pearson correlation, over pairs i < j, of the distance with the height of lca(i, j).

    In [-1, 1]. None where it is undefined: below two points, or where all distances or all heights
    are equal. Source: Sokal and Rohlf 1962; `scipy.cluster.hierarchy.cophenet`.

    The standard error of an estimate is that of the correlation's linear expansion in its draws
    (delta method), so it does not assume normal distributions. O(N^2) for all pairs, O(pairs) for
    drawn ones; memory O(N).
    """
    points = points or PointOrder.of(tree, LeafOrder.of(tree))
    if tree.n_points < 2:
        return Estimate(
            None, warnings=("Cophenetic correlation is undefined for fewer than two points.",)
        )
    exact = distances.stored or tree.n_points <= exact_points
    moments = _Moments()
    # Squares of what is divided by its largest power of two neither vanish nor overflow; features
    # are in their frame.
    height = np.ldexp(tree.height, -_exponent(tree.height))
    if exact:
        largest = 0
        if distances.stored:
            largest = max(_exponent(distance) for _, distance in _all_pairs(points, distances))
        for node, distance in _all_pairs(points, distances):
            moments.add(height[node], np.ldexp(distance, -largest))
    else:
        node, distance = _some_pairs(points, distances, rng)
        moments.add(height[node], distance)
    equal = moments.constant()
    if equal:
        return Estimate(
            None,
            warnings=(
                f"Cophenetic correlation is undefined: all pairs have the same {equal}.",
                *distances.warnings,
            ),
        )
    value = float(np.clip(moments.xy / np.sqrt(moments.xx) / np.sqrt(moments.yy), -1.0, 1.0))
    if exact:
        return Estimate(value, warnings=distances.warnings)
    n = distance.shape[0]
    x = (height[node] - moments.x) / np.sqrt(moments.xx / n)
    y = (distance - moments.y) / np.sqrt(moments.yy / n)
    _, error = mean_of(x * y - value / 2.0 * (x * x + y * y))
    return Estimate(value, error, (_sampled("cophenetic_correlation", tree), *distances.warnings))


def _exponent(values: Float) -> int:
    """The power of two just above the largest magnitude; 0 where all are 0."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def _sum_of_cosines(tree: Tree, cosine: Cosine, factor: Int) -> float:
    """`_Weighing.sum` for (1 + x.y) / 2, x and y of length one or 0."""
    n_pairs = tree.size * (tree.size - 1) // 2
    below = np.bincount(tree.parent[1:], n_pairs[1:], tree.n_nodes)
    total = float((n_pairs - below) @ factor)
    width = min(cosine.n_columns, _at_once(tree))
    step = max(1, BLOCK_VALUES // width)
    for left in range(0, cosine.n_columns, width):
        columns = slice(left, min(left + width, cosine.n_columns))
        sums = np.zeros((tree.n_nodes, columns.stop - left), dtype=np.float64)
        for start in range(0, tree.n_points, step):
            part = slice(start, start + step)
            rows = cosine.unit(part, columns)
            total += trees.add_points(sums, tree.leaf_of_point[part], factor, rows)
        total += trees.add_children(sums, tree.parent, factor)
    return total / 2.0


def _at_once(tree: Tree) -> int:
    """Columns of features that are summed over subtrees in one pass."""
    return max(1, SUMS // tree.n_nodes)


@dataclass
class _Moments:
    """Means of pairs (x, y) added in parts, and sums of squares and products about them.

    Parts are combined by their means (Chan et al. 1979), so no large numbers cancel.
    """

    n: int = 0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0
    x_range: tuple[float, float] = (np.inf, -np.inf)
    y_range: tuple[float, float] = (np.inf, -np.inf)

    def add(self, x: Float, y: Float) -> None:
        n = x.shape[0]
        total = self.n + n
        mean_x, mean_y = float(x.mean()), float(y.mean())
        off_x, off_y = x - mean_x, y - mean_y
        step_x, step_y = mean_x - self.x, mean_y - self.y
        weight = self.n * n / total
        self.xx += float(off_x @ off_x) + step_x * step_x * weight
        self.yy += float(off_y @ off_y) + step_y * step_y * weight
        self.xy += float(off_x @ off_y) + step_x * step_y * weight
        self.x += step_x * n / total
        self.y += step_y * n / total
        self.n = total
        self.x_range = (min(self.x_range[0], float(x.min())), max(self.x_range[1], float(x.max())))
        self.y_range = (min(self.y_range[0], float(y.min())), max(self.y_range[1], float(y.max())))

    def constant(self) -> str:
        """What is constant: "height" or "distance"; "" if neither is."""
        if self.x_range[0] == self.x_range[1] or self.xx == 0.0:
            return "height"
        return "distance" if self.y_range[0] == self.y_range[1] or self.yy == 0.0 else ""


def _all_pairs(points: PointOrder, pairs: Pairs) -> Iterator[tuple[Int, Float]]:
    """Lowest common ancestors and numbers of all pairs, yielded for one point and all later
    ones."""
    n_points = points.order.shape[0]
    step = max(1, BLOCK_VALUES // max(1, n_points))
    for start in range(0, n_points - 1, step):
        stop = min(start + step, n_points - 1)
        block = pairs.block(points.order[start:stop], points.order[start + 1 :])
        for row in range(stop - start):
            yield points.after(start + row), block[row, row:]


def _some_pairs(
    points: PointOrder, pairs: Pairs, rng: np.random.Generator | None
) -> tuple[Int, Float]:
    """Lowest common ancestors and numbers of `SAMPLED_PAIRS` pairs of distinct points."""
    rng = rng or np.random.default_rng(0)
    n_points = points.order.shape[0]
    first = rng.integers(n_points, size=SAMPLED_PAIRS)
    second = rng.integers(n_points - 1, size=SAMPLED_PAIRS)
    second += second >= first
    node = points.topmost(np.minimum(first, second), np.maximum(first, second))
    return node, pairs.at(points.order[first], points.order[second])


def _sampled(metric: str, tree: Tree) -> str:
    return (
        f"{metric} is estimated from {SAMPLED_PAIRS} sampled pairs: {tree.n_points} points are too "
        "many for all pairs."
    )
