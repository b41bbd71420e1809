"""Every method on the same rows at other scales and offsets: the variants, and what is expected.

Rows are multiples of 2^-10, and offsets and scales powers of two, so that rows are exact in every
variant that their type can hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.errors import UsageError
from models.tree.cut import cut
from tests.contract.contract_kit import EXAMPLES
from umbel.testing.examples import Example

RNG = np.random.default_rng(5)
GROUP = RNG.permutation(np.arange(60) % 3)
ROWS = np.round((RNG.normal(size=(60, 4)) + 6 * np.eye(3, 4)[GROUP]) * 2**10) / 2**10
COLUMN = np.array([2.0**30, 0.0, 0.0, 0.0])

Variant = tuple[str, float, Any]
VARIANTS: list[Variant] = [
    ("float64", 1.0, 2.0**30),
    ("float64", 1.0, COLUMN),
    ("float64", 2.0**-100, 0.0),
    ("float64", 2.0**-23, 2.0**-3),
    ("float64", 2.0**100, 2.0**120),
    ("float32", 1.0, 2.0**10),
    ("float32", 2.0**-100, 0.0),
    ("float32", 2.0**100, 0.0),
]
"""Type, scale and offset."""


def variant(rows: Any, each: Variant) -> Any:
    dtype, scale, offset = each
    return (rows * scale + offset).astype(dtype)


LINEAR = frozenset(
    {"blr", "bsvm", "corrmnl", "hblr", "hsvm", "mlr", "msvm", "ot", "rmlr", "rr-lr", "rr-svm"}
    | {"td-svm"}
)
"""Weights are regularised from 0 on the scale that is given, which the penalty of small features is
part of; labels are right on any offset, and on any scale where features are heard."""
SPLITS = frozenset({"hmmc", "mmc"})
"""As these, but clusterings: what their weights are regularised from 0 changes the clusters."""
COUNTED = frozenset({"lda", "multinomial"})
"""Counts have a unit, and 0."""
TASKS = frozenset({"ghhc-mtl", "mtrl", "stl"})
"""Priors of weights and targets have a unit."""
SLOW = frozenset(
    {"bisecting-kmeans", "bvmf", "deepect", "ghhc", "hvmf", "hyphc", "treevae", "tvmf"}
)
"""Only some variants."""
TRAINED = frozenset({"deepect", "hyphc", "treevae"})
"""Heights come from training, of which rounding changes the way."""
PARAMS: dict[str, dict[str, Any]] = {
    "hyphc": {"affinity": "rbf", "max_iter": 1000, "n_init": 1, "batch_size": 512},
    "rmlr": {"max_iter": 60},
    # The order 'shuffled' is that of the bits of the values.
    "perch": {"order": "given"},
    # So long that rounding moves no row over a border.
    "treevae": {"epochs": 30, "growth_epochs": 20, "tuning_epochs": 10},
}

BRIEF: dict[str, dict[str, Any]] = {
    "deepect": {"pretrain_epochs": 2, "epochs": 4},
    "hyphc": {"max_iter": 60},
    "treevae": {"epochs": 2, "growth_epochs": 2, "tuning_epochs": 1},
}
"""Training to the end shows no more here."""

TAKEN = [
    example
    for example in EXAMPLES
    if "features" in example.roles and example.method.id not in LINEAR | SPLITS | COUNTED | TASKS
]
CLASSIFIERS = [example for example in EXAMPLES if example.method.id in LINEAR]


def rows_for(example: Example) -> Any:
    """The rows, of length one for methods of the sphere."""
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    return unit if example.method.family == "sphere" else ROWS


def fitted(example: Example, rows: Any) -> tuple[Any, Any, Any]:
    """(the fit, the clusters, the leaves of the same rows predicted)."""
    data: Any = example.data()
    data.values["features"] = rows
    if "labels" in data.values:
        data.values["labels"] = np.where(GROUP == 2, -1, GROUP)
    fit = example.fit(data, **PARAMS.get(example.method.id, {}))
    try:
        flat = cut(fit.tree, k=3).cluster_of_point
    except UsageError:
        flat = np.zeros(60)
    if len(set(flat)) == 1:
        flat = fit.tree.leaf_of_point
    leaf = None
    if example.method.predicts:
        assert fit.model is not None
        leaf = example.method.predict(fit.model, fit.tree, data).leaf
    return fit, flat, leaf


def fitted_or_refused(example: Example, rows: Any) -> tuple[Any, Any, Any] | UsageError:
    try:
        return fitted(example, rows)
    except UsageError as error:
        return error


def labelled(example: Example, rows: Any) -> tuple[float, Any] | UsageError:
    """The share of rows whose label a classifier predicts, and its fit."""
    data: Any = example.data()
    data.values["features"], data.values["labels"] = rows, GROUP
    try:
        fit = example.fit(data, **PARAMS.get(example.method.id, {}))
        assert fit.model is not None
        leaf = example.method.predict(fit.model, fit.tree, data).leaf
    except UsageError as error:
        return error
    return float((leaf == fit.tree.leaf_of_point).mean()), fit
