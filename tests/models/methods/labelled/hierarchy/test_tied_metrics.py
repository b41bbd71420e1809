"""Tied metrics: gradient, one optimum, and what they are where ties or rows end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize
from scipy.special import logsumexp

from models.arrays import Float, Int
from models.method import Checkpoint
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.tied_metrics import (
    Anchor,
    TiedLoss,
    TiedMetrics,
    fit_metrics,
)
from models.methods.labelled.metric.descent import hold, minimize
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.running.progress import silent
from tests.models.methods.labelled.gradient_kit import clusters, numeric_gradient
from tests.models.methods.labelled.hierarchy.tree_kit import known_tree


def fitted(
    tree: KnownTree,
    points: Float,
    anchor: Anchor = "identity",
    gamma: float = 1.0,
    tie: float = 2.0,
    start: Float | None = None,
    tol: float = 1e-10,
) -> TiedMetrics:
    return fit_metrics(
        tree,
        points,
        anchor,
        gamma,
        tie,
        tol=tol,
        max_iter=20_000,
        progress=silent,
        checkpoint=Checkpoint(),
        start=start,
    )


def stacked(tree: KnownTree, points: Float, anchor: Anchor, gamma: float, tie: float) -> TiedLoss:
    """The objective of root, a and b, written down anew."""

    def likelihood(child_of_leaf: dict[int, int]) -> ConditionalLikelihood:
        rows = np.flatnonzero(np.isin(tree.row_node, list(child_of_leaf)))
        code: Int = np.array([child_of_leaf[node] for node in tree.row_node[rows].tolist()])
        return ConditionalLikelihood(points[rows], code, len(set(child_of_leaf.values())))

    root = likelihood({4: 0, 5: 0, 6: 0, 7: 1, 8: 1, 9: 2})
    return TiedLoss(
        [root, likelihood({4: 0, 5: 1, 6: 2}), likelihood({7: 0, 8: 1})],
        np.array([-1, 0, 0]),
        anchor,
        gamma,
        tie,
    )


@pytest.mark.parametrize("anchor", ["identity", "l2"])
def test_the_gradient_is_that_of_differences(anchor: Anchor) -> None:
    tree, points = known_tree(0)
    loss = stacked(tree, points, anchor, 0.7, 3.0)
    root = np.random.default_rng(1).normal(size=(3, 4, 4))
    stack = root @ root.transpose(0, 2, 1)
    gradient = loss(stack)[1]
    differences = numeric_gradient(loss, stack)
    # Differences are of all matrices, the gradient is that of symmetric ones.
    symmetric = 0.5 * (differences + differences.transpose(0, 2, 1))
    np.testing.assert_allclose(gradient, symmetric, rtol=1e-6, atol=1e-5)


def above(tree: KnownTree, node: int) -> list[int]:
    """The nodes above a node, the nearest first."""
    nodes = []
    while (node := int(tree.parent[node])) >= 0:
        nodes.append(node)
    return nodes


def rows_below(tree: KnownTree, node: int) -> list[int]:
    own = tree.row_node.tolist()
    return [row for row, at in enumerate(own) if node in (at, *above(tree, at))]


def literal(
    tree: KnownTree, points: Float, anchor: Anchor, gamma: float, tie: float
) -> Callable[[dict[int, Float]], float]:
    """The objective, row by row, of the metrics of the nodes with two children or more."""
    held = [rows_below(tree, node) for node in range(len(tree.parent))]
    start = np.eye(points.shape[1]) * (anchor == "identity")

    def value(metrics: dict[int, Float]) -> float:
        total = 0.0
        for node, metric in metrics.items():
            children = np.flatnonzero(tree.parent == node).tolist()
            means = np.array([points[held[child]].mean(axis=0) for child in children])
            for number, child in enumerate(children):
                away = points[held[child]][:, None] - means
                closeness = -np.einsum("rcd,de,rce->rc", away, metric, away) / 2
                total -= float((closeness[:, number] - logsumexp(closeness, axis=1)).sum())
            tied = [each for each in above(tree, node) if each in metrics]
            if tied:
                total += gamma * tie * float(((metric - metrics[tied[0]]) ** 2).sum())
            else:
                total += gamma * float(((metric - start) ** 2).sum())
        return total

    return value


def test_the_minimum_is_that_of_the_literal_objective() -> None:
    anchor: Anchor = "identity"
    tree, points = known_tree(5)
    points = points[:, :2]
    fit = fitted(tree, points, anchor=anchor, gamma=0.7, tie=3.0, tol=1e-9)
    nodes = tree.supervised.tolist()
    value = literal(tree, points, anchor, 0.7, 3.0)

    def objective(roots: Float) -> float:
        """By factors, of which every one gives a semidefinite matrix."""
        stack = roots.reshape(-1, 2, 2)
        metrics = {node: root @ root.T for node, root in zip(nodes, stack, strict=True)}
        return value(metrics)

    own = {node: fit.metrics[fit.of_node[node]] for node in nodes}
    assert value(own) == pytest.approx(fit.objectives[-1])
    found = optimize.minimize(
        objective, np.tile(np.eye(2), (len(nodes), 1, 1)).ravel(), method="BFGS"
    )
    assert fit.objectives[-1] <= found.fun + 1e-6 * abs(found.fun)
    assert fit.objectives[-1] == pytest.approx(found.fun, rel=1e-5)


def test_the_penalty_is_the_sum_over_edges() -> None:
    tree, points = known_tree(0)
    stack = np.random.default_rng(1).normal(size=(3, 4, 4))
    stack = stack @ stack.transpose(0, 2, 1)
    light, heavy = (stacked(tree, points, "identity", gamma, 3.0) for gamma in (1.0, 2.0))
    squares = ((stack[0] - np.eye(4)) ** 2).sum()
    squares += 3.0 * ((stack[1:] - stack[0]) ** 2).sum()
    assert heavy(stack)[0] - light(stack)[0] == pytest.approx(squares)


def test_the_ties_are_the_second_derivative_of_the_penalty() -> None:
    tree, points = known_tree(0)
    loss = stacked(tree, points, "l2", 0.7, 3.0)
    x = np.array([1.0, -2.0, 0.5])
    expected = 0.7 * x[0] ** 2 + 2.1 * ((x[1:] - x[0]) ** 2).sum()
    assert x @ loss.ties @ x == pytest.approx(expected)


@pytest.mark.parametrize("anchor", ["identity", "l2"])
def test_two_starts_have_one_optimum(anchor: Anchor) -> None:
    tree, points = known_tree(1)
    root = np.random.default_rng(7).normal(size=(4, 4))
    near = fitted(tree, points, anchor)
    far = fitted(tree, points, anchor, start=root @ root.T)
    assert not near.warnings
    assert not far.warnings
    assert near.objectives[-1] == pytest.approx(far.objectives[-1], rel=1e-9)
    np.testing.assert_allclose(near.metrics, far.metrics, atol=1e-3)
    assert (np.linalg.eigvalsh(near.metrics) >= -1e-12).all()
    # The optimum is that of the objective written down anew.
    value = stacked(tree, points, anchor, 1.0, 2.0)(near.metrics)[0]
    assert value == pytest.approx(near.objectives[-1], rel=1e-12)


def test_the_bound_holds() -> None:
    tree, points = known_tree(2)
    rough, exact = (fitted(tree, points, gamma=0.1, tol=tol) for tol in (1e-2, 1e-9))
    assert rough.objectives[-1] - exact.objectives[-1] <= rough.bound + 1e-9
    assert rough.bound <= 1e-2 * rough.objectives[-1]


@pytest.mark.parametrize(("anchor", "regularizer"), [("identity", "identity"), ("l2", "l2")])
def test_a_star_is_the_problem_of_one_metric(anchor: Anchor, regularizer: Anchor) -> None:
    known = clusters(0)
    star = KnownTree(np.array([-1, 0, 0, 0]), [None, *"abc"], known.code + 1)
    tied = fitted(star, known.points, anchor, gamma=2.0)
    likelihood = ConditionalLikelihood(known.points, known.code, 3)
    alone = minimize(
        likelihood.loss(diagonal=False),
        hold(regularizer, False),
        2.0,
        np.eye(4),
        tol=1e-10,
        max_iter=20_000,
        progress=silent,
        checkpoint=Checkpoint(),
    )
    assert tied.objectives[-1] == pytest.approx(alone.objectives[-1], rel=1e-9)
    np.testing.assert_allclose(tied.metrics[0], alone.metric, atol=1e-4)


def test_strong_ties_give_all_nodes_one_metric() -> None:
    tree, points = known_tree(3)
    loose, tight = (fitted(tree, points, tie=tie, tol=1e-7) for tie in (1e-2, 1e4))
    assert np.abs(tight.metrics - tight.metrics[0]).max() < 1e-3
    assert np.abs(loose.metrics - loose.metrics[0]).max() > 0.1
    assert np.abs(tight.metrics[0] - np.eye(4)).max() > 0.1


def test_a_node_without_supervision_has_its_parents_metric() -> None:
    tree, points = known_tree(4)
    fit = fitted(tree, points, tol=1e-6)
    assert fit.metrics.shape == (3, 4, 4)
    # c has one child, and is at the root's metric, as are leaves at their parents'.
    assert fit.of_node.tolist() == [0, 1, 2, 0, 1, 1, 1, 2, 2, 0]


def test_a_chain_above_the_first_fork_has_its_metric() -> None:
    #  root - a - b - (c, d)
    tree = KnownTree(np.array([-1, 0, 1, 2, 2]), [None, *"abcd"], np.repeat([3, 4], 6))
    points = np.random.default_rng(0).normal(size=(12, 2))
    fit = fitted(tree, points, tol=1e-6)
    assert fit.of_node.tolist() == [0] * 5
