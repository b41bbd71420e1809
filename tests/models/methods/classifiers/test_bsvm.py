"""`bsvm` against liblinear and the literal objective; the certified one is in `test_certified`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from models.inputs.data import Data
from models.method import PredictionOptions
from models.registry import method
from tests.models.methods.classifiers.flat_kit import fit, objective, rows


def hinge(margin: float) -> float:
    return max(0.0, 1.0 - margin)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_liblinears_svm_of_each_class(several: bool, sparse: bool) -> None:
    features, has = rows(several)
    fitted = fit("bsvm", features, has, sparse, C=0.7, tol=1e-9)
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    design = np.column_stack([features, np.ones(60)])
    linear = LinearSVC(loss="hinge", C=0.7, tol=1e-10, max_iter=1_000_000, fit_intercept=False)
    for own, column in zip(weights, has.T, strict=True):
        np.testing.assert_allclose(own, linear.fit(design, column).coef_[0], atol=1e-4)
    least = objective(weights, features, has, 0.7, hinge)
    assert fitted.metrics["objective"] == pytest.approx(least, rel=1e-6)
    assert fitted.metrics["gap"] <= 1e-9 * least
    assert not fitted.warnings


def test_the_labels_of_a_row_are_the_classes_on_their_side() -> None:
    features, has = rows(several=True)
    fitted = fit("bsvm", features, has, sparse=False)
    assert fitted.model is not None
    classes = method("bsvm").predict(
        fitted.model, fitted.tree, Data({"features": features}), PredictionOptions()
    ).classes  # fmt: skip
    assert classes is not None
    scores = np.column_stack([features, np.ones(60)]) @ fitted.model.arrays["weights"].T
    for row in range(60):
        labels = classes.code[classes.start[row] : classes.start[row + 1]]
        assert set(labels.tolist()) == set(np.flatnonzero(scores[row] >= 0).tolist())


def test_a_fit_that_has_not_converged_says_so() -> None:
    features, has = rows(several=False)
    fitted = fit("bsvm", features, has, sparse=False, C=100.0, tol=1e-9, max_iter=1)
    assert "Not converged after 1 sweeps" in fitted.warnings[-1]
