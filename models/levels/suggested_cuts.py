"""The few cuts of a tree that stand out against chance: where a criterion peaks over the number of
clusters.

One criterion follows from the tree alone: `gap`, the range of heights that give the cut, as a share
of the root's height. Others (`silhouette`, `modularity`) were measured when the tree was made and
are passed as curves, each with the p-values of its peaks (`silhouette`, `merging.modularity`).
Only what is significant is suggested; a curve without p-values suggests nothing. A cut in which one
cluster has nearly all points is never suggested.

`gap_p_values` tells how strong the gaps between a tree's merge heights are against chance. Where no
level stands out, the heights of the last merges fall about like a power of the number of clusters,
and their spacings on a logarithmic scale, times that number, are about independent and exponential
(Rényi's representation of order statistics). At the top of a tree the spacings are smaller than for
a power of k, since heights are bounded: with `OFFSET` added to k they are alike for all k. A gap
then has the share g of the sum of n spacings with probability (1 - g)^(n - 1), exactly. The bound
over all k gives coarse cuts more weight, as 1 / k, and a gap that is significant is left out of the
sum that the others are held against.

It is an approximation, held to what it promises by simulation: which gaps are compared, which may
be levels (`_SECOND`) and what p-values are multiplied by were chosen so that data without
structure, normal, uniform or with tails as heavy as Cauchy's, have a significant gap in at most
`SIGNIFICANT` of sets by each linkage of `hac` (`docs/decisions/suggested-cuts.md`, `python -m bench
levels`). Source: Rényi, "On the theory of order statistics" (1953); Fisher, "Tests of significance
in harmonic analysis" (1929), for the share of a sum; Holm, "A simple sequentially rejective
multiple test procedure" (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.tree.cut import most_clusters, nodes_of_cuts
from models.tree.noise import noise_of
from models.tree.tree import Tree
from models.tree.walk import greatest_heights, leaf_counts

SIGNIFICANT = 0.05
"""Largest p-value of a level that is suggested."""

OFFSET = 2
"""What is added to k; chosen on seeds that the bench does not use."""


def gap_p_values(k: Int, low: Float, high: Float) -> Float:
    """(n,) p-value of the gap below which there are k clusters, from 0 to 1.

    k, low, high : (n,) numbers of clusters and the heights, 0 < low <= high, that give each.
    O(n (1 + number of significant gaps)).
    """
    spacing = (k + OFFSET) * np.log(high / low)
    bound = k * np.sum(1.0 / k)
    p_value = np.ones(len(k))
    others = np.ones(len(k), dtype=bool)
    while others.any() and spacing[others].sum() > 0:
        share = spacing[others] / spacing[others].sum()
        p_value[others] = np.minimum(bound[others] * (1.0 - share) ** (others.sum() - 1), 1.0)
        least = np.flatnonzero(others)[np.argmin(p_value[others])]
        if p_value[least] > SIGNIFICANT:
            break
        others[least] = False
    return p_value


Curve = Sequence[tuple[int, float]]

MOST = 5
"""Largest number of suggested levels."""

MOST_CLUSTERS = 100
"""Largest number of clusters of a suggested cut; no curve is longer."""

P_VALUE = "_p_value"
"""What the name of a curve ends with that has the p-values of another's peaks."""

MOST_SHARE = 0.95
"""Largest share of the points in one cluster of a suggested cut."""

FEWEST_GAPS = 3
"""Fewest gaps among which one can be distinguished from chance."""

LEAVES_PER_CLUSTER = 3
"""Fewest leaves for each cluster, on average, of a cut that may be a level."""

_FEW_COMPARED = 10
"""In a small tree gaps are compared up to so many clusters, or two for three leaves; ..."""

_MANY_COMPARED = 3.0
"""... in a large one up to this times the root of the number of leaves: single linkage's heights
are no power of k any further."""

_SECOND = 5
"""The second largest cluster of a level has so many leaves, or a twentieth of all where that is
less, but at least two: one cluster and stray points are what chance gives by single linkage."""

_DISTINCT = 0.75
"""Gaps are comparable where at least this share of the numbers of clusters has one: where heights
are whole numbers, or few, spacings do not follow a continuous law."""

_FEW_LEAVES = 20
_SMALL, _LARGE = 0.7, 1.5
"""What p-values are multiplied by in trees of at most `_FEW_LEAVES` and of more, so that they hold
for the linkage and the data, of all simulated, that exceed the law the most."""

