"""`msvm` against the literal objective and the dual's proven optimum."""

from __future__ import annotations

import numpy as np
import pytest

from models.method import Checkpoint, Run
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.structured.dual import minimize
from models.methods.classifiers.structured.penalty import Plain
from models.registry import method
from models.running.progress import Alone, silent
from tests.models.methods.classifiers.flat_kit import fit, rows


def objective(weights: np.ndarray, design: np.ndarray, code: np.ndarray, C: float) -> float:
    total = 0.5 * float((weights**2).sum())
    for x, own in zip(design, code, strict=True):
        scores = [float(w @ x) for w in weights]
        total += C * max(
            (0.0 if k == own else 1.0) + score - scores[own] for k, score in enumerate(scores)
        )
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_reaches_the_proven_optimum(n_classes: int, sparse: bool) -> None:
    features, has = rows(several=False)
    some = has[:, :n_classes].any(axis=1)
    features, has = features[some], has[some, :n_classes]
    fitted = fit("msvm", features, has, sparse, C=0.5, tol=1e-6)
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    design = np.column_stack([features, np.ones(len(features))])
    code = has.argmax(axis=1)
    star = ClassTree(np.array([-1] + [0] * n_classes), 1 + np.arange(n_classes))
    problem = Problem(design, np.arange(len(code) + 1), code, n_classes, star)
    proven = minimize(
        problem, star, Plain(star.n_nodes), 0.5, candidates="paths", tol=1e-8, max_iter=1000,
        seed=0, progress=silent, checkpoint=Checkpoint(),
    )  # fmt: skip
    assert fitted.metrics["objective"] == pytest.approx(proven.objective, rel=1e-5)
    assert objective(weights, design, code, 0.5) == pytest.approx(proven.objective, rel=1e-5)
    np.testing.assert_allclose(weights, proven.weights[1:], atol=1e-3)
    assert not fitted.warnings


def test_a_part_without_examples_of_a_class_has_weights_for_it() -> None:
    features, has = rows(several=False)
    fitted = fit("msvm", features, has, False, calibrate=True, n_folds=2)
    assert fitted.metrics["validation_micro_f1"] > 0.5
    msvm = method("msvm")
    design = np.column_stack([features, np.ones(60)])[~has[:, 2]]
    code = has[~has[:, 2]].argmax(axis=1)
    part = Problem(design, np.arange(len(code) + 1), code, 3)
    alone = Run(np.random.default_rng(0), silent, 1, Alone(lambda piece: {}))
    trained = msvm._train(part, msvm.Params(tol=1e-6), alone)
    literal = objective(np.asarray(trained.weights), design, code, 1.0)
    assert trained.metrics["objective"] == pytest.approx(literal)
    assert (design @ trained.weights[2]).mean() < 0


def test_a_fit_that_has_not_converged_says_so() -> None:
    features, has = rows(several=False)
    fitted = fit("msvm", features, has, sparse=False, C=100.0, tol=1e-9, max_iter=1)
    assert "Not converged after 1 passes" in fitted.warnings[-1]
