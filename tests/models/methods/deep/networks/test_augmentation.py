"""Images under affine maps, against shifts and turns of arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from models.methods.deep.networks.scaling import (
    MOST_MOVE,
    MOST_RESIZE,
    Augmentation,
    RowScaling,
    random_maps,
    warped,
)

pytestmark = pytest.mark.needs("torch")


def one_image(height: int, width: int, n_channels: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(height, width, n_channels)).astype(np.float32)


def warp(image: np.ndarray, matrix: list[list[float]]) -> np.ndarray:
    rows = torch.from_numpy(image.reshape(1, -1))
    return warped(rows, torch.tensor([matrix]), image.shape).numpy().reshape(image.shape)


@pytest.mark.parametrize("n_channels", [1, 3])
def test_the_identity_changes_nothing(n_channels: int) -> None:
    image = one_image(5, 7, n_channels)
    np.testing.assert_allclose(warp(image, [[1.0, 0, 0], [0, 1.0, 0]]), image, atol=1e-5)


@pytest.mark.parametrize("n_channels", [1, 3])
def test_a_move_by_one_pixel_repeats_the_border(n_channels: int) -> None:
    image = one_image(5, 8, n_channels)
    moved = warp(image, [[1.0, 0, 2 / 8], [0, 1.0, 0]])
    np.testing.assert_allclose(moved[:, :-1], image[:, 1:], atol=1e-5)
    np.testing.assert_allclose(moved[:, -1], image[:, -1], atol=1e-5)
    moved = warp(image, [[1.0, 0, 0], [0, 1.0, -2 / 5]])
    np.testing.assert_allclose(moved[1:], image[:-1], atol=1e-5)


def test_a_quarter_turn_is_that_of_the_array() -> None:
    image = one_image(6, 6, 1)
    np.testing.assert_allclose(warp(image, [[0, -1.0, 0], [1.0, 0, 0]]), np.rot90(image), atol=1e-5)


def test_random_maps_stay_within_their_bounds() -> None:
    maps = random_maps(2000, np.random.default_rng(0))
    assert np.abs(maps[:, :, 2]).max() <= 2 * MOST_MOVE
    # A shear keeps areas, a turn too: the determinant is that of the size alone.
    sizes = 1 / np.sqrt(np.linalg.det(maps[:, :, :2]))
    assert 1 - MOST_RESIZE <= sizes.min() < sizes.max() <= 1 + MOST_RESIZE
    turns = np.degrees(np.arctan2(maps[:, 1, 0], maps[:, 0, 0]))
    assert -15 <= turns.min() < -14
    assert 14 < turns.max() <= 15
    turned = np.stack([np.cos(np.radians(turns)), np.sin(np.radians(turns))], axis=1)
    second = np.einsum("nd,nd->n", turned, maps[:, :, 1]) * sizes
    assert np.degrees(np.arctan(np.abs(second))).max() == pytest.approx(15, abs=0.2)
    assert math.isclose(np.abs(maps.mean(axis=0) - [[1, 0, 0], [0, 1, 0]]).max(), 0, abs_tol=0.02)


def test_the_mean_image_does_not_move() -> None:
    """Rows come and go about their mean: a row's version is that of the image itself."""
    rng = np.random.default_rng(1)
    images = rng.normal(5.0, 2.0, size=(4, 30))
    scaling = RowScaling(rng.normal(5.0, 2.0, size=30), 3.0)
    augmented = Augmentation((6, 5, 1), scaling, "cpu")(
        torch.from_numpy(scaling.apply(images)), np.random.default_rng(2)
    )
    maps = torch.from_numpy(random_maps(4, np.random.default_rng(2)).astype(np.float32))
    expected = warped(torch.from_numpy(images.astype(np.float32)), maps, (6, 5, 1))
    np.testing.assert_allclose(scaling.undo(augmented.numpy()), expected, rtol=1e-4)
    assert np.abs(augmented.numpy() - scaling.apply(images)).max() > 0.1
