"""Images turned, sheared, resized and moved at random, so that a network learns to ignore it.

Angles, shears, sizes and moves are uniform within the bounds below. A pixel takes its value between
the nearest pixels of the original (bilinear); outside of the image its border goes on.

Source: Mautz, Plant and Böhm (2020), section 3 (affine transformations of images); the bounds are
this program's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Float
from models.inputs.data import ImageSize
from models.methods.deep.networks.scaling import RowScaling

if TYPE_CHECKING:
    from torch import Tensor

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
