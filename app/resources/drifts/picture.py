"""What moved between two samples as SVG: for each change a line from before to after, with its
interval, the surest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.pictures.lettering import SIZE, SMALL, readable, shortened, unit_of, width, wrapped
from app.pictures.marks import Marks, disc, discs_on_top, number, page, points
from app.pictures.palette import Palette, Style, Theme, style

MOST_SHOWN = 60
COLUMNS = ("aspect", "node", "name", "parent_name", "direction", "before", "after", "low", "high")

_ROW = 26.0
_MARGIN = 12.0
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Move:
    """A change at a node. before, after : shares or probabilities. low, high : the interval of the
    change, None where there is none. The others are as `models.drift.drift` and names have them."""

    aspect: str
    node: int
    name: str | None
    parent_name: str | None
    direction: str
    before: float
    after: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Moves:
    """What to draw, from top to bottom. n_moves : how many there are. n_before, n_after : rows."""

    shown: Sequence[Move]
    n_moves: int
    n_before: int
    n_after: int
    level: float


def svg(
    moves: Moves,
    *,
    px: float = 1000,
    font: float | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
) -> str:
    """A picture of the first `MOST_SHOWN` changes, `px` pixels wide; its height follows from
    them. What was gained is in the palette's first colour, what was lost in its second.

    font : the size of names in pixels; None: in proportion to the width.
    """
    own, unit = style(theme, palette), unit_of(px, font)
    shown = moves.shown[:MOST_SHOWN]
    marks = Marks(own)
    size, small, margin = SIZE * unit, SMALL * unit, _MARGIN * unit
    row = _ROW * unit
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    texts = [_summary(move) for move in shown]
    labels = [_summary(move, size, 0.36 * px) for move in shown]
    left = 2 * margin + max((width(text, size) for text in labels), default=0.0)
    right = (
        px
        - 2 * margin
        - max((width(_from_to(move.before, move.after), size) for move in shown), default=0.0)
    )
    caption = _caption(moves, len(shown))
    lines = wrapped(caption, small, px - 2 * margin)
    top = head + 46 * unit + marks.note(margin, head + 16 * unit, lines, small)
    if shown:
        _key(marks, margin, top - 9 * unit, own, unit)
    bottom = top + max(len(shown), 1) * row

    def across(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    # Every second label where all would touch.
    step = 1 if (right - left) / _TICKS > 1.2 * width("100%", small) else 2
    for tick in range(0, _TICKS + 1 if shown else 0, step):
        share = tick / _TICKS
        marks.stroke(f"M{points(across(share), top)}V{number(bottom)}", own.guide, 0.6 * unit)
        marks.text(
            across(share), top - 9 * unit, f"{100 * share:.0f}%", small,
            colour=own.faint, anchor="middle",
        )  # fmt: skip
    for place, (move, text, label) in enumerate(zip(shown, texts, labels, strict=True)):
        y = top + (place + 0.5) * row
        colour = own.colours[0 if move.direction == "gained" else 1]
        begin, end = across(move.before), across(move.after)
        marks.text(left - margin, y, label, size, anchor="end", whole=text)
        if move.low is not None and move.high is not None:
            low, high = across(move.before + move.low), across(move.before + move.high)
            marks.area(_bar(low, high, y, 0.3 * row), own.tint(colour, 0.7))
        marks.stroke(f"M{points(begin, y)}H{number(end)}", colour, 2.0 * unit)
        marks.area(disc(begin, y, 4 * unit), own.paper, colour, 1.6 * unit)
        marks.area(disc(end, y, 4.6 * unit), colour)
        change = _from_to(move.before, move.after)
        marks.text(right + margin, y, change, size, colour=own.legible(colour))
    described = f"{title or caption}"[:200]
    return page(px, bottom + margin, described, own, discs_on_top(marks))


def _summary(move: Move, size: float = 1.0, room: float = math.inf) -> str:
    """What moved, in `room` pixels: where it is shortened, the node and its parent each are."""
    name, parent = readable(move.name or f"node {move.node}"), readable(move.parent_name or "")
    what = "share" if move.aspect == "mass" else move.aspect
    of = " of " if parent and move.aspect == "mass" else ""
    room -= width(f"{what}: {of}", size)
    if not of:
        return f"{what}: {shortened(name, size, room)}"
    own = shortened(name, size, max(room / 2, room - width(parent, size)))
    return f"{what}: {own}{of}{shortened(parent, size, room - width(own, size))}"


def _key(marks: Marks, x: float, y: float, own: Style, unit: float) -> None:
    """What the colours mean."""
    size = SMALL * unit
    for word, colour in zip(("gained", "lost"), own.colours, strict=False):
        marks.area(disc(x + 4.6 * unit, y, 4.6 * unit), colour)
        marks.text(x + 13 * unit, y, word, size, colour=own.legible(colour))
        x += 25 * unit + width(word, size)


def _caption(moves: Moves, n_shown: int) -> str:
    rows = f"{moves.n_before:,} rows before (ring), {moves.n_after:,} after (disc)"
    if not moves.n_moves:
        return f"Nothing moved, at the level {moves.level:g}; {rows}"
    which = f"The {n_shown} surest of {moves.n_moves:,}" if n_shown < moves.n_moves else "All"
    return (
        f"{which} changes at the level {moves.level:g}: {rows}; bars are 95% intervals of the "
        "change"
    )


def _from_to(before: float, after: float) -> str:
    """Both in percent, with as many digits as tell them apart: three, or up to six."""
    for digits in range(3, 7):
        first, last = (f"{100 * share:.{digits}g}%" for share in (before, after))
        if first != last:
            break
    return f"{first} to {last}"


def _bar(left: float, right: float, y: float, half: float) -> str:
    return f"M{points(left, y - half)}H{number(right)}V{number(y + half)}H{number(left)}Z"
