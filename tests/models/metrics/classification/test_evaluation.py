"""Evaluations as a whole: labels that are odd, options, blocks of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions, Predictions
from models.metrics.classification import outcomes
from models.metrics.classification.evaluation import ClassifierEvaluation, evaluate_classifier
from models.registry import method
from models.tree import class_paths
from tests.models.metrics.classification.rows_kit import LabelledRows, labelled_rows, sets_of

#          0
#       /     \
#   animal    plant
#   /   \      /  \
#  x    dog   x   rose      rows are named x, x, dog and rose; no row is a rose
TREE = class_paths.read("animal/x\nanimal/dog\nplant/x\nplant/rose")


def case_of(labels: list[set[str] | None], given: list[int], **changes: object) -> LabelledRows:
    """Rows that are given one of the classes animal/x, animal/dog, plant/x."""
    leaves = {TREE.name[leaf]: leaf for leaf in TREE.leaves.tolist()}
    class_node = np.array([leaf for leaf in TREE.leaves.tolist() if leaf != leaves["rose"]])
    chosen = np.arange(3) == np.array(given)[:, None]
    return LabelledRows(TREE, class_node, labels, np.where(chosen, 0.6, 0.2), chosen, one_each=True)


def test_labels_that_the_model_cannot_predict_are_errors_with_a_warning() -> None:
    case = case_of([{"dog"}, {"cat"}, {"plant"}, {"rose"}, None], [1, 1, 2, 2, 0])
    evaluation = case.evaluate()
    assert evaluation.n_rows == 4
    assert evaluation.metrics["accuracy"] == 0.25
    assert evaluation.warnings == [
        "1 row(s) are not labelled and were left out.",
        "1 label(s) of 1 row(s) are no class of the model: 'cat'; they count as errors.",
        "1 label(s) of 1 row(s) are leaves without an example in the training: 'rose'; they count "
        "as errors.",
        "1 label(s) of 1 row(s) are inner nodes and no class: 'plant'; they count as errors, but "
        "in the table by level and in the hierarchical metrics as far down as they lead.",
    ]
    # Edges: none; dog, animal, root, cat; x, plant; x, plant, rose.
    assert evaluation.metrics["hierarchical_loss"] == (0 + 3 + 1 + 2) / 4
    # At level 1 the rows of dog, plant and rose are right.
    assert evaluation.tables["level"][1]["micro_f1"] == 6 / 8
    shown = {row["label"]: row for row in evaluation.tables["class"]}
    assert list(shown) == ["animal/x", "dog", "plant/x", "plant", "rose", "cat"]
    assert shown["cat"]["node"] is None
    assert shown["dog"] == {
        "label": "dog",
        "node": TREE.name.tolist().index("dog"),
        "training_examples": 1,
        "support": 1,
        "n_given": 2,
        "precision": 0.5,
        "recall": 1.0,
        "f1": pytest.approx(2 / 3),
    }


def test_a_label_by_its_path_of_names() -> None:
    evaluation = case_of([{"plant/x"}, {"animal/x"}], [2, 2]).evaluate()
    assert evaluation.metrics["accuracy"] == 0.5
    with pytest.raises(UsageError, match=r"'x' at row 1 \(counted from 0\) means several nodes"):
        case_of([{"dog"}, {"x"}], [1, 1]).evaluate()


def test_implied_labels_are_left_out() -> None:
    evaluation = case_of([{"animal", "dog"}], [1]).evaluate()
    assert evaluation.metrics["accuracy"] == 1.0
    assert "1 label(s) above another label" in evaluation.warnings[0]


def test_rows_without_one_label_have_no_loss() -> None:
    evaluation = case_of([{"dog"}, set(), {"dog", "rose"}], [1, 1, 1]).evaluate()
    assert evaluation.metrics["log_loss"] == pytest.approx(-np.log(0.6))
    assert "2 row(s) have not exactly one label" in evaluation.warnings[-1]


def test_something_must_be_labelled() -> None:
    with pytest.raises(UsageError, match="No row is labelled"):
        case_of([None, None], [0, 1]).evaluate()


def test_the_requested_metrics_and_tables() -> None:
    case = case_of([{"dog"}], [1])
    evaluation = case.evaluate(metrics=["macro_f1", "accuracy", "macro_f1"], by=["level", "level"])
    assert list(evaluation.metrics) == ["macro_f1", "accuracy"]
    assert list(evaluation.tables) == ["level"]
    for top_k, telling in ((0, False), (2, True), (3, False)):
        assert ("top_k_accuracy" in case.evaluate(top_k=top_k).metrics) == telling
    with pytest.raises(UsageError, match="top_k"):
        case.evaluate(metrics=["top_k_accuracy"], top_k=0)


def test_undefined_metrics_are_none_with_a_warning() -> None:
    case = case_of([set()], [1])
    evaluation = replace(case, given=case.given & False).evaluate(bootstrap=10)
    assert evaluation.metrics["macro_f1"] is None
    assert evaluation.metrics["accuracy"] == 1.0
    assert "macro_f1" not in evaluation.standard_errors
    assert any("macro_f1" in text for text in evaluation.warnings)


@given(case=labelled_rows())
def test_blocks_of_rows_change_nothing(case: LabelledRows) -> None:
    whole = case.evaluate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcomes, "VALUES", 2 * case.class_node.size)
        in_blocks = case.evaluate()
    assert in_blocks.tables == whole.tables
    assert in_blocks.metrics == whole.metrics


def test_an_evaluation_can_be_cancelled() -> None:
    def cancelled(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        case_of([{"dog"}], [1]).evaluate(progress=cancelled)


def evaluated(labels: LabelSets, n_trained: int, **options: object) -> ClassifierEvaluation:
    """`mlr` trained on the first of 90 rows of three groups and measured on all of them."""
    rng = np.random.default_rng(2)
    group = np.arange(90) % 3
    features = rng.normal(size=(90, 4)) + 4.0 * np.eye(3, 4)[group]
    mlr = method("mlr")
    names = np.array(["cat", "dog", "rose"], dtype=object)[group]
    train = {"features": features[:n_trained], "labels": names[:n_trained]}
    hierarchy = class_paths.read("animal/cat\nanimal/dog\nplant/rose")
    fitted = mlr.fit(Data({**train, "hierarchy": hierarchy}), mlr.Params())
    model = fitted.model
    assert model is not None

    def predict(rows: np.ndarray, wanted: PredictionOptions) -> Predictions:
        return mlr.predict(model, fitted.tree, Data({"features": features[rows]}), wanted)

    return evaluate_classifier(fitted.tree, labels, predict, bootstrap=100)


def test_a_fitted_classifier() -> None:
    names = np.array(["cat", "dog", "rose"], dtype=object)[np.arange(90) % 3]
    evaluation = evaluated(LabelSets.of(names), 60)
    assert evaluation.metrics["accuracy"] >= 0.95
    assert evaluation.metrics["log_loss"] < 0.2
    sizes = {row["training_examples"]: row["n_classes"] for row in evaluation.tables["class_size"]}
    assert sizes == {"1-5": 0, "6-10": 0, "11-20": 3, "21-50": 0, "51-100": 0, ">100": 0}
    assert [row["n_nodes"] for row in evaluation.tables["level"]] == [1, 2, 3]
    levels = [row["macro_f1"] for row in evaluation.tables["level"]]
    assert levels == sorted(levels, reverse=True)
    assert not evaluation.warnings


def test_labels_as_sets_or_as_one_a_row_are_the_same() -> None:
    names = np.array(["cat", "dog", "rose"], dtype=object)[np.arange(90) % 3]
    sets = sets_of([{name} for name in names.tolist()])
    assert evaluated(sets, 60) == evaluated(LabelSets.of(names), 60)
