"""What the options of a prediction change, and the training rows that a tree tells of."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, PredictionOptions
from models.registry import method
from models.running import budget
from models.tree import class_paths

FEATURES = np.random.default_rng(4).normal(size=(30, 3)) + 3.0 * np.eye(3)[np.arange(30) % 3]
LABELS = np.array(["cat", "dog", "rose"], dtype=object)[np.arange(30) % 3]
HIERARCHY = class_paths.read("animal/cat\nanimal/dog\nplant/rose")


def fitted(labels: np.ndarray = LABELS) -> Fitted:
    mlr = method("mlr")
    inputs = {"features": FEATURES, "labels": labels, "hierarchy": HIERARCHY}
    return mlr.fit(Data(inputs), mlr.Params())


def test_every_probability_in_the_order_of_the_classes() -> None:
    fit = fitted()
    assert fit.model is not None
    options = PredictionOptions(top_k=3, every=True)
    placed = method("mlr").predict(fit.model, fit.tree, Data({"features": FEATURES}), options)
    classes = placed.classes
    assert classes is not None
    assert classes.every is not None
    assert classes.one_each
    assert classes.every.sum(axis=1) == pytest.approx(np.ones(30))
    best = np.take_along_axis(classes.every, classes.top, axis=1)
    np.testing.assert_array_equal(best, classes.probability)
    plain = method("mlr").predict(fit.model, fit.tree, Data({"features": FEATURES}))
    assert plain.classes is not None
    assert plain.classes.every is None


def test_rows_that_are_not_labelled_are_no_training_examples() -> None:
    numbers = (np.arange(30) % 3).astype(np.int64)
    numbers[:12] = -1
    mlr = method("mlr")
    inputs = {"features": FEATURES, "labels": numbers, "names": ["cat", "dog", "rose"]}
    tree = mlr.fit(Data(inputs), mlr.Params()).tree
    assert tree.size[0] == 30
    assert tree.extra["rows"].tolist() == [18, 6, 6, 6]
    assert "rows" not in fitted().tree.extra


def test_more_best_classes_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fitted()
    assert fit.model is not None
    monkeypatch.setattr(budget, "available", lambda: 5_000)
    rows = Data({"features": FEATURES})
    method("mlr").predict(fit.model, fit.tree, rows, PredictionOptions(top_k=1))
    with pytest.raises(UsageError, match="smaller 'top_k'"):
        method("mlr").predict(fit.model, fit.tree, rows, PredictionOptions(top_k=1000))
