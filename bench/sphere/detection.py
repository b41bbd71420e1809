"""In-sample or not: table 5.4 of the thesis.

Half of the classes are known, and half of their rows are fitted; the other half and all rows of
other classes are told apart by their likelihood. Documents are brought to 50 dimensions before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from bench.sphere.recovery import N_CLUSTERS
from bench.sphere.sets import FEWER, Known, prepared
from models.arrays import Matrix
from models.data import Data
from models.methods.sphere import bvmf, vmf

MODELS = {
    "B-vMFmix": bvmf.in_sample,
    "B-vMFmix, one kappa": bvmf.in_sample,
    "vMFmix": vmf.in_sample,
    "vMFmix, own kappa": vmf.in_sample,
}


class Told(NamedTuple):
    """Shares of rows: told right, of the known classes, of others; and the area under the curve."""

    accuracy: float
    in_sample_right: float
    out_of_sample_right: float
    auc: float


def table(report: Report, scores: Scores, known: Known, seeds: int) -> None:
    """Accuracy at the level of 95%, and the area under the curve of all levels."""
    features = known.features if known.counts is None else prepared(known.features, FEWER)
    for model in MODELS:
        runs = [told(model, features, known, seed) for seed in range(seeds)]
        columns = {name: [getattr(run, name) for run in runs] for name in Told._fields}
        for measure in ("accuracy", "auc"):
            scores.add(f"{known.name}, in-sample", measure, model, columns[measure], N_CLUSTERS)
        report.row(
            "sphere",
            what=f"{known.name}, in-sample or not: {model}",
            clusters=N_CLUSTERS,
            seeds=seeds,
            **{name: shown(values) for name, values in columns.items()},
        )


def told(model: str, features: Matrix, known: Known, seed: int) -> Told:
    """By one fit; half of the classes and of their rows are drawn."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(known.labels))
    inside = np.isin(known.labels, classes[: len(classes) // 2])
    rows = rng.permutation(np.flatnonzero(inside))
    train, test = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    other = np.flatnonzero(~inside)
    found, _ = fitted(model, features[np.sort(train)], seed, n_clusters=N_CLUSTERS, held_out=0.2)
    assert found.model is not None
    said = [MODELS[model](found.model, Data({"features": features[one]})) for one in (test, other)]
    own, others = (one["in_sample"] for one in said)
    right = float(own.sum() + (1 - others).sum()) / (len(test) + len(other))
    auc = roc_auc_score(
        np.repeat([1, 0], [len(test), len(other)]),
        np.concatenate([one["log_likelihood"] for one in said]),
    )
    return Told(right, float(own.mean()), float(1 - others.mean()), float(auc))
