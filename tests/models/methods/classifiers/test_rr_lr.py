"""`rr-lr`: classes, structures and answers; its optimum is tested in `recursive`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted, PredictionOptions, Predictions
from models.registry import method
from models.tree import class_paths
from models.tree.tree import Tree

# root
# ├── animal
# │   ├── cat
# │   └── dog
# └── plant
#     └── rose
HIERARCHY = class_paths.read("animal/cat\nanimal/dog\nplant/rose")
CENTERS = {"cat": (0, 4), "dog": (4, 4), "rose": (8, -4), "animal": (2, 9), "plant": (0, -9)}


def rows(labels: list[str], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([CENTERS[label] for label in labels]) + rng.normal(size=(len(labels), 2))


def fit(values: dict[str, Any], **params: Any) -> Fitted:
    rr_lr = method("rr-lr")
    return rr_lr.fit(Data(values), rr_lr.Params(**params))


def predict(fitted: Fitted, features: Any, **options: Any) -> Predictions:
    assert fitted.model is not None
    return method("rr-lr").predict(
        fitted.model, fitted.tree, Data({"features": features}), PredictionOptions(**options)
    )


def names_on_path(tree: Tree, predictions: Predictions, row: int) -> list[str]:
    path = predictions.node[predictions.start[row] : predictions.start[row + 1]]
    return [tree.name[node] for node in path[1:]]


LABELS = ["cat", "dog", "rose"] * 20
FEATURES = rows(LABELS)


def training(labels: Any = None, **more: Any) -> dict[str, Any]:
    own = np.array(LABELS, dtype=object) if labels is None else labels
    return {"features": FEATURES, "labels": own, "hierarchy": HIERARCHY, **more}


def test_rows_are_placed_in_the_hierarchy() -> None:
    fitted = fit(training())
    predictions = predict(fitted, rows(["dog", "rose"], seed=1), top_k=2)
    assert names_on_path(fitted.tree, predictions, 0) == ["animal", "dog"]
    assert names_on_path(fitted.tree, predictions, 1) == ["plant", "rose"]
    answers = predictions.classes
    assert answers is not None
    assert [answers.name[code] for code in answers.code] == ["dog", "rose"]
    assert answers.top[0].tolist() == [answers.name.index("dog"), answers.name.index("cat")]
    assert (np.diff(answers.score, axis=1) <= 0).all()
    assert answers.probability[0, 0] == pytest.approx(predictions.probability[2])
    assert fitted.tree.size.tolist() == [60, 40, 20, 20, 20, 20]


def test_a_path_ends_where_the_confidence_does() -> None:
    fitted = fit(training(), C=0.01)
    between = np.array([[2.0, 4.0], [2.0, -2.0]])
    predictions = predict(fitted, between, confidence=0.6)
    assert names_on_path(fitted.tree, predictions, 0) == ["animal"]
    assert predictions.probability[1] >= 0.6
    assert names_on_path(fitted.tree, predictions, 1) == []
    assert predictions.probability[2:].tolist() == [1.0]


def test_rows_at_inner_nodes_get_a_leaf_of_their_own() -> None:
    labels = ["cat", "dog", "rose", "animal"] * 15
    fitted = fit(
        training(np.array(labels, dtype=object), features=rows(labels), hierarchy=HIERARCHY)
    )
    assert fitted.tree.name.tolist() == [None, "animal", "cat", "dog", "plant", "rose", "animal"]
    assert fitted.tree.parent[6] == 1
    assert any("'animal'" in warning for warning in fitted.warnings)
    assert names_on_path(fitted.tree, predict(fitted, rows(["animal"], seed=2)), 0) == [
        "animal",
        "animal",
    ]


def test_labels_may_be_paths_numbers_with_names_or_missing() -> None:
    by_name = fit(training())
    by_path = fit(
        training(
            np.array(
                [{"cat": "animal/cat", "dog": "animal/dog", "rose": "plant/rose"}[label]
                 for label in LABELS],
                dtype=object,
            )
        )
    )  # fmt: skip
    numbers = np.array([["rose", "cat", "dog"].index(label) for label in LABELS])
    by_number = fit(training(numbers, names=["rose", "cat", "dog"]))
    for other in (by_path, by_number):
        np.testing.assert_array_equal(
            other.model.arrays["weights"], by_name.model.arrays["weights"]
        )
    numbers[5] = -1
    missing = fit(training(numbers, names=["rose", "cat", "dog"]))
    assert "1 row(s) are not labelled" in missing.warnings[0]
    without = np.arange(60) != 5
    left_out = fit(training(numbers[without], features=FEATURES[without],
                            names=["rose", "cat", "dog"]))  # fmt: skip
    np.testing.assert_array_equal(missing.model.arrays["weights"], left_out.model.arrays["weights"])
    assert missing.tree.leaf_of_point[5] == by_name.tree.leaf_of_point[5]


def test_rows_may_have_several_labels_or_none() -> None:
    # A row of both has the features of both; animal is implied by cat.
    sets = [["cat"], ["dog"], ["cat", "dog"], [], ["cat", "animal"]] * 12
    centers = np.array([[4, 0], [0, 4], [4, 4], [0, 0], [4, 0]])
    features = np.tile(centers, (12, 1)) + np.random.default_rng(0).normal(size=(60, 2)) / 2
    names = ["animal", "cat", "dog"]
    codes = [sorted(names.index(label) for label in labels) for labels in sets]
    labels = LabelSets(
        np.concatenate([[0], np.cumsum([len(row) for row in codes])]),
        np.concatenate(codes).astype(np.int64),
        names,
        np.zeros(60, dtype=bool),
    )
    fitted = fit(
        training(labels, features=features, hierarchy=class_paths.read("animal/cat\nanimal/dog"))
    )
    assert "12 label(s) above another label" in " ".join(fitted.warnings)
    answers = predict(fitted, centers[:4].astype(float)).classes
    assert answers is not None
    labelled = [
        {answers.name[code] for code in answers.code[answers.start[row] : answers.start[row + 1]]}
        for row in range(4)
    ]
    assert labelled == [{"cat"}, {"dog"}, {"cat", "dog"}, set()]
    # animal 0, cat 1, dog 2; 12 of 60 rows have no label.
    assert fitted.tree.extra["rows"].tolist() == [48, 36, 24]


def test_sparse_features_and_a_graph() -> None:
    edges = np.array([["cat", "dog"], ["dog", "wolf"]], dtype=object)
    values = {"features": FEATURES, "labels": np.array(LABELS, dtype=object), "graph": edges}
    dense = fit(values, tol=1e-12)
    assert dense.tree.kind == "partition"
    assert "1 label(s) of the graph have no example" in dense.warnings[0]
    assert "2 component(s)" in dense.warnings[1]
    sparse = fit({**values, "features": sp.csr_array(FEATURES)}, tol=1e-12)
    np.testing.assert_allclose(
        sparse.model.arrays["weights"], dense.model.arrays["weights"], atol=1e-4
    )
    same = predict(sparse, sp.csr_array(FEATURES))
    assert (same.leaf == dense.tree.leaf_of_point).all()


def test_without_contraction_nodes_with_one_child_count() -> None:
    whole, contracted = (fit(training(), contract=contract) for contract in (False, True))
    assert whole.metrics["objective"] != pytest.approx(contracted.metrics["objective"], rel=1e-3)
    assert whole.tree.n_nodes == contracted.tree.n_nodes == 6


def test_a_fit_that_has_not_converged_says_so() -> None:
    fitted = fit(training(), max_iter=1)
    assert "Not converged after 1 steps" in fitted.warnings[-1]


def refusal(values: dict[str, Any], **params: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        fit(values, **params)
    return caught.value


def test_unusable_labels_hierarchies_and_graphs_are_refused_by_their_place() -> None:
    labels = np.array(LABELS, dtype=object)
    unknown = labels.copy()
    unknown[[7, 9]] = "wolf"
    error = refusal(training(unknown))
    assert (error.where["row"], error.where["role"]) == (7, "labels")
    assert "'wolf' at row 7" in error.detail

    error = refusal(training(hierarchy=class_paths.read("a/cat\nb/cat\ndog\nrose")))
    assert "means several nodes" in error.detail

    few = labels.copy()
    few[few == "rose"] = "dog"
    error = refusal(training(few))
    assert "1 class(es) of the hierarchy have no example among the labels: 'rose'" in error.detail
    fitted = fit(training(few), empty_classes="leave-out")
    assert "never predicted: 'rose'" in fitted.warnings[0]
    assert fitted.tree.size.tolist() == [60, 60, 20, 40, 0, 0]

    one = np.full(60, "cat", dtype=object)
    assert "1 class(es); at least two" in refusal(training(one), empty_classes="leave-out").detail

    loop = np.array([["cat", "dog"], ["rose", "rose"]], dtype=object)
    graph = {"features": FEATURES, "labels": labels, "graph": loop}
    assert refusal(graph).where == {"role": "graph", "row": 1}
    assert "two labels a row" in refusal({**graph, "graph": np.zeros((3, 3))}).detail

    empty = sp.csr_array(np.where(np.arange(60)[:, None] == 11, 0.0, FEATURES))
    error = refusal(training(features=empty))
    assert error.where["row"] == 11
    assert "empty document" in error.detail
    explicit = sp.csr_array(FEATURES)
    explicit.data[22:24] = 0.0
    assert refusal(training(features=explicit)).where["row"] == 11
