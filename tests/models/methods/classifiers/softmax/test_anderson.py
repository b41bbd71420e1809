"""Anderson's mixing on linear iterations, which it solves as GMRES does."""

from __future__ import annotations

import numpy as np

from models.methods.classifiers.softmax.sweeps import DEPTH, Anderson


def test_a_linear_iteration_in_n_numbers_ends_after_n_steps() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 4))
    matrix *= 0.95 / np.abs(np.linalg.eigvals(matrix)).max()
    constant = rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - matrix, constant)
    steps, point = Anderson(), np.zeros(4)
    for _ in range(5):
        point = steps.mixed(point, matrix @ point + constant)
    np.testing.assert_allclose(point, fixed, rtol=1e-8)


def test_the_first_step_is_plain_and_old_ones_are_forgotten() -> None:
    steps = Anderson()
    image = np.arange(3.0)
    assert steps.mixed(np.zeros(3), image) is image
    for number in range(2 * DEPTH):
        steps.mixed(np.full(3, float(number)), np.arange(3.0) * number)
    assert len(steps.points) == len(steps.images) == DEPTH + 1
    steps.clear()
    assert steps.mixed(np.zeros(3), image) is image
