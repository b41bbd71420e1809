"""Rows as networks see them: about their mean, divided by one number; images moved at random.

The number is the root of the features' mean variance, so that values are about 1 in size and
distances between rows keep their ratios: the fit is the same for images in 0 to 255 and in 0 to 1.

`Augmentation` turns, shears, resizes and moves images, so that a network learns to ignore it.

Angles, shears, sizes and moves are uniform within the bounds below. A pixel takes its value between
the nearest pixels of the original (bilinear); outside of the image its border goes on.

Source: Mautz, Plant and Böhm (2020), section 3 (affine transformations of images); the bounds are
this program's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Single, row_blocks
from models.inputs.data import ImageSize

if TYPE_CHECKING:
    from torch import Tensor


BLOCK = 1 << 20
"""Values of a block of rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class RowScaling:
    """The scaling of rows: x becomes (x - mean) / factor.

    mean : (n_features,). factor : positive.
    """

    mean: Float
    factor: float

    def apply(self, rows: Array) -> Single:
        """(n, n_features) rows scaled; infinite where they exceed single precision."""
        with np.errstate(over="ignore"):
            return ((rows - self.mean) / self.factor).astype(np.float32)

    def undo(self, scaled: Array) -> Float:
        """(n, n_features) rows on their own scale."""
        rows: Float = scaled.astype(np.float64) * self.factor + self.mean
        return rows

    def arrays(self) -> dict[str, Array]:
        """The scaling as arrays of a model."""
        return {"mean": self.mean, "factor": np.array([self.factor])}

    @classmethod
    def of(cls, arrays: Arrays) -> RowScaling:
        """The scaling in a model's arrays."""
        return cls(arrays["mean"], float(arrays["factor"][0]))


def measure_scaling(rows: Array, order: Int) -> RowScaling:
    """The scaling of finite rows; the factor is 1 where (almost) no value differs from its mean.

    order : (n_points,) the order in which they are read, so that the last digits do not depend on
        that of the input. Two passes, O(size).
    """
    n_points, n_features = rows.shape
    mean = np.zeros(n_features)
    for block in row_blocks(n_points, n_features, BLOCK):
        mean += rows[order[block]].sum(axis=0, dtype=np.float64)
    mean /= n_points
    squares = 0.0
    for block in row_blocks(n_points, n_features, BLOCK):
        squares += float(np.square(rows[order[block]] - mean).sum())
    return RowScaling(mean, float(np.sqrt(squares / (n_points * n_features))) or 1.0)


MOST_TURN = math.radians(15.0)
MOST_SHEAR = math.tan(math.radians(15.0))
MOST_RESIZE = 0.15
MOST_MOVE = 0.1
"""The largest move, in shares of an image's height and width."""


class Augmentation:
    """Random versions of rows that are images, scaled as a network sees them.

    size : of the images. scaling : of the rows.
    """

    def __init__(self, size: ImageSize, scaling: RowScaling, device: str) -> None:
        import torch

        self._size = size
        mean = (scaling.mean / scaling.factor).astype(np.float32)
        self._mean = torch.from_numpy(mean).to(device)

    def __call__(self, rows: Tensor, rng: np.random.Generator) -> Tensor:
        """(n, n_values) another version of each row."""
        import torch

        maps = torch.from_numpy(random_maps(len(rows), rng).astype(np.float32)).to(rows.device)
        # Images move, their mean does not.
        return warped(rows + self._mean, maps, self._size) - self._mean


def random_maps(n_images: int, rng: np.random.Generator) -> Float:
    """(n_images, 2, 3) affine maps from places in the new image to places in the original.

    Coordinates are (x, y, 1), -1 to 1 from one border to the other.
    """
    turn, shear, size, right, down = rng.uniform(-1.0, 1.0, size=(5, n_images))
    turn, shear, size = MOST_TURN * turn, MOST_SHEAR * shear, 1.0 + MOST_RESIZE * size
    cos, sin = np.cos(turn) / size, np.sin(turn) / size
    maps = np.empty((n_images, 2, 3))
    maps[:, 0] = np.stack([cos, shear * cos - sin, 2 * MOST_MOVE * right], axis=1)
    maps[:, 1] = np.stack([sin, shear * sin + cos, 2 * MOST_MOVE * down], axis=1)
    return maps


def warped(rows: Tensor, maps: Tensor, size: ImageSize) -> Tensor:
    """(n, n_values) images under affine maps (n, 2, 3), as `random_maps` gives."""
    from torch.nn.functional import affine_grid, grid_sample

    height, width, n_channels = size
    images = rows.view(-1, height, width, n_channels).permute(0, 3, 1, 2)
    grid = affine_grid(maps, list(images.shape), align_corners=False)
    moved = grid_sample(images, grid, padding_mode="border", align_corners=False)
    return moved.permute(0, 2, 3, 1).reshape(rows.shape)
