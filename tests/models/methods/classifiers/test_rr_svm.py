"""`rr-svm`: separable classes; its optimum is tested in `recursive`."""

from __future__ import annotations

import numpy as np

from models.inputs.data import Data
from models.registry import method
from models.tree import class_paths


def test_it_separates_classes_and_reports_its_gap() -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["cat", "dog", "rose"] * 20, dtype=object)
    centers = {"cat": (0, 8), "dog": (8, 8), "rose": (8, -8)}
    features = np.array([centers[label] for label in labels]) + rng.normal(size=(60, 2))
    rr_svm = method("rr-svm")
    data = {"features": features, "labels": labels}
    hierarchy = class_paths.read("animal/cat\nanimal/dog\nrose")
    fitted = rr_svm.fit(Data({**data, "hierarchy": hierarchy}), rr_svm.Params(tol=1e-4))
    assert fitted.metrics["gap"] <= 1e-4 * fitted.metrics["objective"]
    assert 3 <= fitted.metrics["n_support"] < 60
    predictions = rr_svm.predict(fitted.model, fitted.tree, Data({"features": features}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()
    early = rr_svm.fit(Data({**data, "hierarchy": hierarchy}), rr_svm.Params(max_iter=1))
    assert "Not converged after 1 sweeps" in early.warnings[-1]
