"""How far inner nodes move between the turns of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from models.method import Checkpoint
from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree, PathSums
from models.methods.classifiers.recursive import logistic
from models.methods.classifiers.recursive.blocks import newton
from models.methods.classifiers.recursive.blocks.block import BlockedClasses, piece
from models.methods.classifiers.recursive.blocks.inner_nodes import InnerNodes
from models.methods.classifiers.recursive.blocks.sweeps import minimize
from models.methods.classifiers.recursive.inputs import Effort
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.progress import Alone, silent


def families(n_rows: int = 120, n_columns: int = 12, n_classes: int = 24) -> Problem:
    """Classes in two families of twelve, with a few rows each."""
    parent = np.array([-1, 0, 0, *[1] * 12, *[2] * 12])
    tree = ClassTree(parent, np.arange(3, 27))
    rng = np.random.default_rng(0)
    code = np.arange(n_rows) % n_classes
    means = rng.normal(size=(2, n_columns))[code // 12] + 0.5 * rng.normal(size=(n_rows, n_columns))
    design = sp.csr_array(np.column_stack([means, np.ones(n_rows)]))
    return Problem(design, np.arange(n_rows + 1), code, n_classes, tree)


def blocks(some: Problem) -> BlockedClasses:
    assert some.tree is not None
    return BlockedClasses.of(some, Penalty.of_tree(some.tree), 8)


def block_sums(added: np.ndarray, held: np.ndarray) -> dict[str, Any]:
    """What one block of all classes reports, by parent."""
    parent = np.array([1, 2])
    sums = np.stack([added[:12].sum(axis=0), added[12:].sum(axis=0)])
    by_parent = np.stack([held[:12].sum(axis=0), held[12:].sum(axis=0)])
    n_columns = added.shape[1]
    return {
        "parent": parent,
        **CompressedRows.of(list(sums), n_columns).arrays("sums."),
        **CompressedRows.of(list(by_parent), n_columns).arrays("held."),
    }


def test_they_go_where_classes_with_these_curvatures_would_follow_to() -> None:
    some = families()
    blocked = blocks(some)
    rng = np.random.default_rng(1)
    row, added = rng.normal(size=13), rng.normal(size=(24, 13))
    curvature = rng.uniform(0, 3, (24, 13))
    nodes = InnerNodes.equal(blocked, row)
    before = nodes.weights.columns(slice(None))
    np.testing.assert_allclose(before, np.tile(row, (3, 1)), atol=2e-3)
    held = curvature / (1.0 + curvature)
    nodes.keep(0, block_sums(added, held))
    nodes.move(None)
    # The minimum of penalty + sum of curvature (w - classes)^2 / 2 + loss's slope, column by
    # column, where classes are best for what was before: their slope is that of the penalty.
    matrix = blocked.penalty.matrix.toarray()
    start = np.vstack([before, row + added])
    expected = np.empty((3, 13))
    for column in range(13):
        gradient = matrix @ start[:, column]
        gradient[3:] = 0.0
        hessian = matrix + np.diag(np.concatenate([np.zeros(3), curvature[:, column]]))
        expected[:, column] = (start[:, column] - np.linalg.solve(hessian, gradient))[:3]
    np.testing.assert_allclose(nodes.weights.columns(slice(None)), expected, atol=5e-3)
    assert nodes.last is not None
    np.testing.assert_allclose(
        PathSums(nodes.last.start, blocked.inner_parent, np.arange(3)).columns(slice(None)),
        before,
        atol=2e-3,
    )


def test_a_search_is_restored() -> None:
    blocked = blocks(families())
    rng = np.random.default_rng(2)
    given = block_sums(rng.normal(size=(24, 13)), np.full((24, 13), 0.5))
    nodes = InnerNodes.equal(blocked, np.ones(13))
    nodes.keep(0, given)
    nodes.move(None)
    again = InnerNodes.of_arrays(blocked, nodes.arrays(), 13)
    for kept in (nodes, again):
        kept.keep(0, given)
        kept.move(None)
    assert nodes.arrays().keys() == again.arrays().keys()
    for name, array in nodes.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])


def test_the_bound_is_above_the_curvature() -> None:
    some = families()
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(13, 24)).astype(np.float32)
    bound = newton.curvature_bound(some, some.design @ weights, 2.0)
    design = some.design.toarray()
    chance = expit(design @ weights)
    for class_ in range(24):
        rows = chance[:, class_] * (1 - chance[:, class_])
        hessian = 2.0 * design.T @ (rows[:, None] * design)
        assert np.linalg.eigvalsh(np.diag(bound[:, class_]) - hessian)[0] > -1e-4


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_large_families_get_to_the_minimum_in_few_sweeps(C: float) -> None:
    some = families()
    blocked = blocks(some)
    assert some.tree is not None
    effort = Effort(C, tol=1e-6, max_iter=12)
    crew = Alone(lambda given, progress: piece(some, blocked, "logistic", given))
    fit = minimize(some, blocked, "logistic", effort, crew, silent, Checkpoint())
    joint = logistic.minimize(
        some, blocked.penalty, Effort(C, tol=1e-9, max_iter=100), silent, Checkpoint()
    )
    assert fit.objectives[-1] == pytest.approx(joint.objective, rel=1e-3)
