"""The compiled loops against literal sums, finite differences and another solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.margins.splitting import loops
from models.numerics.descent import Penalty
from tests.models.methods.margins.splitting.loops.hinge_kit import literal_hinge


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    k, p, n = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 40))
    return rng.normal(size=(n, p)), rng.integers(0, k, size=n), rng.normal(size=(k, p))


def hinge(
    points: np.ndarray, cluster: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    scores = np.empty((len(weights), len(points)))
    gradient = np.empty_like(weights)
    return loops.hinge(points, cluster, weights, scores, gradient), scores, gradient


@given(st.integers(0, 10_000))
def test_the_hinge_and_its_gradient(seed: int) -> None:
    points, cluster, weights = drawn(seed)
    value, scores, gradient = hinge(points, cluster, weights)
    assert value == pytest.approx(literal_hinge(points, cluster, weights))
    np.testing.assert_allclose(scores, weights @ points.T, atol=1e-12)
    for at in np.ndindex(weights.shape):
        step = np.zeros_like(weights)
        step[at] = 1e-6
        rise = literal_hinge(points, cluster, weights + step)
        fall = literal_hinge(points, cluster, weights - step)
        assert gradient[at] == pytest.approx((rise - fall) / 2e-6, abs=1e-6)


def test_the_hinge_of_many_blocks() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(loops.BLOCK // 7 * 2 + 5, 7))
    cluster, weights = rng.integers(0, 3, size=len(points)), rng.normal(size=(3, 7))
    value, scores, _ = hinge(points, cluster, weights)
    np.testing.assert_allclose(scores, weights @ points.T, atol=1e-12)
    lack = np.maximum(1 - scores[cluster, np.arange(len(points))] + scores, 0) ** 2
    assert value == pytest.approx((lack.sum() - len(points)) / lack.size)


@given(st.integers(0, 10_000))
def test_costs_are_the_hinge_of_each_cluster(seed: int) -> None:
    points, cluster, weights = drawn(seed)
    scores = weights @ points.T
    cost = np.empty_like(scores)
    loops.costs(scores, cost)
    for i, x in enumerate(points):
        for y in range(len(weights)):
            whole = literal_hinge(x[None], np.array([y]), weights) * len(weights)
            assert cost[y, i] == pytest.approx(whole)
    total = cost[cluster, np.arange(len(points))].sum() / cost.size
    assert total == pytest.approx(literal_hinge(points, cluster, weights))


@given(st.integers(0, 10_000))
def test_penalty_and_residual_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 5)) * (rng.random((3, 5)) < 0.6)
    gradient = rng.normal(size=(3, 5))
    penalty = Penalty(*(rng.random((3, 5)) * (rng.random((3, 5)) < 0.7)))
    parts = penalty.l1, penalty.l2, penalty.ridge
    assert loops.penalty(weights, *parts) == pytest.approx(penalty.of(weights))
    least = penalty.least_subgradient(weights, gradient)
    assert loops.residual(weights, gradient, *parts) == pytest.approx(np.linalg.norm(least))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_curvature_is_the_hessian(k: int) -> None:
    """At points away from their margins, by differences of the gradient along a direction."""
    rng = np.random.default_rng(k)
    points, weights = rng.normal(size=(30, 4)), rng.normal(size=(k, 4))
    cluster, direction = rng.integers(0, k, size=30), rng.normal(size=(k, 4))
    _, scores, _ = hinge(points, cluster, weights)
    metric = np.empty((k * (k - 1) // 2, 4, 4))
    loops.curvature(points, cluster, scores, 30, metric)
    product = np.zeros((k, 4))
    pair = 0
    for a in range(k):
        for b in range(a):
            pull = metric[pair] @ (direction[a] - direction[b])
            product[a] += pull
            product[b] -= pull
            pair += 1
    step = 1e-7
    after, before = (
        hinge(points, cluster, weights + sign * step * direction)[2] for sign in (1, -1)
    )
    # Points that keep their margin count a little too.
    np.testing.assert_allclose(product, (after - before) / (2 * step), atol=0.02)


def descended(
    points: np.ndarray, cluster: np.ndarray, k: int, penalty: Penalty, n_matrices: int
) -> tuple[np.ndarray, float, float]:
    n, p = points.shape
    weights = np.zeros((k, p))
    loss, scores, gradient = hinge(points, cluster, weights)
    bound = 2.0 * float(np.linalg.eigvalsh(points.T @ points / n).max())
    loss, regular, residual, _, _ = loops.descend(
        points, cluster, weights, scores, gradient, loss, np.empty((n_matrices, p, p)), bound,
        20 * p, 1.0, 0, penalty.l1, penalty.l2, penalty.ridge, 1e-7, 20_000,
    )  # fmt: skip
    assert loss == pytest.approx(literal_hinge(points, cluster, weights), rel=1e-9)
    assert regular == pytest.approx(penalty.of(weights))
    return weights, loss + regular, residual


def by_plain_steps(points: np.ndarray, cluster: np.ndarray, k: int, penalty: Penalty) -> float:
    """The minimum by 5,000 proximal gradient steps of the length that always falls."""
    weights = np.zeros((k, points.shape[1]))
    step = 1.0 / (2.0 * float(np.linalg.eigvalsh(points.T @ points / len(points)).max()))
    for _ in range(5_000):
        _, _, gradient = hinge(points, cluster, weights)
        weights = penalty.proximal(weights - step * gradient, step)
    return literal_hinge(points, cluster, weights) + penalty.of(weights)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["sparse group", "ridge", "none"])
def test_descent_finds_the_minimum(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    points = rng.normal(size=(60, 5)) @ np.diag([2.0, 1.0, 1.0, 0.5, 0.2])
    cluster = (points[:, :k] + rng.normal(size=(60, k))).argmax(axis=1)
    none = np.zeros(5)
    penalty = {
        "sparse group": Penalty(rng.random(5) * 0.05, rng.random(5) * 0.05, none),
        "ridge": Penalty(none, none, np.full(5, 0.01)),
        "none": Penalty.none(5),
    }[kind]
    lowest = by_plain_steps(points, cluster, k, penalty)
    for n_matrices in {k * (k - 1) // 2, 1, 0}:
        weights, reached, residual = descended(points, cluster, k, penalty, n_matrices)
        assert reached == pytest.approx(lowest, rel=1e-6), n_matrices
        assert reached <= lowest + 1e-9
        assert residual <= 1e-7
        if kind == "ridge":
            # Weights whose sum over the clusters is not 0 only add cost.
            np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-5)


def test_two_clusters_are_a_linear_svm_of_squared_hinge() -> None:
    """liblinear's, of C sum_i [1 - y_i v.x_i]^2 + |v|_1; ours has w_1 = -w_0 = v / 2."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(1)
    points = rng.normal(size=(80, 6))
    cluster = (points[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(np.int64)
    weight = 0.02
    penalty = Penalty(np.full(6, weight), np.zeros(6), np.zeros(6))
    weights, _, _ = descended(points, cluster, 2, penalty, 1)
    svm = LinearSVC(
        penalty="l1", dual=False, C=1 / (160 * weight), fit_intercept=False, tol=1e-8,
        max_iter=100_000,
    ).fit(points, cluster)  # fmt: skip
    np.testing.assert_allclose(weights[1] - weights[0], svm.coef_[0], atol=1e-4)
