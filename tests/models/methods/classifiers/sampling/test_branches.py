"""The density of branches' weights against its literal form and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from models.methods.classifiers.sampling.branches import BranchModel
from tests.models.methods.classifiers.problem_kit import TREE

PATHS = [[1, 3], [2, 5], [1, 4, 6]]
"""The nodes on the path of each class of `TREE`, below the root."""


def model(seed: int = 0) -> tuple[BranchModel, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    design, code = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    return BranchModel(design, code, TREE, 2.0, 0.5), design, code


def test_classes_sum_the_branches_on_their_paths() -> None:
    branches, design, code = model()
    weights = np.random.default_rng(1).normal(size=branches.shape)
    weights[0] = 0.0
    of_classes = branches.of_classes(weights)
    expected = 0.0
    for x, own in zip(design, code, strict=True):
        expected += log_softmax(of_classes @ x)[own]
    point = branches.at(weights)
    assert point.likelihood == pytest.approx(expected)
    # The rotation keeps lengths.
    for class_, path in enumerate(PATHS):
        assert np.linalg.norm(of_classes[class_]) == pytest.approx(
            np.linalg.norm(weights[path].sum(axis=0))
        )


def test_the_gradient_is_that_of_the_likelihood() -> None:
    branches, _, _ = model()
    weights = np.random.default_rng(2).normal(size=branches.shape)
    weights[0] = 0.0
    gradient = branches.at(weights).gradient
    assert (gradient[0] == 0.0).all()
    for node in range(1, TREE.n_nodes):
        for column in range(3):
            step = np.zeros_like(weights)
            step[node, column] = 1e-5
            above, below = (branches.at(weights + sign * step).likelihood for sign in (1, -1))
            assert gradient[node, column] == pytest.approx((above - below) / 2e-5, abs=1e-5)


def test_the_information_is_the_expected_curvature() -> None:
    branches, _, _ = model()
    weights = np.random.default_rng(3).normal(size=branches.shape)
    weights[0] = 0.0
    information = branches.information(weights)
    # A softmax's curvature does not depend on the labels, so it is its own expectation.
    for node in range(1, TREE.n_nodes):
        step = np.zeros_like(weights)
        step[node, 1] = 1e-4
        above, here, below = (branches.at(weights + sign * step).likelihood for sign in (1, 0, -1))
        curvature = -(above - 2 * here + below) / 1e-8
        assert information[node, 1] == pytest.approx(curvature, abs=1e-3)


def test_precisions_have_the_moments_of_their_posteriors() -> None:
    branches, _, _ = model()
    weights = np.random.default_rng(4).normal(size=branches.shape)
    rng = np.random.default_rng(5)
    draws = np.array([branches.precisions(weights, rng) for _ in range(3000)])
    # Nodes 1 and 2 are below 0, 3 and 4 below 1, 5 below 2, 6 below 4.
    for family in ([1, 2], [3, 4], [5], [6]):
        shape = 2.0 + 0.5 * 3 * len(family)
        rate = 0.5 + 0.5 * float((weights[family] ** 2).sum())
        assert (draws[:, family] == draws[:, family[:1]]).all()
        own = draws[:, family[0]]
        assert own.mean() == pytest.approx(shape / rate, rel=0.05)
        assert own.var() == pytest.approx(shape / rate**2, rel=0.15)
    assert branches.families(draws[0]).tolist() == draws[0, [1, 3, 5, 6]].tolist()


def test_joint_moves_leave_the_posterior_of_precisions_as_it_is() -> None:
    """With no rows the posterior is the prior, from which draws are moved once."""
    branches = BranchModel(np.zeros((1, 3)), np.zeros(1, dtype=np.int64), TREE, 3.0, 2.0)
    rng = np.random.default_rng(6)
    before, after = [], []
    for _ in range(1000):
        precision = branches.of_branches(rng.gamma(3.0, 0.5, size=TREE.n_nodes))
        weights = rng.normal(size=branches.shape) / np.sqrt(precision)[:, None]
        weights[0] = 0.0
        moved, changed = branches.rescaled(weights, precision, rng)
        before.append(branches.families(precision))
        after.append(branches.families(changed))
        # In units of their deviations the weights stay.
        np.testing.assert_allclose(
            moved * np.sqrt(changed)[:, None], weights * np.sqrt(precision)[:, None]
        )
    assert (np.array(before) != np.array(after)).mean() > 0.4
    assert np.mean(after, axis=0) == pytest.approx(np.full(4, 1.5), rel=0.08)
    assert np.log(after).mean(axis=0) == pytest.approx(np.log(before).mean(axis=0), abs=0.06)


def test_joint_moves_are_accepted_by_the_change_of_the_likelihood() -> None:
    branches, _, _ = model()
    rng = np.random.default_rng(7)
    weights = rng.normal(size=branches.shape)
    weights[0] = 0.0
    logs = np.linspace(-4.0, 4.0, 81)
    # The law of one family's precision in units of weights, on a grid, all others held.
    children = [3, 4]
    density = []
    for log in logs:
        scaled = weights.copy()
        scaled[children] *= np.exp(-0.5 * log)
        density.append(branches.at(scaled).likelihood + 2.0 * log - 0.5 * np.exp(log))
    law = np.exp(np.array(density) - max(density))
    law /= law.sum()
    held = branches.of_branches(np.ones(TREE.n_nodes))
    at = float(rng.choice(logs, p=law))
    drawn = []
    for _ in range(1500):
        some, precision = weights.copy(), held.copy()
        some[children] *= np.exp(-0.5 * at)
        precision[children] = np.exp(at)
        _, changed = branches.rescaled(some, precision, rng)
        at = float(np.log(changed[children[0]]))
        drawn.append(at)
    mean = float(law @ logs)
    assert np.mean(drawn) == pytest.approx(mean, abs=0.15)
    assert np.std(drawn) == pytest.approx(np.sqrt(law @ (logs - mean) ** 2), rel=0.15)
