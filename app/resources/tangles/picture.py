"""Two trees that face each other as SVG, their ends joined by the points that they share.

The left tree is coloured by its highest clusters, and links by the clusters of their left ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.pictures.labels import spaced
from app.pictures.lettering import (
    SMALL,
    readable,
    shortened,
    smallest_font,
    unit_of,
    width,
    wrapped,
)
from app.pictures.marks import Marks, number, page, points
from app.pictures.palette import Style

_CLUSTERS = 8
_STEPS = 12
"""Widths of links."""
_SPACING = 1.2
"""From end to end, in sizes of their names."""
_LINE = 14
"""From line to line of the caption, in units."""
_MOST_LINES = 4

Node = dict[str, Any]
"""As of `models.tree.window.scene`."""


@dataclass(frozen=True, slots=True)
class Facing:
    """What to draw. left, right : the nodes of each side, in preorder. links : an end of the left,
    one of the right, and how many points they share. caption : a note below. moved : the links to
    be drawn in ink, above the others.
    """

    left: Sequence[Node]
    right: Sequence[Node]
    links: Sequence[tuple[int, int, int]]
    caption: str
    moved: AbstractSet[tuple[int, int]] = frozenset()


def svg(
    facing: Facing,
    style: Style,
    *,
    px: float = 1000,
    height: float | None = None,
    font: float | None = None,
    title: str | None = None,
) -> str:
    """A picture `px` pixels wide. height : in pixels; None: it follows from the number of ends.

    font : the largest size of names in pixels; None: in proportion to the width.
    """
    unit = unit_of(px, font)
    marks = Marks(style)
    head = 46 * unit if title else 12 * unit
    if title:
        marks.heading(title, px, head, unit)
    tips = [_tips(facing.left), _tips(facing.right)]
    most = 13 * unit if font is None else font
    lines_below = wrapped(facing.caption, SMALL * unit, 0.96 * px)
    foot = (18 + _LINE * len(lines_below)) * unit
    longest = max(map(len, tips))
    body = _SPACING * most * longest if height is None else max(height - head - foot, 0.2 * height)
    body = max(body, 90 * unit) if height is None else body
    size = max(smallest_font(font), min(most, 0.84 * body / longest))
    names = [[shortened(_name(node), size, 0.2 * px) for node in side] for side in tips]
    wide = max((width(n, size) for side in names for n in side), default=0.0)
    label = wide + 8 * unit
    margin = 14 * unit
    tree = 0.3 * (px - 2 * margin - 2 * label)
    colour = _colours(facing.left, style)
    ends = {side: {} for side in ("left", "right")}  # type: dict[str, dict[int, float]]
    for side, nodes, begin, way in (
        ("left", facing.left, margin, 1.0),
        ("right", facing.right, px - margin, -1.0),
    ):
        edge = begin + way * tree
        own = colour if side == "left" else dict.fromkeys((n["id"] for n in nodes), style.ink)
        y = {at: head + body * share for at, share in _places(nodes).items()}
        x = {node["id"]: begin + way * tree * node["y"] for node in nodes}
        _branches(marks, nodes, x, y, own, unit)
        tip = _tips(nodes)
        rows = [y[node["id"]] for node in tip]
        written = set(spaced(rows, [node["n_leaves"] for node in tip], 1.15 * size))
        for place, node in enumerate(tip):
            at = node["id"]
            ends[side][at] = y[at]
            if abs(x[at] - edge) > unit:
                marks.stroke(f"M{points(x[at], y[at])}H{number(edge)}", style.guide, 0.5 * unit)
            if place in written:
                text = shortened(_name(node), size, 0.2 * px)
                anchor = "start" if way > 0 else "end"
                ink = style.legible(own[at]) if own[at] != style.ink else style.text
                marks.text(
                    edge + way * 5 * unit, y[at], text, size,
                    colour=ink, anchor=anchor, whole=_name(node),
                )  # fmt: skip
    begin, end = margin + tree + label, px - margin - tree - label
    thickest = min(9 * unit, 0.6 * body / longest)
    lines = _links(facing, ends, colour, begin, end, thickest, style.ink)
    tall = head + body + foot
    for line, text in enumerate(reversed(lines_below)):
        low = tall - (12 + _LINE * line) * unit
        marks.text(px / 2, low, text, SMALL * unit, colour=style.faint, anchor="middle")
    described = f"{(title or 'Two trees')[:200]}, {len(tips[0]):,} and {len(tips[1]):,} ends"
    return page(px, tall, described, style, (*lines, *marks.write()))


def ends_within(height: float, px: float, font: float | None) -> int:
    """The most ends of a side with which a picture without a height is at most so high, in pixels;
    at least two."""
    unit = unit_of(px, font)
    most = 13 * unit if font is None else font
    around = (46 + 18 + _LINE * _MOST_LINES) * unit
    ends = int((height - around) / (_SPACING * most))
    return max(2, ends)


def _tips(nodes: Sequence[Node]) -> list[Node]:
    parents = {node["parent"] for node in nodes}
    return [node for node in nodes if node["id"] not in parents]


def _places(nodes: Sequence[Node]) -> dict[int, float]:
    """Where each node is, from 0 to 1: the ends evenly, the others midway between their outermost
    children."""
    tips = _tips(nodes)
    place = {node["id"]: (row + 0.5) / len(tips) for row, node in enumerate(tips)}
    below: dict[int, list[float]] = {}
    for node in reversed(nodes):
        at = node["id"]
        if at not in place:
            place[at] = (min(below[at]) + max(below[at])) / 2
        below.setdefault(node["parent"], []).append(place[at])
    return place


def _name(node: Node) -> str:
    name, n_leaves = readable(node["name"] or ""), node["n_leaves"]
    if n_leaves > 1:
        count = f" ({n_leaves:,})"
        return name.removesuffix(count) + count if name else f"{n_leaves:,} leaves"
    return str(node["id"]) if node["name"] is None else name


def _branches(
    marks: Marks,
    nodes: Sequence[Node],
    x: dict[int, float],
    y: dict[int, float],
    colour: dict[int, str],
    unit: float,
) -> None:
    reach: dict[int, list[float]] = {}
    for node in nodes:
        at, up = node["id"], node["parent"]
        if up in x:
            marks.stroke(f"M{points(x[up], y[at])}H{number(x[at])}", colour[at], 1.1 * unit)
            reach.setdefault(up, []).append(y[at])
    for at, places in reach.items():
        low, high = min(places), max(places)
        marks.stroke(f"M{points(x[at], low)}V{number(high)}", colour[at], 1.1 * unit)


def _colours(nodes: Sequence[Node], style: Style) -> dict[int, str]:
    """The colour of each node: its cluster's, where the highest nodes are opened first until there
    are as many clusters as colours; ink above them."""
    children: dict[int, list[int]] = {}
    height = {node["id"]: node["height"] for node in nodes}
    for node in nodes[1:]:
        children.setdefault(node["parent"], []).append(node["id"])
    most = min(_CLUSTERS, len(style.colours))
    root = nodes[0]["id"]
    heap, clusters = [(-height[root], root)], 1
    whole: list[int] = []
    while heap:
        _, at = heapq.heappop(heap)
        below = children.get(at, [])
        if not below or clusters - 1 + len(below) > most:
            whole.append(at)
            continue
        clusters += len(below) - 1
        for child in below:
            heapq.heappush(heap, (-height[child], child))
    place = {node["id"]: node["x"] for node in nodes}
    colour = dict.fromkeys(height, style.ink)
    for index, at in enumerate(sorted(whole, key=place.__getitem__)):
        colour[at] = style.colours[index % len(style.colours)]
    for node in nodes[1:]:
        if colour[node["parent"]] != style.ink:
            colour[node["id"]] = colour[node["parent"]]
    return colour


def _links(
    facing: Facing,
    ends: dict[str, dict[int, float]],
    colour: dict[int, str],
    begin: float,
    end: float,
    thickest: float,
    ink: str,
) -> list[str]:
    """Curves from end to end, the thicker the more points; one path for each colour and
    width, the thick ones first, and then what moved, in ink."""
    if not facing.links:
        return []
    most = max(n_points for *_, n_points in facing.links)
    middle = number((begin + end) / 2)
    paths: dict[tuple[bool, int, str], list[str]] = {}
    for left, right, n_points in facing.links:
        step = max(1, round(_STEPS * np.sqrt(n_points / most)))
        a, b = ends["left"][left], ends["right"][right]
        curve = f"M{points(begin, a)}C{middle} {number(a)} {middle} {number(b)} {points(end, b)}"
        moved = (left, right) in facing.moved
        key = (moved, step, ink if moved else colour[left])
        paths.setdefault(key, []).append(curve)
    return [
        f'<path fill="none" stroke="{own}" stroke-opacity="{0.85 if moved else 0.45}" '
        f'stroke-width="{number(_thickness(thickest * step / _STEPS, moved))}" '
        f'd="{"".join(curves)}"/>'
        for (moved, step, own), curves in sorted(
            paths.items(), key=lambda item: (not item[0][0], *item[0][1:]), reverse=True
        )
    ]


def _thickness(wanted: float, moved: bool) -> float:
    """What moved is thin enough to stand apart from its neighbours, and never a hair."""
    return min(max(wanted, 1.0), 2.0) if moved else max(0.5, wanted)
