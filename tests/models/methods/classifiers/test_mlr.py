"""`mlr` against its objective, minimised by another routine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp

from models.inputs.data import Data
from models.method import Run
from models.methods.classifiers.classes.problem import Problem
from models.registry import method
from models.running.progress import Alone, silent


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


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n_classes", "absent"), [(2, 1), (4, 2), (3, 0)])
def test_a_class_without_an_example_in_some_rows_still_has_weights(
    n_classes: int, absent: int, sparse: bool
) -> None:
    """As in a fold of a cross-validation, which has the classes of all rows."""
    rng = np.random.default_rng(7)
    code = np.arange(40) % n_classes
    design = np.column_stack([rng.normal(size=(40, 2)) + code[:, None], np.ones(40)])
    values = sp.csr_array(design) if sparse else design
    part = Problem(values, np.arange(41), code, n_classes).part(code != absent)
    mlr = method("mlr")
    run = Run(rng, silent, 1, Alone(lambda piece, progress: {}))
    trained = mlr._train(part, mlr.Params(tol=1e-9), run)
    assert trained.weights.shape == (n_classes, 3)
    rows, classes = design[code != absent], part.code
    best = minimize(
        lambda flat: objective(flat.reshape(n_classes, 3), rows, classes, 1.0),
        np.zeros(3 * n_classes),
        options={"gtol": 1e-8},
    )
    np.testing.assert_allclose(trained.weights, best.x.reshape(n_classes, 3), atol=1e-4)
    assert trained.metrics["objective"] == pytest.approx(best.fun, rel=1e-9)
    assert ((rows @ trained.weights.T).argmax(axis=1) != absent).all()


def test_a_fit_that_has_not_converged_says_so() -> None:
    rng = np.random.default_rng(5)
    code = np.arange(60) % 3
    data = Data({"features": rng.normal(size=(60, 3)) + code[:, None], "labels": code})
    mlr = method("mlr")
    assert "Not converged after 2 steps" in mlr.fit(data, mlr.Params(max_iter=2)).warnings[0]
    assert mlr.fit(data, mlr.Params()).warnings == ()
