"""New clusters by `tcs` with its defaults, beside mixtures alone and Fisher discriminants.

The protocol of `labelled`, of at most `MOST_ROWS` rows a set, on ten sets: a third of the classes,
rounded up, is to be found, drawn anew for each seed; all rows of the others are labelled. `gmm` is
the method of that name on the rows to be clustered alone, with its defaults; `GM` and `GM full` are
mixtures with one spread and with full covariances that know the labelled rows; `fda` are Fisher
discriminants. `refused` counts the draws that a method refuses, such as for a singular covariance;
all other figures, also for `tcs`, are over the remaining `draws`. `under` is what a method has
more than `tcs`, with the half width of its 95% interval (Student's t); a set is `short` of a method
where that is more than `MARGIN` in NMI, and `surely` where the interval lies above it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import t

from bench import Chosen, Size
from bench.labelled import EMBEDDINGS, FULL, GM, Entry, outcome_of, standardised
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.metrics import flat
from models.registry import method

MARGIN = 0.03
MOST_ROWS = 700
SETS = (
    *("glass", "libras", "vehicle", "vowel", "segment"),
    *("pendigits", "optdigits", "usps", "letter", "20ng3000"),
)
OTHERS = (GM, FULL, Entry("fda", "fda"))
_SEEDS: dict[Size, int] = {"quick": 2, "default": 10, "full": 20}


def table(report: Report, size: Size, chosen: Chosen) -> None:
    sets = chosen.sets_of(("glass",) if size == "quick" else SETS)
    for name, points, classes in present(report, "new_clusters", sets):
        features = points if name in EMBEDDINGS else standardised(points)
        scores = measured(features, classes, chosen.seeds_of(_SEEDS[size]))
        own = scores.pop("tcs")
        for measure, at in (("nmi", 0), ("ari", 1)):
            for other, theirs in scores.items():
                known = ~np.isnan(theirs[:, at])
                shown: dict[str, Any] = {
                    "set": name.ljust(10),
                    "measure": measure,
                    "other": other.ljust(8),
                    "draws": int(known.sum()),
                    "refused": int((~known).sum()),
                }
                if not known.any():
                    report.row("new_clusters", **shown, under="refused")
                    continue
                mean, off = interval((theirs - own)[known, at])
                report.row(
                    "new_clusters",
                    **shown,
                    tcs=float(own[known, at].mean()),
                    others=float(theirs[known, at].mean()),
                    under=mean,
                    half=off,
                    short=str(mean > MARGIN),
                    surely=str(mean - off > MARGIN),
                )


def measured(features: Array, classes: Array, n_seeds: int) -> dict[str, Array]:
    """(n_seeds, 2) NMI and ARI of each method, not a number where it refuses the rows."""
    scores: dict[str, list[tuple[float, float]]] = {}
    for seed in range(n_seeds):
        rows, code, hidden = draw(classes, seed)
        for entry in (Entry("tcs", "tcs"), *OTHERS):
            found = outcome_of(features[rows], code, hidden, entry, seed).scores
            scores.setdefault(entry.name, []).append((found["nmi"], found["ari"]))
        scores.setdefault("gmm", []).append(_alone(features[rows], code, hidden, seed))
    return {name: np.array(each) for name, each in scores.items()}


def draw(classes: Array, seed: int) -> tuple[Int, Int, Int]:
    """Rows, their classes from 0, and the classes that are to be found."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(classes))[:MOST_ROWS])
    code = np.unique(classes[rows], return_inverse=True)[1]
    n_classes = int(code.max()) + 1
    return rows, code, rng.permutation(n_classes)[: math.ceil(n_classes / 3)]


def interval(differences: Array) -> tuple[float, float]:
    """The mean, and the half width of its 95% interval."""
    n = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return float(differences.mean()), float(t.ppf(0.975, max(1, n - 1))) * error


def _alone(features: Array, code: Int, hidden: Int, seed: int) -> tuple[float, float]:
    free = np.isin(code, hidden)
    used = method("gmm")
    params = used.Params(n_clusters=hidden.size, seed=seed)
    try:
        fitted = used.fit(Data({"features": features[free]}), params)
    except UsageError:
        return math.nan, math.nan
    cluster = np.unique(fitted.tree.leaf_of_point, return_inverse=True)[1]
    truth = np.unique(code[free], return_inverse=True)[1]
    counts = flat.contingency(cluster, truth, int(cluster.max()) + 1, int(truth.max()) + 1)
    return flat.nmi(counts) or 0.0, flat.ari(counts) or 0.0
