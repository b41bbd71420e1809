"""Pixels inside a picture, where marks would be too many."""

from __future__ import annotations

import io
from base64 import b64encode

import numpy as np
import numpy.typing as npt

from app.pictures.marks import number

Pixels = npt.NDArray[np.uint8]

MOST_MARKS = 20_000
"""The most marks of a kind that are drawn one by one."""


def image(pixels: Pixels, x: float, y: float, wide: float, high: float) -> str:
    """The element of an image at a place. pixels : (height, width, 4), with transparency."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(content, "PNG")
    return (
        f'<image x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}" '
        'preserveAspectRatio="none" image-rendering="optimizeSpeed" '
        f'href="data:image/png;base64,{b64encode(content.getvalue()).decode()}"/>'
    )


def rgb(colours: list[str]) -> Pixels:
    """(n, 3) of colours `#rrggbb`."""
    values = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    return np.array(values, dtype=np.uint8).reshape(-1, 3)
