"""More known clusters: what each adds to the clusters that are found.

A quarter of the classes, drawn at random, is to be found; of the others more and more are labelled,
and rows of the rest are left out. Figures are NMI, mean and standard deviation over five draws, and
the gain over GM, a mixture of the rows as they are.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.8.1, figure 6.2.
"""

from __future__ import annotations

import numpy as np

from bench import Size
from bench.labelled import GM, Entry, outcome_of, spread, standardised
from bench.quality import present
from bench.report import Report

SETS = ("letter", "libras")
N_DRAWS = 5
SHARE = 0.25
ENTRIES = (
    GM,
    Entry("identity", "tcs", {"regularizer": "identity"}),
    Entry("l2", "tcs", {"regularizer": "l2"}),
    Entry("fda", "fda"),
    Entry("auto", "tcs"),
)


def table(report: Report, size: Size) -> None:
    names = SETS[: 1 if size == "quick" else None]
    for name, points, classes in present(report, "supervision", names):
        code = np.unique(classes, return_inverse=True)[1]
        features, n_classes = standardised(points), int(code.max()) + 1
        n_hidden = round(SHARE * n_classes)
        orders = [
            np.random.default_rng(seed).permutation(n_classes)
            for seed in range(1 if size == "quick" else N_DRAWS)
        ]
        gm = None
        for n_known in (2, 3, 4, 6, 8, 12, 16, 19):
            if n_known > n_classes - n_hidden:
                continue
            for entry in ENTRIES:
                if entry is GM and gm is not None:
                    continue
                scores = []
                for seed, order in enumerate(orders):
                    hidden, known = order[:n_hidden], order[n_hidden : n_hidden + n_known]
                    kept = np.isin(code, np.concatenate([hidden, known]))
                    done = outcome_of(features[kept], code[kept], hidden, entry, seed)
                    scores.append(done.scores["nmi"])
                gm = scores if entry is GM else gm
                assert gm is not None
                report.row(
                    "supervision",
                    set=name.ljust(8),
                    known=0 if entry is GM else n_known,
                    method=entry.name.ljust(9),
                    nmi=spread(scores),
                    over_gm=float(np.mean(scores) - np.mean(gm)),
                )
