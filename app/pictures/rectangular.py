"""The root at the left, leaves one below the other at the right, each with its label beside it."""

from __future__ import annotations

import math

import numpy as np

from app.pictures.lettering import clip, width
from app.pictures.marks import Marks, number, points, stroke_widths
from app.pictures.palette import FAINT, GUIDE, INK, TEXT, shade, tint
from app.pictures.part import Part


def capacity(px: int) -> tuple[int, int]:
    """Tips that can be drawn at all, and how many are left once folding begins."""
    return 2000, 120


def draw(part: Part, px: int) -> tuple[Marks, float]:
    """Draw at a width of `px`; returns the marks and the height, which grows with the tips."""
    marks = Marks()
    unit = px / 1000
    tips = np.flatnonzero(part.tip)
    span = (part.place.right - part.place.left)[tips]
    usual = unit * row_height(len(tips))
    body = max(usual * len(tips), 90 * unit) if part.plain else 1.5 * usual * len(tips)
    font = min(0.84 * usual, 13 * unit)
    margin, strip = 22 * unit, 9 * unit if part.legend else 0.0
    room = max((width(clip(part.label[r], font, 0.3 * px), font) for r in tips.tolist()), default=0)
    begin, end = margin, px - margin - room - 8 * unit - strip
    x = begin + (end - begin) * part.place.y
    x = np.where(part.folded, np.minimum(x, end - 0.05 * (end - begin)), x)
    y = margin + body * part.place.x
    thin = min(max(0.5, 0.12 * usual), 1.5 * unit)
    widths = stroke_widths(part.n_leaves, thin)

    first, last = y.copy(), y.copy()
    for row in range(len(part.parent) - 1, 0, -1):
        first[part.parent[row]] = y[row]
    for row in range(1, len(part.parent)):
        last[part.parent[row]] = y[row]
    for row, up in enumerate(part.parent.tolist()):
        from_x = x[up] if up >= 0 else x[row] - 8 * unit
        marks.stroke(f"M{points(from_x, y[row])}H{number(x[row])}", part.colour[row], widths[row])
        if last[row] > first[row]:
            marks.stroke(
                f"M{points(x[row], first[row])}V{number(last[row])}", part.colour[row], widths[row]
            )
    for row, wide in zip(tips.tolist(), span.tolist(), strict=True):
        half = 0.43 * wide * body
        if part.folded[row]:
            marks.area(
                f"M{points(x[row], y[row])}L{points(end, y[row] - half)}V{number(y[row] + half)}Z",
                tint(part.colour[row]),
                part.colour[row],
            )
        elif x[row] < end - 0.015 * px:
            marks.stroke(f"M{points(x[row], y[row])}H{number(end)}", GUIDE, 0.6 * thin)
        if strip:
            edge = end + 4 * unit
            tall = wide * body / 2 + 0.1
            marks.area(
                f"M{points(edge, y[row] - tall)}H{number(edge + strip - 3 * unit)}"
                f"V{number(y[row] + tall)}H{number(edge)}Z",
                part.colour[row],
            )
        if wide * body >= 0.98 * font:
            marks.text(
                end + strip + 6 * unit,
                y[row],
                clip(part.label[row], font, 0.3 * px),
                font,
                colour=TEXT if part.colour[row] == INK else shade(part.colour[row]),
                whole=part.label[row],
            )
    bottom = margin + body + 0.6 * margin
    if part.scale == "height" and part.n_tips > 1:
        bottom = _axis(marks, part, begin, end, bottom, unit)
    return marks, bottom


def row_height(n_tips: int) -> float:
    """Pixels for each leaf in a picture of 1,000 pixels of width."""
    for most, tall in ((30, 22.0), (60, 17.0), (150, 13.5), (400, 10.0), (1000, 7.5)):
        if n_tips <= most:
            return tall
    return 6.0


def _axis(marks: Marks, part: Part, begin: float, end: float, top: float, unit: float) -> float:
    """A scale of heights below the tree; returns where it ends."""
    high = float(part.height.max())
    span = float(part.height.max() - part.height.min())
    if not math.isfinite(span) or part.place.y.max() <= 0:
        return top
    low = high - span / float(part.place.y.max())
    rough = (high - low) / 4
    base = 10 ** math.floor(math.log10(rough)) if rough > 0 else 0.0
    if base == 0.0:
        return top
    step = base * min((1, 2, 5, 10), key=lambda m: abs(m * base - rough))
    marks.stroke(f"M{points(begin, top)}H{number(end)}", FAINT, 0.8 * unit)
    tick = math.ceil(low / step - 1e-9)
    while tick * step <= high + 1e-9 * (high - low):
        x = begin + (end - begin) * (high - tick * step) / (high - low)
        marks.stroke(f"M{points(x, top)}v{number(4 * unit)}", FAINT, 0.8 * unit)
        marks.text(
            x, top + 12 * unit, f"{tick * step:.6g}", 10 * unit, colour=FAINT, anchor="middle"
        )
        tick += 1
    return top + 22 * unit
