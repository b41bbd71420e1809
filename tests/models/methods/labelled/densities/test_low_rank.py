"""Gaussian clusters in few columns: the gradient, and the convex minimum where the rank allows."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.method import Checkpoint
from models.methods.labelled.densities.low_rank import REGULARIZERS, fitted, objective
from models.methods.labelled.densities.minimum import Effort
from models.methods.labelled.metric.descent import RegularizerName, hold, minimize
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.running.progress import silent
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient

EFFORT = Effort(1e-9, 2000)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_gradient(regularizer: RegularizerName) -> None:
    known = clusters(0)
    loss = ConditionalLikelihood(known.points, known.code, 3).of_matrix
    of_rows = objective(loss, regularizer, 3.0)
    matrix = np.random.default_rng(1).normal(size=(2, 4))
    value, gradient = of_rows(matrix)
    metric = matrix.T @ matrix
    held = hold(regularizer, False).value(metric)
    assert value == pytest.approx(loss(metric)[0] + 3.0 * held)
    expected = numeric_gradient(of_rows, matrix)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * abs(gradient).max())


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("regularizer", ["l2", "nuclear"])
@pytest.mark.parametrize("seed", range(3))
def test_of_the_rank_of_the_best_metric_or_above_the_minimum_is_the_convex_one(
    seed: int, regularizer: RegularizerName, rank: int
) -> None:
    known = clusters(seed, n_rows=100)
    likelihood = ConditionalLikelihood(known.points, known.code, 3)
    convex = minimize(
        likelihood.loss(diagonal=False),
        hold(regularizer, False),
        2.0,
        np.eye(4),
        tol=1e-9,
        max_iter=5000,
        progress=silent,
        checkpoint=Checkpoint(),
    )
    minimum = fitted(known, rank, regularizer, 2.0, EFFORT, np.random.default_rng(0), silent)
    assert minimum.converged
    assert (np.diff(minimum.objectives) <= 0).all()
    assert minimum.objectives[-1] == pytest.approx(convex.objectives[-1], rel=1e-7)
    np.testing.assert_allclose(minimum.point.T @ minimum.point, convex.metric, atol=1e-3)


def test_of_a_lower_rank_it_is_not_below_the_convex_one() -> None:
    known = clusters(0, n_rows=100)
    values = [
        fitted(known, rank, "l2", 2.0, EFFORT, np.random.default_rng(0), silent).objectives[-1]
        for rank in (1, 2)
    ]
    assert values[0] > values[1]


def test_more_columns_than_there_are_are_refused() -> None:
    with pytest.raises(UsageError, match="'rank' is 5, but rows have 4 columns"):
        fitted(clusters(0), 5, "l2", 1.0, EFFORT, np.random.default_rng(0), silent)
