"""The SVG elements of pictures, collected so that equal strokes share one path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.pictures.lettering import FAMILY, clip, markup
from app.pictures.palette import Style

LEADING = 1.4
"""The distance of lines, in their font size."""


def number(value: float) -> str:
    """At most two decimals, no trailing zeros, no minus zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def points(*values: float) -> str:
    return " ".join(number(value) for value in values)


def round_step(rough: float) -> float:
    """One, two or five times a power of ten, whichever is nearest to `rough`; 0 for 0."""
    base = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 0.0
    return base * min((1, 2, 5, 10), key=lambda times: abs(times * base - rough))


def page(wide: float, high: float, described: str, style: Style, lines: Iterable[str]) -> str:
    """A whole picture: `lines` on paper."""
    size = number(wide), number(high)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
            f'viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{markup(described)}" '
            f'font-family="{FAMILY}">',
            f'<rect width="{size[0]}" height="{size[1]}" fill="{style.paper}"/>',
            *lines,
            "</svg>",
            "",
        ]
    )


@dataclass(slots=True)
class Marks:
    """The marks drawn so far, in three layers: areas under strokes under text.

    written : the texts, uncut.
    """

    style: Style
    areas: list[str] = field(default_factory=list)
    strokes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)

    def stroke(self, path: str, colour: str, width: float) -> None:
        self.strokes.setdefault((colour, number(width)), []).append(path)

    def area(self, path: str, fill: str, edge: str | None = None, width: float = 0.75) -> None:
        line = f' stroke="{edge}" stroke-width="{number(width)}"' if edge else ""
        self.areas.append(f'<path d="{path}" fill="{fill}"{line}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        *,
        colour: str | None = None,
        anchor: str = "start",
        turn: float = 0.0,
        whole: str = "",
        halo: bool = False,
    ) -> None:
        """A line of text, vertically centred on y; `whole` is the uncut text, shown on hovering;
        `halo`: with paper around the letters."""
        self.written.add(whole or text)
        # Not `dy`, which for right-to-left text moves only the first letter in some renderers.
        place = f'x="{number(x)}" y="{number(y + 0.36 * size)}"'
        if turn:
            place += f' transform="rotate({points(turn, x, y)})"'
        if anchor != "start":
            place += f' text-anchor="{anchor}"'
        hint = f"<title>{markup(whole[:200])}</title>" if whole and whole != text else ""
        fill = colour or self.style.text
        if halo:
            place += (
                f' stroke="{self.style.paper}" stroke-width="{number(0.25 * size)}" '
                f'stroke-linejoin="round" paint-order="stroke"'
            )
        self.texts.append(
            f'<text {place} font-size="{number(size)}" fill="{fill}">{markup(text)}{hint}</text>'
        )

    def note(self, x: float, y: float, lines: Sequence[str], size: float) -> float:
        """Faint lines of text, the first at y; returns the height of those below it."""
        for place, line in enumerate(lines):
            self.text(x, y + LEADING * place * size, line, size, colour=self.style.faint)
        return LEADING * size * max(0, len(lines) - 1)

    def heading(self, title: str, px: float, head: float, unit: float) -> None:
        """The title in the middle of the `head` pixels above a picture of `px` pixels of width."""
        size = min(19 * unit, 0.42 * head)
        short = clip(title, size, 0.92 * px)
        self.text(px / 2, 0.58 * head, short, size, anchor="middle", whole=title)

    def write(self) -> list[str]:
        """The elements, categories drawn over neutral strokes and these over guides."""
        below = (self.style.guide, self.style.ink)
        lines = [*self.areas, '<g fill="none" stroke-linecap="round" stroke-linejoin="round">']
        for (colour, width), paths in sorted(
            self.strokes.items(),
            key=lambda item: (below.index(item[0][0]) if item[0][0] in below else 2, item[0]),
        ):
            lines.append(f'<path stroke="{colour}" stroke-width="{width}" d="{"".join(paths)}"/>')
        return [*lines, "</g>", *self.texts]


def disc(x: float, y: float, radius: float) -> str:
    """The path of a disc."""
    turn = f"a{points(radius, radius)} 0 1 0"
    return f"M{points(x - radius, y)}{turn} {points(2 * radius, 0)}{turn} {points(-2 * radius, 0)}Z"


def discs_on_top(marks: Marks) -> list[str]:
    """The elements, with discs over the lines between them."""
    discs = [area for area in marks.areas if " 0 1 0" in area]
    marks.areas = [area for area in marks.areas if " 0 1 0" not in area]
    return [*marks.write(), *discs]


def stroke_widths(n_leaves: npt.NDArray[np.int64], thin: float) -> list[float]:
    """Branches over many leaves are drawn up to 2.2 times as thick, in five steps."""
    share = np.log1p(n_leaves) / np.log1p(max(2, int(n_leaves.max())))
    widths: list[float] = (thin * (1 + 0.3 * np.round(4 * share**1.5))).tolist()
    return widths
