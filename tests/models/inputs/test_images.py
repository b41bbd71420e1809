"""Images as rows of a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data, image_rows

IMAGES = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)


@pytest.mark.parametrize(
    ("values", "image_shape", "size"),
    [
        (IMAGES, None, (3, 4, 3)),
        (IMAGES, [3, 4, 3], (3, 4, 3)),
        (IMAGES[..., :1], [3, 4], (3, 4, 1)),
        (IMAGES[..., 0], None, (3, 4, 1)),
        (IMAGES.reshape(2, -1), [3, 4, 3], (3, 4, 3)),
        (IMAGES.reshape(2, -1), [6, 6], (6, 6, 1)),
        (IMAGES.reshape(2, -1), None, None),
    ],
)
def test_the_array_or_the_parameter_gives_the_size(
    values: np.ndarray, image_shape: list[int] | None, size: tuple[int, int, int] | None
) -> None:
    rows, got = image_rows(Data({"features": values}), "features", image_shape)
    assert got == size
    np.testing.assert_array_equal(rows, values.reshape(2, -1))


def test_images_are_not_copied() -> None:
    rows, _ = image_rows(Data({"features": IMAGES}), "features", None)
    assert np.shares_memory(rows, IMAGES)


@pytest.mark.parametrize(
    ("values", "image_shape", "message"),
    [
        (IMAGES, [4, 3, 3], r"'image_shape' is \[4, 3, 3\], but the array has images .*\[3, 4, 3"),
        (IMAGES.reshape(2, -1), [3, 4], r"\[3, 4\] has 12 values, but a row has 36"),
        (IMAGES[..., :2], None, "2 channels; accepted are 1 .* and 3"),
        (IMAGES.transpose(0, 3, 1, 2), None, "4 channels"),
    ],
)
def test_sizes_that_do_not_fit(
    values: np.ndarray, image_shape: list[int] | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        image_rows(Data({"features": values}), "features", image_shape)
