"""How large and how wide nodes of each level are, as known ones show.

The logarithms of a node's size and of its rows' variance are normal, with a mean and a deviation
for each number of levels below it; deviations borrow from a half. Sizes are in rows of known nodes
whether labelled or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float
from models.methods.labelled.hierarchy.known_tree import KnownTree

FEWEST_ROWS = 4
BORROWED, DEVIATION = 2.0, 0.5
"""The weight, in nodes, and the value of the deviation that levels with few nodes have."""


@dataclass(frozen=True, slots=True)
class Resemblance:
    """mean, deviation : (levels, 2) of log size and log variance, NaN for a level that no node
    shows. whole : log variance of all labelled rows."""

    mean: Float
    deviation: Float
    whole: float

    @classmethod
    def of(cls, tree: KnownTree, points: Array, labelled_share: float) -> Resemblance:
        """labelled_share : of the rows of known nodes. O(nodes x rows)."""
        shown: dict[int, list[tuple[float, float]]] = {}
        for node in range(1, tree.n_nodes):
            rows = tree.labelled(node)
            # A node with one child is that child.
            if rows.size < FEWEST_ROWS or tree.children(node).size == 1:
                continue
            variance = _variance(points[rows])
            if variance > 0.0:
                pair = (np.log(rows.size / labelled_share), np.log(variance))
                shown.setdefault(int(tree.levels[node]), []).append(pair)
        mean = np.full((int(tree.levels[0]), 2), np.nan)
        deviation = np.full_like(mean, np.nan)
        for level, pairs in shown.items():
            values = np.array(pairs)
            mean[level] = values.mean(axis=0)
            squares = np.square(values - mean[level]).sum(axis=0) + BORROWED * DEVIATION**2
            deviation[level] = np.sqrt(squares / (len(pairs) - 1 + BORROWED))
        whole = max(_variance(points[tree.labelled(0)]), np.finfo(np.float64).tiny)
        return cls(mean, deviation, float(np.log(whole)))

    def score(self, level: int, size: Float, variance: Float) -> Float:
        """(n,) log density of nodes at a level; -inf at one that no known node shows."""
        if np.isnan(self.mean[level, 0]):
            return np.full(size.shape, -np.inf)
        tiny = np.finfo(np.float64).tiny
        logs = np.stack([np.log(size), np.log(np.maximum(variance, tiny))], axis=1)
        away = (logs - self.mean[level]) / self.deviation[level]
        score: Float = -0.5 * np.square(away).sum(axis=1) - np.log(self.deviation[level]).sum()
        return score

    def allows(self, level: int, size: float, variance: float, wide: float) -> bool:
        """Whether a node of this size and variance may have this level: at least the usual size, at
        most two deviations above it, and at most the share `wide` of the way from the usual log
        variance to that of all rows."""
        mean, deviation = self.mean[level], self.deviation[level]
        if np.isnan(mean[0]) or variance <= 0.0:
            return False
        fits = mean[0] <= np.log(size) <= mean[0] + 2.0 * deviation[0]
        return bool(fits and np.log(variance) <= mean[1] + wide * (self.whole - mean[1]))


def _variance(points: Array) -> float:
    away = np.asarray(points, dtype=np.float64) - points.mean(axis=0, dtype=np.float64)
    return float(np.square(away).sum() / max(points.shape[0] - 1, 1))
