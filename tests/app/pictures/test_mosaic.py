"""Images of a node side by side, read back by Pillow."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from app.pictures.mosaic import GAP, mosaic


def read(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        assert image.format == "PNG"
        return np.asarray(image)


@pytest.mark.parametrize("n_channels", [1, 3])
def test_images_side_by_side(n_channels: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 3, 4, n_channels), dtype=np.uint8)
    canvas = read(mosaic(images, 5 * 4 + 4 * GAP))
    assert canvas.shape == (2 * 3 + GAP, 5 * 4 + 4 * GAP, 4)
    for number, image in enumerate(images):
        row, column = divmod(number, 5)
        tile = canvas[row * 4 : row * 4 + 3, column * 5 : column * 5 + 4]
        np.testing.assert_array_equal(tile[..., :3], np.broadcast_to(image, (3, 4, 3)))
        assert (tile[..., 3] == 255).all()
    assert (canvas[:, 4, 3] == 0).all()
    assert (canvas[4:, 10:, 3] == 0).all()


@pytest.mark.parametrize(
    ("px", "shape"), [(8, (8, 8, 4)), (100, (96, 96, 4)), (4, (4, 4, 4)), (16, (16, 16, 4))]
)
def test_the_width_is_a_whole_multiple_or_shrunk(px: int, shape: tuple[int, ...]) -> None:
    assert read(mosaic(np.full((1, 8, 8, 1), 7, dtype=np.uint8), px)).shape == shape


def test_magnified_pixels_are_squares() -> None:
    image = np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1)
    canvas = read(mosaic(image, 6))
    np.testing.assert_array_equal(canvas[..., 0], np.kron(image[0, :, :, 0], np.ones((3, 3))))
