"""SVMs over a tree against the literal primal problem, solved by another routine."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from models.method import Checkpoint
from models.methods.classifiers.classes.dual_fit import DualFit
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.structured import dual
from models.methods.classifiers.structured.penalty import Orthogonal, Plain
from models.running.progress import silent
from tests.models.methods.classifiers.problem_kit import TREE, problem

Kind = Literal["paths", "siblings"]
Rescaled = Literal["margin", "slack"]


def path(tree: ClassTree, node: int) -> list[int]:
    """The nodes from below the root down to a node."""
    nodes: list[int] = []
    while node > 0:
        nodes.insert(0, node)
        node = int(tree.parent[node])
    return nodes


def constraints(
    tree: ClassTree, own: int, kind: Kind, rescaled: Rescaled
) -> list[tuple[float, float, np.ndarray]]:
    """Loss, scale and direction over nodes of each way in which a row may be wrong."""
    result = []
    if kind == "siblings":
        for node in path(tree, own):
            for other in range(1, tree.n_nodes):
                if other != node and tree.parent[other] == tree.parent[node]:
                    direction = np.zeros(tree.n_nodes)
                    direction[node], direction[other] = 1.0, -1.0
                    result.append((1.0, 1.0, direction))
        return result
    for leaf in tree.node.tolist():
        if leaf == own:
            continue
        direction = np.zeros(tree.n_nodes)
        direction[path(tree, own)] += 1.0
        direction[path(tree, leaf)] -= 1.0
        loss = 0.5 * np.abs(direction).sum()
        result.append((loss, loss if rescaled == "slack" else 1.0, direction))
    return result


def objective(
    weights: np.ndarray, some: Problem, tree: ClassTree, factor: float, C: float, kind: Kind,
    rescaled: Rescaled,
) -> float:  # fmt: skip
    """Written out; `factor` is that of |w_i.w_j| along paths."""
    total = 0.5 * float((weights**2).sum())
    for i, j in combinations(range(1, tree.n_nodes), 2):
        if i in path(tree, j) or j in path(tree, i):
            total += factor * abs(float(weights[i] @ weights[j]))
    design = some.design.toarray() if sp.issparse(some.design) else some.design
    for x, class_ in zip(design, some.code, strict=True):
        scores = weights @ x
        violations = [
            loss - scale * float(direction @ scores)
            for loss, scale, direction in constraints(tree, tree.node[class_], kind, rescaled)
        ]
        total += C * max(0.0, *violations)
    return total


def least(
    some: Problem, tree: ClassTree, factor: float, C: float, kind: Kind, rescaled: Rescaled
) -> float:
    """The minimum, with a variable for each row's violation and each product's size."""
    n_weights = tree.n_nodes * some.n_columns
    pairs = [
        (i, j) for i, j in combinations(range(1, tree.n_nodes), 2)
        if factor and (i in path(tree, j) or j in path(tree, i))
    ]  # fmt: skip
    rows, bounds = [], []
    for row, (x, class_) in enumerate(zip(some.design, some.code, strict=True)):
        for loss, scale, direction in constraints(tree, tree.node[class_], kind, rescaled):
            slack = np.eye(some.n_rows)[row]
            lead = scale * np.outer(direction, x).ravel()
            rows.append(np.concatenate([lead, slack, np.zeros(len(pairs))]))
            bounds.append(loss)
    matrix, bound = np.array(rows), np.array(bounds)

    def value(flat: np.ndarray) -> float:
        weights, slack = flat[:n_weights], flat[n_weights : n_weights + some.n_rows]
        sizes = flat[n_weights + some.n_rows :]
        return 0.5 * float(weights @ weights) + C * float(slack.sum()) + factor * float(sizes.sum())

    def slope(flat: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [flat[:n_weights], np.full(some.n_rows, C), np.full(len(pairs), factor)]
        )

    def products(flat: np.ndarray) -> np.ndarray:
        weights = flat[:n_weights].reshape(tree.n_nodes, -1)
        return np.array([weights[i] @ weights[j] for i, j in pairs])

    conditions = [
        {"type": "ineq", "fun": lambda flat: matrix @ flat - bound, "jac": lambda flat: matrix}
    ]
    conditions += [
        {
            "type": "ineq",
            "fun": lambda flat, sign=sign: flat[n_weights + some.n_rows :] - sign * products(flat),
        }
        for sign in ((1.0, -1.0) if pairs else ())
    ]
    start = np.concatenate(
        [np.full(n_weights, 0.01), np.full(some.n_rows, bound.max() + 1.0), np.ones(len(pairs))]
    )
    limits = [(None, None)] * n_weights + [(0.0, None)] * (some.n_rows + len(pairs))
    found = scipy_minimize(
        value, start, jac=slope, bounds=limits, constraints=conditions, method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    # Status 8: rounding leaves no better point, so near the end of a tolerance of 1e-12.
    assert found.status in (0, 8), found.message
    return float(found.fun)


def fitted(
    some: Problem,
    tree: ClassTree,
    penalty: Plain | Orthogonal,
    C: float,
    kind: Kind,
    rescaled: Rescaled = "margin",
    **how: float,
) -> DualFit:
    effort = {"tol": 1e-7, "max_iter": 1000, "seed": 0, **how}
    return dual.minimize(
        some, tree, penalty, C, candidates=kind, rescaled=rescaled, progress=silent,
        checkpoint=Checkpoint(), **effort,
    )  # fmt: skip


@pytest.mark.parametrize("rescaled", ["margin", "slack"])
@pytest.mark.parametrize("contract", [False, True])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_paths_reach_the_minimum_of_the_literal_problem(
    rescaled: Rescaled, contract: bool, C: float
) -> None:
    tree = TREE.contracted() if contract else TREE
    some = problem(np.random.default_rng(3), tree=tree, n_rows=15)
    fit = fitted(some, tree, Plain(tree.n_nodes), C, "paths", rescaled)
    literal = objective(fit.weights, some, tree, 0.0, C, "paths", rescaled)
    assert fit.objective == pytest.approx(literal, rel=1e-9)
    assert fit.converged
    assert fit.gap <= 1e-7 * literal
    assert fit.objective == pytest.approx(least(some, tree, 0.0, C, "paths", rescaled), rel=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_siblings_reach_the_minimum_with_products_of_weights(share: float, C: float) -> None:
    tree = ClassTree(np.array([-1, 0, 0, 1, 1, 3, 3]), np.array([2, 4, 5, 6]))
    rng = np.random.default_rng(4)
    code = np.arange(16) % 4
    design = np.column_stack(
        [rng.normal(size=(4, 2))[code] + rng.normal(size=(16, 2)), np.ones(16)]
    )
    some = Problem(design, np.arange(17), code, 4, tree)
    penalty = Orthogonal.over(tree, share)
    fit = fitted(some, tree, penalty, C, "siblings", tol=1e-6)
    literal = objective(fit.weights, some, tree, penalty.factor, C, "siblings", "margin")
    assert fit.objective == pytest.approx(literal, rel=1e-9)
    assert fit.converged
    assert fit.gap <= 1e-6 * literal
    expected = least(some, tree, penalty.factor, C, "siblings", "margin")
    assert fit.objective == pytest.approx(expected, rel=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(4, 10), st.booleans())
def test_the_gap_closes_on_any_tree(seed: int, n_nodes: int, orthogonal: bool) -> None:
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(int(rng.integers(node)) for node in range(1, n_nodes))])
    tree = ClassTree(parent, np.setdiff1d(np.arange(n_nodes), parent))
    if tree.n_classes < 2:
        return
    code = rng.permutation(np.arange(30) % tree.n_classes)
    design = rng.normal(size=(30, 3)) + rng.normal(size=(tree.n_classes, 3))[code]
    design[rng.random(30) < 0.1] = 0.0
    some = Problem(design, np.arange(31), code, tree.n_classes, tree)
    kind: Kind = "siblings" if orthogonal else "paths"
    penalty = Orthogonal.over(tree, 0.8) if orthogonal else Plain(n_nodes)
    fit = fitted(some, tree, penalty, 0.5, kind, tol=1e-4)
    factor = penalty.factor if isinstance(penalty, Orthogonal) else 0.0
    literal = objective(fit.weights, some, tree, factor, 0.5, kind, "margin")
    assert fit.converged
    assert fit.objective == pytest.approx(literal, rel=1e-9)


def test_sparse_rows_and_rows_that_need_more_places(monkeypatch: pytest.MonkeyPatch) -> None:
    some = problem(np.random.default_rng(5), tree=TREE, sparse=True)
    assert isinstance(some.design, sp.csr_array)
    fit = fitted(some, TREE, Plain(TREE.n_nodes), 1.0, "paths", tol=1e-8)
    monkeypatch.setattr(dual, "FIRST_WIDTH", 1)
    dense = replace(some, design=some.design.toarray())
    again = fitted(dense, TREE, Plain(TREE.n_nodes), 1.0, "paths", tol=1e-8)
    np.testing.assert_allclose(again.weights, fit.weights, atol=1e-3)
    assert again.n_support > (some.n_rows + fit.n_support) // 4


def test_both_kinds_are_the_same_without_a_hierarchy() -> None:
    star = ClassTree(np.array([-1, 0, 0, 0]), np.array([1, 2, 3]))
    some = problem(np.random.default_rng(6), tree=star)
    by_paths = fitted(some, star, Plain(4), 0.7, "paths")
    by_siblings = fitted(some, star, Orthogonal.over(star, 0.5), 0.7, "siblings")
    assert by_paths.objective == pytest.approx(by_siblings.objective, rel=1e-6)
    np.testing.assert_allclose(by_paths.weights, by_siblings.weights, atol=1e-2)
