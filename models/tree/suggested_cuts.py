"""The few cuts of a tree that stand out: where a criterion peaks over the number of clusters.

Two criteria follow from the tree alone: `gap`, the range of heights that give the cut, as a share
of the root's height; and `support`, the mean bootstrap support of the clusters, weighted by size,
where nodes have any. Others (`silhouette`, `modularity`) were measured when the tree was made and
are passed as curves.
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

_WORTH = 0.5
"""A further peak of a curve is suggested if it reaches at least this share of the highest one,
..."""

_STANDS_OUT = 0.1
"""... and if its prominence is at least this share of the curve's range."""


@dataclass(frozen=True, slots=True)
class Level:
    """A cut into `k` clusters, also by `height` (None if no height gives it).

    score : the criterion's value there. curve : (k, value) of all cuts that were compared.
    """

    k: int
    height: float | None
    criterion: str
    score: float
    curve: tuple[tuple[int, float], ...]


def levels(tree: Tree, curves: Mapping[str, Curve] | None = None) -> list[Level]:
    """At most `MOST` levels from coarse to fine; none for a tree with fewer than three leaves.

    Each k occurs once, with the criterion in which it stands out most.
    O(n_nodes log n_nodes + n_points).
    """
    ks, low, high = _cuts(tree)
    known: dict[str, Curve] = {name: list(curve) for name, curve in (curves or {}).items()}
    if not _by_rank(tree) and high.size and high[0] > 0:
        known["gap"] = list(zip(ks.tolist(), ((high - low) / high[0]).tolist(), strict=True))
    if "support" in tree.extra:
        known["support"] = _supported(tree)
    between = {int(k): float((a + b) / 2) for k, a, b in zip(ks, low, high, strict=True) if b > a}
    peaks: dict[int, tuple[float, Level]] = {}
    for criterion, curve in known.items():
        for place, (k, score) in enumerate(_peaks(curve)):
            level = Level(k, between.get(k), criterion, score, tuple(curve))
            # The highest peaks of all criteria come before the second ones of any.
            if k not in peaks or place < peaks[k][0]:
                peaks[k] = (place, level)
    chosen = sorted(peaks.values(), key=lambda peak: (peak[0], peak[1].k))[:MOST]
    return sorted((level for _, level in chosen), key=lambda level: level.k)


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
