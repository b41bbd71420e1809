"""`mlr` on ImCLEF07A beside the thesis's figures: macro F1 53.3, micro F1 79.9 (table 2.2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions, Predictions
from models.metrics.classification.evaluation import evaluate_classifier
from models.registry import method
from models.tree import class_paths


def rows_of(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features, and the deepest class path of each row, which is written `2@2/1@2/1/3`."""
    lines = path.read_text().partition("@DATA")[2].split()
    cells = [line.split(",") for line in lines]
    labels = np.array([row[-1].rpartition("@")[2] for row in cells], dtype=object)
    return np.array([row[:-1] for row in cells], dtype=np.float64), labels


@pytest.mark.slow
def test_multiclass_logistic_regression(real_data: Callable[[str], Path]) -> None:
    features, labels = rows_of(real_data("ImCLEF07A_Train.arff"))
    rows, true = rows_of(real_data("ImCLEF07A_Test.arff"))
    mean, scale = features.mean(axis=0), features.std(axis=0)
    hierarchy = class_paths.read("\n".join(sorted({*labels, *true})))
    mlr = method("mlr")
    train = {"features": (features - mean) / scale, "labels": labels, "hierarchy": hierarchy}
    fitted = mlr.fit(Data(train), mlr.Params(C=1.0))
    model = fitted.model
    assert model is not None

    def predict(numbers: np.ndarray, wanted: PredictionOptions) -> Predictions:
        new = Data({"features": (rows[numbers] - mean) / scale})
        return mlr.predict(model, fitted.tree, new, wanted)

    evaluation = evaluate_classifier(fitted.tree, LabelSets.of(true), predict)
    metrics, errors = evaluation.metrics, evaluation.standard_errors
    assert metrics["macro_f1"] == pytest.approx(0.555, abs=0.005)
    assert metrics["micro_f1"] == pytest.approx(0.799, abs=0.005)
    assert (errors["macro_f1"], errors["micro_f1"]) == pytest.approx((0.025, 0.012), abs=0.002)
    assert [row["n_nodes"] for row in evaluation.tables["level"]] == [1, 8, 25, 63]
    assert not evaluation.warnings
