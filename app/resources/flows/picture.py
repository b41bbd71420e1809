"""The graph of clusters as SVG: a row of circles for each level, joined by lines.

The area of a circle grows with its rows, the width of a line with the square root of its rows, and
its strength with the in-proportion. The clusters of the first level that has several have colours,
which go down from parents; noise is grey. Clusters stand below their parents, as near as they fit.
"""

from __future__ import annotations

import numpy as np

from app.pictures.lettering import (
    FEWEST_LETTERS,
    SMALL,
    clean,
    clip,
    readable,
    shortened,
    unit_of,
    width,
    wrapped,
)
from app.pictures.marks import LEADING, Marks, number, page, points
from app.pictures.palette import Style
from models.arrays import Float, Int
from models.clusterings.graph import ClusterGraph

MOST_LINES = 20_000
_STEPS = 12
"""Widths of lines."""
_STRENGTHS = 5


def svg(
    graph: ClusterGraph,
    style: Style,
    *,
    px: float = 1000,
    font: float | None = None,
    title: str | None = None,
) -> str:
    """A picture `px` pixels wide; its height follows from the number of levels. font : the size of
    the names of levels in pixels; None: in proportion to the width.
    """
    unit, n_levels = unit_of(px, font), len(graph.levels)
    marks = Marks(style)
    head = 46 * unit if title else 12 * unit
    if title:
        marks.heading(title, px, head, unit)
    size, small, margin = 12.5 * unit, SMALL * unit, 14 * unit
    names = [clip(name, size, 0.2 * px) for name in graph.levels]
    left = margin + max(width(name, size) for name in names) + 14 * unit
    wide, step = px - margin - left, 92 * unit
    x = left + wide * _places(graph)
    y = np.asarray(head + step * (graph.level + 0.5), dtype=np.float64)
    radius = _radii(graph, wide, 0.34 * step)
    colour = _colours(graph, style)
    lines, n_left = _lines(graph, x, y, colour, 9 * unit)
    for place, name in enumerate(names):
        marks.text(margin, head + step * (place + 0.5), name, size, whole=graph.levels[place])
    for node, label in enumerate(graph.label):
        at, below, round_ = float(x[node]), float(y[node]), float(radius[node])
        marks.areas.append(
            f'<circle cx="{number(at)}" cy="{number(below)}" r="{number(round_)}" '
            f'fill="{colour[node]}" stroke="{style.paper}" stroke-width="{number(unit)}"/>'
        )
        pitch = wide / int((graph.level == graph.level[node]).sum())
        _name(marks, label, (at, below, round_), pitch, style.on(colour[node]), small)
    note = (
        f"{int(graph.size[graph.level == 0].sum()):,} rows. Circles: the rows of a cluster; lines: "
        "rows in common with a cluster of the next level, the stronger the larger their share of "
        "that cluster; colours: where most rows come from."
    )
    if graph.noise.any():
        note += " Grey: rows without a label."
    if n_left:
        note += f" {n_left:,} thin lines are left out."
    foot = wrapped(note, small, px - 2 * margin)
    bottom = head + step * n_levels + 8 * unit
    bottom += marks.note(margin, bottom, foot, small) + LEADING * small
    described = f"{(title or 'Clusters of several levels')[:200]}, {n_levels} levels"
    return page(px, bottom, described, style, (*lines, *marks.write()))


def _name(
    marks: Marks,
    label: str,
    circle: tuple[float, float, float],
    pitch: float,
    ink: str,
    size: float,
) -> None:
    """The label inside its circle where all of it fits, else below within the `pitch` of circles;
    none where only a few of its letters fit. circle : its middle and radius."""
    x, y, radius = circle
    label = readable(label)
    if width(label, size) <= 1.7 * radius and size <= 1.2 * radius:
        marks.text(x, y, label, size, colour=ink, anchor="middle")
        return
    shown = shortened(label, size, pitch - 0.6 * size)
    if shown and (shown == clean(label) or len(shown) >= FEWEST_LETTERS):
        below = y + radius + 0.8 * size
        marks.text(x, below, shown, size, anchor="middle", whole=label, halo=True)


def _places(graph: ClusterGraph) -> Float:
    """(n_nodes,) places from 0 to 1: in each level evenly, in the order of the parents' places."""
    place = np.zeros(graph.size.size)
    for level in range(len(graph.levels)):
        own = np.flatnonzero(graph.level == level)
        above = place[graph.parent[own]] if level else np.zeros(own.size)
        order = own[np.lexsort((own, above))]
        place[order] = (np.arange(own.size) + 0.5) / own.size
    return place


def _radii(graph: ClusterGraph, wide: float, most: float) -> Float:
    """(n_nodes,) radii by the root of rows, so that no circles of a level overlap."""
    share = np.sqrt(graph.size / graph.size.max())
    room = 0.46 * wide / np.bincount(graph.level)[graph.level]
    largest = min(most, float((room / share).min()))
    return np.asarray(np.maximum(share * largest, 0.8), dtype=np.float64)


def _colours(graph: ClusterGraph, style: Style) -> list[str]:
    """The colour of each node. With more clusters than colours the largest have them."""
    colour = np.full(graph.size.size, style.ink, dtype=object)
    several = [
        level
        for level in range(len(graph.levels))
        if ((graph.level == level) & ~graph.noise).sum() > 1
    ]
    if several:
        base = np.flatnonzero((graph.level == several[0]) & ~graph.noise)
        largest: Int = base[np.argsort(-graph.size[base], kind="stable")][: len(style.colours)]
        colour[base] = style.other
        colour[np.sort(largest)] = style.colours[: largest.size]
        below = np.flatnonzero(graph.level > several[0])
        for node in below.tolist():
            colour[node] = colour[graph.parent[node]]
        colour[graph.noise] = style.other
    return colour.tolist()


def _lines(
    graph: ClusterGraph, x: Float, y: Float, colour: list[str], thickest: float
) -> tuple[list[str], int]:
    """Curves, one path for each colour, width and strength, the weak ones first; and how many are
    left out."""
    largest = np.argsort(-graph.rows, kind="stable")[:MOST_LINES]
    step = np.maximum(1, np.rint(_STEPS * np.sqrt(graph.rows / graph.rows.max(initial=1))))
    strength = np.ceil(_STRENGTHS * graph.in_proportion)
    paths: dict[tuple[float, float, str], list[str]] = {}
    for edge in largest.tolist():
        a, b = graph.source[edge], graph.target[edge]
        middle = float(y[a] + y[b]) / 2
        curve = (
            f"M{points(float(x[a]), float(y[a]))}C{points(float(x[a]), middle)} "
            f"{points(float(x[b]), middle)} {points(float(x[b]), float(y[b]))}"
        )
        paths.setdefault((float(strength[edge]), float(step[edge]), colour[b]), []).append(curve)
    lines = [
        f'<path fill="none" stroke="{own}" stroke-opacity="{number(0.75 * strong / _STRENGTHS)}" '
        f'stroke-width="{number(max(0.5, thickest * wide / _STEPS))}" d="{"".join(curves)}"/>'
        for (strong, wide, own), curves in sorted(paths.items())
    ]
    return lines, len(graph.rows) - len(largest)
