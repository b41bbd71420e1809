"""Detection of out-of-sample rows: table 5.4 of the thesis.

Half of the classes are known, and half of their rows are fitted. The likelihood must separate the
other half from all rows of other classes. Documents are first projected to 50 dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from bench.sphere.recovery import N_CLUSTERS
from bench.sphere.sets import FEWER, LabelledSet, prepared
from models.arrays import Matrix
from models.inputs.data import Data
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.vmf import VMF

MODELS = {
    "B-vMFmix": BVMF().in_sample,
    "B-vMFmix, one kappa": BVMF().in_sample,
    "vMFmix": VMF().in_sample,
    "vMFmix, own kappa": VMF().in_sample,
}


class Detection(NamedTuple):
    """Shares of correctly detected rows: overall, of known classes, of others; and the area under
    the ROC curve."""

    accuracy: float
    in_sample_right: float
    out_of_sample_right: float
    auc: float


def table(report: Report, scores: Scores, labelled: LabelledSet, seeds: int) -> None:
    """Accuracy at the level of 95%, and the area under the ROC curve."""
    features = labelled.features if labelled.counts is None else prepared(labelled.features, FEWER)
    for model in MODELS:
        runs = [detected(model, features, labelled, seed) for seed in range(seeds)]
        columns = {name: [getattr(run, name) for run in runs] for name in Detection._fields}
        for measure in ("accuracy", "auc"):
            scores.add(f"{labelled.name}, in-sample", measure, model, columns[measure], N_CLUSTERS)
        report.row(
            "sphere",
            what=f"{labelled.name}, in-sample or not: {model}",
            clusters=N_CLUSTERS,
            seeds=seeds,
            **{name: shown(values) for name, values in columns.items()},
        )


def detected(model: str, features: Matrix, labelled: LabelledSet, seed: int) -> Detection:
    """The result of one fit to a random half of the rows of a random half of the classes."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(labelled.labels))
    inside = np.isin(labelled.labels, classes[: len(classes) // 2])
    rows = rng.permutation(np.flatnonzero(inside))
    train, test = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    outside = np.flatnonzero(~inside)
    fit, _ = fitted(model, features[np.sort(train)], seed, n_clusters=N_CLUSTERS, held_out=0.2)
    assert fit.model is not None
    predictions = [
        MODELS[model](fit.model, Data({"features": features[rows]})) for rows in (test, outside)
    ]
    own, foreign = (prediction["in_sample"] for prediction in predictions)
    right = float(own.sum() + (1 - foreign).sum()) / (len(test) + len(outside))
    auc = roc_auc_score(
        np.repeat([1, 0], [len(test), len(outside)]),
        np.concatenate([prediction["log_likelihood"] for prediction in predictions]),
    )
    return Detection(right, float(own.mean()), float(1 - foreign.mean()), float(auc))
