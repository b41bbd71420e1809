"""A drawing of strokes, areas and texts, as a client has laid it out, as SVG."""

from __future__ import annotations

import math
from dataclasses import replace

from app.pictures.lettering import markup, width
from app.pictures.marks import number, page, points
from app.pictures.palette import style
from app.resources.figures.schemas import FigureRequest, FillItem, StrokeItem, TextItem

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def svg(figure: FigureRequest) -> str:
    """The drawing in its own unit. O(items); text is escaped, and everything else was checked."""
    paper = replace(style(), paper=figure.paper)
    lines = ['<g stroke-linejoin="round">', *map(_element, figure.items), "</g>"]
    return page(figure.width, figure.height, figure.title or "Figure", paper, lines)


def _element(item: StrokeItem | FillItem | TextItem) -> str:
    if isinstance(item, TextItem):
        return _text(item)
    # The opacity of the paint: for that of an element a renderer makes a layer of the page.
    painted = "fill" if isinstance(item, FillItem) else "stroke"
    alpha = "" if item.alpha == 1 else f' {painted}-opacity="{number(item.alpha)}"'
    if isinstance(item, FillItem):
        return f'<path fill="{item.colour}"{alpha} d="{item.path}"/>'
    dash = f' stroke-dasharray="{points(*item.dash)}"' if item.dash else ""
    return (
        f'<path fill="none" stroke="{item.colour}" stroke-width="{number(item.width)}" '
        f'stroke-linecap="{item.cap}"{dash}{alpha} d="{item.path}"/>'
    )


def _text(item: TextItem) -> str:
    size = item.size
    if item.wide is not None:
        # The client has measured it with another font.
        size *= min(1.0, item.wide / max(width(item.text, size), 1e-9))
    place = f'x="{number(item.x)}" y="{number(item.y + 0.35 * size)}"'
    if item.turn:
        turn = points(math.degrees(item.turn), item.x, item.y)
        place += f' transform="rotate({turn})"'
    if item.halo is not None:
        place += (
            f' stroke="{item.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        )
    return (
        f'<text {place} font-size="{number(size)}" fill="{item.colour}" '
        f'text-anchor="{_ANCHORS[item.align]}">{markup(item.text)}</text>'
    )
