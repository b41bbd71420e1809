"""Images as rows of a matrix: their shape, whether the array or a parameter tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from models.arrays import Array
from models.errors import UsageError
from models.inputs.data import Data

ImageSize: TypeAlias = tuple[int, int, int]
"""Height, width and channels."""

CHANNELS = (1, 3)

V = TypeVar("V")


def size_of(shape: Sequence[int], image_shape: Sequence[int] | None) -> ImageSize | None:
    """The size of the images in an array of this shape; None if its rows are plain vectors.

    shape : (n_points, height, width), (n_points, height, width, channels), or (n_points, n_values)
        with images in C order.
    image_shape : [height, width] or [height, width, channels] of a matrix's rows.

    Raises UsageError for sizes that do not fit the array, and for numbers of channels other than 1
    and 3.
    """
    given = tuple(image_shape) if image_shape is not None else None
    own = tuple(shape[1:]) if len(shape) > 2 else None
    if given is None and own is None:
        return None
    height, width, n_channels = (*(own or given or ()), 1)[:3]
    size = (height, width, n_channels)
    if own is not None and given is not None and (*given, 1)[:3] != size:
        raise UsageError(
            f"'image_shape' is {list(given)}, but the array has images of shape {list(own)}. Leave "
            "it out, or give the array as a matrix with one image in each row.",
            code="wrong-parameter",
            parameter="image_shape",
        )
    if own is None and height * width * n_channels != shape[1]:
        raise UsageError(
            f"'image_shape' {list(given or ())} has {height * width * n_channels:,} values, but a "
            f"row has {shape[1]:,}.",
            code="wrong-parameter",
            parameter="image_shape",
        )
    if n_channels not in CHANNELS:
        raise UsageError(
            f"Images have {n_channels} channels; accepted are 1 (grey) and 3 (red, green, blue), "
            "as the last axis: (n_images, height, width, channels).",
            code="wrong-shape",
            role="features",
        )
    return size


def as_matrix(value: V) -> V | Array:
    """Images as a matrix with one in each row, not copied; anything else unchanged."""
    if isinstance(value, np.ndarray) and value.ndim > 2:
        return value.reshape(len(value), -1)
    return value


def image_rows(
    data: Data, role: str, image_shape: Sequence[int] | None
) -> tuple[Array, ImageSize | None]:
    """The matrix (n_points, n_values) of `role` as stored, an image in each row in C order, and the
    size of the images; None if rows are plain vectors.

    Raises UsageError as `size_of` and `Data.dense`.
    """
    values = data.values[role]
    if isinstance(values, np.ndarray) and values.ndim in (3, 4):
        size = size_of(values.shape, image_shape)
        return Data({role: as_matrix(values)}).dense(role), size
    matrix = data.dense(role)
    return matrix, size_of(matrix.shape, image_shape)
