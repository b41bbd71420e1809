"""Leaves on a circle, the root in its middle."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.pictures import inner_names
from app.pictures.labels import FAN, Ground, Written, groups, written
from app.pictures.lettering import shortened, smallest_font, unit_of, width
from app.pictures.marks import Marks, number, points, stroke_widths
from app.pictures.pictured_tree import PicturedTree
from app.pictures.strips import PITCH, WIDTH, runs
from models.arrays import Float

_MOST_ROOM, _GROUP_ROOM = 0.26, 0.21
"""The shares of the side for labels at one end of it; names of groups lose parts before letters."""
_GAP = math.radians(4)
_COUNT = re.compile(r"[\d,]+ leaves")
"""The label of a group that has no name."""
_DOT = 4.0
"""Radius of the dot of full support, in units."""
_MOST_DOTS = 300
_PIECES = 24
"""The straight pieces that stand for an arc where names have their places."""
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
    least = smallest_font(font)
    most = max(least, (16.5 if pictured.plain else 11) * unit) if font is None else font
    names_around = _Ring(pictured, px, px / 2 - margin - strip - 8 * unit, strip + 8 * unit)
    radius, font, names = names_around.fit(span, most, least)
    thin = min(max(0.35, 0.32 * radius * float(span.min())), 1.4 * unit + 0.1)

    angle = -math.pi / 2 + _GAP / 2 + pictured.place.x * (2 * math.pi - _GAP)
    reach = radius * (_HOLE + (1 - _HOLE) * _outward(pictured))
    # A folded wedge needs some length to be visible, however low its node is.
    reach = np.where(pictured.folded, np.minimum(reach, 0.93 * radius), reach)
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
        _inner_names(marks, pictured, (across, down), reach, angle, first, last, radius, font)
        _outer_names(marks, pictured, names, (across, down), outer + strip, font, px / 2 - margin)
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
    text = shortened(pictured.label[0], size, 0.9 * px)
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


@dataclass(frozen=True, slots=True)
class _Ring:
    """The names around a circle.

    px : side of the square. bare : radius without names. beyond : from the circle to them.
    """

    pictured: PicturedTree
    px: float
    bare: float
    beyond: float

    def fit(
        self, span: npt.NDArray[np.float64], most: float, least: float
    ) -> tuple[float, float, list[Written]]:
        """Radius of the circle, font size (0: no names) and the names, which depend on each other.

        If there is no room for the labels of all tips at the size `least`, groups have names.
        """
        pictured = self.pictured
        if not any(pictured.label):
            return self.bare, 0.0, []
        spacing = float(np.median(span)) if not pictured.plain else float(span.min())
        tips = np.flatnonzero(pictured.tip)
        radius, font = self.bare, most
        for _ in range(4):
            font = min(0.9 * radius * spacing, most)
            radius = self._around([pictured.label[row] for row in tips.tolist()], font)
        font = min(font, 0.9 * radius * spacing)
        # Some folded tips are narrow, and small words of a few leaves each say little.
        if font >= (least if pictured.plain else min(most, max(least, 0.9 * most))):
            return radius, font, self._written(tips.tolist(), radius, font)
        font, radius = max(least, min(most, 11 / 13 * most)), self.bare
        for _ in range(4):
            names = self._written(self._groups(radius, font), radius, font)
            radius = self._around([text for _, text, _, _ in names], font, _GROUP_ROOM)
        if radius < 0.12 * self.px:
            return self.bare, 0.0, []
        return radius, font, self._written(self._groups(radius, font), radius, font)

    def _groups(self, radius: float, font: float) -> list[int]:
        place = self.pictured.place
        width = (place.right - place.left) * (2 * math.pi - _GAP) * (radius + self.beyond)
        return groups(self.pictured.parent, width, self.pictured.tip, 1.9 * font)

    def _written(self, rows: list[int], radius: float, font: float) -> list[Written]:
        turn = 2 * math.pi / (2 * math.pi - _GAP)
        apart = 0.98 * font / (radius * (2 * math.pi - _GAP))
        found = written(self.pictured, rows, apart, turn)
        # Part of a number of leaves says nothing.
        most = _GROUP_ROOM * self.px
        return [
            one for one in found if not (_COUNT.fullmatch(one[1]) and width(one[1], font) > most)
        ]

    def _around(self, labels: list[str], font: float, share: float = _MOST_ROOM) -> float:
        """The radius that leaves room for labels, at most a share of the side."""
        most = share * self.px
        wide = sorted(width(shortened(text, font, most), font) for text in labels if text) or [0.0]
        # A few long names are cut, so that they do not shrink the whole circle.
        room = min(wide[-1], max(1.5 * wide[(9 * len(wide) - 1) // 10], 0.12 * self.px))
        return self.bare - room - 0.55 * font


def _outer_names(
    marks: Marks,
    pictured: PicturedTree,
    names: Sequence[Written],
    middle: tuple[float, float],
    radius: float,
    font: float,
    edge: float,
) -> None:
    """The names around the circle, from `radius` to `edge` at most; a group has an arc under its
    name."""
    for row, text, place, half in names:
        angle = -math.pi / 2 + _GAP / 2 + place * (2 * math.pi - _GAP)
        start = radius + 0.3 * font
        if not pictured.tip[row]:
            wide = half * (2 * math.pi - _GAP)
            wide = max(wide - 0.06 * font / radius, 0.5 * wide)
            first, last = (
                points(middle[0] + radius * math.cos(end), middle[1] + radius * math.sin(end))
                for end in (angle - wide, angle + wide)
            )
            path = f"M{first}{_arc(radius, 2 * wide)}{last}"
            marks.stroke(path, pictured.colour[row], 0.08 * font)
            start += 0.25 * font
        left = math.cos(angle) < -1e-9
        degrees = math.degrees(angle)
        marks.text(
            middle[0] + start * math.cos(angle),
            middle[1] + start * math.sin(angle),
            shortened(text, font, edge - start),
            font,
            colour=pictured.text_colour(row),
            anchor="end" if left else "start",
            turn=degrees + 180 if left else degrees,
            whole=text,
        )


def _inner_names(
    marks: Marks,
    pictured: PicturedTree,
    middle: tuple[float, float],
    reach: Float,
    angle: Float,
    first: Float,
    last: Float,
    radius: float,
    font: float,
) -> None:
    """The names that inner nodes were given, within the circle."""
    if not inner_names.given(pictured):
        return
    corner = middle[0] - radius, middle[1] - radius
    ground = Ground(2 * radius, 2 * radius, corner)

    def at(r: Float, theta: Float) -> tuple[Float, Float]:
        return middle[0] + r * np.cos(theta), middle[1] + r * np.sin(theta)

    up = np.maximum(pictured.parent, 0)
    ground.draw(*at(reach[up], angle), *at(reach, angle))
    for step in range(_PIECES):
        begin, end = (first + (last - first) * (step + k) / _PIECES for k in (0, 1))
        ground.draw(*at(reach, begin), *at(reach, end))
    tips = np.flatnonzero(pictured.tip)
    half = (pictured.place.right - pictured.place.left)[tips] * (math.pi - _GAP / 2)
    half *= 0.86 * pictured.folded[tips]
    for share in np.linspace(-1, 1, 1 if pictured.plain else FAN):
        outside = np.full(len(tips), radius)
        ground.draw(*at(reach[tips], angle[tips]), *at(outside, angle[tips] + share * half))
    inner_names.write(marks, pictured, ground, *at(reach, angle), font, radius=radius)


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
