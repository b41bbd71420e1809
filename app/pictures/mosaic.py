"""Small images side by side, as one PNG."""

from __future__ import annotations

import io
import math

import numpy as np
import numpy.typing as npt

PER_ROW = 5
GAP = 1
"""Pixels of an image between two of them, transparent."""


def mosaic(images: npt.NDArray[np.uint8], px: int) -> bytes:
    """A PNG of images in rows of at most five, magnified by a whole number.

    images : (n, height, width, channels), one or three channels.
    px : the most pixels of its width. Images that are wider are shrunk.
    """
    from PIL import Image

    n, height, width, n_channels = images.shape
    n_columns = min(n, PER_ROW)
    n_rows = math.ceil(n / n_columns)
    shape = (n_rows * (height + GAP) - GAP, n_columns * (width + GAP) - GAP, 4)
    canvas = np.zeros(shape, dtype=np.uint8)
    for number, image in enumerate(images):
        top = number // n_columns * (height + GAP)
        left = number % n_columns * (width + GAP)
        tile = canvas[top : top + height, left : left + width]
        tile[..., :3] = image if n_channels == 3 else image[..., :1]
        tile[..., 3] = 255
    drawn = Image.fromarray(canvas, "RGBA")
    times = px // drawn.width
    if times > 1:
        size = (drawn.width * times, drawn.height * times)
        drawn = drawn.resize(size, Image.Resampling.NEAREST)
    elif times < 1:
        drawn.thumbnail((px, px * drawn.height), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    drawn.save(content, "PNG")
    return content.getvalue()
