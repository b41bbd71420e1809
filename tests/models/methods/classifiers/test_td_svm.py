"""`td-svm` against an SVM of each child at each node, and what it answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from models.inputs.data import Data
from models.method import PredictionOptions
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.td_svm import siblings
from models.registry import method
from tests.models.methods.classifiers.problem_kit import TREE, problem
from tests.models.methods.classifiers.tree_kit import UNDER, fit, rows


def separator(features: np.ndarray, own: np.ndarray, C: float) -> np.ndarray:
    design = np.column_stack([features, np.ones(len(features))])
    linear = LinearSVC(loss="hinge", C=C, tol=1e-9, max_iter=1_000_000, fit_intercept=False)
    return linear.fit(design, own).coef_[0]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_each_child_is_separated_from_its_siblings(several: bool, sparse: bool) -> None:
    features, has = rows(several)
    fitted = fit("td-svm", features, has, sparse, C=0.3, tol=1e-9)
    assert fitted.model is not None
    arrays = fitted.model.arrays
    weights, parent = arrays["weights"].astype(np.float64), arrays["parent"].tolist()
    leaf = arrays["leaf"].tolist()
    for classes in UNDER.values():
        node = leaf[classes[0]] if len(classes) == 1 else parent[leaf[classes[0]]]
        assert parent[node] == 0
        # All rows take part at the root, those without a label too.
        expected = separator(features, has[:, classes].any(axis=1), 0.3)
        np.testing.assert_allclose(weights[node], expected, atol=1e-3)
        if len(classes) > 1:
            below = has[:, classes].any(axis=1)
            for class_ in classes:
                expected = separator(features[below], has[below, class_], 0.3)
                np.testing.assert_allclose(weights[leaf[class_]], expected, atol=1e-3)
    assert fitted.metrics["gap"] <= 1e-9 * fitted.metrics["objective"]


def test_the_path_is_the_greedy_one_with_the_product_of_its_probabilities() -> None:
    features, has = rows(several=False)
    fitted = fit("td-svm", features, has)
    assert fitted.model is not None
    options = PredictionOptions(top_k=5, every=True)
    placed = method("td-svm").predict(
        fitted.model, fitted.tree, Data({"features": features}), options
    )
    weights, parent = (np.asarray(fitted.model.arrays[name]) for name in ("weights", "parent"))
    leaf = fitted.model.arrays["leaf"].tolist()
    classes = placed.classes
    assert classes is not None
    assert classes.every is not None
    for row, x in enumerate(features):
        node, probability = 0, [1.0]
        while (own := np.flatnonzero(parent == node)).size:
            value = weights[own] @ np.append(x, 1.0)
            node = int(own[value.argmax()])
            probability.append(probability[-1] * np.exp(value.max()) / np.exp(value).sum())
        assert leaf[classes.code[classes.start[row]]] == node
        assert classes.top[row, 0] == classes.code[classes.start[row]]
        along = placed.probability[placed.start[row] : placed.start[row + 1]]
        assert along[: len(probability)] == pytest.approx(probability, rel=1e-5)
    assert classes.every.sum(axis=1) == pytest.approx(np.ones(100))


def test_rows_of_several_labels_go_to_all_children_on_their_side() -> None:
    features, has = rows(several=True)
    fitted = fit("td-svm", features, has)
    assert fitted.model is not None
    placed = method("td-svm").predict(fitted.model, fitted.tree, Data({"features": features}))
    classes = placed.classes
    assert classes is not None
    values = np.column_stack([features, np.ones(100)]) @ fitted.model.arrays["weights"].T
    parent, leaf = fitted.model.arrays["parent"], fitted.model.arrays["leaf"]
    for row in range(100):
        expected = set()
        for class_, node in enumerate(leaf.tolist()):
            on_path = [node] if parent[node] == 0 else [node, parent[node]]
            if (values[row, on_path] >= 0).all():
                expected.add(class_)
        assert set(classes.code[classes.start[row] : classes.start[row + 1]].tolist()) == expected


def test_folds_answer_as_the_method_does() -> None:
    features, has = rows(several=False)
    fitted = fit("td-svm", features, has, calibrate=True)
    assert 0.5 < fitted.metrics["validation_micro_f1"] <= 1.0
    lonely = fit("td-svm", features[:12], has[:12], calibrate=True, n_folds=2)
    assert lonely.metrics["validation_micro_f1"] >= 0.0


def test_a_node_that_has_not_converged_is_counted() -> None:
    features, has = rows(several=False)
    fitted = fit("td-svm", features, has, C=100.0, tol=1e-9, max_iter=1)
    assert "Not converged at 3 of 3 nodes" in fitted.warnings[-1]


def test_the_rows_below_a_node_with_its_children_as_classes() -> None:
    # Root 0 with the children 1 and 2, whose only leaf is 5; 4 leads to the leaf 6 alone.
    some: Problem = problem(np.random.default_rng(1), tree=TREE, several=True)
    tree = TREE.contracted()
    has = np.zeros((some.n_rows, 3), dtype=bool)
    has[np.repeat(np.arange(some.n_rows), np.diff(some.start)), some.code] = True
    children, part = siblings(some, tree, 0)
    assert part.n_rows == some.n_rows
    below_first = has[:, [0, 2]].any(axis=1)
    assert np.diff(part.start).tolist() == (below_first.astype(int) + has[:, 1]).tolist()
    inner = int(children[np.isin(children, tree.parent)][0])
    children, part = siblings(some, tree, inner)
    assert part.n_rows == below_first.sum()
    assert np.diff(part.start).tolist() == has[below_first][:, [0, 2]].sum(axis=1).tolist()
    np.testing.assert_array_equal(part.design, some.design[below_first])
