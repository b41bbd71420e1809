"""The sparse-group penalty against its literal sum, points nearby and directional derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.numerics.descent import Penalty, soft


def random_penalty(rng: np.random.Generator, n_features: int) -> Penalty:
    """Every kind of term is sometimes absent."""
    parts = rng.random((3, n_features)) * (rng.random((3, n_features)) < 0.7)
    return Penalty(*parts)


def literal(penalty: Penalty, weights: np.ndarray) -> float:
    total = 0.0
    for p in range(weights.shape[1]):
        for w in weights[:, p]:
            total += penalty.l1[p] * abs(w) + penalty.ridge[p] * w * w
        total += penalty.l2[p] * np.sqrt(sum(w * w for w in weights[:, p]))
    return total


@given(st.integers(0, 10_000))
def test_the_value_is_the_sum_of_its_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalty, weights = random_penalty(rng, 4), rng.normal(size=(3, 4))
    assert penalty.of(weights) == pytest.approx(literal(penalty, weights))
    assert penalty.by_feature(weights).sum() == pytest.approx(literal(penalty, weights))


@given(st.integers(0, 10_000))
def test_no_point_is_better_than_the_proximal_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 4))
    penalty, values = random_penalty(rng, 3), rng.normal(size=(k, 3))
    step = float(rng.choice([0.1, 1.0, 3.0]))

    def objective(weights: np.ndarray) -> float:
        apart = weights.reshape(k, 3) - values
        return literal(penalty, weights.reshape(k, 3)) + (apart * apart).sum() / (2 * step)

    nearest = penalty.proximal(values, step)
    best = objective(nearest.ravel())
    for size in (1e-1, 1e-3, 1e-6):
        for _ in range(30):
            near = nearest + size * rng.normal(size=nearest.shape)
            assert objective(near.ravel()) >= best - 1e-12


def test_the_l1_threshold_comes_first() -> None:
    """In the other order the result is not the minimum."""
    penalty = Penalty(np.array([0.5]), np.array([1.0]), np.array([0.0]))
    values = np.array([[2.0], [0.6]])

    def objective(weights: np.ndarray) -> float:
        return literal(penalty, weights) + ((weights - values) ** 2).sum() / 2

    length = np.linalg.norm(values)
    wrong = soft(values * max(1 - 1.0 / length, 0), 0.5)
    right = penalty.proximal(values)
    assert right[1, 0] != wrong[1, 0]
    assert objective(right) < objective(wrong) - 1e-3


@given(st.integers(0, 10_000))
def test_the_least_subgradient_is_zero_at_the_minimum_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalty, values = random_penalty(rng, 3), rng.normal(size=(2, 3))
    minimum = penalty.proximal(values)
    # The gradient of |w - values|^2 / 2 there.
    assert np.abs(penalty.least_subgradient(minimum, minimum - values)).max() < 1e-12
    elsewhere = minimum + rng.normal(size=minimum.shape)
    assert np.abs(penalty.least_subgradient(elsewhere, elsewhere - values)).max() > 1e-6


@given(st.integers(0, 10_000))
def test_the_least_subgradient_is_the_shortest_one(seed: int) -> None:
    """Its length is the fastest descent: the largest fall of the objective per step."""
    rng = np.random.default_rng(seed)
    penalty, gradient = random_penalty(rng, 2), rng.normal(size=(2, 2))
    weights = rng.normal(size=(2, 2)) * (rng.random((2, 2)) < 0.5)
    least = penalty.least_subgradient(weights, gradient)
    size = 1e-7

    def fall(direction: np.ndarray) -> float:
        moved = weights + size * direction
        return (literal(penalty, weights) - literal(penalty, moved)) / size - float(
            (gradient * direction).sum()
        )

    length = float(np.linalg.norm(least))
    if length > 0:
        assert fall(-least / length) == pytest.approx(length, abs=1e-5)
    for _ in range(50):
        direction = rng.normal(size=(2, 2))
        assert fall(direction / np.linalg.norm(direction)) <= length + 1e-5


def test_nothing_is_penalised() -> None:
    penalty, values = Penalty.none(3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(penalty.proximal(values, 5.0), values)
    assert penalty.of(values) == 0.0
