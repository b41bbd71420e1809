"""The legend below a picture: a square of each colour with its text."""

from __future__ import annotations

from collections.abc import Sequence

from app.pictures.lettering import SIZE, readable, shortened, width
from app.pictures.marks import Marks, number

Entry = tuple[str, str, str, float]
"""The colour, the written text, the whole text and the width of an entry."""

ROW = 21.0
"""The height of a row, in units."""


def rows(legend: Sequence[tuple[str, str]], px: float, unit: float) -> list[list[Entry]]:
    """Colours and texts in as few rows as possible, all of about the same length."""
    size = SIZE * unit
    # On narrow paper a share of the width is a few letters.
    room = max(0.28 * px, min(0.94 * px - 37 * unit, 24 * size))
    entries = []
    for colour, text in legend:
        short = shortened(readable(text), size, room)
        entries.append((colour, short, text, width(short, size) + 37 * unit))
    most = 0.94 * px
    fewest = len(_broken(entries, most))
    least = sum(entry[3] for entry in entries) / max(1, fewest)
    while least < most and len(_broken(entries, least)) > fewest:
        least = min(1.03 * least, most)
    return _broken(entries, least)


def _broken(entries: list[Entry], most: float) -> list[list[Entry]]:
    """Rows of at most `most` pixels."""
    rows: list[list[Entry]] = []
    used = 0.0
    for entry in entries:
        if not rows or used + entry[3] > most:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += entry[3]
    return rows


def write(marks: Marks, rows: list[list[Entry]], px: float, unit: float, top: float) -> None:
    """The rows below `top`, each in the middle of a picture of `px` pixels of width; rows of one
    entry begin below each other."""
    box = 11 * unit
    of_rows = [sum(wide for *_, wide in row) for row in rows]
    is_list = len(rows) > 1 and all(len(row) == 1 for row in rows)
    for number_, row in enumerate(rows):
        y = top + (10 + ROW * number_) * unit
        x = (px - (max(of_rows) if is_list else of_rows[number_]) + 20 * unit) / 2
        for colour, text, whole, wide in row:
            marks.areas.append(
                f'<rect x="{number(x)}" y="{number(y - box / 2)}" width="{number(box)}" '
                f'height="{number(box)}" rx="{number(2 * unit)}" fill="{colour}"/>'
            )
            marks.text(x + box + 6 * unit, y, text, SIZE * unit, whole=whole)
            x += wide
