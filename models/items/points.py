"""The points of a tree as items: what each is called and, where the fit saw images, its image."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from models.arrays import Array
from models.errors import UsageError
from models.inputs.data import ImageSize, size_of
from models.inputs.items import ItemColumn, ItemTable
from models.inputs.rows import Rows
from models.tree.tree import Tree

NAME, IMAGE = "point", "image"
MOST_IMAGES = 100_000
MOST_PX = 96
"""Larger images are made smaller."""
_BLOCK = 1024


def points_of(
    tree: Tree, values: Any = None, image_shape: Sequence[int] | None = None
) -> tuple[ItemTable, list[str]]:
    """An item for each row of a tree, and warnings.

    Its name is that of its leaf where that holds this row alone, else the row's number, from 0.

    values : what the fit saw, an array or Rows with a row for each point, before any preparation.
    image_shape : as of `models.inputs.data.size_of`. O(n_points) and the images' bytes.
    """
    import pyarrow as pa

    names = pa.array(_names(tree), pa.large_string())
    columns = [ItemColumn(NAME, "text", names)]
    size, warnings = _image_size(values, image_shape), []
    if size is not None and len(values) != tree.n_points:
        size = None
    if size is not None and tree.n_points > MOST_IMAGES:
        warnings.append(
            f"The points are {tree.n_points:,} images; up to {MOST_IMAGES:,} are kept to be shown, "
            "so none is."
        )
    elif size is not None:
        images = pa.array(list(_pngs(values, size)), pa.large_binary())
        columns.insert(0, ItemColumn(IMAGE, "image", images))
    return ItemTable(tuple(columns)), warnings


def _names(tree: Tree) -> list[str]:
    leaf = tree.leaf_of_point
    names = tree.name[leaf].tolist()
    alone = (tree.size[leaf] == 1).tolist()
    return [
        str(name) if single and name is not None else str(row)
        for row, (name, single) in enumerate(zip(names, alone, strict=True))
    ]


def _image_size(values: Any, image_shape: Sequence[int] | None) -> ImageSize | None:
    """The size of the images; None for other values."""
    if not isinstance(values, np.ndarray | Rows) or len(values.shape) not in (2, 3, 4):
        return None
    try:
        return size_of(values.shape, image_shape)
    except UsageError:
        # A method without images took it as rows of numbers.
        return None


def _pngs(values: Array | Rows, size: ImageSize) -> Iterator[bytes]:
    """Each image as a PNG, black the least value of all and white the largest; bytes as they
    are."""
    low, high = _ends(values)
    for block in _blocks(values):
        pixels = block.reshape(len(block), *size)
        if block.dtype == np.uint8:
            shades = np.asarray(pixels)
        else:
            shown = np.nan_to_num(pixels.astype(np.float64), nan=low, posinf=high, neginf=low)
            share = (np.clip(shown, low, high) - low) / (high - low or 1.0)
            shades = np.rint(255 * share).astype(np.uint8)
        yield from map(_png, shades)


def _blocks(values: Array | Rows) -> Iterator[Array]:
    n = values.shape[0]
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        yield values.values(start, stop) if isinstance(values, Rows) else values[start:stop]


def _ends(values: Array | Rows) -> tuple[float, float]:
    """The least and the largest finite value; 0 and 1, or 0 and 255, where all lie between."""
    low, high = np.inf, -np.inf
    for block in _blocks(values):
        finite = block[np.isfinite(block)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    if low > high:
        return 0.0, 1.0
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (0.0, 255.0) if low >= 0 and high <= 255 else (low, high)


def _png(image: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    from PIL import Image

    grey = image.shape[-1] == 1
    drawn = Image.fromarray(np.ascontiguousarray(image[..., 0] if grey else image))
    drawn.thumbnail((MOST_PX, MOST_PX))
    content = io.BytesIO()
    drawn.save(content, "PNG")
    return content.getvalue()
