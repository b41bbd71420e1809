"""Clustering on the unit sphere: the tables of the thesis's chapter 5, and what an iteration costs.

`speed`: an iteration of EM against its matrix product and against scikit-learn's KMeans. Then, on
the sets of `sets`: `recovery` of classes (tables 5.2 and 5.3), `likelihood` of rows held out
(figures 5.1 and 5.2, table 5.5), `detection` of rows of other classes (table 5.4); and `drifting`:
likelihood of the next period's rows of clusters that move (figure 5.3). Mean and standard deviation
over seeds. `orders` closes: whether each order of the thesis holds, by differences of runs of one
seed. `fitting` says which models there are.
"""

from __future__ import annotations

from bench import Size
from bench.report import Report
from bench.sphere import detection, drifting, likelihood, recovery, sets, speed
from bench.sphere.orders import Scores

_SEEDS: dict[Size, int] = {"quick": 2, "default": 3, "full": 10}


def table(report: Report, size: Size) -> None:
    """Everything; speed, clusters that move and docstrings need no data of their own."""
    speed.table(report, size)
    scores, seeds = Scores(), _SEEDS[size]
    for known in sets.at_hand(report, size):
        recovery.table(report, scores, known, size, seeds)
        likelihood.table(report, scores, known, size, seeds)
        detection.table(report, scores, known, seeds)
    drifting.table(report, scores, size, seeds)
    scores.table(report)
