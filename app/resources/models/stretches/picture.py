"""Numbers by name as SVG: a horizontal bar for each, one below the other, all on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.pictures.lettering import SIZE, SMALL, clip, unit_of, width, wrapped
from app.pictures.marks import Marks, number, page, points
from app.pictures.palette import Palette, Theme, style

MOST_SHOWN = 60

_ROW = 22.0
_MARGIN = 12.0


@dataclass(frozen=True, slots=True)
class Bars:
    """What to draw, from top to bottom.

    values : at least 0, as many as `names`. caption : what they are, above the bars.
    """

    names: Sequence[str]
    values: Sequence[float]
    caption: str


def svg(
    bars: Bars,
    *,
    px: float = 1000,
    font: float | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
) -> str:
    """A picture of the first `MOST_SHOWN` bars, `px` pixels wide; its height follows from them.

    font : the size of names in pixels; None: in proportion to the width.
    """
    own, unit = style(theme, palette), unit_of(px, font)
    names, values = bars.names[:MOST_SHOWN], bars.values[:MOST_SHOWN]
    marks = Marks(own)
    size, margin, row = SIZE * unit, _MARGIN * unit, _ROW * unit
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    shown = [clip(name, size, 0.3 * px) for name in names]
    written = [f"{value:.3g}" for value in values]
    left = 2 * margin + max((width(text, size) for text in shown), default=0.0)
    most = px - margin - left - max((width(text, size) for text in written), default=0.0) - margin
    lines = wrapped(bars.caption, SMALL * unit, px - left - margin)
    top = head + 30 * unit + marks.note(left, head + 16 * unit, lines, SMALL * unit)
    full = max(values, default=0.0) or 1.0
    for place, (value, name, short, text) in enumerate(
        zip(values, names, shown, written, strict=True)
    ):
        y, long = top + (place + 0.5) * row, most * value / full
        marks.text(left - margin, y, short, size, anchor="end", whole=name)
        bar = (
            f"M{points(left, y - 0.36 * row)}h{number(long)}v{number(0.72 * row)}h{number(-long)}Z"
        )
        marks.area(bar, own.tint(own.colours[0], 0.12))
        marks.text(left + long + margin / 2, y, text, size, colour=own.faint)
    bottom = top + len(names) * row
    marks.stroke(f"M{points(left, top)}V{number(bottom)}", own.guide, 1.2 * unit)
    described = f"{title or bars.caption}, {len(names)} bars"[:200]
    return page(px, bottom + margin, described, own, marks.write())
