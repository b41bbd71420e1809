"""`mlr` against its objective, minimised by another routine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from models.data import Data
from models.registry import method


def objective(weights: np.ndarray, design: np.ndarray, code: np.ndarray, C: float) -> float:
    """OPT 1 of the thesis, written out, with C = 1 / lambda and multiplied by C."""
    score = design @ weights.T
    loss = logsumexp(score, axis=1) - score[np.arange(len(code)), code]
    return 0.5 * float((weights**2).sum()) + C * float(loss.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_reaches_the_minimum_of_its_objective(n_classes: int) -> None:
    rng = np.random.default_rng(5)
    code = rng.permutation(np.arange(60) % n_classes)
    features = rng.normal(size=(60, 3)) + code[:, None]
    design = np.column_stack([features, np.ones(60)])
    mlr = method("mlr")
    fitted = mlr.fit(Data({"features": features, "labels": code}), mlr.Params(C=0.7, tol=1e-9))
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    best = minimize(
        lambda flat: objective(flat.reshape(n_classes, 4), design, code, 0.7),
        np.zeros(4 * n_classes),
        options={"gtol": 1e-8},
    )
    assert objective(weights, design, code, 0.7) == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(weights, best.x.reshape(n_classes, 4), atol=1e-4)
