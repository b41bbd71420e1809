"""Nested bars: the root at the left, the height of each node its share of the leaves."""

from __future__ import annotations

import numpy as np

from app.pictures.lettering import clip, unit_of, width
from app.pictures.marks import Marks, number, points
from app.pictures.palette import mix
from app.pictures.pictured_tree import PicturedTree
from app.pictures.rectangular import SMALLEST_FONT, row_height, strip_bars
from app.pictures.strips import PITCH

MOST_LEVELS = 60


def capacity(px: float, room: float | None = None) -> tuple[int, int]:
    """The most tips that can be drawn, and how many remain once folding begins."""
    if room is None:
        return 2000, 300
    return int(min(max(room, 8), 8000)), int(min(max(room / 4, 8), 600))


def draw(
    pictured: PicturedTree, px: float, room: float | None = None, font: float | None = None
) -> tuple[Marks, float]:
    """Draw at a width of `px`; returns the marks and the height: `room`, else by the tips.

    font : the largest size of labels; None: in proportion to the width.
    """
    marks, style = Marks(pictured.style), pictured.style
    unit = unit_of(px, font)
    margin = 22 * unit
    depth = np.zeros(len(pictured.parent), dtype=np.int64)
    for row in range(1, len(pictured.parent)):
        depth[row] = depth[pictured.parent[row]] + 1
    levels = int(depth.max()) + 1
    tips = np.flatnonzero(pictured.tip)
    if room is None:
        usual = unit * row_height(len(tips))
        body = max(usual * len(tips), 90 * unit) if pictured.plain else 1.1 * px
    else:
        margin = min(margin, 0.08 * room)
        body = room - 2 * margin
        usual = body / len(tips)
    top = margin + pictured.place.left * body
    bottom = margin + pictured.place.right * body
    most = 13 * unit if font is None else font
    font = min(0.84 * usual, most) if pictured.plain else 10.5 * unit
    if room is not None and font < SMALLEST_FONT:
        font = 0.0
    fits = [row for row in tips.tolist() if font and bottom[row] - top[row] >= 0.98 * font]
    wide = max((width(clip(pictured.label[r], font, 0.3 * px), font) for r in fits), default=0.0)
    strips = PITCH * unit * len(pictured.strips)
    end = px - margin - wide - (8 * unit if fits else 0.0) - strips
    step = (end - margin) / levels
    coloured = any(colour != style.ink for colour in pictured.colour)

    for row in range(len(pictured.parent)):
        tall = float(bottom[row] - top[row])
        left = margin + float(depth[row]) * step
        if coloured:
            own = pictured.colour[row]
            mixed = style.shared if own == style.ink else style.tint(own, 0.3)
            fill = own if pictured.tip[row] else mixed
        else:
            fill = mix(style.bare, style.paper, 0.1 + 0.6 * float(depth[row]) / levels)
        gap = min(0.9 * unit, 0.15 * tall)
        high, low = float(top[row]) + gap / 2, float(bottom[row]) - gap / 2
        if pictured.tip[row] and end - left - step > 1:
            _bar(marks, left + step, end, high, low, style.tint(fill, 0.8))
        _bar(marks, left, left + step - 0.9 * unit, high, low, fill)
        if pictured.folded[row]:
            _teeth(marks, left + step, (high, low), unit, style.tint(fill, 0.8))
        if not pictured.tip[row] and pictured.label[row] and tall >= 12 * unit and step > 40 * unit:
            text = clip(pictured.label[row], 10.5 * unit, step - 10 * unit)
            marks.text(
                left + 5 * unit, (high + low) / 2, text, 10.5 * unit,
                colour=style.on(fill), whole=pictured.label[row],
            )  # fmt: skip
    strip_bars(marks, pictured, end + 2 * unit, top[tips], bottom[tips], unit)
    for row in fits:
        marks.text(
            end + strips + 6 * unit,
            float(top[row] + bottom[row]) / 2,
            clip(pictured.label[row], font, 0.3 * px),
            font,
            colour=pictured.text_colour(row),
            whole=pictured.label[row],
        )
    return marks, room or 2 * margin + body


def _bar(marks: Marks, left: float, right: float, top: float, bottom: float, fill: str) -> None:
    marks.area(f"M{points(left, top)}H{number(right)}V{number(bottom)}H{number(left)}Z", fill)


def _teeth(marks: Marks, right: float, ends: tuple[float, float], unit: float, fill: str) -> None:
    """A jagged right edge: the tree continues beyond it."""
    top, bottom = ends
    teeth = max(1, round((bottom - top) / (6 * unit)))
    step = (bottom - top) / teeth
    deep = min(4 * unit, step)
    path = "".join(f"l{points(-deep, step / 2)}l{points(deep, step / 2)}" for _ in range(teeth))
    marks.area(f"M{points(right - 0.9 * unit, top)}{path}Z", fill)
