"""Learning from rows without a label: rounds, weights, how they end."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from models.arrays import Float, Int
from models.method import Checkpoint
from models.methods.labelled.metric.descent import MetricFit, hold, minimize
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.metric.unlabelled import (
    MOST_ROUNDS,
    RISING_ROUNDS,
    Both,
    Likelihood,
    RoundsFit,
    learn_by_rounds,
)
from models.methods.labelled.supervision.transformation import factor
from models.running.progress import Progress, silent
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient


def learn(likelihood: Likelihood, start: Float | None, progress: Progress) -> MetricFit:
    return minimize(
        likelihood.loss(diagonal=False),
        hold("l2", False),
        1.0,
        np.eye(likelihood.n_columns) if start is None else start,
        tol=1e-4,
        max_iter=500,
        progress=progress,
        checkpoint=Checkpoint(),
    )


def rounds(points: Float, code: Int, n_new: int = 3, may_join: bool = False) -> RoundsFit:
    return learn_by_rounds(
        points,
        code,
        n_new,
        0.5,
        learn=learn,
        factor=factor,
        clusterer="gmm",
        may_join=may_join,
        rng=np.random.default_rng(0),
        progress=silent,
    )


def cross() -> tuple[Float, Int]:
    """Two known clusters apart on the first axis; three new ones apart on it and on the second."""
    rng = np.random.default_rng(0)
    means = np.array([[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [-4.0, 4.0, 0.0], [0.0, -4.0, 0.0]])
    means = np.vstack([means, [4.0, 4.0, 0.0]])
    code = np.arange(300) % 5
    points = means[code] + rng.normal(size=(300, 3)) * [1.0, 1.0, 3.0]
    return points, np.where(code < 2, code, -1)


def test_a_direction_that_only_new_clusters_show_is_learned() -> None:
    points, code = cross()
    known = code >= 0
    alone = learn(ConditionalLikelihood(points[known], code[known], 2), None, silent).metric
    together = rounds(points, code)
    # Known clusters differ on the first axis alone.
    assert alone[1, 1] < 0.2 * alone[0, 0]
    assert together.fit.metric[1, 1] > 0.3 * together.fit.metric[0, 0]
    assert together.fit.metric[2, 2] < 0.2 * together.fit.metric[0, 0]
    assert together.agreements[-1] == pytest.approx(1)
    (warning,) = together.warnings
    assert f"the same from round {len(together.agreements)} to" in warning
    assert RISING_ROUNDS <= len(together.agreements) < MOST_ROUNDS


def test_rows_that_join_known_clusters_are_not_learned_from() -> None:
    points, code = cross()
    code[150:] = -1
    together = rounds(points, code, may_join=True)
    assert together.fit.metric[1, 1] > 0.3 * together.fit.metric[0, 0]


def test_too_few_new_clusters_end_the_rounds() -> None:
    points, code = cross()
    ended = rounds(points, code, n_new=1)
    known = code >= 0
    alone = learn(ConditionalLikelihood(points[known], code[known], 2), None, silent)
    np.testing.assert_array_equal(ended.fit.metric, alone.metric)
    (warning,) = ended.warnings
    assert "fewer than two in round 1" in warning


def at(likelihood: Likelihood, metric: Float) -> tuple[float, Float]:
    """The value there, and the gradient."""
    loss = likelihood.loss(diagonal=metric.ndim == 1)
    image = loss.image(metric)
    value, gradient = loss.slope(image)
    assert loss.value(image) == pytest.approx(value)
    return value, gradient


def test_both_is_the_sum() -> None:
    parts = [clusters(seed) for seed in (0, 1)]
    first, second = (ConditionalLikelihood(p.points, p.code, p.n_clusters) for p in parts)
    both, metric = Both(first, second), 0.5 * np.eye(4)
    value, gradient = at(both, metric)
    assert value == pytest.approx(first.of_matrix(metric)[0] + second.of_matrix(metric)[0])
    numeric = numeric_gradient(partial(at, both), metric)
    np.testing.assert_allclose(gradient, 0.5 * (numeric + numeric.T), atol=1e-5)
    diagonal = np.diag(metric).copy()
    assert at(both, diagonal)[0] == pytest.approx(value)
    np.testing.assert_allclose(at(both, diagonal)[1], np.diag(gradient), atol=1e-9)
