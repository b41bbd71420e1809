"""The objective of multiclass logistic regression against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from models.methods.classifiers.softmax import objective as module
from tests.models.methods.classifiers.softmax.softmax_kit import literal_objective, problem


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_the_printed_one(block: int, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    objective = problem()
    weights = np.random.default_rng(1).normal(size=(3, 4))
    expected = literal_objective(objective, weights)
    slopes = approx_fprime(
        weights.ravel(), lambda flat: literal_objective(objective, flat.reshape(3, 4))
    )
    if sparse:
        objective = replace(objective, design=sp.csr_array(objective.design))
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-12)
    assert objective.value(weights) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient.ravel(), slopes, rtol=1e-4, atol=1e-4)


def test_scores_of_any_size_do_not_overflow() -> None:
    objective = problem()
    weights = np.zeros((3, 4))
    weights[0, 3] = 1e4
    value, gradient = objective.value_and_gradient(weights)
    n_others = (objective.code != 0).sum()
    assert value == pytest.approx(0.5e8 + objective.C * 1e4 * n_others, rel=1e-12)
    assert np.isfinite(gradient).all()


def test_blocks_of_classes_hold_all_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 100)
    objective = problem(n_classes=7)
    blocks = [list(range(7))[block] for block in objective.class_blocks()]
    assert blocks == [[0, 1], [2, 3], [4, 5], [6]]
    monkeypatch.setattr(module, "BLOCK", 1)
    assert len(objective.class_blocks()) == 7


def test_the_gap_holds_the_distance_from_the_minimum() -> None:
    objective = problem(C=0.05)
    minimum = np.zeros((3, 4))
    for _ in range(300):
        minimum -= 0.2 * objective.value_and_gradient(minimum)[1]
    least, gradient = objective.value_and_gradient(minimum)
    assert np.linalg.norm(gradient) < 1e-9
    rng = np.random.default_rng(3)
    for _ in range(20):
        weights = minimum + rng.normal(size=(3, 4)) * 10.0 ** rng.uniform(-3, 1)
        value, gradient = objective.value_and_gradient(weights)
        assert value - least <= module.gap(float(np.linalg.norm(gradient))) * (1 + 1e-9)
