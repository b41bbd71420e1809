"""Nested bars: the root at the left, the height of each node its share of the leaves."""

from __future__ import annotations

import numpy as np

from app.pictures.labels import groups, written
from app.pictures.lettering import FEWEST_LETTERS, shortened, smallest_font, unit_of, width
from app.pictures.marks import Marks, number, points
from app.pictures.palette import mix
from app.pictures.pictured_tree import PicturedTree
from app.pictures.rectangular import LABEL_ROOM, page_height, row_height, strip_bars
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
    margin, least = 22 * unit, smallest_font(font)
    most = max(least, 13 * unit) if font is None else font
    depth = np.zeros(len(pictured.parent), dtype=np.int64)
    for row in range(1, len(pictured.parent)):
        depth[row] = depth[pictured.parent[row]] + 1
    levels = int(depth.max()) + 1
    tips = np.flatnonzero(pictured.tip)
    if room is None and pictured.plain:
        room = page_height(px, font, row_height(len(tips), unit, least) * len(tips))
    if room is None:
        usual = row_height(len(tips), unit, least)
        body = max(usual * len(tips), 90 * unit) if pictured.plain else 1.1 * px
    else:
        margin = min(margin, 0.08 * room)
        body = room - 2 * margin
        usual = body / len(tips)
    top = margin + pictured.place.left * body
    bottom = margin + pictured.place.right * body
    font, rows = min(0.84 * usual, most), tips.tolist()
    if font < (least if pictured.plain else max(least, 0.9 * most)):
        font = max(least, 11 / 13 * most)
        rows = groups(pictured.parent, bottom - top, pictured.tip, 1.9 * font)
    names = written(pictured, rows, 0.98 * font / body)
    wide = max(
        (width(shortened(text, font, LABEL_ROOM * px), font) for _, text, *_ in names), default=0.0
    )
    strips = PITCH * unit * len(pictured.strips)
    end = px - margin - wide - (8 * unit if names else 0.0) - strips
    step = (end - margin) / levels
    coloured = any(colour != style.ink for colour in pictured.colour)

    # The last name above each bar: one after the same leaf would say nothing new.
    above = [""] * len(pictured.parent)
    for row, up in enumerate(pictured.parent.tolist()):
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
        if up < 0 or pictured.tip[row]:
            continue
        own = pictured.called[row].split(", ")[0]
        above[row] = above[up]
        if pictured.label[row] or own != above[up]:
            box = left, high, step - 0.9 * unit, low - high
            above[row] = own if _name(marks, pictured, row, box, font, fill) else above[up]
    strip_bars(marks, pictured, end + 2 * unit, top[tips], bottom[tips], unit)
    for row, text, middle, half in names:
        at = margin + body * middle
        if not pictured.tip[row]:
            edge = points(end + strips + 3 * unit, at - body * half + 0.5 * unit)
            bracket = f"M{edge}V{number(at + body * half - 0.5 * unit)}"
            marks.stroke(bracket, pictured.colour[row], 0.08 * font)
        marks.text(
            end + strips + 6 * unit,
            at,
            shortened(text, font, LABEL_ROOM * px),
            font,
            colour=pictured.text_colour(row),
            whole=text,
        )
    return marks, room or 2 * margin + body


def _name(
    marks: Marks,
    pictured: PicturedTree,
    row: int,
    box: tuple[float, float, float, float],
    font: float,
    fill: str,
) -> bool:
    """The name of a node in its bar, along the tall side of a narrow one; none, False, where only a
    few of its letters fit.

    box : left, top, width and height.
    """
    x, y, wide, tall = box
    turned = tall > 1.6 * wide and width(pictured.called[row], font) > wide - font
    along, across = (tall, wide) if turned else (wide, tall)
    text = shortened(pictured.called[row], font, along - 0.8 * font)
    is_cut = text != pictured.called[row] and len(text) < FEWEST_LETTERS
    if not text or is_cut or across < 1.25 * font or width(text, font) > along:
        return False
    at = (x + wide / 2, y + tall / 2) if turned else (x + 0.4 * font, y + tall / 2)
    marks.text(
        *at, text, font, colour=marks.style.on(fill), whole=pictured.called[row],
        turn=-90 if turned else 0, anchor="middle" if turned else "start",
    )  # fmt: skip
    return True


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
