"""Leaves on a circle, the root in its middle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from app.pictures.lettering import clip, unit_of, width
from app.pictures.marks import Marks, number, points, stroke_widths
from app.pictures.pictured_tree import PicturedTree
from app.pictures.strips import PITCH, WIDTH, runs

SMALLEST_FONT = 5.0
_READABLE = 6.5
"""Font size of labels, in units, if there is room only for some."""
_GAP = math.radians(4)
_DOT = 4.0
"""Radius of the dot of full support, in units."""
_MOST_DOTS = 300
_HOLE = 0.035
"""Radius of the root's arc, as a share of the circle's."""


def capacity(px: float, room: float | None = None) -> tuple[int, int]:
    """The most tips that can be drawn, and how many remain once folding begins."""
    side = px if room is None else min(px, room)
    return max(60, int(2.0 * side)), max(30, int(0.16 * side))


def draw(
    pictured: PicturedTree, px: float, room: float | None = None, font: float | None = None
) -> tuple[Marks, float]:
    """Draw into a square of `px`, or one that fits into a page of `px` by `room`.

    Returns the marks and the height: that of the square (less for one node), or `room`.

    font : the largest size of labels; None: in proportion to the side.
    """
    marks = Marks(pictured.style)
    wide, px = px, px if room is None else min(px, room)
    unit = unit_of(px, font)
    if len(pictured.parent) == 1:
        return _alone(marks, pictured, wide, room, unit), room or 0.2 * px
    across, down = wide / 2, (room or px) / 2
    margin, strip = 15 * unit, (9 * bool(pictured.legend) + PITCH * len(pictured.strips)) * unit
    tips = np.flatnonzero(pictured.tip)
    span = (pictured.place.right - pictured.place.left)[tips] * (2 * math.pi - _GAP)
    most = (16.5 if pictured.plain else 11) * unit if font is None else font
    radius, font = _fit(pictured, tips, span, px, unit, margin + strip, most)
    thin = min(max(0.35, 0.32 * radius * float(span.min())), 1.4 * unit + 0.1)

    angle = -math.pi / 2 + _GAP / 2 + pictured.place.x * (2 * math.pi - _GAP)
    reach = radius * (_HOLE + (1 - _HOLE) * _outward(pictured))
    # A folded wedge needs some length to be visible, however low its node is.
    reach = np.where(pictured.folded, np.minimum(reach, 0.93 * radius), reach)
    cos, sin = np.cos(angle), np.sin(angle)
    widths = stroke_widths(pictured.n_leaves, thin)

    def at(r: float, theta: float) -> str:
        return points(across + r * math.cos(theta), down + r * math.sin(theta))

    first, last = angle.copy(), angle.copy()
    for row in range(len(pictured.parent) - 1, 0, -1):
        up = pictured.parent[row]
        first[up] = angle[row]
    for row in range(1, len(pictured.parent)):
        last[pictured.parent[row]] = angle[row]
    for row, up in enumerate(pictured.parent.tolist()):
        if up >= 0:
            begin, end = at(reach[up], angle[row]), at(reach[row], angle[row])
            marks.stroke(f"M{begin}L{end}", pictured.colour[row], widths[row])
        if not pictured.tip[row] and last[row] > first[row]:
            arc = _arc(float(reach[row]), float(last[row] - first[row]))
            marks.stroke(
                f"M{at(reach[row], first[row])}{arc}{at(reach[row], last[row])}",
                pictured.colour[row],
                widths[row],
            )
    _support(marks, pictured, at, reach, angle, unit)
    outer = radius + (min(4 * unit, 0.5 * font) if font else 4 * unit)
    for row in tips.tolist():
        half = (pictured.place.right[row] - pictured.place.left[row]) * (math.pi - _GAP / 2)
        if pictured.folded[row]:
            _wedge(marks, pictured, row, at, float(reach[row]), radius, float(angle[row]), half)
        elif reach[row] < 0.985 * radius:
            marks.stroke(
                f"M{at(reach[row], angle[row])}L{at(radius, angle[row])}",
                pictured.style.guide,
                0.6 * thin,
            )
    ring = outer
    if pictured.legend:
        colours = [pictured.colour[row] for row in tips.tolist()]
        _ring(marks, pictured, tips, at, (ring, ring + 9 * unit), angle, colours)
        ring += 11 * unit
    for number_, each in enumerate(pictured.strips):
        _ring(marks, pictured, tips, at, (ring, ring + WIDTH * unit), angle, each.colour)
        if len(pictured.strips) > 1:
            # In the gap above, between the last leaf and the first.
            middle = down - ring - WIDTH * unit / 2
            marks.text(across, middle, str(number_ + 1), 10 * unit, anchor="middle")
        ring += PITCH * unit
    if font:
        start = outer + strip + 0.3 * font
        space = px / 2 - margin - start
        free = -math.inf
        for row in tips.tolist():
            if not pictured.label[row] or angle[row] < free:
                continue
            free = angle[row] + 0.98 * font / radius
            degrees = math.degrees(angle[row])
            left = cos[row] < -1e-9
            marks.text(
                across + start * cos[row],
                down + start * sin[row],
                clip(pictured.label[row], font, space),
                font,
                colour=pictured.text_colour(row),
                anchor="end" if left else "start",
                turn=degrees + 180 if left else degrees,
                whole=pictured.label[row],
            )
    return marks, room or px


def _alone(
    marks: Marks, pictured: PicturedTree, px: float, room: float | None, unit: float
) -> Marks:
    """A single node: a dot with its label under it."""
    size = 16.5 * unit if room is None else min(16.5 * unit, 0.12 * room)
    x, dot = px / 2, 0.5 * size
    y = 0.085 * px if room is None else room / 2 - size
    marks.area(
        f"M{points(x - dot, y)}{_arc(dot, 1)}{points(x + dot, y)}"
        f"{_arc(dot, 1)}{points(x - dot, y)}Z",
        pictured.colour[0],
    )
    text = clip(pictured.label[0], size, 0.9 * px)
    marks.text(x, y + 1.8 * size, text, size, anchor="middle", whole=pictured.label[0])
    return marks


def _support(
    marks: Marks,
    pictured: PicturedTree,
    at: Callable[[float, float], str],
    reach: npt.NDArray[np.float64],
    angle: npt.NDArray[np.float64],
    unit: float,
) -> None:
    """A dot at each inner node, its area in proportion to the node's support."""
    if pictured.support is None:
        return
    rows = np.flatnonzero(pictured.support > 0)
    if len(rows) > _MOST_DOTS:
        return
    for row in rows.tolist():
        dot = _DOT * unit * math.sqrt(pictured.support[row])
        # A line of two half circles, around the node along its radius.
        near, far = at(reach[row] - dot, angle[row]), at(reach[row] + dot, angle[row])
        arc = f"A{number(dot)} {number(dot)} 0 1 1 "
        marks.area(f"M{near}{arc}{far}{arc}{near}Z", pictured.colour[row])


