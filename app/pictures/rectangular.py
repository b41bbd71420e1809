"""The root on the left, leaves below each other on the right, each with its label beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.pictures.lettering import clip, unit_of, width
from app.pictures.marks import Marks, number, points, stroke_widths
from app.pictures.pictured_tree import PicturedTree
from app.pictures.strips import PITCH, WIDTH, runs

SMALLEST_FONT = 5.0
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
    if room is None:
        usual = unit * row_height(len(tips))
        body = max(usual * len(tips), 90 * unit) if pictured.plain else 1.5 * usual * len(tips)
    else:
        margin = min(margin, 0.08 * room)
        body = room - 1.6 * margin - (22 * unit if axis else 0.0)
        usual = body / len(tips) if pictured.plain else body * float(np.median(span))
    most = 13 * unit if font is None else font
    font = min(0.84 * usual, most)
    if room is not None and font < SMALLEST_FONT:
        font = 0.0
    wide = (width(clip(pictured.label[r], font, 0.3 * px), font) for r in tips.tolist() if font)
    begin, end = margin, px - margin - max(wide, default=-8 * unit) - 8 * unit - strip
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
    _support(marks, pictured, x, y, first, last, 0.7 * font)
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
        if font and share * body >= 0.98 * font:
            marks.text(
                end + strip + 6 * unit,
                y[row],
                clip(pictured.label[row], font, 0.3 * px),
                font,
                colour=pictured.text_colour(row),
                whole=pictured.label[row],
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
        bottom = _axis(marks, axis, begin, end, bottom, unit)
    return marks, room or bottom


def _support(
    marks: Marks,
    pictured: PicturedTree,
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    first: npt.NDArray[np.float64],
    last: npt.NDArray[np.float64],
    font: float,
) -> None:
    """The support of inner nodes in percent, on their branches, where there is room for it."""
    if pictured.support is None or font < SMALLEST_FONT:
        return
    for row in np.flatnonzero(np.isfinite(pictured.support)).tolist():
        up = int(pictured.parent[row])
        text = f"{100 * pictured.support[row]:.0f}"
        # Only where the branch is long enough for the number.
        if up >= 0 and x[row] - x[up] > width(text, font) + 0.6 * font and last[row] > first[row]:
            marks.text(
                x[row] - 0.3 * font,
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
            marks.text(middle, above, str(place + 1), 10 * unit, anchor="middle")


def row_height(n_tips: int) -> float:
    """Pixels per leaf in a picture 1,000 pixels wide."""
    for most, tall in ((30, 22.0), (60, 17.0), (150, 13.5), (400, 10.0), (1000, 7.5)):
        if n_tips <= most:
            return tall
    return 6.0


def _ticks(pictured: PicturedTree) -> list[tuple[float, str]]:
    """The positions of round heights, as y of the layout, and their labels; none: no axis."""
    high = float(pictured.height.max())
    span = float(pictured.height.max() - pictured.height.min())
    deepest = float(pictured.place.y.max())
    if pictured.scale != "height" or pictured.n_tips < 2 or not math.isfinite(span) or deepest <= 0:
        return []
    reach = span / deepest
    rough = reach / 4
    base = 10 ** math.floor(math.log10(rough)) if rough > 0 else 0.0
    if base == 0.0:
        return []
    step = base * min((1, 2, 5, 10), key=lambda m: abs(m * base - rough))
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
    for y, text in ticks:
        x = begin + (end - begin) * y
        marks.stroke(f"M{points(x, top)}v{number(4 * unit)}", faint, 0.8 * unit)
        marks.text(x, top + 12 * unit, text, 10 * unit, colour=faint, anchor="middle")
    return top + 22 * unit
