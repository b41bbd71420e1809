"""The few cuts of a tree that stand out: where a criterion peaks over the number of clusters.

Two criteria follow from the tree alone: `gap`, the range of heights that give the cut, as a share
of the root's height; and `support`, the mean bootstrap support of the clusters, weighted by size,
where nodes have any. Others (`silhouette`, `modularity`) were measured when the tree was made and
are passed as curves.

A cut whose largest cluster holds nearly every point is never suggested. A gap is suggested only
where it is larger than the gaps of unstructured data would be. There the k-th greatest height falls
about like a power of k, so that k log(high / low) is alike for all k and near to exponential
(Renyi's representation of the order statistics of a Pareto law). The scale of the exponential is
taken from the median over k, which a few real gaps hardly move. The rates of false suggestions are
in `docs/decisions/suggested-cuts.md`. The other criteria are not compared with chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Float
from models.tree.nested_cuts import nested_cuts
from models.tree.tree import Tree
from models.tree.walk import greatest_heights

Curve = Sequence[tuple[int, float]]

MOST = 5
"""Largest number of suggested levels."""

MOST_CLUSTERS = 100
"""Largest number of clusters of a suggested cut; no curve is longer."""

MOST_SHARE = 0.95
"""Largest share of the points that one cluster of a suggested cut may hold."""

MOST_CHANCE = 0.01
"""Largest `chance` of a suggested gap."""

FEWEST_GAPS = 10
"""Fewest gaps among which one can be told from chance; with fewer `chance` is None."""

_WORTH = 0.5
"""A further peak of a curve is suggested if it reaches at least this share of the highest one,
..."""

_STANDS_OUT = 0.1
"""... and if its prominence is at least this share of the curve's range."""


@dataclass(frozen=True, slots=True)
class Level:
    """A cut into `k` clusters, also by `height` (None if no height gives it).

    score : the criterion's value there. curve : (k, value) of all cuts that were compared.
    chance : of a gap, about the probability that the greatest gap of unstructured data is as large,
    from 0 to 1; None for the other criteria, and where the tree has fewer than FEWEST_GAPS gaps.
    """

    k: int
    height: float | None
    criterion: str
    score: float
    curve: tuple[tuple[int, float], ...]
    chance: float | None = None


def levels(tree: Tree, curves: Mapping[str, Curve] | None = None) -> list[Level]:
    """At most `MOST` levels from coarse to fine; none for a tree with fewer than three leaves.

    Each k occurs once, with the criterion in which it stands out most. `why_none` says why there
    are none.
    O(n_nodes log n_nodes + n_points).
    """
    ks, low, high = _cuts(tree)
    known: dict[str, Curve] = {name: list(curve) for name, curve in (curves or {}).items()}
    if not _by_rank(tree) and high.size and high[0] > 0:
        known["gap"] = list(zip(ks.tolist(), ((high - low) / high[0]).tolist(), strict=True))
    if "support" in tree.extra:
        known["support"] = _supported(tree)
    between = {int(k): float((a + b) / 2) for k, a, b in zip(ks, low, high, strict=True) if b > a}
    chances: dict[int, float] = {}
    if ks.size >= FEWEST_GAPS:
        chances = dict(zip(ks.tolist(), gap_chances(ks, low, high).tolist(), strict=True))
    usable = _usable(tree)
    peaks: dict[int, tuple[float, Level]] = {}
    for criterion, curve in known.items():
        compared = [(k, score) for k, score in curve if k in usable]
        if criterion == "gap":
            compared = [
                (k, score if chances.get(k, 0.0) <= MOST_CHANCE else 0.0) for k, score in compared
            ]
        for place, (k, score) in enumerate(_peaks(compared)):
            chance = chances.get(k) if criterion == "gap" else None
            level = Level(k, between.get(k), criterion, score, tuple(curve), chance)
            # The highest peaks of all criteria come before the second ones of any.
            if k not in peaks or place < peaks[k][0]:
                peaks[k] = (place, level)
    chosen = sorted(peaks.values(), key=lambda peak: (peak[0], peak[1].k))[:MOST]
    return sorted((level for _, level in chosen), key=lambda level: level.k)


def why_none(tree: Tree) -> str:
    """The sentence that says why a tree has no suggested level."""
    if tree.n_leaves < 3:
        return "A tree with fewer than three leaves has no cut to suggest."
    if not _usable(tree):
        return (
            f"In every cut into at most {MOST_CLUSTERS} clusters one cluster holds more than "
            f"{MOST_SHARE:.0%} of the points."
        )
    return "No level stands out from what unstructured data would give."


def _usable(tree: Tree) -> set[int]:
    """The numbers of clusters whose largest cluster holds at most MOST_SHARE of the points."""
    most = min(MOST_CLUSTERS, tree.n_leaves)
    if most < 2:
        return set()
    cuts = nested_cuts(tree, most).nodes
    allowed = MOST_SHARE * tree.size[0]
    return {k for k, nodes in cuts.items() if tree.size[nodes].max() <= allowed}


def gap_chances(ks: npt.NDArray[np.int64], low: Float, high: Float) -> Float:
    """(n_cuts,) probability that the largest of n_cuts exponential spacings exceeds each.

    ks, low, high : (n_cuts,) the numbers of clusters and the heights between which they hold.
    The scale of the spacings k log(high / low) is their median / log 2. O(n_cuts).
    """
    if not ks.size:
        return np.empty(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spacing = np.where(high > low, ks * np.log(high / np.maximum(low, 0.0)), 0.0)
    scale = np.median(spacing) / np.log(2)
    if not 0 < scale < np.inf:
        return np.where(spacing > 0, 0.0, 1.0)
    tail = np.minimum(np.exp(-spacing / scale), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(ks.size * np.log1p(-tail)), dtype=np.float64)


def _cuts(tree: Tree) -> tuple[npt.NDArray[np.int64], Float, Float]:
    """(k, low, high): the numbers of clusters 2 .. MOST_CLUSTERS that cuts by height give, and the
    range of heights that gives each."""
    inner = np.flatnonzero(tree.n_children > 1)
    if not inner.size:
        return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
    height = greatest_heights(tree)
    order = inner[np.argsort(-height[inner], kind="stable")]
    k = 1 + np.cumsum(tree.n_children[order] - 1)
    high = height[order]
    low = np.append(high[1:], height[tree.leaves].max())
    usable = (k >= 2) & (k <= MOST_CLUSTERS) & (k < tree.n_leaves)
    return k[usable].astype(np.int64), low[usable], high[usable]


def _by_rank(tree: Tree) -> bool:
    """Whether heights are only the order of the merges: 1, 2, ..."""
    inner = np.sort(tree.height[tree.n_children > 0])
    return bool(np.array_equal(inner, np.arange(1, inner.size + 1)))


def _supported(tree: Tree) -> list[tuple[int, float]]:
    """Mean support of the clusters of each cut, those without one left out."""
    support = np.asarray(tree.extra["support"], dtype=np.float64)
    curve = []
    for k, nodes in nested_cuts(tree, min(MOST_CLUSTERS, tree.n_leaves - 1)).nodes.items():
        known = nodes[np.isfinite(support[nodes])]
        if known.size:
            curve.append((k, float(np.average(support[known], weights=tree.size[known]))))
    return curve


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
