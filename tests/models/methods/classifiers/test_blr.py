"""`blr` against liblinear and the literal objective, and the certified one on real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from models.data import Data
from models.registry import method
from tests.models.methods.classifiers.flat_kit import fit, objective, rows
from tests.models.methods.classifiers.softmax.softmax_kit import real_rows

CERTIFIED = {0.1: 2289.0422, 1.0: 11233.5686, 10.0: 83852.0725}
"""Minima on ImCLEF07A by C, features standardised, a constant column."""


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_liblinears_logistic_regression_of_each_class(several: bool, sparse: bool) -> None:
    features, has = rows(several)
    fitted = fit("blr", features, has, sparse, C=0.7, tol=1e-12)
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    design = np.column_stack([features, np.ones(60)])
    linear = LogisticRegression(solver="liblinear", C=0.7, tol=1e-10, fit_intercept=False)
    for own, column in zip(weights, has.T, strict=True):
        np.testing.assert_allclose(own, linear.fit(design, column).coef_[0], atol=1e-5)
    least = objective(weights, features, has, 0.7, lambda margin: np.logaddexp(0.0, -margin))
    assert fitted.metrics["objective"] == pytest.approx(least, rel=1e-9)
    assert fitted.metrics["bound"] <= 1e-9 * least
    assert not fitted.warnings


def test_a_fit_that_has_not_converged_says_so() -> None:
    features, has = rows(several=False)
    fitted = fit("blr", features, has, sparse=False, C=100.0, tol=1e-12, max_iter=1)
    assert "Not converged after 1 steps" in fitted.warnings[-1]


@pytest.mark.slow
@pytest.mark.parametrize("C", CERTIFIED)
def test_the_certified_objective_on_real_data(C: float, real_data: Callable[[str], Path]) -> None:
    features, labels = real_rows("ImCLEF07A", real_data)
    blr = method("blr")
    fitted = blr.fit(Data({"features": features, "labels": labels}), blr.Params(C=C))
    assert fitted.metrics["objective"] == pytest.approx(CERTIFIED[C], rel=1e-4)
