"""What is out of place as SVG: for each class or subtree a line from how well it fits where it
hangs to how well it would fit elsewhere, those most out of place first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.pictures.lettering import SIZE, SMALL, clip, readable, unit_of, width, wrapped
from app.pictures.marks import Marks, disc, discs_on_top, number, page, points
from app.pictures.palette import Palette, Theme, style

MOST_CLASSES, MOST_SUBTREES = 45, 15
COLUMNS = (
    *("what", "name", "n_classes", "under_name", "place_name"),
    *("beside", "fit", "best_fit", "p_value", "odd"),
)

_ROW = 24.0
_MARGIN = 12.0
_TICKS = (-0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Odd:
    """A class or subtree, as `app.resources.placements.schemas.PlacementItem` has it."""

    what: str
    name: str | None
    n_classes: int
    under_name: str | None
    place_name: str | None
    beside: Sequence[str]
    fit: float | None
    best_fit: float | None
    p_value: float | None
    odd: bool


@dataclass(frozen=True, slots=True)
class Odds:
    """What to draw, from top to bottom. n_classes, n_subtrees : how many are judged."""

    shown: Sequence[Odd]
    n_classes: int
    n_subtrees: int
    n_odd: int
    level: float


def svg(
    odds: Odds,
    *,
    px: float = 1000,
    font: float | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
) -> str:
    """A picture of those that are judged, `px` pixels wide; its height follows
    from them. What is odd is in the palette's first colour.

    font : the size of names in pixels; None: in proportion to the width.
    """
    own, unit = style(theme, palette), unit_of(px, font)
    shown = [each for each in odds.shown if each.fit is not None]
    marks = Marks(own)
    size, small, margin = SIZE * unit, SMALL * unit, _MARGIN * unit
    row = _ROW * unit
    head = 46 * unit if title else 0.0
    if title:
        marks.heading(title, px, head, unit)
    texts = [_hangs(each) for each in shown]
    places = [_fits(each) for each in shown]
    labels = [clip(text, size, 0.32 * px) for text in texts]
    others = [clip(text, size, 0.38 * px) for text in places]
    left = 2 * margin + max((width(text, size) for text in labels), default=0.0)
    right = px - 2 * margin - max((width(text, size) for text in others), default=0.0)
    caption = _caption(odds, len(shown))
    lines = wrapped(caption, small, px - 2 * margin)
    top = head + 46 * unit + marks.note(margin, head + 16 * unit, lines, small)
    bottom = top + max(len(shown), 1) * row

    def across(fit: float) -> float:
        share = (fit - _TICKS[0]) / (_TICKS[-1] - _TICKS[0])
        return left + (right - left) * min(max(share, 0.0), 1.0)

    for tick in _TICKS if shown else ():
        marks.stroke(f"M{points(across(tick), top)}V{number(bottom)}", own.guide, 0.6 * unit)
        marks.text(
            across(tick), top - 9 * unit, f"{tick:g}", small, colour=own.faint, anchor="middle"
        )
    for place, (each, text, label) in enumerate(zip(shown, texts, labels, strict=True)):
        y = top + (place + 0.5) * row
        colour = own.colours[0] if each.odd else own.faint
        assert each.fit is not None
        begin, end = across(each.fit), across(each.best_fit or 0.0)
        marks.text(left - margin, y, label, size, anchor="end", whole=text)
        marks.stroke(f"M{points(begin, y)}H{number(end)}", colour, 2.0 * unit)
        marks.area(disc(begin, y, 4 * unit), own.paper, colour, 1.6 * unit)
        marks.area(disc(end, y, 4.6 * unit), colour)
        marks.text(right + margin, y, others[place], size, whole=places[place])
    described = f"{title or caption}"[:200]
    return page(px, bottom + margin, described, own, discs_on_top(marks))


def _hangs(odd: Odd) -> str:
    name = readable(odd.name or "?")
    whole = name if odd.what == "class" else f"{name} ({odd.n_classes} classes)"
    return f"{whole}, under {readable(odd.under_name or '?')}"


def _fits(odd: Odd) -> str:
    beside = ", ".join(map(readable, odd.beside[:2]))
    sure = "" if odd.p_value is None else f" (p = {odd.p_value:.1g})"
    place = readable(odd.place_name or "?")
    return f"{place}{sure}" if place == beside or not beside else f"{place}{sure}: {beside}"


def _caption(odds: Odds, n_shown: int) -> str:
    judged = f"{odds.n_classes:,} classes and {odds.n_subtrees:,} subtrees"
    if not n_shown:
        return f"Nothing can be judged: of {judged}"
    return (
        f"The {n_shown} most out of place of {judged}; {odds.n_odd:,} are odd at the level "
        f"{odds.level:g} (coloured). Ring: how well it fits where it hangs, disc: at the place on "
        "the right; correlations of likeness with nearness"
    )
