"""Detection of out-of-sample rows: table 5.4 of the thesis.

Half of the classes are known, and half of their rows are fitted. The likelihood must separate the
other half from all rows of other classes. Documents are first projected to 50 dimensions.
`5th nearest` has no model: a row's cosine with the fifth nearest of the fitted rows, four fifths of
which are looked in, and the others set the level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from bench.sphere.recovery import N_CLUSTERS
from bench.sphere.sets import FEWER, LabelledSet, prepared
from models.arrays import Array, Int, Matrix
from models.inputs.data import Data
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.mixture.result import InSample
from models.methods.sphere.vmf import VMF

MODELS = {
    "B-vMFmix": BVMF().in_sample,
    "B-vMFmix, one kappa": BVMF().in_sample,
    "vMFmix": VMF().in_sample,
    "vMFmix, own kappa": VMF().in_sample,
}


NEAREST, N_NEAREST = "5th nearest", 5


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
    for model in (*MODELS, NEAREST):
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
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(labelled.labels))
    inside = np.isin(labelled.labels, classes[: len(classes) // 2])
    rows = rng.permutation(np.flatnonzero(inside))
    train, test = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    outside = np.flatnonzero(~inside)
    if model == NEAREST:
        return _of_nearest(np.asarray(features), train, test, outside)
    fit, _ = fitted(model, features[np.sort(train)], seed, n_clusters=N_CLUSTERS, held_out=0.2)
    assert fit.model is not None
    predictions = [
        MODELS[model](fit.model, Data({"features": features[rows]})) for rows in (test, outside)
    ]
    return _shares(
        *(prediction["in_sample"] for prediction in predictions),
        *(prediction["log_likelihood"] for prediction in predictions),
    )


def _of_nearest(features: Array, train: Int, test: Int, outside: Int) -> Detection:
    first, others = np.split(train, [4 * len(train) // 5])

    def cosine(rows: Int) -> Array:
        near = features[rows] @ features[first].T
        return np.asarray(np.partition(near, -N_NEAREST, axis=1)[:, -N_NEAREST])

    threshold = InSample.of(cosine(others), 0.95).threshold
    own, foreign = cosine(test), cosine(outside)
    inside = ((each >= threshold).astype(float) for each in (own, foreign))
    return _shares(*inside, own, foreign)


def _shares(own: Array, foreign: Array, of_own: Array, of_foreign: Array) -> Detection:
    """own, foreign : 1 for rows that count as in-sample. of_own, of_foreign : their scores."""
    from sklearn.metrics import roc_auc_score

    right = float(own.sum() + (1 - foreign).sum()) / (len(own) + len(foreign))
    auc = roc_auc_score(
        np.repeat([1, 0], [len(own), len(foreign)]), np.concatenate([of_own, of_foreign])
    )
    return Detection(right, float(own.mean()), float(1 - foreign.mean()), float(auc))
