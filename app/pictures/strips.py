"""Columns of items as strips of colours beside the tips of a tree, as the page draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.pictures.palette import Style, mix
from models.arrays import Float, Int

MOST_STRIPS = 8
"""The most strips of a picture, as of the page."""
N_STEPS = 9
"""Steps of the gradient of numbers and dates."""

_HUES = 3
"""The first colours of a palette, which are strong enough for a gradient."""
_FAINT = 0.82
"""The share of the page's colour in the least step."""
_MIXED = 5
"""Steps in which a category fades where not all items are of it."""

WIDTH, PITCH = 7.0, 9.0
"""The width of a strip, and the distance from one to the next, in units."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of items at the nodes of a tree.

    number : that of the column in its table, which chooses the hue of a gradient.
    value : (n_nodes,) by node id: a number, seconds since 1970, or the number of a category; NaN
        for none. share : (n_nodes,) of a category among the items that have one; None for others.
    ends : the least and the largest value of an item; None for a category, and where there is none.
    texts : of the most frequent categories.
    """

    name: str
    number: int
    kind: Literal["number", "date", "category"]
    value: Float
    share: Float | None = None
    ends: tuple[float, float] | None = None
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strip:
    """What is drawn of a column. colour : of each tip, None for blank. legend : the name of the
    column, in the colour of the page, then colours and texts."""

    colour: list[str | None]
    legend: list[tuple[str, str]]


def strip(column: Column, node: Int, style: Style) -> Strip:
    """The strip of a column at tips by id; blank for ids below 0, and for nodes that an edition
    made. O(len(node))."""
    known = (node >= 0) & (node < len(column.value))
    at = np.where(known, node, 0)
    value = np.where(known, column.value[at], np.nan)
    name = (style.paper, f"{column.name}:")
    if column.kind == "category":
        share = np.ones(len(node)) if column.share is None else column.share[at]
        colour, legend = _categories(value, share, column.texts, style)
    else:
        colour, legend = _gradient(column, value, style)
    return Strip(colour, [name, *legend])


def runs(colours: Sequence[str | None]) -> list[tuple[str, int, int]]:
    """Neighbours of one colour, with the first and the last place; blank ones are left out."""
    joined: list[tuple[str, int, int]] = []
    for place, colour in enumerate(colours):
        if colour is None:
            continue
        if joined and joined[-1][0] == colour and joined[-1][2] == place - 1:
            joined[-1] = (colour, joined[-1][1], place)
        else:
            joined.append((colour, place, place))
    return joined


def _categories(
    value: Float, share: Float, texts: tuple[str, ...], style: Style
) -> tuple[list[str | None], list[tuple[str, str]]]:
    """Colours that fade to grey where not all items agree; the legend has what is drawn."""
    series, colour = style.colours, list[str | None]()
    for number, part in zip(value.tolist(), share.tolist(), strict=True):
        if np.isnan(number):
            colour.append(None)
            continue
        own = series[int(number)] if number < len(series) else style.other
        colour.append(mix(own, style.other, round(_MIXED * (1 - part)) / _MIXED))
    drawn = np.unique(value[~np.isnan(value)]).astype(int).tolist()
    legend = [(series[number], texts[number]) for number in drawn if number < len(series)]
    others = sum(number >= len(series) for number in drawn)
    if others:
        legend.append((style.other, f"{others} others" if legend else f"{others} categories"))
    return colour, legend


def _gradient(
    column: Column, value: Float, style: Style
) -> tuple[list[str | None], list[tuple[str, str]]]:
    """Steps of one hue from the least to the largest value; the legend has both ends and the
    middle, or the one value."""
    if column.ends is None:
        return [None] * len(value), []
    low, high = column.ends
    strong = style.colours[column.number % min(_HUES, len(style.colours))]
    steps = [
        mix(strong, style.paper, _FAINT * (1 - step / (N_STEPS - 1))) for step in range(N_STEPS)
    ]
    step = step_of(value, low, high)
    colour = [None if at < 0 else steps[at] for at in step.tolist()]
    if not high > low:
        return colour, [(steps[N_STEPS // 2], _text(column.kind, low))]
    legend = []
    for at in (0, N_STEPS // 2, N_STEPS - 1):
        begin, end = (low + (high / N_STEPS - low / N_STEPS) * edge for edge in (at, at + 1))
        text = " to ".join(_text(column.kind, edge) for edge in (begin, end))
        legend.append((steps[at], text))
    return colour, legend


def step_of(value: Float, low: float, high: float) -> npt.NDArray[np.int64]:
    """(n,) the step of each value, the middle one where all are equal; -1 for NaN."""
    if not high > low:
        return np.where(np.isnan(value), -1, N_STEPS // 2)
    # Halved, so that the difference of two finite numbers does not overflow.
    share = np.nan_to_num((value / 2 - low / 2) / (high / 2 - low / 2))
    step = np.clip(np.floor(share * N_STEPS), 0, N_STEPS - 1).astype(np.int64)
    return np.where(np.isnan(value), -1, step)


def _text(kind: str, value: float) -> str:
    if kind == "date":
        return datetime.fromtimestamp(value, UTC).date().isoformat()
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.3e}"
    return f"{value:,.0f}" if size >= 1e4 else f"{value:.4g}"
