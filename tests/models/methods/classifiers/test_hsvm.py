"""`hsvm` beside the multiclass SVM and on real data; its optimum is tested in `structured`."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.registry import method
from tests.models.methods.classifiers import flat_kit
from tests.models.methods.classifiers.tree_kit import fit, rows


def test_scores_of_classes_are_sums_along_their_paths() -> None:
    features, has = rows()
    fitted = fit("hsvm", features, has, C=0.1, tol=1e-8)
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    # The best weights of nodes share what siblings have in common: a third of their sum.
    squares = 0.0
    for classes in ([0, 1], [2, 3], [4]):
        own = weights[classes]
        above = own.sum(axis=0) / 3.0 if len(classes) > 1 else np.zeros(5)
        squares += (above**2).sum() + ((own - above) ** 2).sum()
    scores = np.column_stack([features, np.ones(100)]) @ weights.T
    distance = np.full((5, 5), 2.0)
    distance[4, :4] = distance[:4, 4] = 1.5
    distance[[0, 1, 2, 3], [1, 0, 3, 2]] = 1.0
    np.fill_diagonal(distance, 0.0)
    code = has.argmax(axis=1)
    violation = (distance[code] + scores).max(axis=1) - scores[np.arange(100), code]
    expected = 0.5 * squares + 0.1 * violation.sum()
    assert fitted.metrics["objective"] == pytest.approx(expected, rel=1e-5)
    assert fitted.metrics["gap"] <= 1e-8 * expected


def test_without_a_hierarchy_it_is_the_multiclass_svm() -> None:
    features, has = flat_kit.rows(several=False)
    hsvm = flat_kit.fit("hsvm", features, has, False, C=0.5, tol=1e-7)
    msvm = flat_kit.fit("msvm", features, has, False, C=0.5, tol=1e-6)
    assert hsvm.model is not None
    assert msvm.model is not None
    np.testing.assert_allclose(
        hsvm.model.arrays["weights"], msvm.model.arrays["weights"], atol=2e-3
    )


def test_rescaled_slack_and_nodes_with_one_child_change_the_optimum() -> None:
    features, has = rows()
    margin, slack = (
        fit("hsvm", features, has, rescaling=kind).metrics["objective"]
        for kind in ("margin", "slack")
    )
    assert margin != pytest.approx(slack, rel=0.05)


def test_several_labels_are_refused() -> None:
    features, has = rows(several=True)
    with pytest.raises(UsageError, match="takes one for each row"):
        fit("hsvm", features, has)


def test_a_fit_that_has_not_converged_says_so() -> None:
    features, has = rows()
    fitted = fit("hsvm", features, has, C=100.0, tol=1e-9, max_iter=1)
    assert "Not converged after 1 sweeps" in fitted.warnings[-1]
    assert fitted.model is not None
    placed = method("hsvm").predict(fitted.model, fitted.tree, Data({"features": features}))
    assert (placed.leaf == fitted.tree.leaf_of_point).mean() > 0.5
