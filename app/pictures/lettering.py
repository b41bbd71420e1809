"""User text inside a picture: escaped, cleaned, measured, cut."""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

from models.errors import UsageError

FONT = "DejaVu Sans"
SIZE = 12.5
"""The usual size of text, in units."""
SMALL = 10.5
"""The size of notes and axes, in units."""
LEAST = 7.0
"""The smallest text on a screen, in pixels."""
FAMILY = f"'{FONT}', Verdana, sans-serif"

FEWEST_LETTERS = 8
"""A name of an inner node that is cut to fewer says nothing."""
_NARROW = 160
"""The least width with room for text of `LEAST` pixels."""
_LEAST_SIDE = 10
"""A figure's shortest side, in font sizes."""
_MOST_LETTERS = 400
_JOINED = re.compile(r"(?<=[^\W_])_+(?=[^\W_])")
_SLUG = re.compile(r"[^\W\d_]{2,}(-[^\W\d_]{2,}){2,}")
_COUNT = re.compile(r" \([\d,]+\)$")
_SHARE = re.compile(r" \(\d[\d.]*%\)$")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
"""Marks that change the direction of letters, also of the text after them."""
_JOINER = "\u200d"
_UNSEEN = "\ufe0e\ufe0f"
_TONES = "\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_UNDRAWN = re.compile(
    "[\\s\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Letters that draw nothing: blanks, control characters, marks without a shape, halves of pairs."""
_MOST_CODES = 3
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
    on narrow screens that in which small text has `LEAST` pixels, and less only below `_NARROW`;
    or, with a `font`, that in which text has this size.
    """
    return max(px / 1000, LEAST / SMALL * min(1, px / _NARROW)) if font is None else font / SIZE


def smallest_font(font: float | None) -> float:
    """The least size of labels in pixels: `LEAST`, or for print six sevenths of the size requested,
    which are 6 points of the usual 7."""
    return LEAST if font is None else min(font, max(6.0, 6 / 7 * font))


def require_room(px: float, height: float | None, font: float | None) -> None:
    """Raises UsageError for a figure with a side too short for words of the size `font`."""
    if font is None:
        return
    for name, side in (("width_mm", px), ("height_mm", height)):
        if side is not None and side < _LEAST_SIDE * font:
            raise UsageError(
                f"Parameter {name!r} gives {side * 25.4 / 96:g} mm, which has no room for words of "
                f"{font * 0.75:g} points; at least {_LEAST_SIDE * font * 25.4 / 96:.3g} mm are "
                "needed, or a smaller 'font_pt'.",
                code="wrong-parameter",
                parameter=name,
            )


def clean(text: str) -> str:
    """One line that is valid in XML 1.0: control characters and surrogates become U+FFFD, and marks
    that turn the direction of letters are left out, so that nothing is drawn reversed."""
    return " ".join(_INVALID.sub("\ufffd", _TURNING.sub("", text)).split())


def seen(name: str) -> str:
    """The name, or list of names; where nothing of one would be drawn, its code points: "U+200B".
    "" stays ""."""
    if ", " in name[: 2 * _MOST_LETTERS]:
        return ", ".join(map(_seen, name[: 2 * _MOST_LETTERS].split(", ")))
    return _seen(name)


def _seen(name: str) -> str:
    if not _UNDRAWN.fullmatch(name[: 2 * _MOST_LETTERS]):
        return name
    codes = " ".join(f"U+{ord(letter):04X}" for letter in name[:_MOST_CODES])
    return codes + " …" if len(name) > _MOST_CODES else codes


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
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf" or letter in _UNSEEN:
        return 0
    return 1050 if unicodedata.east_asian_width(letter) in "WF" else 720


def clip(text: str, size: float, room: float) -> str:
    """`text` cleaned and, if wider than `room` pixels, cut and ended with an ellipsis. One pass
    over what fits: letters past `_MOST_LETTERS` are not looked at."""
    text = clean(seen(text)[:_MOST_LETTERS])
    total, kept = 0, 0
    for place, letter in enumerate(text, start=1):
        total += _advance(letter)
        wide = total * size / 1000
        if wide > room:
            return text[: _whole(text, kept)].rstrip() + "…"
        if wide + size <= room:
            kept = place
    return text


def _whole(text: str, end: int) -> int:
    """`end`, or a place before it that lies between two characters as readers see them: marks,
    skin tones and joined emoji stay with what they belong to."""
    while 0 < end < len(text) and (text[end - 1] == _JOINER or _belongs(text[end])):
        end -= 1
    return end


def _belongs(letter: str) -> bool:
    """Whether a letter is part of the character before it."""
    return letter == _JOINER or letter in _TONES or bool(unicodedata.combining(letter))


def readable(name: str) -> str:
    """A name in the writing of readers: underscores between letters are spaces, and so are the
    hyphens of a slug, which are two or more among words in lower case."""
    text = _JOINED.sub(" ", clean(seen(name)[: 2 * _MOST_LETTERS]))
    if not text.islower():
        return text
    parts = text.split(", ")
    return ", ".join(p.replace("-", " ") if _SLUG.fullmatch(p) else p for p in parts)


def shortened(text: str, size: float, room: float) -> str:
    """`text` cleaned and, if wider than `room` pixels, shortened: a share in brackets at the end
    goes, then the last parts of a list, then letters. Where a list that goes on has another part
    that fits whole, it takes the first part's place. A number in brackets stays."""
    text = seen(text)
    share = _SHARE.search(text[-20:])
    if share and not _fits(clean(text[:_MOST_LETTERS]), size, room):
        text = text[: len(text) - len(share[0])]
    counted = _COUNT.search(text[-20:])
    count = counted[0] if counted else ""
    text = clean(text[: len(text) - len(count)][:_MOST_LETTERS])
    room -= width(count, size)
    parts = text.split(", ")
    each = parts[:-1] if text.endswith(", …") else []
    while not _fits(text, size, room) and len(parts) > 1:
        parts.pop()
        text = ", ".join([*parts, "…"])
    if not _fits(text, size, room):
        others = (*(f"{part}, …" for part in each), *each)
        text = next((other for other in others if _fits(other, size, room)), text)
    return clip(text, size, room) + count


def _fits(text: str, size: float, room: float) -> bool:
    """Whether `text` takes at most `room` pixels. Letters after these are not looked at."""
    total = 0
    for letter in text:
        total += _advance(letter)
        if total * size / 1000 > room:
            return False
    return True


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
