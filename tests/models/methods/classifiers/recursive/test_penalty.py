"""The penalty's matrix against its definition, and solutions of its systems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from models.methods.classifiers.recursive.penalty import (
    BlockElimination,
    DiagonalElimination,
    Penalty,
)
from tests.models.methods.classifiers.problem_kit import (
    GRAPH,
    TREE,
    graph_penalty,
    tree_penalty,
)

RNG = np.random.default_rng(1)


def test_the_value_is_the_sum_over_nodes_or_edges() -> None:
    weights = RNG.normal(size=(7, 3))
    assert Penalty.of_tree(TREE).value(weights) == pytest.approx(tree_penalty(TREE, weights))
    weights = RNG.normal(size=(4, 3))
    assert Penalty.of_graph(GRAPH).value(weights) == pytest.approx(graph_penalty(GRAPH, weights))


@pytest.mark.parametrize("penalty", [Penalty.of_tree(TREE), Penalty.of_graph(GRAPH)])
def test_solve_is_the_inverse(penalty: Penalty) -> None:
    weights = RNG.normal(size=(penalty.n_nodes, 3))
    np.testing.assert_allclose(penalty.matrix @ penalty.solve(weights), weights, atol=1e-10)


def _system(penalty: Penalty, blocks: np.ndarray) -> np.ndarray:
    n_columns = blocks.shape[1]
    of_node = np.zeros((penalty.n_nodes, n_columns, n_columns))
    of_node[penalty.node] = blocks
    return np.kron(penalty.matrix.toarray(), np.eye(n_columns)) + block_diag(*of_node)


def test_elimination_on_a_tree_is_exact() -> None:
    penalty = Penalty.of_tree(TREE)
    factors = RNG.normal(size=(3, 4, 4))
    blocks = factors @ factors.transpose(0, 2, 1)
    right = RNG.normal(size=(7, 4))
    exact = np.linalg.solve(_system(penalty, blocks), right.ravel()).reshape(7, 4)
    np.testing.assert_allclose(BlockElimination(penalty, blocks)(right), exact, atol=1e-10)
    diagonals = np.abs(RNG.normal(size=(3, 4)))
    matrices = np.stack([np.diag(diagonal) for diagonal in diagonals])
    exact = np.linalg.solve(_system(penalty, matrices), right.ravel()).reshape(7, 4)
    np.testing.assert_allclose(DiagonalElimination(penalty, diagonals)(right), exact, atol=1e-10)


def test_elimination_on_a_graph_solves_each_node_alone() -> None:
    penalty = Penalty.of_graph(GRAPH)
    factors = RNG.normal(size=(3, 2, 2))
    blocks = factors @ factors.transpose(0, 2, 1)
    right = RNG.normal(size=(4, 2))
    solution = BlockElimination(penalty, blocks)(right)
    for node, diagonal in enumerate(penalty.matrix.diagonal()):
        block = diagonal * np.eye(2) + (blocks[node] if node < 3 else 0.0)
        np.testing.assert_allclose(solution[node], np.linalg.solve(block, right[node]), atol=1e-12)


def test_the_weights_of_inner_nodes_of_least_penalty() -> None:
    penalty = Penalty.of_tree(TREE)
    own = RNG.normal(size=(3, 2))
    whole = penalty.extended(own)
    np.testing.assert_array_equal(whole[penalty.node], own)
    gradient = penalty.matrix @ whole
    np.testing.assert_allclose(gradient[penalty.inner], 0.0, atol=1e-12)