_WORTH = 0.5
"""A further peak of a curve is suggested if it reaches at least this share of the highest one,
..."""

_STANDS_OUT = 0.1
"""... and if its prominence is at least this share of the curve's range."""


@dataclass(frozen=True, slots=True)
class Level:
    """A cut into `k` clusters, also by `height` (None if no height gives it).

    score : the criterion's value there. curve : (k, value) of all cuts that were compared.
    p_value : about the probability that data without structure have as strong a level, all k
    together.
    """

    k: int
    height: float | None
    criterion: str
    score: float
    curve: tuple[tuple[int, float], ...]
    p_value: float


def levels(tree: Tree, curves: Mapping[str, Curve] | None = None) -> list[Level]:
    """At most `MOST` levels from coarse to fine; none for a tree with fewer than four leaves.

    curves : criteria that were measured, by name; one more with `P_VALUE` after its name has the
    (k, p-value) of its peaks. Each k occurs once, with the criterion in which it stands out most.
    `reason` says why there are none.
    O(n_nodes log n_nodes + n_points).
    """
    heights = _Heights.of(tree)
    given = {name: list(curve) for name, curve in (curves or {}).items()}
    p_values = {name: given.pop(name + P_VALUE, []) for name in [*given] if P_VALUE not in name}
    stands_out = {
        name: _significant(candidates(tree, given[name]), known) for name, known in p_values.items()
    }
    if heights.mean_something:
        given["gap"] = heights.curve()
        stands_out["gap"] = heights.stand_out()
    between = heights.between()
    peaks: dict[int, tuple[int, Level]] = {}
    for criterion, strongest in stands_out.items():
        score = dict(given[criterion])
        for place, (k, p_value) in enumerate(strongest):
            curve = tuple(given[criterion])
            level = Level(k, between.get(k), criterion, score[k], curve, p_value)
            # The highest peaks of all criteria come before the second ones of any.
            if k not in peaks or place < peaks[k][0]:
                peaks[k] = (place, level)
    chosen = sorted(peaks.values(), key=lambda peak: (peak[0], peak[1].k))[:MOST]
    return sorted((level for _, level in chosen), key=lambda level: level.k)


def significant_gaps(tree: Tree) -> list[tuple[int, float]]:
    """(k, p-value) of the gaps that are significant, the strongest first; all k together.

    O(n_nodes log n_nodes).
    """
    heights = _Heights.of(tree)
    return heights.stand_out() if heights.mean_something else []


def reason(tree: Tree) -> str:
    """The sentence that says why a tree has no level."""
    if most_clusters(tree) < 3:
        return "A tree with fewer than three leaves has no cut to suggest."
    if most_clusters(tree) < 4:
        return "A tree with fewer than four leaves has no cut that can be held against chance."
    if not usable(tree):
        return (
            f"In every cut into at most {MOST_CLUSTERS} clusters one has more than "
            f"{MOST_SHARE:.0%} of the points."
        )
    if not _Heights.of(tree).mean_something:
        return "Heights only give the order of merges or levels, and nothing else stands out."
    return "Data without structure give gaps as large, and nothing else stands out."


def candidates(tree: Tree, curve: Curve) -> list[tuple[int, float]]:
    """(k, value) of a curve's peaks, highest first, among the cuts that may be suggested."""
    allowed = usable(tree)
    return _peaks([(k, value) for k, value in curve if k in allowed])


def usable(tree: Tree) -> set[int]:
    """The numbers of clusters, to `MOST_CLUSTERS`, of which none has more than `MOST_SHARE`."""
    most = min(MOST_CLUSTERS, most_clusters(tree))
    if most < 2:
        return set()
    return _usable(tree, nodes_of_cuts(tree, most))


def _usable(tree: Tree, cuts: Mapping[int, Int]) -> set[int]:
    allowed = MOST_SHARE * tree.size[0]
    return {k for k, nodes in cuts.items() if tree.size[nodes].max() <= allowed}


def _significant(peaks: Curve, p_values: Curve) -> list[tuple[int, float]]:
    """(k, p-value) of the peaks that are significant."""
    known = dict(p_values)
    return [(k, known[k]) for k, _ in peaks if known.get(k, 1.0) <= SIGNIFICANT]


