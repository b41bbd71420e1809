"""The nearest semidefinite matrix."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.supervision.transformation import on_cone


@pytest.mark.parametrize("seed", range(5))
def test_what_was_cut_off_is_negative_and_orthogonal(seed: int) -> None:
    # Moreau: a matrix is the sum of its projections onto a cone and onto its polar, orthogonal.
    matrix = np.random.default_rng(seed).normal(size=(6, 6))
    matrix += matrix.T
    metric, squares = on_cone(matrix)
    assert np.linalg.eigvalsh(metric).min() >= -1e-12
    assert np.linalg.eigvalsh(matrix - metric).max() <= 1e-12
    assert np.vdot(metric, matrix - metric) == pytest.approx(0.0, abs=1e-12)
    assert squares == pytest.approx(np.square(metric).sum())


def test_nothing_is_left_of_a_negative_matrix() -> None:
    metric, squares = on_cone(-np.eye(3))
    assert not metric.any()
    assert squares == 0.0