def _ring(
    marks: Marks,
    pictured: PicturedTree,
    tips: npt.NDArray[np.int64],
    at: Callable[[float, float], str],
    between: tuple[float, float],
    angle: npt.NDArray[np.float64],
    colours: Sequence[str | None],
) -> None:
    """A ring of the colours of tips between two radii; neighbours of the same colour share one
    area."""
    inner, outer = between
    half = ((pictured.place.right - pictured.place.left) * (math.pi - _GAP / 2))[tips]
    lows, highs = angle[tips] - half, angle[tips] + half
    for colour, first, last in runs(colours):
        low, high = float(lows[first]), float(highs[last])
        arc_out, arc_in = _arc(outer, high - low), _arc(inner, high - low, back=True)
        marks.area(
            f"M{at(inner, low)}L{at(outer, low)}{arc_out}{at(outer, high)}"
            f"L{at(inner, high)}{arc_in}{at(inner, low)}Z",
            colour,
        )


def _outward(pictured: PicturedTree) -> npt.NDArray[np.float64]:
    """(n_shown,) distance from the middle, 0 to 1: y, spread out if many nodes crowd the middle."""
    inner = pictured.place.y[~pictured.tip]
    crowded = inner.size > 8 and float(np.mean(inner < 0.1)) > 0.05
    return pictured.place.y**0.75 if crowded else pictured.place.y


def _fit(
    pictured: PicturedTree,
    tips: npt.NDArray[np.int64],
    span: npt.NDArray[np.float64],
    px: float,
    unit: float,
    margin: float,
    most: float,
) -> tuple[float, float]:
    """Radius of the circle and font size (0: no labels), each depending on the other.

    If there is no room for every label, some are written, at a readable size.
    """
    labels = [pictured.label[row] for row in tips.tolist()]
    bare = px / 2 - margin - 8 * unit
    if not any(labels):
        return bare, 0.0
    spacing = float(np.median(span)) if not pictured.plain else float(span.min())
    radius, font = _around(labels, bare, px, lambda radius: min(0.9 * radius * spacing, most))
    if font >= SMALLEST_FONT:
        return radius, font
    some = max(SMALLEST_FONT, _READABLE * unit)
    return _around(labels, bare, px, lambda radius: some)


def _around(
    labels: list[str], bare: float, px: float, font_of: Callable[[float], float]
) -> tuple[float, float]:
    """Radius that leaves room for the labels, and their font size."""
    radius = bare
    for _ in range(4):
        font = font_of(radius)
        wide = sorted(width(clip(text, font, 0.22 * px), font) for text in labels)
        # A few long names are cut, so that they do not shrink the whole circle.
        room = min(wide[-1], max(1.5 * wide[(9 * len(wide) - 1) // 10], 0.12 * px))
        radius = bare - room - 0.3 * font
    return radius, min(font, font_of(radius))


def _arc(radius: float, angle: float, *, back: bool = False) -> str:
    large = 1 if angle > math.pi else 0
    return f"A{points(radius, radius)} 0 {large} {0 if back else 1} "


def _wedge(
    marks: Marks,
    pictured: PicturedTree,
    row: int,
    at: Callable[[float, float], str],
    inner: float,
    radius: float,
    angle: float,
    half: float,
) -> None:
    half = min(0.86 * half, math.pi * 0.95)
    marks.area(
        f"M{at(inner, angle)}L{at(radius, angle - half)}"
        f"{_arc(radius, 2 * half)}{at(radius, angle + half)}Z",
        pictured.style.tint(pictured.colour[row]),
        pictured.colour[row],
    )
