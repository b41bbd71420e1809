"""A selective curve as SVG: how often answers are wrong, by how much they tell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.pictures.lettering import SMALL, unit_of, width, wrapped
from app.pictures.marks import Marks, number, page, points, round_step
from app.pictures.palette import Palette, Theme, style
from models.arrays import Float

_TICKS = 4
_UP, _ALONG = "Share of wrong answers", "Share of information given"


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
    size = SMALL * unit * 1.2
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    left, right = 90 * unit, px - 30 * unit
    caption = f"{_UP} by {_ALONG.lower()}; area {curve.area:.4g}"
    top = head + 30 * unit
    top += marks.note(left, head + 16 * unit, wrapped(caption, size, right - left), size)
    bottom = top + 0.65 * px
    worst = float(curve.error.max()) or 1.0
    up_step = round_step(worst / _TICKS)
    most = up_step * math.ceil(worst / up_step - 1e-9)
    x = left + (right - left) * np.clip(curve.coverage, 0.0, 1.0)
    y = bottom - (bottom - top) * curve.error / most
    for tick in range(round(most / up_step) + 1):
        high = bottom - tick * up_step / most * (bottom - top)
        marks.stroke(f"M{points(left, high)}H{number(right)}", own.guide, 0.6 * unit)
        text = f"{100 * tick * up_step:.6g}%"
        marks.text(left - 8 * unit, high, text, size, colour=own.faint, anchor="end")
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        at = left + share * (right - left)
        marks.text(
            at,
            bottom + 16 * unit,
            f"{100 * share:.0f}%",
            size,
            colour=own.faint,
            anchor="end" if tick == _TICKS else "middle",
        )
    middle = (left + right) / 2, (top + bottom) / 2
    marks.text(0.8 * size, middle[1], _UP, size, colour=own.faint, anchor="middle", turn=-90)
    below = bottom + 16 * unit + 1.5 * size
    marks.text(middle[0], below, _ALONG, size, colour=own.faint, anchor="middle")
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
        # The curve rises to the right, so the text has room above it and on its left: where it is
        # longer than that, above the curve at its end.
        text = f"{given}, {wrong}"
        begin = max(left + 4 * unit, across - 8 * unit - width(text, size))
        end = begin + width(text, size)
        over = float(y[x <= end].min(initial=bottom)) if end > across else up
        at = max(min(up, over) - 0.9 * size, top + 0.9 * size)
        marks.text(begin, at, text, size, halo=True)
    return page(px, below + 1.2 * size, title or caption, own, marks.write())
