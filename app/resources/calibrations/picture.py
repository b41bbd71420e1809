"""A selective curve as SVG: how often answers are wrong, by how much they tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.pictures.lettering import unit_of, width, wrapped
from app.pictures.marks import Marks, number, page, points
from app.pictures.palette import Palette, Theme, style
from models.arrays import Float

_SMALL = 10.5
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Selective:
    """What to draw.

    coverage, error : (n_steps,) falling together; at least one step. chosen : the step of the
    calibration's own threshold; None where it has several.
    """

    coverage: Float
    error: Float
    area: float
    chosen: int | None


def svg(
    curve: Selective,
    *,
    px: float = 1000,
    font: float | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
) -> str:
    """A picture `px` pixels wide, three quarters as high and its title. font : the size of text in
    pixels; None: in proportion to the width."""
    own, unit = style(theme, palette), unit_of(px, font)
    marks = Marks(own)
    size = _SMALL * unit * 1.2
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    left, right = 90 * unit, px - 30 * unit
    caption = f"Share of wrong answers by share of information given; area {curve.area:.4g}"
    top = head + 30 * unit
    top += marks.note(left, head + 16 * unit, wrapped(caption, size, right - left), size)
    bottom = top + 0.65 * px
    most = float(curve.error.max()) or 1.0
    x = left + (right - left) * np.clip(curve.coverage, 0.0, 1.0)
    y = bottom - (bottom - top) * curve.error / most
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        at, high = left + share * (right - left), bottom - share * (bottom - top)
        marks.stroke(f"M{points(left, high)}H{number(right)}", own.guide, 0.6 * unit)
        marks.text(
            left - 8 * unit,
            high,
            f"{100 * share * most:.3g}%",
            size,
            colour=own.faint,
            anchor="end",
        )
        marks.text(
            at,
            bottom + 16 * unit,
            f"{100 * share:.0f}%",
            size,
            colour=own.faint,
            anchor="end" if tick == _TICKS else "middle",
        )
    # Rows change their answers one by one, so the curve has steps.
    path = f"M{points(x[0], y[0])}" + "".join(
        f"L{points(across, up)}" for across, up in zip(x[1:], y[1:], strict=True)
    )
    floor = f"L{points(x[-1], bottom)}L{points(x[0], bottom)}Z"
    marks.area(path + floor, own.tint(own.colours[0], 0.7))
    marks.stroke(path, own.colours[0], 2.0 * unit)
    if curve.chosen is not None:
        across, up = float(x[curve.chosen]), float(y[curve.chosen])
        marks.stroke(f"M{points(across, bottom)}V{number(up)}", own.text, 1.2 * unit)
        given = f"{100 * curve.coverage[curve.chosen]:.3g}% given"
        wrong = f"{100 * curve.error[curve.chosen]:.3g}% wrong"
        # The curve rises to the right, so the text has room on its left.
        text = f"{given}, {wrong}"
        anchor = "end" if across - left > width(text, size) + 8 * unit else "start"
        aside = -8 * unit if anchor == "end" else 8 * unit
        marks.text(across + aside, up - 12 * unit, text, size, anchor=anchor)
    return page(px, bottom + 40 * unit, title or caption, own, marks.write())
