"""Assignments with bounded sizes against an integer linear program, and the prices' meaning."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from models.errors import UsageError
from models.numerics.transport import TransportPlan, transport_plan


def by_integer_program(cost: np.ndarray, low: int, high: int) -> float:
    k, n = cost.shape
    one_each = LinearConstraint(np.kron(np.ones((1, k)), np.eye(n)), 1, 1)
    sizes = LinearConstraint(np.kron(np.eye(k), np.ones((1, n))), low, high)
    solution = milp(
        cost.ravel(),
        constraints=[one_each, sizes],
        integrality=np.ones(k * n),
        bounds=Bounds(0, 1),
    )
    return float(solution.fun)


def check(cost: np.ndarray, low: int, high: int, plan: TransportPlan) -> None:
    """Within the bounds, and optimal by its prices: a proof, whatever the solver."""
    k, n = cost.shape
    size = np.bincount(plan.cluster, minlength=k)
    assert low <= size.min() <= size.max() <= high
    assert plan.cost == pytest.approx(cost[plan.cluster, np.arange(n)].sum())
    reduced = cost + plan.price[:, None]
    slack = 1e-9 * (1 + np.abs(cost).max())
    assert (reduced[plan.cluster, np.arange(n)] <= reduced.min(axis=0) + slack).all()
    if low < high:
        assert (plan.price[size < high] <= slack).all()
        assert (plan.price[size > low] >= -slack).all()


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, int, int, np.ndarray | None]:
    k = draw(st.integers(1, 5))
    n = draw(st.integers(1, 18))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    low = draw(st.integers(0, n // k))
    high = draw(st.integers(-(-n // k), n))
    kind = draw(st.sampled_from(["noise", "ties", "one cluster is cheaper", "equal"]))
    cost = rng.normal(size=(k, n)) ** 2
    if kind == "ties":
        cost = rng.integers(0, 3, size=(k, n)).astype(float)
    elif kind == "one cluster is cheaper":
        cost += 3.0 * rng.normal(size=(k, 1))
    elif kind == "equal":
        cost[:] = 1.0
    price = rng.normal(size=k) if draw(st.booleans()) else None
    return cost, low, high, price


@given(problems())
def test_it_is_the_integer_optimum(problem: tuple[np.ndarray, int, int, np.ndarray | None]) -> None:
    cost, low, high, price = problem
    plan = transport_plan(cost, low, high, price)
    check(cost, low, high, plan)
    assert plan.cost == pytest.approx(by_integer_program(cost, low, high), abs=1e-7)


@pytest.mark.parametrize("k", [2, 3, 5, 30])
def test_larger_ones_are_optimal_by_their_prices(k: int) -> None:
    rng = np.random.default_rng(k)
    n = 3000
    cost = np.maximum(0, 1 + rng.normal(size=(k, n))) ** 2 + 0.5 * rng.normal(size=(k, 1))
    low, high = int(0.9 * n / k), -int(-1.1 * n // k)
    plan = transport_plan(cost, low, high)
    check(cost, low, high, plan)
    again = transport_plan(1.1 * cost, low, high, plan.price)
    check(1.1 * cost, low, high, again)
    assert again.cost == pytest.approx(1.1 * plan.cost)


def test_without_bounds_each_point_takes_its_cheapest() -> None:
    cost = np.random.default_rng(0).normal(size=(4, 50))
    plan = transport_plan(cost, 0, 50)
    assert (plan.cluster == cost.argmin(axis=0)).all()
    assert (plan.price == 0).all()


def test_the_border_of_two_clusters_lies_between_their_points() -> None:
    # All five prefer cluster 0, which may have three: those that gain most from it stay.
    cost = np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [5.0, 1.0, 4.0, 2.0, 3.0]])
    plan = transport_plan(cost, 2, 3)
    assert plan.cluster.tolist() == [0, 1, 0, 1, 0]
    assert plan.price.tolist() == [2.5, 0.0]


@pytest.mark.parametrize(("n", "k", "low", "high"), [(5, 2, 3, 5), (5, 2, 0, 2), (4, 3, 2, 1)])
def test_bounds_that_no_assignment_meets_are_refused(n: int, k: int, low: int, high: int) -> None:
    with pytest.raises(UsageError, match=f"{n} points cannot be shared out among {k} clusters"):
        transport_plan(np.zeros((k, n)), low, high)


@pytest.mark.slow
def test_the_time_is_about_linear_in_the_points() -> None:
    rng = np.random.default_rng(0)
    taken = []
    for n in (20_000, 200_000):
        cost = np.maximum(0, 1 + rng.normal(size=(5, n))) ** 2
        transport_plan(cost[:, :100], 15, 25)
        began = time.process_time()
        transport_plan(cost, int(0.18 * n), int(0.22 * n))
        taken.append(time.process_time() - began)
    assert taken[1] < 40 * taken[0]
