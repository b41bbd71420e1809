"""Clusters over time as SVG: their weights as stacked bands, and below them their turns.

The upper panel shows the share of each cluster in every period, the first cluster on top, with its
name at the right end. The lower one has a row for each cluster: the height of a bar is the angle by
which its mean turns from one period to the next, all on one scale. Between them are the labels of
the periods, as many as fit. At most `MOST_SHOWN` clusters have colours and rows, fewer if the
palette has fewer; the others form one grey band, which the picture states. Periods are equally
spaced, independent of the time between them: the clusters of a model take one step from each to the
next.
"""

from __future__ import annotations

from app.pictures.lettering import LEAST, SIZE, SMALL, clip, readable, unit_of, width
from app.pictures.marks import Marks, page
from app.pictures.moving import Moving
from app.pictures.palette import Palette, Theme, style
from app.pictures.panels import GAP, Frame, axis, bands, turns

MOST_SHOWN = 12

_LEAST_ROW = LEAST / 0.8
"""Rows of fewer pixels are left out if the height is fixed."""
_MOST_POINTS = 500
"""If there are more periods, neighbours are drawn as one."""


def svg(
    moving: Moving,
    *,
    px: float = 1000,
    height: float | None = None,
    font: float | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
) -> str:
    """A picture of the paths; sizes and colours as in `app.pictures.svg`. O(T S)."""
    own = style(theme, palette)
    shown = moving.first(min(MOST_SHOWN, len(own.colours)))
    unit = unit_of(px, font)
    head = 46 * unit if title else 8 * unit
    joined = -(-len(shown.labels) // _MOST_POINTS)
    note = _note(shown, joined)
    if joined > 1:
        shown = shown.every(joined)
    foot = 34 * unit if note else 12 * unit
    if height is not None:
        head = min(head, 0.2 * height)
        if foot > 0.2 * height:
            note, foot = "", 4 * unit
    marks = Marks(own)
    if title:
        marks.heading(title, px, head, unit)
    room = None if height is None else height - head - foot
    frame = _frame(shown, px, unit, head, room)
    colours = list(own.colours[: len(shown.names)])
    bands(marks, frame, shown, colours)
    axis(marks, frame, shown)
    if frame.row:
        turns(marks, frame, shown, colours)
    tall = height or frame.end + foot
    if note:
        marks.text(
            px / 2, tall - 0.5 * foot, clip(note, SMALL * unit, 0.96 * px), SMALL * unit,
            colour=own.faint, anchor="middle",
        )  # fmt: skip
    return page(px, tall, _described(moving, title), own, marks.write())


def _described(moving: Moving, title: str | None) -> str:
    n_periods = len(moving.labels)
    span = f"{n_periods:,} period{'s' if n_periods != 1 else ''}"
    return f"{(title or 'Clusters over time')[:200]}, {moving.n_clusters:,} clusters, {span}"


def _note(moving: Moving, joined: int) -> str:
    """The note that a reader needs to interpret the picture."""
    notes = []
    rest = moving.n_clusters - len(moving.names)
    if rest:
        notes.append(f"{len(moving.names)} of {moving.n_clusters:,} clusters in colour")
    empty = sum(not rows for rows in moving.n_rows)
    if empty:
        have = "period has" if empty == 1 else "periods have"
        notes.append(f"{empty:,} {have} no rows and follow{'s' * (empty == 1)} from those around")
    if joined > 1:
        notes.append(f"every {joined} periods drawn as one: mean weight, largest turn")
    return "; ".join(notes)


def _frame(moving: Moving, px: float, unit: float, head: float, room: float | None) -> Frame:
    """Divide the height among the panels; without `room` it follows from the number of clusters."""
    n_rows = len(moving.names) if len(moving.labels) > 1 else 0
    caption, below, font = 20 * unit, 40 * unit, SIZE * unit
    row = (34 if n_rows <= 6 else 25) * unit
    names = [*moving.names, moving.rest]
    widest = max(width(clip(readable(name), font, 0.2 * px), font) for name in names)
    right = px - widest - (24 + (46 if n_rows else 0)) * unit
    top = head + caption
    if room is None:
        lines = GAP * font * len(names)
        bottom = top + max(360 * unit, lines)
    else:
        free = room - caption - below
        if n_rows and 0.4 * (free - caption) / n_rows < _LEAST_ROW:
            n_rows = 0
        if n_rows:
            row = min(row, 0.4 * (free - caption) / n_rows)
            free -= caption + row * n_rows
        bottom = top + max(free, 1.0)
    rows_top = bottom + below + caption
    end = rows_top + row * n_rows if n_rows else bottom + below
    return Frame(
        unit, px, 50 * unit, right, top, bottom, rows_top, row if n_rows else 0.0, font, end
    )
