"""Partial MAP: the end of its sweeps against the thesis's equations, corrected."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.special import expit, softmax

from models.method import Checkpoint
from models.methods.classifiers.bayes.inferences import PartialMap, alternated
from models.methods.classifiers.bayes.likelihood import LikelihoodKind, likelihood_of
from models.methods.classifiers.bayes.newton import Design, Elimination, Levels
from models.methods.classifiers.bayes.precisions import Covariance, Precisions
from models.running.progress import silent
from tests.models.methods.classifiers.bayes.bayes_kit import TREE, Small, objective, small

PROBLEM = small(2)


def swept(
    covariance: Covariance, kind: LikelihoodKind, problem: Small = PROBLEM, sparse: bool = False
) -> tuple[np.ndarray, np.ndarray, Precisions]:
    """Weights and variances of all nodes, and the precisions, after sweeps that settled."""
    likelihood = likelihood_of(kind, problem.row, problem.code)
    design = Design(sp.csr_array(problem.rows) if sparse else problem.rows)
    inference = PartialMap(design, likelihood, TREE, problem.precisions(covariance))
    sweeps = alternated(inference, 1e-9, 1000, silent, Checkpoint())
    assert sweeps.settled(1e-9)
    state = sweeps.state
    assert state.variance is not None
    penalty = Elimination(TREE, Levels.of(TREE), state.precisions.of_nodes)
    return penalty.nodes(state.mode.weights), state.variance, state.precisions


@pytest.mark.parametrize("kind", ["softmax", "logistic"])
@pytest.mark.parametrize("covariance", ["M1", "M2", "M3"])
def test_the_end_solves_the_equations(covariance: Covariance, kind: LikelihoodKind) -> None:
    weights, variance, precisions = swept(covariance, kind)
    rows, n_columns = PROBLEM.rows, 3
    of_nodes = np.broadcast_to(precisions.of_nodes, (8, n_columns))
    # 2.11
    gradient = approx_fprime(
        weights.ravel(),
        lambda flat: objective(PROBLEM, flat.reshape(8, n_columns), of_nodes, kind),
        1e-6,
    )
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)
    # 2.12
    score = rows @ weights[TREE.node].T
    probability = softmax(score, axis=1) if kind == "softmax" else expit(score)
    information = of_nodes.copy()
    for node in range(1, 8):
        information[TREE.parent[node]] += of_nodes[node]
    for class_, leaf in enumerate(TREE.node):
        p = probability[:, class_]
        information[leaf] += (p * (1 - p)) @ rows**2
    np.testing.assert_allclose(variance, 1 / information, rtol=1e-6)
    # 2.9 with its factor, and its sums over features in M1 and M3
    before = PROBLEM.precisions(covariance)
    nu = before.b.copy()
    for node in range(1, 8):
        above = TREE.parent[node]
        square = (weights[node] - weights[above]) ** 2 + variance[node] + variance[above]
        nu[before.group[node - 1]] += 0.5 * (square if covariance == "M2" else square.sum())
    np.testing.assert_allclose(precisions.nu, nu, rtol=1e-6)


def test_sparse_rows_give_the_same() -> None:
    dense, sparse = swept("M3", "softmax"), swept("M3", "softmax", sparse=True)
    np.testing.assert_allclose(sparse[0], dense[0], atol=1e-7)
    np.testing.assert_allclose(sparse[1], dense[1], rtol=1e-6)


def test_near_families_get_higher_precisions() -> None:
    """Classes 3 and 4 are alike but for one feature; the other family's classes are far apart."""
    rng = np.random.default_rng(8)
    rows = np.column_stack([rng.normal(size=(800, 4)), np.ones(800)])
    weights = rng.normal(size=(5, 5), scale=4.0)
    weights[1] = weights[0]
    weights[1, 0] += 1.0
    code = (rows @ weights.T + rng.gumbel(size=(800, 5))).argmax(axis=1)
    _, _, by_family = swept("M1", "softmax", Small(rows, np.arange(800), code))
    assert by_family.mean[1, 0] > 2 * by_family.mean[2, 0]
    _, _, own = swept("M3", "softmax", Small(rows, np.arange(800), code))
    assert own.of_nodes[[3, 4]].min() > own.of_nodes[[5, 6, 7]].mean()
