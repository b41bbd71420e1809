"""The hinge loss with a recursive penalty against the literal objective and linear SVMs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize as scipy_minimize
from sklearn.svm import LinearSVC

from models.method import Checkpoint
from models.methods.classifiers.classes.dual_fit import DualFit
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive import hinge
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


def fitted(some: Problem, penalty: Penalty, C: float, **how: Any) -> DualFit:
    effort = replace(Effort(C, tol=1e-6, max_iter=1000), **how)
    return hinge.minimize(some, penalty, effort, silent, Checkpoint())


def least(some: Problem, penalty: Penalty, C: float) -> float:
    """The minimum of the objective, by the dual as a box-constrained quadratic program."""
    design = some.design.toarray() if sp.issparse(some.design) else some.design
    inverse = np.linalg.inv(penalty.matrix.toarray())[np.ix_(penalty.node, penalty.node)]
    signs = np.stack([some.signs(class_) for class_ in range(3)], axis=1)
    signed = (signs[:, :, None] * design[:, None, :]).reshape(-1, design.shape[1])
    of_class = np.tile(np.arange(3), some.n_rows)
    product = (signed @ signed.T) * inverse[np.ix_(of_class, of_class)]
    dual = scipy_minimize(
        lambda alpha: 0.5 * alpha @ product @ alpha - alpha.sum(),
        np.full(len(signed), C / 2),
        jac=lambda alpha: product @ alpha - 1.0,
        bounds=[(0.0, C)] * len(signed),
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return -float(dual.fun)


PENALTIES: dict[str, tuple[Penalty, Callable[[np.ndarray], float]]] = {
    "tree": (Penalty.of_tree(TREE), lambda weights: tree_penalty(TREE, weights)),
    "graph": (Penalty.of_graph(GRAPH), lambda weights: graph_penalty(GRAPH, weights)),
}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("on", ["tree", "graph"])
def test_it_reaches_the_minimum_of_the_literal_objective(
    on: str, sparse: bool, several: bool
) -> None:
    penalty, literal = PENALTIES[on]
    some = problem(np.random.default_rng(3), sparse=sparse, several=several)
    fit = fitted(some, penalty, 0.7)
    hinges = sum(max(0.0, 1.0 - m) for m in margins(some, fit.weights[penalty.node]))
    assert fit.objective == pytest.approx(literal(fit.weights) + 0.7 * hinges, rel=1e-12)
    # The reference stops a little below on the graph, whose anchor makes its dual ill-conditioned.
    reference = least(some, penalty, 0.7)
    assert reference * (1 - 1e-9) <= fit.objective <= reference * (1 + 1e-4)
    assert fit.converged
    assert 0 <= fit.gap <= 1e-6 * fit.objective


def test_the_gap_holds_where_it_stops_early() -> None:
    penalty, _ = PENALTIES["tree"]
    some = problem(np.random.default_rng(4), tree=TREE)
    best = least(some, penalty, 5.0)
    for max_iter in range(1, 6):
        early = fitted(some, penalty, 5.0, max_iter=max_iter)
        assert early.objective - best <= early.gap + 1e-6
        assert not early.converged


def test_nodes_tied_to_0_are_linear_svms() -> None:
    some = problem(np.random.default_rng(5), n_rows=60)
    alone = Penalty(sp.csr_array(sp.eye_array(3)), np.arange(3))
    fit = fitted(some, alone, 2.0, tol=1e-10)
    for class_ in range(3):
        machine = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000)
        machine.fit(some.design, some.signs(class_))
        np.testing.assert_allclose(fit.weights[class_], machine.coef_[0], atol=1e-4)


def test_rows_of_zeros_and_one_class_of_all_rows_do_no_harm() -> None:
    some = problem(np.random.default_rng(6), tree=TREE)
    some.design[:3] = 0.0
    penalty, _ = PENALTIES["tree"]
    fit = fitted(some, penalty, 1.0)
    assert fit.objective == pytest.approx(least(some, penalty, 1.0), rel=1e-6)
    assert fit.converged
