"""What every threshold would answer, and how often that is wrong.

The idea is the curve of risk and coverage of Goren, Galil and El-Yaniv (NeurIPS 2024); the two
axes are defined here. The coverage of an answer is the share of the information that it gives,
1 - log(classes under the node) / log(classes). The error is the share of all rows, not of the
coverage, whose answer does not hold the label; the root is never wrong, so it falls from that of
the most probable classes to 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.calibration.climbing import LEAF, ClassTree, Rows, scores


@dataclass(frozen=True, slots=True)
class SelectiveCurve:
    """Rising thresholds, and what each answers.

    threshold, coverage, error, depth : (n_steps,) the threshold, the mean share of information, the
    share of wrong answers, the mean depth of answers. area : under the error as a function of the
    coverage, over the coverages reached; smaller is better.
    """

    threshold: Float
    coverage: Float
    error: Float
    depth: Float
    area: float

    def thinned(self, most: int) -> SelectiveCurve:
        """The curve at so many of its thresholds, the first and last included; its area stays."""
        n_steps = self.threshold.shape[0]
        if n_steps <= most:
            return self
        kept = np.unique(np.linspace(0, n_steps - 1, most).round().astype(np.int64))
        return SelectiveCurve(
            self.threshold[kept],
            self.coverage[kept],
            self.error[kept],
            self.depth[kept],
            self.area,
        )


def selective_curve(blocks: Iterable[tuple[Rows, Int]], classes: ClassTree) -> SelectiveCurve:
    """The curve over all thresholds at which an answer changes.

    blocks : rows with their classes, at least one row. O(n depth log(n depth)) time, O(n depth)
    memory.
    """
    tree = classes.tree
    under = np.maximum(classes.n_under, 1)
    whole = np.log(under[0])
    share = 1 - np.log(under) / whole if whole > 0 else np.zeros(tree.n_nodes)
    others = classes.has_others
    at, gain, fall, score = ([np.zeros(0)] for _ in range(4))
    n_rows, most, deepest = 0, 0.0, 0.0
    for rows, label in blocks:
        n_rows += rows.n_rows
        most += float(share[rows.leaf].sum())
        deepest += float(tree.depth[rows.leaf].sum())
        score.append(scores(rows, label))
        # Edges that bring no class are climbed together with the next that does.
        pending_share = share[rows.leaf].copy()
        pending_depth = tree.depth[rows.leaf].astype(np.float64)
        for row, node, mass in rows.steps():
            climbs = others[node]
            row, up = row[climbs], tree.parent[node[climbs]]
            at.append(mass[climbs])
            gain.append(pending_share[row] - share[up])
            fall.append(pending_depth[row] - tree.depth[up])
            pending_share[row], pending_depth[row] = share[up], tree.depth[up]
    every = np.concatenate(at)
    order = np.argsort(every, kind="stable")
    threshold, place = np.unique(every[order], return_index=True)
    taken = np.append(0, np.append(place[1:], every.shape[0]) if place.size else place)
    lost = np.append(0.0, np.cumsum(np.concatenate(gain)[order]))
    climbed = np.append(0.0, np.cumsum(np.concatenate(fall)[order]))
    threshold = np.append(LEAF, threshold)
    coverage = (most - lost[taken]) / n_rows
    depth = (deepest - climbed[taken]) / n_rows
    rank = np.searchsorted(np.sort(np.concatenate(score)), threshold, side="right")
    error = (n_rows - rank) / n_rows
    area = float(-np.trapezoid(error, coverage))
    return SelectiveCurve(threshold, coverage, error, depth, area)
