"""Clustering on the unit sphere: tables of the thesis's chapter 5, and the cost of an iteration.

`speed`: an iteration of EM against its matrix product and against scikit-learn's KMeans. Then, on
the sets of `sets`: `recovery` of classes (tables 5.2 and 5.3), `likelihood` of rows held out
(figures 5.1 and 5.2, table 5.5), `detection` of rows of other classes (table 5.4); and `drifting`:
likelihood of the next period's rows for clusters that move (figure 5.3). Figures are mean and
standard deviation over seeds. Last, `orders` tests each order of models in the thesis by
differences between runs with the same seed. `fitting` lists the models.
"""

from __future__ import annotations

from bench import Size
from bench.report import Report
from bench.sphere import detection, drifting, likelihood, recovery, sets, speed
from bench.sphere.orders import Scores

_SEEDS: dict[Size, int] = {"quick": 2, "default": 3, "full": 10}


def table(report: Report, size: Size) -> None:
    """All tables; only speed, moving clusters and docstrings need no data files."""
    speed.table(report, size)
    scores, seeds = Scores(), _SEEDS[size]
    for labelled in sets.at_hand(report, size):
        recovery.table(report, scores, labelled, size, seeds)
        likelihood.table(report, scores, labelled, size, seeds)
        detection.table(report, scores, labelled, seeds)
    drifting.table(report, scores, size, seeds)
    scores.table(report)
