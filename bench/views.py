"""Two labelings of the same rows, each found with its own supervision.

Rows of one set stand beside rows of another one, paired at random and spread three times as far, so
that each row has a class of either set and the first one's are what a mixture sees. In one labeling
at a time a third of the classes, rounded up, is hidden: rows of the others are labelled, and each
method finds as many clusters as are hidden. Figures are the NMI with the requested
labeling and with the other one, mean and standard deviation over five draws of pairs and hidden
classes.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.8.2, table 6.8: GM .750 and TCS-CS .773
for the labeling that rows show, .037 and .402 for the other one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bench import Size
from bench.labelled import GM, Entry, outcome, spread, standardised
from bench.quality import loaded
from bench.report import Report

STRONG, WEAK = "segment", "vowel"
LOUD = 3.0
N_DRAWS = 5

ENTRIES = (
    GM,
    *(Entry(name, "tcs", {"regularizer": name, "gamma": 1.0}) for name in ("identity", "l2")),
    Entry("auto", "tcs"),
    Entry("fda", "fda"),
    Entry("tcs-cs", "tcs-cs"),
)


def table(report: Report, size: Size) -> None:
    sets = [loaded(name) for name in (STRONG, WEAK)]
    if None in sets:
        report.note("views", "Left out: the sets are not in the folder that UMBEL_TEST_DATA names.")
        return
    views: tuple[Literal[0, 1], ...] = (0, 1)
    for requested in views:
        for entry in ENTRIES[: 3 if size == "quick" else None]:
            scores = []
            for seed in range(1 if size == "quick" else N_DRAWS):
                rng = np.random.default_rng([seed, 7])
                n_rows = min(points.shape[0] for points, _ in sets)
                drawn = [rng.permutation(points.shape[0])[:n_rows] for points, _ in sets]
                strong, weak = (
                    standardised(points[rows])
                    for (points, _), rows in zip(sets, drawn, strict=True)
                )
                codes = [
                    np.unique(classes[rows], return_inverse=True)[1]
                    for (_, classes), rows in zip(sets, drawn, strict=True)
                ]
                features = np.hstack([LOUD * strong, weak])
                done = outcome(features, codes[requested], entry, seed, codes[1 - requested])
                scores.append((done.scores["nmi"], done.other_nmi))
            own, other = (list(values) for values in zip(*scores, strict=True))
            report.row(
                "views",
                requested=(STRONG, WEAK)[requested].ljust(8),
                method=entry.name.ljust(9),
                nmi=spread(own),
                nmi_of_the_other=spread(other),
            )
