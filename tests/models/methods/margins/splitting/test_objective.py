"""The objective's terms against the paper's sums, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.objective import Ancestors, Regularizer, bounds

KINDS = ("group+exclusive", "group", "exclusive", "l1", "l2")


def above_of(ancestors: list[np.ndarray], n_features: int) -> Ancestors:
    above = Ancestors.root(n_features)
    for weights in ancestors:
        above = above.extended_by(weights)
    return above


def literal_group(weights: np.ndarray) -> float:
    k, p = weights.shape
    return sum(math.sqrt(sum(w * w for w in weights[:, j])) for j in range(p)) / (p * k)


def literal_exclusive(weights: np.ndarray, ancestors: list[np.ndarray]) -> float:
    k, p = weights.shape
    if not ancestors:
        return 0.0
    total = 0.0
    for own in weights:
        for ancestor in ancestors:
            for j in range(p):
                total += abs(own[j]) * abs(ancestor[j])
    return total / (k * len(ancestors) * p)


def drawn(seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    k, p, depth = int(rng.integers(2, 5)), int(rng.integers(1, 6)), int(rng.integers(0, 4))
    sparse = rng.random((k, p)) < 0.7
    return rng.normal(size=(k, p)) * sparse, [rng.normal(size=p) for _ in range(depth)]


@given(st.integers(0, 10_000))
def test_group_and_exclusive_sparsity(seed: int) -> None:
    weights, ancestors = drawn(seed)
    above = above_of(ancestors, weights.shape[1])
    assert objective.group(weights) == pytest.approx(literal_group(weights))
    assert objective.exclusive(weights, above) == pytest.approx(
        literal_exclusive(weights, ancestors)
    )


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10_000))
def test_each_regularizer_is_its_sum(kind: objective.Kind, seed: int) -> None:
    weights, ancestors = drawn(seed)
    above = above_of(ancestors, weights.shape[1])
    group, exclusive = literal_group(weights), literal_exclusive(weights, ancestors)
    alpha, beta = 0.3, 0.7
    literal = {
        "group+exclusive": alpha * group + beta * exclusive,
        "group": alpha * group,
        "exclusive": beta * exclusive,
        "l1": alpha * np.abs(weights).sum() / weights.size,
        "l2": alpha * (weights**2).sum() / weights.size,
    }
    regularizer = Regularizer(kind, alpha, beta)
    value = regularizer.penalty(len(weights), above).of(weights)
    assert value == pytest.approx(literal[kind])
    plain = Regularizer(kind, 1.0, 1.0).penalty(len(weights), above).of(weights)
    assert regularizer.complexity(weights, above) == pytest.approx(plain)


@given(st.integers(0, 10_000))
def test_overlap_is_the_mean_cosine_of_magnitudes(seed: int) -> None:
    weights, ancestors = drawn(seed)
    above = above_of(ancestors, weights.shape[1])
    cosines = [
        float(np.abs(own) @ np.abs(other)) / np.linalg.norm(own) / np.linalg.norm(other)
        for own in weights
        for other in ancestors
        if own.any() and other.any()
    ]
    value = objective.overlap(weights, above)
    assert value == pytest.approx(np.mean(cosines)) if cosines else math.isnan(value)


def test_disjoint_features_do_not_overlap() -> None:
    above = above_of([np.array([3.0, 0.0, -1.0])], 3)
    assert objective.overlap(np.array([[0.0, 2.0, 0.0], [0.0, -2.0, 0.0]]), above) == 0.0
    assert objective.overlap(np.array([[3.0, 0.0, 1.0]]), above) == pytest.approx(1.0)


@given(st.integers(2, 5), st.integers(0, 400), st.floats(0, 1), st.floats(1, 5))
def test_bounds_can_always_be_met(k: int, extra: int, least: float, most: float) -> None:
    n = k + extra
    low, high = bounds(n, k, least, most)
    assert 1 <= low <= n // k
    assert -(-n // k) <= high
    assert low == max(1, math.floor(least * n / k + 1e-9))


def test_the_papers_bounds() -> None:
    assert bounds(100, 2, 0.9, 1.1) == (45, 55)
    assert bounds(10, 2, 0.9, 1.1) == (4, 6)
    # Rounded the other way, 3 points in 2 clusters had to be 2 to 1 each.
    assert bounds(3, 2, 0.9, 1.1) == (1, 2)
    assert bounds(50, 5, 0.9, 1.1) == (9, 11)


def test_the_score_is_infinite_where_nothing_is_penalised() -> None:
    assert objective.score(np.array([1.0, 2.0]), 0.5) == 6.0
    assert objective.score(np.array([1.0, 2.0]), 0.0) == math.inf


@pytest.mark.parametrize("kind", KINDS)
def test_a_penalty_weight_is_required(kind: objective.Kind) -> None:
    with pytest.raises(UsageError, match=r"needs (alpha|beta|alpha or beta) above 0"):
        Regularizer(kind, 0.0, 0.0).require_some()
    Regularizer(kind, 1.0, 1.0).require_some()
    if kind == "exclusive":
        with pytest.raises(UsageError, match="beta above 0"):
            Regularizer(kind, 1.0, 0.0).require_some()
    if kind == "group+exclusive":
        Regularizer(kind, 0.0, 1.0).require_some()
