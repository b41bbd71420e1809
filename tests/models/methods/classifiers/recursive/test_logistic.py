"""The logistic loss with a recursive penalty against the literal objective."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from sklearn.linear_model import LogisticRegression

from models.method import Checkpoint
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive import logistic
from models.methods.classifiers.recursive.inputs import Effort
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.progress import silent
from tests.models.methods.classifiers.problem_kit import (
    GRAPH,
    TREE,
    graph_penalty,
    margins,
    problem,
    tree_penalty,
)
from tests.pairwise_kit import pairwise
from umbel.testing.lost_worker import MemoryCheckpoint


def fitted(some: Problem, penalty: Penalty, C: float, **how: Any) -> logistic.LogisticFit:
    effort = replace(Effort(C, tol=1e-12, max_iter=100), **how)
    return logistic.minimize(some, penalty, effort, silent, Checkpoint())


def loss(some: Problem, weights: np.ndarray) -> float:
    return sum(np.log1p(np.exp(-margin)) for margin in margins(some, weights))


@pytest.mark.parametrize(
    ("on", "sparse", "several"), pairwise(("tree", "graph"), (False, True), (False, True))
)
def test_it_reaches_the_minimum_of_the_literal_objective(
    on: str, sparse: bool, several: bool
) -> None:
    rng = np.random.default_rng(3)
    if on == "tree":
        some = problem(rng, tree=TREE, sparse=sparse, several=several)
        penalty, literal = Penalty.of_tree(TREE), lambda weights: tree_penalty(TREE, weights)
    else:
        some = problem(rng, graph=GRAPH, sparse=sparse, several=several)
        penalty, literal = Penalty.of_graph(GRAPH), lambda weights: graph_penalty(GRAPH, weights)
    fit = fitted(some, penalty, 0.7)

    def objective(flat: np.ndarray) -> float:
        weights = flat.reshape(penalty.n_nodes, some.n_columns)
        return literal(weights) + 0.7 * loss(some, weights[penalty.node])

    # Convex: any start leads to the one minimum, one beside the fit soon.
    start = fit.weights.ravel() + 0.1 * rng.normal(size=fit.weights.size)
    best = scipy_minimize(objective, start, options={"gtol": 1e-7})
    assert fit.objective == pytest.approx(objective(fit.weights.ravel()), rel=1e-12)
    assert fit.objective <= best.fun * (1 + 1e-9)
    assert fit.objective - best.fun <= fit.bound + 1e-9
    assert fit.converged
    assert np.diff(fit.objectives).max() < 0


def test_the_bound_holds_where_it_stops_early() -> None:
    some = problem(np.random.default_rng(4), tree=TREE)
    penalty = Penalty.of_tree(TREE)
    best = fitted(some, penalty, 5.0).objective
    for max_iter in range(4):
        early = fitted(some, penalty, 5.0, max_iter=max_iter)
        assert early.objective - best <= early.bound
        assert early.converged == (early.bound <= 1e-12 * early.objective)


def test_a_fit_lost_after_its_last_state_ends_the_same() -> None:
    some = problem(np.random.default_rng(3), tree=TREE)
    checkpoint = MemoryCheckpoint()
    effort = Effort(C=0.7, tol=1e-2, max_iter=100)
    expected, resumed = (
        logistic.minimize(some, Penalty.of_tree(TREE), effort, silent, checkpoint) for _ in range(2)
    )
    assert resumed.objectives == expected.objectives
    np.testing.assert_array_equal(resumed.weights, expected.weights)


def test_a_star_with_the_root_at_0_is_one_versus_rest() -> None:
    some = problem(np.random.default_rng(5), n_rows=60)
    import scipy.sparse as sp

    alone = Penalty(sp.csr_array(sp.eye_array(3)), np.arange(3))
    fit = fitted(some, alone, 2.0)
    for class_ in range(3):
        one = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=1000)
        one.fit(some.design, some.signs(class_))
        np.testing.assert_allclose(fit.weights[class_], one.coef_[0], atol=1e-5)


def test_derivatives_are_those_of_the_value() -> None:
    some = problem(np.random.default_rng(6), several=True)
    terms = logistic.LogisticLoss(some, 0.3)
    rng = np.random.default_rng(7)
    weights, direction = rng.normal(size=(2, 3, 3))
    step = 1e-5
    values = [terms.value(terms.scores(weights + t * direction)) for t in (-step, 0.0, step)]
    gradient, curvature = terms.gradient(terms.scores(weights))
    assert np.vdot(gradient, direction) == pytest.approx(
        (values[2] - values[0]) / (2 * step), rel=1e-6
    )
    second = (values[2] - 2 * values[1] + values[0]) / step**2
    assert np.vdot(direction, terms.along(curvature, direction)) == pytest.approx(second, rel=1e-3)
    for class_, matrix in enumerate(terms.hessians(curvature)):
        own = np.zeros_like(direction)
        own[class_] = direction[class_]
        along = np.vdot(own, terms.along(curvature, own))
        assert direction[class_] @ matrix @ direction[class_] == pytest.approx(along, rel=0.05)
        assert terms.diagonals(curvature)[class_] == pytest.approx(np.diag(matrix), rel=0.05)


def test_wide_designs_are_preconditioned_by_diagonals(monkeypatch: pytest.MonkeyPatch) -> None:
    some = problem(np.random.default_rng(8), tree=TREE)
    penalty = Penalty.of_tree(TREE)
    expected = fitted(some, penalty, 1.0)
    monkeypatch.setattr(logistic, "MOST_BLOCK_COLUMNS", 2)
    assert fitted(some, penalty, 1.0).objective == pytest.approx(expected.objective, rel=1e-10)


def test_an_unanchored_component_drifts_and_an_anchored_one_does_not() -> None:
    """Class c is alone in its component; its rows are separated from the others."""
    separated = Problem(
        np.array([[-1.0], [-2.0], [-1.5], [1.0], [2.0]]),
        np.arange(6),
        np.array([0, 0, 1, 2, 2]),
        3,
        graph=GRAPH,
    )
    anchored = Penalty.of_graph(GRAPH)
    fit = fitted(separated, anchored, 1.0)
    assert fit.converged
    assert np.abs(fit.weights).max() < 20

    def unanchored(weights: np.ndarray) -> float:
        return (
            graph_penalty(GRAPH, weights)
            - 0.001 * (weights**2).sum()
            + loss(separated, weights[:3])
        )

    drifting = fit.weights.copy()
    values = []
    for length in (10.0, 20.0, 30.0):
        drifting[2] = length
        values.append(unanchored(drifting))
    assert values[0] > values[1] > values[2]