@dataclass(frozen=True, slots=True)
class _Heights:
    """The cuts by height into k = 2 .. MOST_CLUSTERS clusters, and the range that gives each."""

    tree: Tree
    k: Int
    low: Float
    high: Float

    @classmethod
    def of(cls, tree: Tree) -> _Heights:
        is_noise = noise_of(tree)
        n_noise = np.bincount(tree.parent[1:], is_noise[1:], tree.n_nodes).astype(np.int64)
        inner = np.flatnonzero((tree.n_children - n_noise > 1) & ~is_noise)
        if not inner.size:
            return cls(tree, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        height = greatest_heights(tree)
        order = inner[np.argsort(-height[inner], kind="stable")]
        k = 1 + np.cumsum(tree.n_children[order] - n_noise[order] - 1)
        high = height[order]
        low = np.append(high[1:], height[tree.leaves].max())
        kept = (k >= 2) & (k <= MOST_CLUSTERS) & (k < most_clusters(tree))
        return cls(tree, k[kept].astype(np.int64), low[kept], high[kept])

    @property
    def mean_something(self) -> bool:
        return bool(self.k.size and self.high[0] > 0 and not _by_rank(self.tree))

    def curve(self) -> list[tuple[int, float]]:
        """(k, share of the root's height)."""
        gap = (self.high - self.low) / self.high[0]
        return list(zip(self.k.tolist(), gap.tolist(), strict=True))

    def between(self) -> dict[int, float]:
        """By k, the height in the middle of those that give the cut."""
        triples = zip(self.k, self.low, self.high, strict=True)
        return {int(k): float((low + high) / 2) for k, low, high in triples if high > low}

    def stand_out(self) -> list[tuple[int, float]]:
        """(k, p-value) of the significant gaps, the strongest first."""
        n = most_clusters(self.tree)
        most = min(MOST_CLUSTERS, n)
        cuts = nodes_of_cuts(self.tree, most) if most > 1 else {}
        allowed, count = _usable(self.tree, cuts), leaf_counts(self.tree)
        compared = np.array(
            [
                k in allowed and k <= _compared(n) and count[cuts[k]].max() <= n - 2
                for k in self.k.tolist()
            ],
            dtype=bool,
        )
        if compared.sum() < FEWEST_GAPS:
            return []
        apart = self.low < self.high
        positive = compared & apart & (self.low > 0)
        # Where heights may fall, greatest heights are equal without being rounded.
        fewest = _DISTINCT * compared.sum() if self.tree.monotone else 0
        if positive.sum() < max(FEWEST_GAPS, fewest):
            return []
        p_value = np.ones(len(self.k))
        p_value[positive] = gap_p_values(self.k[positive], self.low[positive], self.high[positive])
        p_value = np.minimum(p_value * (_SMALL if n <= _FEW_LEAVES else _LARGE), 1.0)
        return [
            (k, float(p))
            for p, k in sorted(zip(p_value, self.k.tolist(), strict=True))
            if p <= SIGNIFICANT
            and k * LEAVES_PER_CLUSTER <= n
            and np.sort(count[cuts[k]])[-2] >= max(2, min(_SECOND, n / 20))
        ]


def _compared(n: int) -> float:
    """The most clusters of a cut whose gap is compared with the others, of a tree of n leaves."""
    few = min(_FEW_COMPARED, n / 1.5)
    return max(few, min(n / LEAVES_PER_CLUSTER, _MANY_COMPARED * float(np.sqrt(n))))


def _by_rank(tree: Tree) -> bool:
    """Whether heights are only the order of the merges, 1, 2, ..., or count the levels below."""
    height, inner = tree.height, tree.n_children > 0
    if np.array_equal(np.sort(height[inner]), np.arange(1, inner.sum() + 1)):
        return True
    tallest = np.zeros(tree.n_nodes)
    np.maximum.at(tallest, tree.parent[1:], height[1:])
    return bool(np.array_equal(height, np.where(inner, tallest + 1.0, 0.0)))


def _peaks(curve: Curve) -> list[tuple[int, float]]:
    """The highest point of a curve and its other peaks that stand out, highest first."""
    from scipy.signal import find_peaks

    value = np.array([score for _, score in curve])
    if not value.size or not value.max() > 0:
        return []
    floor = value.min()
    # A peak may lie at either end too.
    padded = np.r_[floor - 1.0, value, floor - 1.0]
    stands_out = max(_STANDS_OUT * (value.max() - floor), 1e-12)
    peak = find_peaks(padded, height=_WORTH * value.max(), prominence=stands_out)[0] - 1
    return [curve[i] for i in peak[np.argsort(-value[peak], kind="stable")].tolist()]
