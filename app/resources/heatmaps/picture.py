"""A heatmap as SVG: cells in colours, with trees and names on the sides.

The tree of the rows is on the left, that of the columns above; names are on the right and below.
Where rows are smaller than names, each of several has its name. Many cells are pixels of one image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.pictures import raster
from app.pictures.lettering import (
    SMALL,
    readable,
    shortened,
    smallest_font,
    unit_of,
    width,
    wrapped,
)
from app.pictures.marks import LEADING, Marks, number, page, points
from app.pictures.palette import Style, mix
from models.arrays import Float, Int
from models.heatmaps.heatmap import Join

_READABLE = 0.6
"""The share of the largest font at which names stop to shrink and stand at each of several
rows."""
SHADES = 101
_NARROWEST = 0.75
"""Cells between the outermost children of a node that is drawn."""
_FEWEST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Side:
    """The rows, or the columns. edges : (n_cells + 1,) the first row of each cell, and their
    number. joins : of the tree over them, children before parents. names : of all of them.
    """

    edges: Int
    joins: Sequence[Join]
    names: Sequence[str]

    def along(self, at: float) -> float:
        """How far along the side the place `at` between rows is, from 0 to 1."""
        n_cells = len(self.edges) - 1
        return float(np.interp(at, self.edges, np.arange(n_cells + 1))) / n_cells

    def labels(self, size: float, length: float) -> list[tuple[float, str]]:
        """Places along a side of `length`, and the names there, none nearer than a line."""
        step = max(1, math.ceil(size * len(self.names) / (0.84 * length)))
        return [
            (self.along(row + 0.5) * length, self.names[row])
            for row in range(0, len(self.names), step)
        ]


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What to draw. values : (cells of rows, cells of columns), NaN for none, which has the
    colour of what is in no cluster. low, high : the values with the
    first and the last colour. clipped : whether there are lower values, and higher ones. diverging
    : whether the middle of the scale is no colour; else `strong_low` says which end is the strong
    one. meaning : of a value. caption : a note below.
    """

    values: Float
    rows: Side
    columns: Side
    low: float
    high: float
    clipped: tuple[bool, bool]
    diverging: bool
    strong_low: bool
    meaning: str
    caption: str


def svg(
    heatmap: Heatmap,
    style: Style,
    *,
    px: float = 1000,
    height: float | None = None,
    font: float | None = None,
    title: str | None = None,
) -> str:
    """A picture `px` pixels wide. height : in pixels; None: it follows from the rows. font : the
    largest size of names in pixels; None: in proportion to the width.
    """
    unit = unit_of(px, font)
    marks = Marks(style)
    head = 46 * unit if title else 0.0
    if height is not None:
        head = min(head, 0.2 * height)
    if title:
        marks.heading(title, px, head, unit)
    most = 13 * unit if font is None else font
    least = max(smallest_font(font), _READABLE * most)
    margin, small = 12 * unit, SMALL * unit
    # The longest names; those below the cells leave room for these.
    longest = 0.26 * px
    deepest = longest if height is None else min(longest, 0.3 * height)
    notes = [
        line
        for note in (heatmap.meaning, heatmap.caption)
        for line in wrapped(note, small, px - 2 * margin)
    ]
    foot = 52 * unit + LEADING * small * (len(notes) - 1)
    branch = min(80 * unit, 0.14 * px if height is None else 0.14 * min(px, height))
    rows, columns = heatmap.rows, heatmap.columns
    left = margin + (branch if rows.joins else 0.0)
    top = head + margin + (branch if columns.joins else 0.0)
    n_rows = len(rows.edges) - 1

    def down(room: float, wide: float) -> float:
        """The height of all cells, beside `room` for the names of columns."""
        if height is not None:
            return max(height - top - room - foot, 0.1 * height)
        if rows.edges[-1] == columns.edges[-1] and rows.names == columns.names:
            return wide
        return min(max(n_rows, _FEWEST_ROWS) * most / 0.84, 1.3 * wide)

    size, across = most, most
    # Names take room from cells, whose size bounds that of names.
    for _ in range(3):
        beside, below = _room(rows.names, size, longest), _room(columns.names, across, deepest)
        wide = px - left - margin - beside
        tall = down(below, wide)
        size = max(least, min(size, 0.84 * tall / max(1, len(rows.names))))
        across = max(least, min(across, 0.84 * wide / max(1, len(columns.names))))
    beside, below = _room(rows.names, size, longest), _room(columns.names, across, deepest)
    wide = px - left - margin - beside
    tall = down(below, wide)

    _cells(marks, heatmap, style, (left, top, wide, tall))
    outline = f"M{points(left, top)}h{number(wide)}v{number(tall)}h{number(-wide)}Z"
    marks.stroke(outline, style.guide, 0.8 * unit)
    thin = 0.9 * unit
    _branches(
        marks, rows, tall, branch, thin, lambda at, deep: points(left - branch + deep, top + at)
    )
    _branches(
        marks, columns, wide, branch, thin, lambda at, deep: points(left + at, top - branch + deep)
    )
    for at, name in rows.labels(size, tall):
        text = shortened(readable(name), size, longest)
        marks.text(left + wide + 4 * unit, top + at, text, size, whole=name)
    for at, name in columns.labels(across, wide):
        x, y, text = left + at, top + tall + 4 * unit, shortened(readable(name), across, deepest)
        marks.text(x, y, text, across, anchor="end", turn=-90, whole=name)
    bottom = top + tall + below
    _scale(marks, heatmap, style, margin, bottom + 18 * unit, unit)
    marks.note(margin, bottom + 36 * unit, notes, small)
    described = f"{(title or 'Heatmap')[:200]}, {heatmap.caption}"
    return page(px, height or bottom + foot, described, style, marks.write())


