"""One split's rule for new points against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.margins.splitting.placing import PlacementRule


@given(st.integers(0, 10_000))
def test_a_point_goes_where_cost_and_price_are_least(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, p = int(rng.integers(2, 5)), 3
    rule = PlacementRule(rng.normal(size=(k, p)), rng.normal(size=k), rng.normal(size=k))
    rows = rng.normal(size=(6, p))
    cluster, log, margin = rule.place(rows)
    for row, x in enumerate(rows):
        score = [float(rule.weights[c] @ x + rule.intercept[c]) for c in range(k)]
        cost = [
            sum(max(0.0, 1 - score[y] + score[c]) ** 2 for c in range(k) if c != y) + rule.price[y]
            for y in range(k)
        ]
        best = int(np.argmin(cost))
        assert cluster[row] == best
        assert margin[row] == pytest.approx(
            score[best] - max(score[c] for c in range(k) if c != best)
        )
        weight = np.exp(-(np.array(cost) - min(cost)) / k)
        np.testing.assert_allclose(np.exp(log[row]), weight / weight.sum(), atol=1e-12)


def test_without_prices_the_highest_score_wins() -> None:
    rng = np.random.default_rng(0)
    rule = PlacementRule(rng.normal(size=(4, 3)), rng.normal(size=4), np.zeros(4))
    rows = rng.normal(size=(200, 3))
    cluster, _, margin = rule.place(rows)
    assert (cluster == (rows @ rule.weights.T + rule.intercept).argmax(axis=1)).all()
    assert (margin > 0).all()


@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_between_two_clusters_it_is_a_logistic_function_of_the_margin(threshold: float) -> None:
    """Within the margins [1 - f]^2 - [1 + f]^2 = -4 f for f = w_1.x - w_0.x."""
    rule = PlacementRule(np.array([[-0.5], [0.5]]), np.zeros(2), np.array([0.0, 4 * threshold]))
    margin = np.linspace(-0.99, 0.99, 21)
    cluster, log, _ = rule.place(margin[:, None])
    np.testing.assert_allclose(
        np.exp(log[:, 1]), 1 / (1 + np.exp(-2 * (margin - threshold))), atol=1e-12
    )
    assert (cluster == (margin > threshold)).all()
