"""User text inside a picture: escaped, cleaned, measured, cut."""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

FONT = "DejaVu Sans"
SIZE = 12.5
"""The usual size of text, in units."""
FAMILY = f"'{FONT}', Verdana, sans-serif"

_MOST_LETTERS = 400
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Advance widths of DejaVu Sans 2.37 for ASCII 32 to 126, in thousandths of the font size.
_WIDTHS = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip


def unit_of(px: float, font: float | None) -> float:
    """The unit of what does not grow with the data, such as text: a thousandth of the width `px`,
    or that in which text has the size `font`.
    """
    return px / 1000 if font is None else font / SIZE


def clean(text: str) -> str:
    """One line that is valid in XML 1.0: control characters and surrogates become U+FFFD."""
    return " ".join(_INVALID.sub("\ufffd", text).split())


def markup(text: str) -> str:
    """`text` cleaned and escaped for element content and attribute values."""
    return escape(clean(text), {'"': "&quot;", "'": "&#39;"})


def width(text: str, size: float) -> float:
    """Width in pixels at font size `size`; exact for ASCII, an upper estimate for the rest."""
    return sum(map(_advance, text)) * size / 1000


def _advance(letter: str) -> int:
    """Thousandths of the font size that a letter takes."""
    code = ord(letter)
    if 32 <= code < 127:
        return _WIDTHS[code - 32]
    if unicodedata.combining(letter):
        return 0
    return 1050 if unicodedata.east_asian_width(letter) in "WF" else 720


def clip(text: str, size: float, room: float) -> str:
    """`text` cleaned and, if wider than `room` pixels, cut and ended with an ellipsis. One pass
    over what fits: letters past `_MOST_LETTERS` are not looked at."""
    text = clean(text[:_MOST_LETTERS])
    total, kept = 0, 0
    for place, letter in enumerate(text, start=1):
        total += _advance(letter)
        wide = total * size / 1000
        if wide > room:
            return text[:kept].rstrip() + "…"
        if wide + size <= room:
            kept = place
    return text


def wrapped(text: str, size: float, room: float) -> list[str]:
    """`text` cleaned and broken between words into lines of at most `room` pixels, each clipped."""
    lines: list[list[str]] = []
    space, used = width(" ", size), 0.0
    for word in clean(text[:2000]).split():
        wide = width(word, size)
        if lines and used + space + wide <= room:
            lines[-1].append(word)
            used += space + wide
        else:
            lines.append([word])
            used = wide
    return [clip(" ".join(line), size, room) for line in lines]
