"""A square matrix of shares as SVG, with a name at each row and column.

The colour of a cell off the diagonal grows with the logarithm of its share, down to a thousandth of
the largest, so that small shares show; the diagonal is grey. Many cells are pixels of one image.
Where cells are smaller than names, each of several rows has its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.pictures import raster
from app.pictures.lettering import SMALL, clip, readable, smallest_font, unit_of, width, wrapped
from app.pictures.marks import Marks, number, page, points
from app.pictures.palette import Style, mix
from models.arrays import Float

_READABLE = 0.6
"""The share of the largest font at which names stop to shrink and stand at each of several
cells."""
_RANGE = 1000.0
"""The largest share by the least that differs from smaller ones."""
_SHADES = 64


@dataclass(frozen=True, slots=True)
class Matrix:
    """What to draw. names : of n rows and columns. share : (n, n) from 0 to 1. rows, columns : what
    they are. caption : a note below.
    """

    names: Sequence[str]
    share: Float
    rows: str
    columns: str
    caption: str


def svg(
    matrix: Matrix,
    style: Style,
    *,
    px: float = 1000,
    font: float | None = None,
    title: str | None = None,
) -> str:
    """A picture `px` pixels wide; its height follows. font : the largest size of names in pixels;
    None: in proportion to the width.
    """
    unit, n = unit_of(px, font), len(matrix.names)
    marks = Marks(style)
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    margin, small = 12 * unit, SMALL * unit
    most = 13 * unit if font is None else font
    least = max(smallest_font(font), _READABLE * most)
    shown = [readable(name) for name in matrix.names]
    side = px - 2 * margin - 2 * small
    size, room = 0.0, 0.0
    # Names take room from the cells, whose size bounds that of names.
    for _ in range(3):
        size = max(least, min(most, 0.84 * (side - room) / max(1, n)))
        wide = max((width(clip(name, size, 0.28 * px), size) for name in shown), default=0)
        room = wide + 6 * unit
    side -= room
    cell = side / max(1, n)
    step = max(1, math.ceil(size / (0.84 * cell)))
    left, top = px - margin - side, head + margin + 1.6 * small + room
    _cells(marks, matrix, style, left, top, cell)
    marks.stroke(
        f"M{points(left, top)}h{number(side)}v{number(side)}h{number(-side)}Z",
        style.guide,
        0.8 * unit,
    )
    for place, name in [*enumerate(shown)][::step]:
        at, text = (place + 0.5) * cell, clip(name, size, 0.28 * px)
        marks.text(left - 4 * unit, top + at, text, size, anchor="end", whole=name)
        marks.text(left + at, top - 4 * unit, text, size, turn=-90, whole=name)
    middle = side / 2
    marks.text(
        left + middle, head + margin, matrix.columns, small, colour=style.faint, anchor="middle"
    )
    marks.text(
        margin, top + middle, matrix.rows, small, colour=style.faint, anchor="middle", turn=-90
    )
    bottom = top + side + 20 * unit
    below = bottom + _scale(marks, matrix, style, margin, bottom, px - 2 * margin, unit)
    note = wrapped(matrix.caption, small, px - 2 * margin)
    below += marks.note(margin, below, note, small)
    described = f"{(title or matrix.rows)[:200]}, {n:,} classes"
    return page(px, below + 18 * unit, described, style, marks.write())


def _largest(matrix: Matrix) -> float:
    """The largest share off the diagonal; 1 if there is none."""
    off = matrix.share.copy()
    np.fill_diagonal(off, 0.0)
    return float(off.max(initial=0.0)) or 1.0


def _greys(style: Style) -> list[str]:
    return [mix(style.paper, style.ink, 0.5 * step / (_SHADES - 1)) for step in range(_SHADES)]


def _cells(
    marks: Marks, matrix: Matrix, style: Style, left: float, top: float, cell: float
) -> None:
    n = len(matrix.names)
    part = matrix.share / _largest(matrix)
    with np.errstate(divide="ignore"):
        shade = np.rint((1 + np.log(part) / math.log(_RANGE)) * (_SHADES - 1))
    shade = np.where(part > 0, shade.clip(1, _SHADES - 1), 0)
    own = np.ceil(np.diagonal(matrix.share).clip(0, 1) * (_SHADES - 1)).astype(int)
    code = shade.astype(int)
    np.fill_diagonal(code, _SHADES + own)
    colours = [*style.ramp(_SHADES), *_greys(style)]
    rows, columns = np.nonzero(matrix.share)
    if len(rows) > raster.MOST_MARKS:
        pixels = np.full((n, n, 4), 255, dtype=np.uint8)
        pixels[..., :3] = raster.rgb(colours)[code]
        marks.areas.append(raster.image(pixels, left, top, n * cell, n * cell))
        return
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        x, y = left + column * cell, top + row * cell
        box = f"M{points(x, y)}h{number(cell)}v{number(cell)}h{number(-cell)}Z"
        marks.area(box, colours[code[row, column]])


def _scale(
    marks: Marks,
    matrix: Matrix,
    style: Style,
    left: float,
    y: float,
    room: float,
    unit: float,
) -> float:
    """What colours mean, up to the largest share, in at most `room` pixels; returns how far below
    `y` the next line is."""
    wide, high, size = min(room, 160 * unit), 8 * unit, SMALL * unit
    step = wide / _SHADES
    for place, colour in enumerate(style.ramp(_SHADES)):
        box = f"M{points(left + place * step, y - high / 2)}"
        marks.area(f"{box}h{number(1.1 * step)}v{number(high)}h{number(-1.1 * step)}Z", colour)
    high_share = 100 * _largest(matrix)
    text = (
        f"{high_share / _RANGE:.3g}% or less to {high_share:.3g}%, by the logarithm; "
        "grey: taken for itself"
    )
    aside = left + wide + 8 * unit
    lines = wrapped(text, size, left + room - aside)
    if len(lines) == 1:
        marks.note(aside, y, lines, size)
        return 20 * unit
    return 38 * unit + marks.note(left, y + 20 * unit, wrapped(text, size, room), size)