def _room(names: Sequence[str], size: float, most: float) -> float:
    wide = max((width(shortened(readable(name), size, most), size) for name in names), default=0.0)
    return wide + 0.6 * size if wide else 0.0


def _shades(heatmap: Heatmap, style: Style) -> list[str]:
    """Colours from the lowest value to the highest: from one of the palette by the page's to
    another, or from the page's to one. The page uses the same in the browser."""
    strong = mix(style.colours[0], style.text, 0.2)
    other = mix(style.colours[1], style.text, 0.1)
    shares = [step / (SHADES - 1) for step in range(SHADES)]
    if heatmap.diverging:
        return [
            mix(strong, style.paper, 2 * share)
            if share < 0.5
            else mix(style.paper, other, 2 * share - 1)
            for share in shares
        ]
    return [
        mix(style.paper, strong, 1 - share if heatmap.strong_low else share) for share in shares
    ]


def _cells(
    marks: Marks, heatmap: Heatmap, style: Style, box: tuple[float, float, float, float]
) -> None:
    left, top, wide, tall = box
    share = (heatmap.values - heatmap.low) / (heatmap.high - heatmap.low)
    code = np.rint(np.nan_to_num(share.clip(0, 1)) * (SHADES - 1)).astype(np.int64)
    colours = [*_shades(heatmap, style), style.other]
    code[np.isnan(heatmap.values)] = SHADES
    if code.size > raster.MOST_MARKS:
        pixels = np.full((*code.shape, 4), 255, dtype=np.uint8)
        pixels[..., :3] = raster.rgb(colours)[code]
        marks.areas.append(raster.image(pixels, *box))
        return
    across, down = wide / code.shape[1], tall / code.shape[0]
    for row, codes in enumerate(code):
        y = top + row * down
        # Cells lie on the ends of those before, so that no page shows between them.
        high = min(2 * down, top + tall - y)
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), codes.size], strict=True):
            x = left + begin * across
            long = min((end - begin + 1) * across, left + wide - x)
            path = f"M{points(x, y)}h{number(long)}v{number(high)}h{number(-long)}Z"
            marks.area(path, colours[codes[begin]])


def _branches(
    marks: Marks,
    side: Side,
    length: float,
    room: float,
    thin: float,
    place: Callable[[float, float], str],
) -> None:
    """The tree over a side of `length` pixels, `room` high. place : the point so far along the
    side, and so far below the root."""
    heights = [height for join in side.joins for _, height in join.feet]
    if not heights:
        return
    root = max(join.height for join in side.joins)
    reach = root - min(heights)
    n_cells = len(side.edges) - 1
    narrowest = _NARROWEST * length / n_cells

    def along(at: float) -> float:
        return side.along(at) * length

    def deep(height: float) -> float:
        share = (root - height) / reach if reach > 0 else 0.0
        return thin + (room - 2 * thin) * min(max(share, 0.0), 1.0)

    for join in side.joins:
        feet: dict[int, tuple[float, float]] = {}
        for at, height in join.feet:
            x, y = along(at), deep(height)
            column = int(x / narrowest)
            if column not in feet or y > feet[column][1]:
                feet[column] = (x, y)
        first, last = min(feet.values())[0], max(feet.values())[0]
        if len(join.feet) > 1 and last - first < narrowest:
            continue
        head = deep(join.height)
        path = [f"M{place(first, head)}L{place(last, head)}"]
        path += [f"M{place(x, head)}L{place(x, y)}" for x, y in feet.values()]
        marks.stroke("".join(path), marks.style.ink, thin)


def _scale(marks: Marks, heatmap: Heatmap, style: Style, x: float, y: float, unit: float) -> None:
    """The first value, the colours, the last value."""
    small = SMALL * unit
    ends = [
        f"{'≤ ' if heatmap.clipped[0] else ''}{heatmap.low:.3g}",
        f"{'≥ ' if heatmap.clipped[1] else ''}{heatmap.high:.3g}",
    ]
    low, high = (text.replace("-", "\u2212") for text in ends)
    marks.text(x, y, low, small, colour=style.faint)
    x += width(low, small) + 6 * unit
    wide, tall = 140 * unit, 9 * unit
    step = wide / SHADES
    for place, colour in enumerate(_shades(heatmap, style)):
        long = min(2, SHADES - place) * step
        path = f"M{points(x + place * step, y - tall / 2)}h{number(long)}v{number(tall)}"
        marks.area(f"{path}h{number(-long)}Z", colour)
    frame = f"M{points(x, y - tall / 2)}h{number(wide)}v{number(tall)}h{number(-wide)}Z"
    marks.stroke(frame, style.guide, 0.6 * unit)
    marks.text(x + wide + 6 * unit, y, high, small, colour=style.faint)
