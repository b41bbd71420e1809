"""Screenshots compared with committed ones by structural similarity.

SSIM: Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
structural similarity" (2004), with a uniform window, on the brightness of pictures of a quarter of
the size, so that edges of letters count for little.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.ndimage import uniform_filter

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PICTURES = Path(__file__).parent / "pictures"
FONTS = PICTURES / "fonts.txt"
LEAST = 0.95
"""The similarity from which two pictures show the same."""
REDUCED = 4
WINDOW = 7

Grey = npt.NDArray[np.float64]


def reduced(content: bytes) -> Image.Image:
    """A PNG as a picture of a quarter of the size, in a palette of colours."""
    with Image.open(io.BytesIO(content)) as picture:
        whole = picture.convert("RGB")
    return whole.reduce(REDUCED).quantize(64, dither=Image.Dither.NONE)


def similarity(one: Image.Image, other: Image.Image) -> float:
    """The mean SSIM of two pictures, 1 for equal ones; 0 where their sizes differ by more than a
    pixel. Colours count by the least similar of the three channels."""
    size = tuple(min(pair) for pair in zip(one.size, other.size, strict=True))
    if any(abs(a - b) > 1 for a, b in zip(one.size, other.size, strict=True)):
        return 0.0
    a, b = (
        np.asarray(picture.convert("RGB"), dtype=np.float64)[: size[1], : size[0]]
        for picture in (one, other)
    )
    return min(ssim(a[:, :, channel], b[:, :, channel]) for channel in range(3))


def ssim(a: Grey, b: Grey) -> float:
    """The mean SSIM of two channels of values 0 to 255."""
    steady, contrast = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean_a, mean_b = uniform_filter(a, WINDOW), uniform_filter(b, WINDOW)
    var_a = uniform_filter(a * a, WINDOW) - mean_a**2
    var_b = uniform_filter(b * b, WINDOW) - mean_b**2
    both = uniform_filter(a * b, WINDOW) - mean_a * mean_b
    above = (2 * mean_a * mean_b + steady) * (2 * both + contrast)
    below = (mean_a**2 + mean_b**2 + steady) * (var_a + var_b + contrast)
    return float((above / below).mean())


def fonts_of(page: Page) -> str:
    """What the fonts of a page look like, as a short digest."""
    drawn: str = page.evaluate(
        """() => {
          const canvas = document.createElement("canvas");
          Object.assign(canvas, {width: 320, height: 40});
          const context = canvas.getContext("2d");
          context.font = `24px ${getComputedStyle(document.body).fontFamily}`;
          context.fillText("Hierarchies gjkQ 0123", 4, 28);
          return canvas.toDataURL();
        }"""
    )
    return hashlib.sha256(drawn.encode()).hexdigest()[:16]


def taken(place: Locator) -> Image.Image:
    """The picture of an element, reduced for comparison."""
    return reduced(place.screenshot(animations="disabled", caret="hide"))


def committed(name: str) -> Image.Image:
    with Image.open(PICTURES / f"{name}.png") as picture:
        return picture.convert("RGB")


def write(picture: Image.Image, name: str) -> None:
    picture.save(PICTURES / f"{name}.png", optimize=True)
