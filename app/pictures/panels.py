"""The panels of a picture of clusters over time: bands of weights, an axis, rows of turns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.pictures.lettering import LEAST, SMALL, clip, readable, width
from app.pictures.marks import Marks, number, points
from app.pictures.moving import Moving
from app.pictures.timeline import shortened, ticks
from models.arrays import Float

GAP = 1.28
"""Distance of lines of text, as a multiple of the font size."""
_SMOOTH = 60
"""Bands of up to this many periods are curves that are level at each period."""
_FULL = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180)
"""Degrees that a full row may stand for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The layout, in pixels.

    left, right : edges of both panels. top, bottom : edges of the bands. rows_top, row : top of the
        rows of turns and height of each; 0 without rows. font : font size of names. end : lower
        edge of both panels.
    """

    unit: float
    px: float
    left: float
    right: float
    top: float
    bottom: float
    rows_top: float
    row: float
    font: float
    end: float


def _places(frame: Frame, n_periods: int) -> Float:
    """The x of each period; a single one is in the middle."""
    if n_periods == 1:
        return np.array([(frame.left + frame.right) / 2])
    return np.linspace(frame.left, frame.right, n_periods)


def bands(marks: Marks, frame: Frame, moving: Moving, colours: list[str]) -> None:
    own = marks.style
    tall = frame.bottom - frame.top
    for share in (0.0, 0.5, 1.0):
        level = frame.bottom - share * tall
        marks.text(
            frame.left - 8 * frame.unit, level, f"{round(100 * share)}%", SMALL * frame.unit,
            colour=own.faint, anchor="end",
        )  # fmt: skip
    small = SMALL * frame.unit
    caption = clip("Share of each period", small, frame.px - frame.left - 2 * small)
    marks.text(frame.left, frame.top - 10 * frame.unit, caption, small, colour=own.faint)
    weight = np.clip(moving.weight, 0.0, 1.0)
    edge = np.zeros((len(weight), weight.shape[1] + 2))
    edge[:, 1:-1] = np.minimum(np.cumsum(weight, axis=1), 1.0)
    edge[:, -1] = 1.0
    if not moving.rest:
        edge = edge[:, :-1]
        edge[:, -1] = 1.0
    y: Float = frame.top + tall * edge
    x: Float = _places(frame, len(weight))
    if len(x) == 1:
        x, y = np.array([frame.left, frame.right]), np.repeat(y, 2, axis=0)
    seam = (0.9 if len(x) <= _SMOOTH else 0.4) * frame.unit
    fills = [*(own.tint(colour, 0.12) for colour in colours), own.other]
    for band, fill in zip(range(y.shape[1] - 1), fills, strict=False):
        top = _curve(x, y[:, band])
        bottom = _curve(x[::-1], y[::-1, band + 1])
        marks.area(f"M{top}L{bottom}Z", fill, own.paper, seam)
    names = [*moving.names, *([moving.rest] if moving.rest else [])]
    _names(marks, frame, names, colours, y[-1])


def _curve(x: Float, y: Float) -> str:
    """A path through all points, horizontal at each if they are few."""
    start = points(float(x[0]), float(y[0]))
    if len(x) > _SMOOTH:
        return start + "".join(f"L{points(*place)}" for place in zip(x[1:], y[1:], strict=True))
    parts = [start]
    for (x0, y0), (x1, y1) in pairwise(zip(x.tolist(), y.tolist(), strict=True)):
        middle = (x0 + x1) / 2
        parts.append(f"C{points(middle, y0, middle, y1, x1, y1)}")
    return "".join(parts)


def _names(marks: Marks, frame: Frame, names: list[str], colours: list[str], edge: Float) -> None:
    """Names at the ends of the bands: moved apart if bands are thin, smaller if there are many.

    If even these do not fit, the last ones are left out, except that of the grey band.
    """
    own, unit = marks.style, frame.unit
    tall = frame.bottom - frame.top
    font = min(frame.font, max(tall / (GAP * max(1, len(names) - 1)), LEAST))
    most = int(tall / (GAP * font) + 1e-6) + 1
    kept = list(range(len(names)))
    if len(kept) > most:
        last = kept[len(colours) :]
        kept = [*kept[: most - len(last)], *last]
    middle = (edge[:-1] + edge[1:]) / 2
    places = spread(middle[kept], GAP * font, frame.top, frame.bottom)
    for band, y in zip(kept, places.tolist(), strict=True):
        colour = colours[band] if band < len(colours) else own.other
        start, end = frame.right + 3 * unit, frame.right + 13 * unit
        marks.stroke(f"M{points(start, float(middle[band]))}L{points(end, y)}", colour, unit)
        marks.text(
            frame.right + 18 * unit, y, clip(readable(names[band]), font, 0.2 * frame.px), font,
            colour=own.legible(colour), whole=names[band],
        )  # fmt: skip


def spread(preferred: Float, gap: float, low: float, high: float) -> Float:
    """Ascending positions as close as possible to the ascending `preferred` ones, at least `gap`
    apart.

    Closeness is in least squares (pool adjacent violators); positions are within `low` and `high`
    if they fit. O(n).
    """
    offset = gap * np.arange(len(preferred))
    blocks: list[tuple[float, int]] = []
    for value in (preferred - offset).tolist():
        total, count = value, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    level = np.repeat([total / count for total, count in blocks], [count for _, count in blocks])
    last = high - (float(offset[-1]) if len(offset) else 0.0)
    places: Float = np.clip(level, low, max(low, last)) + offset
    return places


def axis(marks: Marks, frame: Frame, moving: Moving) -> None:
    own, unit = marks.style, frame.unit
    x = _places(frame, len(moving.labels))
    size = SMALL * unit
    labels = shortened(moving.labels, moving.dated)
    marks.stroke(
        f"M{points(frame.left, frame.bottom)}H{number(frame.right)}", own.faint, 0.8 * unit
    )
    for tick in ticks(labels, x.tolist(), size, frame.px):
        marks.stroke(f"M{points(tick.x, frame.bottom)}v{number(5 * unit)}", own.faint, 0.8 * unit)
        marks.text(
            tick.at, frame.bottom + 14 * unit, tick.text, size, colour=own.faint, anchor="middle"
        )


def turns(marks: Marks, frame: Frame, moving: Moving, colours: list[str]) -> None:
    """A row of bars for each cluster, each bar between two periods."""
    own, unit = marks.style, frame.unit
    drift = moving.drift[1:]
    full = _full(float(drift.max()))
    x = _places(frame, len(moving.labels))
    step = float(x[1] - x[0])
    wide = min(0.82 * step if step > 4 * unit else step, 30 * unit)
    size, font = min(SMALL * unit, 0.8 * frame.row), min(frame.font, 0.8 * frame.row)
    above = frame.rows_top - 10 * unit
    caption = f"Turn from one period to the next; a full row is {full:g}\N{DEGREE SIGN}"
    small, right = SMALL * unit, frame.px - 6 * unit
    last = clip("first to last", small, right - frame.left)
    room = right - frame.left - width(last, small) - small
    caption = clip(caption, small, max(0.0, room))
    marks.text(frame.left, above, caption, small, colour=own.faint)
    marks.text(right, above, last, small, colour=own.faint, anchor="end")
    for row, (name, colour) in enumerate(zip(moving.names, colours, strict=True)):
        base = frame.rows_top + (row + 1) * frame.row
        tall = 0.84 * frame.row
        marks.stroke(f"M{points(frame.left, base)}H{number(frame.right)}", own.guide, 0.7 * unit)
        marks.area(_bars(x, drift[:, row] / full * tall, base, wide), own.tint(colour, 0.12))
        y = base - 0.42 * frame.row
        marks.text(
            frame.right + 18 * unit, y, clip(readable(name), font, 0.2 * frame.px), font,
            colour=own.legible(colour), whole=name,
        )  # fmt: skip
        marks.text(
            frame.px - 6 * unit, y, f"{moving.from_first[-1, row]:.0f}\N{DEGREE SIGN}", size,
            colour=own.faint, anchor="end",
        )  # fmt: skip


def _bars(x: Float, tall: Float, base: float, wide: float) -> str:
    middle = (x[:-1] + x[1:]) / 2
    return "".join(
        f"M{points(at - wide / 2, base)}v{number(-high)}h{number(wide)}v{number(high)}Z"
        for at, high in zip(middle.tolist(), tall.tolist(), strict=True)
    )


def _full(most: float) -> float:
    """The smallest round number of degrees that is not below `most`."""
    return next((degrees for degrees in _FULL if degrees >= most - 1e-9), _FULL[-1])
