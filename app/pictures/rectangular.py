"""The root on the left, leaves below each other on the right, each with its label beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.pictures import inner_names
from app.pictures.labels import FAN, Ground, groups, written
from app.pictures.lettering import (
    LEAST,
    SMALL,
    shortened,
    smallest_font,
    unit_of,
    width,
)
from app.pictures.marks import Marks, number, points, round_step, stroke_widths
from app.pictures.pictured_tree import PicturedTree
from app.pictures.sheet import MM
from app.pictures.strips import PITCH, WIDTH, runs
from models.arrays import Float

_AXIS = 36
"""The height of the axis, in units."""
LABEL_ROOM = 0.36
"""The share of the width for labels."""
_MOST_LABELLED = 400
_PAGE_MM = 247.0
_LEAST_ROW = 1.2
"""Rows of fewer pixels are folded if the height is fixed."""


def capacity(px: float, room: float | None = None) -> tuple[int, int]:
    """The most tips that can be drawn, and how many remain once folding begins."""
    if room is None:
        return 2000, 120
    return int(min(max(room / _LEAST_ROW, 8), 8000)), int(min(max(room / 12, 8), 300))


def draw(
    pictured: PicturedTree, px: float, room: float | None = None, font: float | None = None
) -> tuple[Marks, float]:
    """Draw at a width of `px`; returns the marks and the height: `room`, else by the tips.

    font : the largest size of labels; None: in proportion to the width.
    """
    marks = Marks(pictured.style)
    unit = unit_of(px, font)
    tips = np.flatnonzero(pictured.tip)
    span = (pictured.place.right - pictured.place.left)[tips]
    margin, strip = 22 * unit, (9 * bool(pictured.legend) + PITCH * len(pictured.strips)) * unit
    axis = _ticks(pictured)
    least = smallest_font(font)
    most = max(least, 13 * unit) if font is None else font
    rows_high = 1.0 if pictured.plain else 1.5
    if room is None:
        room = page_height(px, font, rows_high * row_height(len(tips), unit, least) * len(tips))
    if room is None:
        usual = row_height(len(tips), unit, least)
        body = max(rows_high * usual * len(tips), 90 * unit if pictured.plain else 0.0)
    else:
        margin = min(margin, 0.08 * room)
        body = room - 1.6 * margin - (_AXIS * max(unit, least / 10) if axis else 0.0)
        usual = body / len(tips) if pictured.plain else body * float(np.median(span))
    font = min(0.84 * usual, most)
    rows = tips.tolist()
    if font < least:
        # Rows are too thin, or the picture has a height: groups have names.
        font = max(least, 11 / 13 * most)
        stretch = body * (pictured.place.right - pictured.place.left)
        rows = groups(pictured.parent, stretch, pictured.tip, 1.9 * font)
    names = written(pictured, rows, 0.98 * font / body)
    longest = (width(shortened(text, font, LABEL_ROOM * px), font) for _, text, *_ in names)
    begin, end = margin, px - margin - max(longest, default=-8 * unit) - 8 * unit - strip
    x = begin + (end - begin) * pictured.place.y
    x = np.where(pictured.folded, np.minimum(x, end - 0.05 * (end - begin)), x)
    y = margin + body * pictured.place.x
    thin = min(max(0.5, 0.18 * usual), 1.5 * unit)
    widths = stroke_widths(pictured.n_leaves, thin)

    first, last = y.copy(), y.copy()
    for row in range(len(pictured.parent) - 1, 0, -1):
        first[pictured.parent[row]] = y[row]
    for row in range(1, len(pictured.parent)):
        last[pictured.parent[row]] = y[row]
    for row, up in enumerate(pictured.parent.tolist()):
        from_x = x[up] if up >= 0 else x[row] - 8 * unit
        marks.stroke(
            f"M{points(from_x, y[row])}H{number(x[row])}", pictured.colour[row], widths[row]
        )
        if last[row] > first[row]:
            marks.stroke(
                f"M{points(x[row], first[row])}V{number(last[row])}",
                pictured.colour[row],
                widths[row],
            )
    ground = Ground(end, margin + body)
    if pictured.support is not None or inner_names.given(pictured):
        _lines(ground, pictured, x, y, first, last, end, body)
    inner_names.write(marks, pictured, ground, x, y, font)
    _support(marks, pictured, ground, x, y, last - first, max(0.7 * font, least))
    for row, text, middle, half in names:
        at = margin + body * middle
        if not pictured.tip[row]:
            ends = at - body * half + 0.3 * thin, at + body * half - 0.3 * thin
            bracket = f"M{points(end + strip + 3 * unit, ends[0])}V{number(ends[1])}"
            marks.stroke(bracket, pictured.colour[row], 0.08 * font)
        marks.text(
            end + strip + 6 * unit,
            at,
            shortened(text, font, LABEL_ROOM * px),
            font,
            colour=pictured.text_colour(row),
            whole=text,
        )
    for row, share in zip(tips.tolist(), span.tolist(), strict=True):
        half = 0.43 * share * body
        if pictured.folded[row]:
            marks.area(
                f"M{points(x[row], y[row])}L{points(end, y[row] - half)}V{number(y[row] + half)}Z",
                pictured.style.tint(pictured.colour[row]),
                pictured.colour[row],
            )
        elif x[row] < end - 0.015 * px:
            marks.stroke(
                f"M{points(x[row], y[row])}H{number(end)}", pictured.style.guide, 0.6 * thin
            )
    tops = margin + body * pictured.place.left[tips]
    bottoms = margin + body * pictured.place.right[tips]
    left = end + 4 * unit
    if pictured.legend:
        colours = [pictured.colour[row] for row in tips.tolist()]
        bar(marks, left, left + 6 * unit, tops, bottoms, colours)
        left += 9 * unit
    strip_bars(marks, pictured, left, tops, bottoms, unit)
    bottom = margin + body + 0.6 * margin
    if axis:
        bottom = _axis(marks, axis, begin, end, bottom, max(unit, least / 10))
    return marks, room or bottom


def _lines(
    ground: Ground,
    pictured: PicturedTree,
    x: Float,
    y: Float,
    first: Float,
    last: Float,
    end: float,
    body: float,
) -> None:
    """Mark on `ground` what is drawn: branches, forks, guides, folded tips."""
    up = np.maximum(pictured.parent, 0)
    ground.draw(x[up], y, x, y)
    ground.draw(x, first, x, last)
    tips = np.flatnonzero(pictured.tip)
    half = 0.43 * body * (pictured.place.right - pictured.place.left)[tips] * pictured.folded[tips]
    for share in np.linspace(-1, 1, 1 if pictured.plain else FAN):
        ground.draw(x[tips], y[tips], np.full(len(tips), end), y[tips] + share * half)


def _support(
    marks: Marks,
    pictured: PicturedTree,
    ground: Ground,
    x: Float,
    y: Float,
    forked: Float,
    font: float,
) -> None:
    """The support of inner nodes in percent, on their branches, where there is room for it."""
    if pictured.support is None or font < LEAST:
        return
    for row in np.flatnonzero(np.isfinite(pictured.support)).tolist():
        up = int(pictured.parent[row])
        text = f"{100 * pictured.support[row]:.0f}"
        # Only where the branch is long enough for the number.
        wide, end = width(text, font), float(x[row]) - 0.3 * font
        if up < 0 or x[row] - x[up] <= wide + 0.6 * font or forked[row] <= 0:
            continue
        if ground.take(end - wide, float(y[row]) - font, wide, 0.8 * font, clear=True):
            marks.text(
                end,
                y[row] - 0.6 * font,
                text,
                font,
                colour=marks.style.faint,
                anchor="end",
            )


def bar(
    marks: Marks,
    left: float,
    right: float,
    tops: np.ndarray[tuple[int], np.dtype[np.float64]],
    bottoms: np.ndarray[tuple[int], np.dtype[np.float64]],
    colours: Sequence[str | None],
) -> None:
    """The column of tip colours; neighbours of the same colour share one area."""
    for colour, first, last in runs(colours):
        marks.area(
            f"M{points(left, float(tops[first]))}H{number(right)}V{number(float(bottoms[last]))}"
            f"H{number(left)}Z",
            colour,
        )


def strip_bars(
    marks: Marks,
    pictured: PicturedTree,
    left: float,
    tops: np.ndarray[tuple[int], np.dtype[np.float64]],
    bottoms: np.ndarray[tuple[int], np.dtype[np.float64]],
    unit: float,
) -> None:
    """The strips from `left` on, each with its number above it where there are several."""
    for place, strip in enumerate(pictured.strips):
        begin = left + PITCH * place * unit
        bar(marks, begin, begin + WIDTH * unit, tops, bottoms, strip.colour)
        if len(pictured.strips) > 1:
            middle, above = begin + WIDTH * unit / 2, float(tops[0]) - 6 * unit
            marks.text(middle, above, str(place + 1), SMALL * unit, anchor="middle")


def page_height(px: float, font: float | None, high: float) -> float | None:
    """The height in pixels of a figure for print whose rows would run over the page; None: they do
    not, or it is for a screen. A page is A4 within its margins, or a larger sheet of its form where
    the figure is wider. high : the height of the rows."""
    page = max(_PAGE_MM * MM, math.sqrt(2) * px)
    return page if font is not None and high > page else None


def row_height(n_tips: int, unit: float, least: float) -> float:
    """Pixels per leaf; up to 400 leaves have room for a label of the size `least` each."""
    steps = ((30, 22.0), (60, 17.0), (150, 13.5), (400, 10.0))
    tall = next((tall for most, tall in steps if n_tips <= most), 8.4) * unit
    return max(tall, 1.2 * least) if n_tips <= _MOST_LABELLED else tall


def _ticks(pictured: PicturedTree) -> list[tuple[float, str]]:
    """The positions of round heights, as y of the layout, and their labels; none: no axis."""
    high = float(pictured.height.max())
    span = float(pictured.height.max() - pictured.height.min())
    deepest = float(pictured.place.y.max())
    if pictured.scale != "height" or pictured.n_tips < 2 or not math.isfinite(span) or deepest <= 0:
        return []
    reach = span / deepest
    step = round_step(reach / 4)
    if step == 0.0:
        return []
    tick = math.ceil((high - reach) / step - 1e-9)
    ticks = []
    while tick * step <= high + 1e-9 * reach:
        ticks.append(((high - tick * step) / reach, f"{tick * step:.6g}"))
        tick += 1
    return ticks


def _axis(
    marks: Marks,
    ticks: list[tuple[float, str]],
    begin: float,
    end: float,
    top: float,
    unit: float,
) -> float:
    """A scale of heights below the tree; returns where it ends."""
    faint = marks.style.faint
    marks.stroke(f"M{points(begin, top)}H{number(end)}", faint, 0.8 * unit)
    free = -math.inf
    for y, text in sorted(ticks):
        x = begin + (end - begin) * y
        marks.stroke(f"M{points(x, top)}v{number(4 * unit)}", faint, 0.8 * unit)
        wide = width(text, SMALL * unit)
        if x - wide / 2 < free:
            continue
        free = x + wide / 2 + 5 * unit
        marks.text(x, top + 12 * unit, text, SMALL * unit, colour=faint, anchor="middle")
    title = top + 27 * unit
    marks.text((begin + end) / 2, title, "height", SMALL * unit, colour=faint, anchor="middle")
    return top + _AXIS * unit
