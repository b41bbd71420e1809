"""Metrics of a tree against numbers for pairs of points: costs, revenue, correlation.

All are over unordered pairs of distinct points. All pairs are used if they are given as a matrix or
are few; else pairs are drawn uniformly with replacement, which gives a standard error.

Dasgupta's cost, the triplet cost and the revenue are sums of w_ij times an integer that depends on
the lowest common ancestor of i and j. Each takes O(N^2) for all pairs, O(pairs) for a sparse
similarity and for drawn pairs; memory O(N). The cosine of dense features is a product of vectors,
and products of sums over subtrees give the exact sum in O((N + n_nodes) D) where D features need no
more than `PASSES` blocks of columns.

The Wang-Wang ratio is the cost of a tree for triples of points, over the least possible cost.
Source: gHHC eq. 8 and 9 (Wang and Wang, "An Improved Cost Function for Hierarchical Cluster Trees",
2018), over unordered triples of distinct points.
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
        least = trees.least_costs(_full(similarity, tree.n_points))
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
        triangles = trees.least_of_triangles(edges.start, edges.end, edges.value)
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
