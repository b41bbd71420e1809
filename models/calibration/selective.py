"""What every threshold would answer, and how often that is wrong.

The idea is the curve of risk and coverage of Goren, Galil and El-Yaniv (NeurIPS 2024); the two
axes are defined here. The coverage of an answer is the share of the information that it gives,
1 - log(classes under the node) / log(classes). The error is the share of all rows, not of the
coverage, whose answer does not hold the label; the root is never wrong, so it falls from that of
the most probable classes to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.calibration.climbing import LEAF, Rows, scores


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


def selective_curve(rows: Rows, label: Int) -> SelectiveCurve:
    """The curve over all thresholds at which an answer changes.

    label : (n,) classes; at least one row. O(n depth log(n depth)) time, O(n depth) memory.
    """
    classes = rows.classes
    tree, n_rows = classes.tree, rows.n_rows
    under = np.maximum(classes.n_under, 1)
    whole = np.log(under[0])
    share = 1 - np.log(under) / whole if whole > 0 else np.zeros(tree.n_nodes)
    others = classes.has_others
    at, gain, fall = [], [], []
    # Edges that bring no class are climbed together with the next that does.
    pending_share = share[rows.leaf].copy()
    pending_depth = tree.depth[rows.leaf].copy()
    for row, node, mass in rows.steps():
        climbs = others[node]
        row, up, mass = row[climbs], tree.parent[node[climbs]], mass[climbs]
        at.append(mass)
        gain.append(pending_share[row] - share[up])
        fall.append(pending_depth[row] - tree.depth[up])
        pending_share[row], pending_depth[row] = share[up], tree.depth[up]
    empty = np.zeros(0)
    every = np.concatenate([empty, *at])
    order = np.argsort(every, kind="stable")
    threshold, place = np.unique(every[order], return_index=True)
    ends = np.append(place[1:], every.shape[0]) if place.size else place
    lost = np.append(0.0, np.cumsum(np.concatenate([empty, *gain])[order]))
    climbed = np.append(0.0, np.cumsum(np.concatenate([empty, *fall])[order]))
    taken = np.append(0, ends)
    threshold = np.append(LEAF, threshold)
    coverage = (share[rows.leaf].sum() - lost[taken]) / n_rows
    depth = (tree.depth[rows.leaf].sum() - climbed[taken]) / n_rows
    score = np.sort(scores(rows, label))
    error = (n_rows - np.searchsorted(score, threshold, side="right")) / n_rows
    area = float(-np.trapezoid(error, coverage))
    return SelectiveCurve(threshold, coverage, error, depth, area)
