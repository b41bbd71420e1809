"""The large images of the table of deep methods."""

from __future__ import annotations

import numpy as np

from bench import deep


def test_images_are_enlarged_and_the_last_are_first_ones_moved() -> None:
    rng = np.random.default_rng(0)
    rows, classes = rng.random((deep.N_LARGE - 2, 256)), np.arange(deep.N_LARGE - 2)
    large, own = deep.enlarged(rows, classes)
    assert large.shape == (deep.N_LARGE, 784)
    assert own[-3:].tolist() == [deep.N_LARGE - 3, 0, 1]
    corners = large[0].reshape(28, 28)[[0, 0, -1], [0, -1, -1]]
    assert np.allclose(corners, rows[0].reshape(16, 16)[[0, 0, -1], [0, -1, -1]])
    assert np.isclose(large[-2].reshape(28, 28)[0, 0], rows[0].reshape(16, 16)[0, -1])
