"""Colours that stay apart for colour-blind readers and in print.

Categories: Paul Tol's qualitative scheme "muted" (Colour Schemes, SRON technical note, 2021), made
for nine categories, with its sand and cyan darkened so that thin lines show. More than nine can't
be told apart by colour: the largest nine are coloured, the others share a grey.
"""

from __future__ import annotations

CATEGORIES = (
    "#332288",
    "#CC6677",
    "#117733",
    "#DDAA33",
    "#56B4E9",
    "#882255",
    "#44AA99",
    "#AA4499",
    "#999933",
)
OTHER = "#9aa1ab"
"""Categories past the ninth, and leaves without one."""
INK = "#56606d"
"""Branches that belong to no one category."""
TEXT = "#1c232b"
FAINT = "#737d88"
GUIDE = "#d9dde2"
PAPER = "#ffffff"


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` (0 to 1) of `other` mixed in, both `#rrggbb`."""
    parts = (
        round(int(colour[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share)
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def tint(colour: str, share: float = 0.65) -> str:
    """A light version for areas."""
    return mix(colour, PAPER, share)


def shade(colour: str) -> str:
    """The colour, darkened until text in it has a contrast of 4.5 on white (WCAG AA)."""
    share = 0.0
    while luminance(mix(colour, "#000000", share)) > 0.183:
        share += 0.05
    return mix(colour, "#000000", share)


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    linear = []
    for i in (1, 3, 5):
        value = int(colour[i : i + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def on(colour: str) -> str:
    """Black or white, whichever is easier to read on `colour`."""
    return TEXT if luminance(colour) > 0.3 else PAPER
