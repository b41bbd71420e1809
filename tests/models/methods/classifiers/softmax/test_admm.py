"""The parts of ADMM against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from models.methods.classifiers.softmax.admm import Ridge, softened


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
@pytest.mark.parametrize("sparse", [False, True])
def test_ridge_solves_for_any_rho(shape: tuple[int, int], sparse: bool) -> None:
    rng = np.random.default_rng(0)
    design, right = rng.normal(size=shape), rng.normal(size=(shape[1], 3))
    ridge = Ridge(sp.csr_array(design) if sparse else design)
    for rho in (0.01, 1.0, 100.0):
        expected = np.linalg.solve(np.eye(shape[1]) + rho * design.T @ design, right).T
        np.testing.assert_allclose(ridge.solved(right, rho), expected, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.01, 1.0, 300.0])
def test_scores_of_a_row_are_at_their_minimum(weight: float) -> None:
    rng = np.random.default_rng(1)
    values, start = 5.0 * rng.normal(size=(8, 5)), rng.normal(size=(8, 5))
    for row, z in zip(values, softened(values, weight, start), strict=True):
        least = minimize(
            lambda z, row=row: weight * logsumexp(z) + 0.5 * ((z - row) ** 2).sum(),
            row,
            jac=lambda z, row=row: weight * softmax(z) + z - row,
            options={"gtol": 1e-9},
        )
        np.testing.assert_allclose(z, least.x, atol=1e-6)
        gradient = weight * np.exp(z - logsumexp(z)) + z - row
        assert np.linalg.norm(gradient) < 1e-8 * (1 + weight)
