"""`blr` against liblinear and the literal objective; the certified one is in `test_certified`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.models.methods.classifiers.flat_kit import fit, objective, rows


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
