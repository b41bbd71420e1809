"""Points in the plane as SVG, in the colours of their categories.

Up to `MOST_MARKS` points are marks; more are pixels of one image, as many as the picture has on its
paper. Both axes have one scale, and no ticks: a map's axes have no meaning of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.pictures import legend, raster
from app.pictures.lettering import SMALL, clip, require_room, smallest_font, unit_of
from app.pictures.marks import Marks, number, page, points
from app.pictures.palette import Style
from app.resources.maps.names import Named, write
from models.arrays import Float, Int

_MOST_SIDE = 4096
"""The longest side of an image of points, in pixels."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """What to draw. xy : (n, 2), finite. colour : (n,) index into `colours`. legend : colours and
    texts. circle : whether to draw the unit circle. caption : a note below. window : (2, 2) lowest
    and highest corner of what is shown; None: all points. named : what the names on it are taken
    from; None: it has none.
    """

    xy: Float
    colour: Int
    colours: Sequence[str]
    legend: Sequence[tuple[str, str]]
    circle: bool
    caption: str
    window: Float | None = None
    named: Named | None = None

    @property
    def as_pixels(self) -> bool:
        return len(self.xy) > raster.MOST_MARKS


def svg(
    scatter: Scatter,
    style: Style,
    *,
    px: float = 1000,
    height: float | None = None,
    font: float | None = None,
    title: str | None = None,
    dots: float = 2.0,
) -> str:
    """A picture `px` pixels wide; as high as the points need, from half of the width to all of it,
    plus what stands above and below.

    font : the size of texts in pixels; None: in proportion to the width. dots : pixels of an image
    of points in a pixel of the picture.
    """
    require_room(px, height, font)
    unit, small = unit_of(px, font), smallest_font(font)
    small = max(SMALL * unit, small)
    marks = Marks(style)
    head = 46 * unit if title else 12 * unit
    if title:
        marks.heading(title, px, head, unit)
    rows = legend.rows(scatter.legend, px, unit)
    foot = (legend.ROW * len(rows) + 30) * unit
    low, high = _bounds(scatter)
    margin = 12 * unit
    span = np.maximum(high - low, 1e-12)
    if height is None:
        needed = (px - 2 * margin) / span[0] * span[1] + 4 * margin
        room = float(np.clip(needed, px / 2, px))
    else:
        room = max(height - head - foot, 0.2 * height)
    scale = float(min((px - 2 * margin) / span[0], (room - 2 * margin) / span[1]))
    middle = (low + high) / 2
    x = px / 2 + scale * (scatter.xy[:, 0] - middle[0])
    y = head + room / 2 - scale * (scatter.xy[:, 1] - middle[1])
    radius = min(3.2 * unit, max(0.6 * unit, 0.28 * math.sqrt(px * room / max(1, len(x)))))
    if scatter.circle and scatter.window is None:
        rim = (px / 2 - scale * middle[0], head + room / 2 + scale * middle[1])
        marks.stroke(_circle(*rim, scale), style.guide, 1.2 * unit)
    layer = []
    if scatter.as_pixels:
        layer.append(_pixels(scatter, x, y - head, (px, room), radius, dots, head))
    else:
        for index, colour in enumerate(scatter.colours):
            (own,) = np.nonzero(scatter.colour == index)
            if own.size:
                marks.stroke(
                    "".join(f"M{points(a, b)}h0" for a, b in zip(x[own], y[own], strict=True)),
                    colour,
                    2 * radius,
                )
    bottom = head + room
    legend.write(marks, rows, px, unit, bottom)
    tall = bottom + foot
    if scatter.named is not None:

        def at(own_x: float, own_y: float) -> tuple[float, float]:
            right, up = scale * (own_x - middle[0]), scale * (own_y - middle[1])
            return float(px / 2 + right), float(head + room / 2 - up)

        size = max(small, 13 * unit if font is None else font)
        write(marks, scatter.named, scale, at, (0.0, head, px, room), size)
    caption = clip(scatter.caption, small, 0.96 * px)
    marks.text(px / 2, tall - 14 * unit, caption, small, colour=style.faint, anchor="middle")
    described = f"{(title or 'Map')[:200]}, {len(x):,} points"
    return page(px, tall, described, style, (*layer, *marks.write()))


def _bounds(scatter: Scatter) -> tuple[Float, Float]:
    if scatter.window is not None:
        return scatter.window[0], scatter.window[1]
    if not len(scatter.xy):
        return np.zeros(2), np.ones(2)
    if scatter.circle:
        return np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    return scatter.xy.min(axis=0), scatter.xy.max(axis=0)


def _circle(x: float, y: float, radius: float) -> str:
    turn = f"a{points(radius, radius)} 0 1 0"
    return f"M{points(x - radius, y)}{turn} {number(2 * radius)} 0{turn} {number(-2 * radius)} 0Z"


def _pixels(
    scatter: Scatter,
    x: Float,
    y: Float,
    size: tuple[float, float],
    radius: float,
    dots: float,
    top: float,
) -> str:
    """The points as an image over the whole plot; later ones lie on earlier ones."""
    dots = min(dots, _MOST_SIDE / max(size))
    wide, high = (max(1, round(dots * side)) for side in size)
    canvas = np.zeros((high, wide, 4), dtype=np.uint8)
    ink = np.concatenate(
        [raster.rgb(list(scatter.colours))[scatter.colour], np.full((len(x), 1), 255, np.uint8)],
        axis=1,
    )
    reach = max(0, round(dots * radius))
    column, row = np.rint(dots * x).astype(np.int64), np.rint(dots * y).astype(np.int64)
    for down in range(-reach, reach + 1):
        for across in range(-reach, reach + 1):
            if down * down + across * across <= (reach + 0.4) ** 2:
                at = np.clip(row + down, 0, high - 1), np.clip(column + across, 0, wide - 1)
                canvas[at] = ink
    return raster.image(canvas, 0.0, top, *size)
