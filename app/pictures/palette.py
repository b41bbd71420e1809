"""Colours that stay distinct for colour-blind readers, in print and on dark pages.

`okabe-ito`: the colours of Okabe and Ito (Color Universal Design, 2008) but black, extended to
twenty: among colours that stand out from the page, each further one is the farthest from all
previous ones in OKLab, as seen with normal vision, protanopia and deuteranopia (Machado, Oliveira
and Fernandes, 2009). `tol-muted`, `tol-bright`: Paul Tol's (Colour Schemes, SRON technical note,
2021), the former with its sand and cyan darkened so that thin lines show. `grey`: for print in one
colour.

Readers cannot distinguish more colours. The largest labels are coloured and the others share a
grey; the largest clusters of a cut are coloured and the others have three paler colours in turn,
from left to right, so that neighbours differ. The page has the same (`palettes.js`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Theme = Literal["light", "dark"]
Palette = Literal["okabe-ito", "tol-muted", "tol-bright", "grey"]


@dataclass(frozen=True, slots=True)
class Style:
    """The colours of one picture, `#rrggbb` each.

    paper : the page. text : text on it. faint : notes and axes. guide : lines from branches to
        labels.
    ink : branches of no single category. other : categories beyond the last colour, and leaves
        without one, noise among them. bare : bars where nothing is coloured; shared : bars of
        several categories.
    colours : of the categories, the largest first. pale : of the clusters beyond them, in turn.
    """

    paper: str
    text: str
    faint: str
    guide: str
    ink: str
    other: str
    bare: str
    shared: str
    colours: tuple[str, ...]
    pale: tuple[str, str, str]

    def cluster_colours(self, size: npt.NDArray[np.int64]) -> list[str]:
        """(n_clusters,) the colours of the clusters of a cut.

        size : (n_clusters,) number of points in each, from left to right.
        """
        n_clusters, n_pale = len(size), len(self.pale)
        colours = [self.pale[at % n_pale] for at in range(n_clusters)]
        if n_clusters % n_pale == 1:
            # On a circle the last is beside the first.
            colours[-1] = self.pale[1]
        largest = np.argsort(-size, kind="stable")[: len(self.colours)]
        for at, colour in zip(largest.tolist(), self.colours, strict=False):
            colours[at] = colour
        return colours

    def ramp(self, n: int) -> list[str]:
        """`n` colours from nothing to the most: from the page's by the first to one near the
        text's."""
        colours = list[str]()
        for at in range(n):
            share = at / (n - 1)
            if share <= 0.6:
                colours.append(mix(self.paper, self.colours[0], share / 0.6))
            else:
                colours.append(mix(self.colours[0], self.text, 0.7 * (share - 0.6) / 0.4))
        return colours

    def tint(self, colour: str, share: float = 0.65) -> str:
        """A version closer to the page's colour, for areas."""
        return mix(colour, self.paper, share)

    def legible(self, colour: str) -> str:
        """The colour, moved towards that of text until its contrast is 4.5 (WCAG AA)."""
        share = 0.0
        while contrast(mix(colour, self.text, share), self.paper) < 4.5:
            share += 0.05
        return mix(colour, self.text, share)

    def on(self, colour: str) -> str:
        """The page's colour or the text's, whichever is easier to read on `colour`."""
        return max((self.text, self.paper), key=lambda own: contrast(own, colour))


_LIGHT = ("#ffffff", "#1b2420", "#6a737d", "#d9dde2", "#56606d", "#9aa1ab", "#2f6f5f", "#ccd2d9")
_DARK = ("#14181d", "#e8ecf1", "#97a1ad", "#2c333b", "#a9b3be", "#6f7884", "#5fae98", "#3a424c")

_COLOURS: dict[Palette, tuple[str, ...]] = {
    "okabe-ito": (
        *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#871e00"),
        *("#5a2d96", "#e1c31e", "#a5d296", "#5a87f0", "#a54b2d", "#0f4b69", "#87d2e1"),
        *("#78b478", "#871e4b", "#964b96", "#4b785a", "#4b4bb4", "#966987"),
    ),
    "tol-muted": (
        *("#332288", "#cc6677", "#117733", "#ddaa33", "#56b4e9", "#882255", "#44aa99"),
        *("#aa4499", "#999933"),
    ),
    "tol-bright": ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"),
    "grey": ("#1f242a", "#7d858e", "#4b535c", "#b3bac2"),
}
_ON_DARK: dict[Palette, dict[str, str]] = {
    "okabe-ito": {
        "#871e00": "#c32d1e",
        "#5a2d96": "#5a5ae1",
        "#a54b2d": "#d2873c",
        "#0f4b69": "#7896d2",
        "#871e4b": "#a53c96",
        "#964b96": "#a569d2",
        "#4b4bb4": "#8796ff",
    },
    "tol-muted": {
        "#332288": "#6655cc",
        "#117733": "#229955",
        "#882255": "#bb4488",
    },
    "tol-bright": {},
    "grey": {
        "#1f242a": "#f2f4f7",
        "#7d858e": "#8b949e",
        "#4b535c": "#c4cad1",
        "#b3bac2": "#5c646d",
    },
}
"""Colours that are too dark for a dark page, and their replacements."""

_PALE: dict[tuple[Palette, Theme], tuple[str, str, str]] = {
    ("okabe-ito", "light"): ("#eddb78", "#cedbfa", "#66c5ab"),
    ("okabe-ito", "dark"): ("#542f13", "#2b2e5e", "#5e4659"),
    ("tol-muted", "light"): ("#f2cb75", "#c9d7fa", "#dbbcb2"),
    ("tol-muted", "dark"): ("#4e2d14", "#31346f", "#645b1d"),
    ("tol-bright", "light"): ("#f3d185", "#d7b5ab", "#e9d4cd"),
    ("tol-bright", "dark"): ("#664d12", "#2d3064", "#423324"),
    ("grey", "light"): ("#c9cacc", "#e4e5e6", "#d6d7d9"),
    ("grey", "dark"): ("#4d5156", "#2d3136", "#3a3e43"),
}
"""Three mixtures of colours with the page's that are the farthest from all others and from each
other, as seen with normal vision, protanopia and deuteranopia."""


def style(theme: Theme = "light", palette: Palette = "okabe-ito") -> Style:
    """The colours of a theme and a palette."""
    colours = _COLOURS[palette]
    if theme == "dark":
        colours = tuple(_ON_DARK[palette].get(colour, colour) for colour in colours)
    own = _DARK if theme == "dark" else _LIGHT
    return Style(*own, colours=colours, pale=_PALE[palette, theme])


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` (0 to 1) of `other` mixed in, both `#rrggbb`."""
    share = min(share, 1.0)
    parts = (
        # Rounded as the page does.
        math.floor(
            int(colour[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share + 0.5
        )
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def contrast(colour: str, other: str) -> float:
    """1 (equal) to 21 (black on white), as WCAG 2.2 has it."""
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    linear = []
    for i in (1, 3, 5):
        value = int(colour[i : i + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
