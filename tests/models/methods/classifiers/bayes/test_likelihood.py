"""The expansions of likelihoods, against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from models.methods.classifiers.bayes.likelihood import (
    BoundedLikelihood,
    Likelihood,
    Logistic,
    QuadraticBound,
    Softmax,
)

ROW, CODE = np.arange(4), np.array([0, 2, 2, 1])
SEVERAL_ROW, SEVERAL_CODE = np.array([0, 0, 2, 3]), np.array([0, 1, 2, 1])
"""Row 1 has no class, row 0 has two."""


def bounded(kind: str, row: np.ndarray, code: np.ndarray) -> BoundedLikelihood:
    variance = np.random.default_rng(9).uniform(0.0, 4.0, (4, 3))
    return BoundedLikelihood(QuadraticBound.first(kind, row, code, 4, 3), variance)


LIKELIHOODS: dict[str, Callable[[], Likelihood]] = {
    "softmax": lambda: Softmax(ROW, CODE),
    "logistic": lambda: Logistic(SEVERAL_ROW, SEVERAL_CODE),
    "bound of softmax": lambda: bounded("softmax", ROW, CODE),
    "bound of logistic": lambda: bounded("logistic", SEVERAL_ROW, SEVERAL_CODE),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_gradient_and_hessian_are_those_of_the_loss(name: str) -> None:
    likelihood = LIKELIHOODS[name]()
    scores = np.random.default_rng(3).normal(size=(4, 3), scale=3.0)
    expansion = likelihood.at(scores.copy())
    step = 1e-4
    for at in np.ndindex(scores.shape):
        one = np.zeros_like(scores)
        one[at] = 1.0
        ahead = likelihood.at(scores + step * one)
        behind = likelihood.at(scores - step * one)
        slope = (ahead.loss - behind.loss) / (2 * step)
        assert expansion.residual[at] == pytest.approx(slope, abs=1e-6)
        bent = (ahead.residual - behind.residual) / (2 * step)
        np.testing.assert_allclose(expansion.curved(one.copy()), bent, atol=1e-6)
        assert expansion.curvature[at] == pytest.approx(bent[at], abs=1e-6)


def test_the_losses_are_negative_log_likelihoods() -> None:
    scores = np.random.default_rng(4).normal(size=(4, 3), scale=3.0)
    softmax = -log_softmax(scores, axis=1)[ROW, CODE].sum()
    assert Softmax(ROW, CODE).at(scores.copy()).loss == pytest.approx(softmax)
    has = np.zeros((4, 3), dtype=bool)
    has[SEVERAL_ROW, SEVERAL_CODE] = True
    logistic = -np.log(np.where(has, expit(scores), expit(-scores))).sum()
    assert Logistic(SEVERAL_ROW, SEVERAL_CODE).at(scores.copy()).loss == pytest.approx(logistic)
