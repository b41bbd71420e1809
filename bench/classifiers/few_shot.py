"""Figure 2.1: F1 on ImCLEF07A by the number of training rows of each class.

Mean and standard error over draws of the training rows, in percent; the test rows are all, C = 1.
Features are standardised by the rows drawn: nothing is known of others. A class with fewer rows
than drawn gives all of them. The last rows are differences of methods on the same draw.

Result: with one to five rows of each class RR-SVM is about 6 macro and 10 to 12 micro above the
SVM; from twenty on they are level in micro. M3-map is 1 to 4 below MLR up to ten rows.
"""

from __future__ import annotations

import numpy as np

from bench import Size
from bench.classifiers.entries import BSVM, M3_MAP, MLR, RR_SVM
from bench.classifiers.runs import MEASURES, scored
from bench.classifiers.sets import NAMES, at_hand
from bench.report import Report
from models.arrays import Float

N_ROWS: dict[Size, tuple[int, ...]] = {
    "quick": (1, 5),
    "default": (1, 2, 3, 5, 10, 20, 50),
    "full": (1, 2, 3, 5, 10, 20, 50, 100),
}
DRAWS: dict[Size, int] = {"quick": 3, "default": 20, "full": 20}
ENTRIES = (RR_SVM, BSVM, M3_MAP, MLR)
DIFFERENCES = ((RR_SVM, BSVM), (M3_MAP, MLR))


def table(report: Report, size: Size) -> None:
    for labelled in at_hand(report, NAMES[:1]):
        values: dict[tuple[int, str], Float] = {}
        for n_rows in N_ROWS[size]:
            seeds = range(DRAWS[size])
            drawn = [labelled.of_each_class(n_rows, np.random.default_rng(s)) for s in seeds]
            for entry in ENTRIES:
                runs = [scored(some, entry, resamples=0) for some in drawn]
                own = np.array([[run.values[name] for name in MEASURES] for run in runs])
                values[n_rows, entry.name] = own
                report.row(
                    "few_shot",
                    method=entry.name.ljust(7),
                    rows_per_class=n_rows,
                    rows=drawn[0].train.labels.size,
                    draws=len(drawn),
                    **_columns(own),
                    cpu_s=float(np.mean([run.cpu_s for run in runs])),
                )
        report.heading("Differences on the same draw")
        for better, worse in DIFFERENCES:
            for n_rows in N_ROWS[size]:
                report.row(
                    "differences",
                    order=f"{better.name} over {worse.name}".ljust(16),
                    rows_per_class=n_rows,
                    **_columns(values[n_rows, better.name] - values[n_rows, worse.name]),
                )


def _columns(values: Float) -> dict[str, float]:
    """Mean and standard error of each measure. values : (n_draws, 2)."""
    mean = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    columns = {}
    for at, name in enumerate(MEASURES):
        columns[name] = float(mean[at])
        columns[f"{name}_error"] = float(error[at])
    return columns
