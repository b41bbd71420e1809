"""Metrics of a tree against another tree over the same points, such as a true hierarchy.

All but the Robinson-Foulds distance are over unordered pairs of distinct points. Points are counted
by pair of leaves, one of each tree: this is exact and takes O(cells^2) up to `EXACT_STEPS` steps;
beyond that, pairs of points are drawn uniformly with replacement, which gives a standard error.

`PairProfile` holds the numbers that a tree assigns to pairs of its points, to compare with another
tree's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.metrics import flat
from models.metrics.estimate import Estimate, mean_of
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.loops import trees
from models.tree.parents import under
from models.tree.tree import Tree

Leaves = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class PairProfile:
    """A number for every pair of a tree's leaves.

    It is `up` of their lowest common ancestor, times the lesser of their `rate`s, plus both their
    `add`s.

    up, add, rate : (n_nodes,); `add` and `rate` count at leaves only.
    """

    tree: Tree
    up: Float
    add: Float
    rate: Float

    @classmethod
    def shortest_path(cls, tree: Tree) -> PairProfile:
        """1 minus the edges between two leaves over the most edges between any two."""
        longest = max(1, _diameter(tree))
        depth: Float = tree.depth / longest
        return cls(tree, 2.0 * depth, 0.5 - depth, np.ones(tree.n_nodes))

    @classmethod
    def path_sharing(cls, tree: Tree) -> PairProfile:
        """The number of nodes shared by two paths from the root, over that of the longer one."""
        none = np.zeros(tree.n_nodes)
        if tree.max_depth <= 1:
            return cls(tree, (tree.n_children == 0).astype(np.float64), none, none + 1.0)
        nodes = tree.depth.astype(np.float64) + 1.0
        return cls(tree, nodes, none, 1.0 / nodes)

    @classmethod
    def heights(cls, tree: Tree) -> PairProfile | None:
        """Heights with mean 0 and variance 1 over pairs; None if they are all equal."""
        n_pairs = tree.size * (tree.size - 1) // 2
        meeting = n_pairs.copy()
        np.subtract.at(meeting, tree.parent[1:], n_pairs[1:])
        used = meeting > 0
        share = meeting[used] / n_pairs[0]
        height = tree.height[used]
        lowest, highest = float(height.min()), float(height.max())
        if lowest == highest:
            return None
        # Halved and scaled first, so that nothing overflows.
        up = (tree.height / 2.0 - lowest / 2.0) / (highest / 2.0 - lowest / 2.0)
        up -= float(share @ up[used])
        up /= np.sqrt(float(share @ (up[used] * up[used])))
        return cls(tree, up, np.zeros(tree.n_nodes), np.ones(tree.n_nodes))

    def of(self, node: Leaves, first: Leaves, second: Leaves) -> Float:
        """(n,) the numbers of the leaves `first[i]` and `second[i]`, which meet at `node[i]`."""
        share = np.minimum(self.rate[first], self.rate[second])
        number: Float = self.up[node] * share + self.add[first] + self.add[second]
        return number


def _diameter(tree: Tree) -> int:
    """The largest number of edges between any two leaves. O(n_nodes log n_nodes)."""
    if tree.n_nodes == 1:
        return 0
    deepest = under(tree.parent, tree.depth, np.maximum.at)
    child = np.lexsort((deepest[1:], tree.parent[1:])) + 1
    parent = tree.parent[child]
    # The last two children of each node are those with the deepest leaves.
    last = np.flatnonzero(np.append(parent[1:] != parent[:-1], True))
    last = last[tree.n_children[parent[last]] > 1]
    reach = deepest[child[last]] + deepest[child[last - 1]] - 2 * tree.depth[parent[last]]
    return int(np.max(reach, initial=0))


EXACT_STEPS = 4_000_000_000
"""All pairs are compared if that takes up to about this many steps, a few seconds."""
SAMPLED_PAIRS = 1_000_000
"""The number of pairs drawn to estimate a metric."""


def shortest_path_similarity(
    tree: Tree, truth: Tree, *, rng: np.random.Generator | None = None
) -> Estimate:
    """1 - mean (s - t)^2 over pairs, s and t the path similarities in the two trees; in [0, 1].

    The path similarity is 1 - (edges between the two leaves) / (most edges between any two leaves
    of the tree), and 1 within a leaf; so in a tree of depth one it is 1 within a leaf, else 0. All
    nodes count, including those with one child. None below two points. Source: HMMC section 5 (SP;
    Harispe et al. 2013).
    """
    return _alike("shortest_path_similarity", PairProfile.shortest_path, tree, truth, rng)


def path_sharing_similarity(
    tree: Tree, truth: Tree, *, rng: np.random.Generator | None = None
) -> Estimate:
    """1 - mean (s - t)^2 over pairs, s and t the shares of common path in the two trees; in [0, 1].

    It is (nodes shared by the two paths from the root) / (nodes of the longer path), root and leaf
    included, so 1 within a leaf; in a tree of depth one, which is no hierarchy, it is 1 within a
    leaf, else 0. None below two points. Source: HMMC section 5 (PS; Fergus et al. 2010).
    """
    return _alike("path_sharing_similarity", PairProfile.path_sharing, tree, truth, rng)


def cophenetic_agreement(
    tree: Tree, truth: Tree, *, rng: np.random.Generator | None = None
) -> Estimate:
    """Pearson correlation, over pairs, of the heights at which they meet in the two trees.

    In [-1, 1]; None below two points and if all pairs meet at one height in one of the trees.
    Source: Sokal and Rohlf 1962. A correlation is 1 minus half the mean squared difference of
    standardised heights, whose means and variances are exact in O(n_nodes).
    """
    if tree.n_points < 2:
        return _undefined("cophenetic_agreement")
    own, other = PairProfile.heights(tree), PairProfile.heights(truth)
    if own is None or other is None:
        what = "tree" if own is None else "hierarchy"
        why = f"all pairs meet at the same height in the {what}"
        return Estimate(None, warnings=(f"cophenetic_agreement is undefined: {why}.",))
    gap = _mean_squared_gap("cophenetic_agreement", own, other, rng)
    assert gap.value is not None
    value = min(1.0, max(-1.0, 1.0 - gap.value / 2.0))
    error = None if gap.standard_error is None else gap.standard_error / 2.0
    return Estimate(value, error, gap.warnings)


def robinson_foulds(tree: Tree, truth: Tree) -> Estimate:
    """Share of the groups of points that only one of the two trees has, in [0, 1]; lower is better.

    A group is the set of points under a node, except single points and the set of all points. 0 if
    neither tree has such a group; None below two points. Source: Robinson and Foulds 1981, rooted,
    normalised by the number of groups of both; Day 1985.

    The points under a node of one tree are an interval of its order; a group of the other tree is
    equal to one if its positions there span no more than its size. O((N + n_nodes) log).
    """
    n_points = tree.n_points
    if n_points < 2:
        return _undefined("robinson_foulds")
    order = np.argsort(LeafOrder.of(tree).start[tree.leaf_of_point], kind="stable")
    place = np.empty(n_points, dtype=np.int64)
    place[order] = np.arange(n_points)
    own, _ = _groups(tree, place)
    others, n_strange = _groups(truth, place)
    n_own, n_others = own.shape[0], others.shape[0] + n_strange
    if n_own + n_others == 0:
        return Estimate(0.0)
    n_shared = np.intersect1d(own, others, assume_unique=True).shape[0]
    return Estimate((n_own + n_others - 2 * n_shared) / (n_own + n_others))


def _groups(tree: Tree, place: Int) -> tuple[Int, int]:
    """Groups that are intervals of positions, each as a number, and the number of the others.

    Nodes over the same points are one group: a node of all its parent's points is left out.
    """
    n_points = place.shape[0]
    low = np.full(tree.n_nodes, n_points, dtype=np.int64)
    high = np.full(tree.n_nodes, -1, dtype=np.int64)
    np.minimum.at(low, tree.leaf_of_point, place)
    np.maximum.at(high, tree.leaf_of_point, place)
    low, high = under(tree.parent, low, np.minimum.at), under(tree.parent, high, np.maximum.at)
    kept = (tree.size > 1) & (tree.size < n_points)
    kept[1:] &= tree.size[1:] != tree.size[tree.parent[1:]]
    whole = high - low + 1 == tree.size
    intervals = kept & whole
    return low[intervals] * n_points + high[intervals], int((kept & ~whole).sum())


def _alike(
    metric: str,
    profile_of: Callable[[Tree], PairProfile],
    tree: Tree,
    truth: Tree,
    rng: np.random.Generator | None,
) -> Estimate:
    if tree.n_points < 2:
        return _undefined(metric)
    gap = _mean_squared_gap(metric, profile_of(tree), profile_of(truth), rng)
    assert gap.value is not None
    return Estimate(min(1.0, max(0.0, 1.0 - gap.value)), gap.standard_error, gap.warnings)


def _mean_squared_gap(
    metric: str, own: PairProfile, other: PairProfile, rng: np.random.Generator | None
) -> Estimate:
    """Mean, over pairs of points, of the squared difference of two trees' numbers."""
    if _n_held(own.tree) < _n_held(other.tree):
        own, other = other, own
    cells = _Cells.of(own.tree, other.tree)
    if cells.n_steps > EXACT_STEPS:
        return _drawn(metric, own, other, rng)
    inside = cells.count * (cells.count - 1) // 2
    leaf, row_leaf = cells.leaf, cells.row_leaf[cells.row]
    gap = own.of(leaf, leaf, leaf) - other.of(row_leaf, row_leaf, row_leaf)
    total = float(inside @ (gap * gap))
    member = np.argsort(cells.row, kind="stable")
    total += trees.squared_gap(
        cells.row,
        member,
        np.searchsorted(cells.row[member], np.arange(cells.row_leaf.shape[0] + 1)),
        cells.count.astype(np.float64),
        cells.meet,
        own.up,
        own.add[leaf],
        own.rate[leaf],
        cells.row_meet,
        other.up,
        other.add[cells.row_leaf],
        other.rate[cells.row_leaf],
        other.of(cells.row_leaf, cells.row_leaf, cells.row_leaf),
    )
    n_points = own.tree.n_points
    return Estimate(total / (n_points * (n_points - 1) // 2))


def _drawn(
    metric: str, own: PairProfile, other: PairProfile, rng: np.random.Generator | None
) -> Estimate:
    rng = rng or np.random.default_rng(0)
    n_points = own.tree.n_points
    first = rng.integers(n_points, size=SAMPLED_PAIRS)
    second = rng.integers(n_points - 1, size=SAMPLED_PAIRS)
    second += second >= first
    numbers = []
    for profile in (own, other):
        tree = profile.tree
        points = PointOrder.of(tree, LeafOrder.of(tree))
        place = np.empty(n_points, dtype=np.int64)
        place[points.order] = np.arange(n_points)
        a, b = place[first], place[second]
        node = points.topmost(np.minimum(a, b), np.maximum(a, b))
        numbers.append(profile.of(node, tree.leaf_of_point[first], tree.leaf_of_point[second]))
    gap = numbers[0] - numbers[1]
    note = (
        f"{metric} is estimated from {SAMPLED_PAIRS} sampled pairs: {n_points} points are too many "
        "for all pairs."
    )
    return Estimate(*mean_of(gap * gap), (note,))


@dataclass(frozen=True)
class _Cells:
    """Points counted by pair of leaves, from left to right in the first tree, then in the other.

    leaf, row, count : (n_cells,) leaf of the first tree, row of the other tree's leaf, number of
        points.
    meet : (n_cells - 1,) lowest node of the first tree over each cell and the next.
    row_leaf : (n_rows,) the other tree's leaves that have points, from left to right.
    row_meet : (n_rows - 1,) lowest node over each of them and the next.
    """

    leaf: Int
    row: Int
    count: Int
    meet: Int
    row_leaf: Int
    row_meet: Int

    @classmethod
    def of(cls, tree: Tree, other: Tree) -> _Cells:
        """O(N log N)."""
        leaves, others = LeafOrder.of(tree), LeafOrder.of(other)
        held, row = np.unique(others.start[other.leaf_of_point], return_inverse=True)
        table = flat.contingency(
            leaves.start[tree.leaf_of_point], row, tree.n_leaves, held.shape[0]
        )
        place = table.cluster
        leaf = leaves.leaf[place]
        meet = leaf[:-1].copy()
        apart = np.flatnonzero(place[1:] > place[:-1])
        meet[apart] = leaves.topmost(place[apart], place[apart + 1])
        row_meet = others.topmost(held[:-1], held[1:])
        return cls(leaf, table.class_, table.count, meet, others.leaf[held], row_meet)

    @property
    def n_steps(self) -> int:
        n_cells, n_rows = len(self.count), len(self.row_leaf)
        return n_cells * n_cells // 2 + n_rows * n_rows


def _n_held(tree: Tree) -> int:
    """Leaves that have points."""
    return int(np.count_nonzero(tree.size[tree.leaves]))


def _undefined(metric: str) -> Estimate:
    return Estimate(None, warnings=(f"{metric} is undefined for fewer than two points.",))
