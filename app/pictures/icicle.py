"""Nested bars: the root at the left, each node as tall as its share of the leaves below it."""

from __future__ import annotations

import numpy as np

from app.pictures.lettering import clip, width
from app.pictures.marks import Marks, number, points
from app.pictures.palette import INK, PAPER, TEXT, mix, on, shade, tint
from app.pictures.part import Part
from app.pictures.rectangular import row_height

MOST_LEVELS = 60
_BARE = "#2f5d8a"
_SHARED = "#ccd2d9"


def capacity(px: int) -> tuple[int, int]:
    """Tips that can be drawn at all, and how many are left once folding begins."""
    return 2000, 300


def draw(part: Part, px: int) -> tuple[Marks, float]:
    """Draw at a width of `px`; returns the marks and the height, which grows with the tips."""
    marks = Marks()
    unit, margin = px / 1000, 22 * px / 1000
    depth = np.zeros(len(part.parent), dtype=np.int64)
    for row in range(1, len(part.parent)):
        depth[row] = depth[part.parent[row]] + 1
    levels = int(depth.max()) + 1
    tips = np.flatnonzero(part.tip)
    usual = unit * row_height(len(tips))
    body = max(usual * len(tips), 90 * unit) if part.plain else 1.1 * px
    top = margin + part.place.left * body
    bottom = margin + part.place.right * body
    font = min(0.84 * usual, 13 * unit) if part.plain else 10.5 * unit
    fits = [row for row in tips.tolist() if bottom[row] - top[row] >= 0.98 * font]
    room = max((width(clip(part.label[r], font, 0.3 * px), font) for r in fits), default=0.0)
    end = px - margin - room - 8 * unit
    step = (end - margin) / levels
    coloured = any(colour != INK for colour in part.colour)

    for row in range(len(part.parent)):
        tall = float(bottom[row] - top[row])
        left = margin + float(depth[row]) * step
        if coloured:
            own = part.colour[row]
            fill = own if part.tip[row] else _SHARED if own == INK else tint(own, 0.3)
        else:
            fill = mix(_BARE, PAPER, 0.1 + 0.6 * float(depth[row]) / levels)
        gap = min(0.9 * unit, 0.15 * tall)
        high, low = float(top[row]) + gap / 2, float(bottom[row]) - gap / 2
        if part.tip[row] and end - left - step > 1:
            _bar(marks, left + step, end, high, low, tint(fill, 0.8))
        _bar(marks, left, left + step - 0.9 * unit, high, low, fill)
        if part.folded[row]:
            _teeth(marks, left + step, (high, low), unit, tint(fill, 0.8))
        if not part.tip[row] and part.label[row] and tall >= 12 * unit and step > 40 * unit:
            text = clip(part.label[row], 10.5 * unit, step - 10 * unit)
            marks.text(
                left + 5 * unit, (high + low) / 2, text, 10.5 * unit,
                colour=on(fill), whole=part.label[row],
            )  # fmt: skip
    for row in fits:
        marks.text(
            end + 6 * unit,
            float(top[row] + bottom[row]) / 2,
            clip(part.label[row], font, 0.3 * px),
            font,
            colour=TEXT if part.colour[row] == INK else shade(part.colour[row]),
            whole=part.label[row],
        )
    return marks, 2 * margin + body


def _bar(marks: Marks, left: float, right: float, top: float, bottom: float, fill: str) -> None:
    marks.area(f"M{points(left, top)}H{number(right)}V{number(bottom)}H{number(left)}Z", fill)


def _teeth(marks: Marks, right: float, ends: tuple[float, float], unit: float, fill: str) -> None:
    """A torn right edge: the tree goes on behind it."""
    top, bottom = ends
    teeth = max(1, round((bottom - top) / (6 * unit)))
    step = (bottom - top) / teeth
    deep = min(4 * unit, step)
    path = "".join(f"l{points(-deep, step / 2)}l{points(deep, step / 2)}" for _ in range(teeth))
    marks.area(f"M{points(right - 0.9 * unit, top)}{path}Z", fill)
