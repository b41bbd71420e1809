"""The size of a picture, and its files: SVG, PNG and PDF, by pixels or by millimetres.

Pictures are drawn in pixels of CSS, 96 an inch. By pixels, text grows with the width; by
millimetres it has the requested size in points, whatever the width.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.pictures.marks import number
from app.pictures.renderer import pdf, png, size_of
from app.pictures.typefaces import Typefaces, typefaces
from app.pictures.typesetting import Typeset, typeset

MM = 96 / 25.4
"""Pixels of CSS in a millimetre."""
PT = 96 / 72
"""Pixels of CSS in a point."""
DPI = 300.0
FONT_PT = 7.0
"""The size of labels in print, in points: journals ask for 5 to 8."""


class Picture(str):
    """A drawn picture, and a warning of what it leaves out, in ASCII."""

    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """The size of a picture, in pixels of CSS, and how its files are written.

    height : None: it follows from what is drawn. font : the size of labels; None: in proportion to
    the width. physical : whether files say millimetres. dpi : of a PNG; None: a dot a pixel, and no
    number in the file. embeds : whether an SVG has its fonts in it.
    """

    width: float = 1000.0
    height: float | None = None
    font: float | None = None
    physical: bool = False
    dpi: float | None = None
    embeds: bool = False
    typefaces: Typefaces = field(default_factory=typefaces)

    @property
    def dots(self) -> float:
        """Pixels of an image in a pixel of CSS: the sheet's PNG's, or a fine screen's."""
        return (self.dpi or DPI) / 96 if self.physical else 2.0

    def svg(self, drawn: str) -> tuple[bytes, str | None]:
        """A drawn picture as a file, and a warning of what it leaves out and of characters that no
        font has."""
        ready = typeset(self._measured(drawn) if self.physical else drawn, self.typefaces)
        return (ready.embedded() if self.embeds else ready.svg).encode(), _warnings(drawn, ready)

    def png(self, drawn: str) -> tuple[bytes, str | None]:
        """The same as PNG. Raises as `renderer.png`."""
        ready = typeset(drawn, self.typefaces)
        dots = self.dots if self.physical else 1.0
        image = png(
            ready.svg,
            round(self.width * dots),
            fonts=ready.files(),
            dpi=self.dpi or (DPI if self.physical else None),
        )
        return image, _warnings(drawn, ready)

    def pdf(self, drawn: str) -> tuple[bytes, str | None]:
        """The same as PDF. Raises as `renderer.pdf`."""
        ready = typeset(drawn, self.typefaces)
        file = pdf(ready.svg, *self._millimetres(drawn), fonts=ready.files())
        return file, _warnings(drawn, ready)

    def _millimetres(self, drawn: str) -> tuple[float, float]:
        height = size_of(drawn)[1] if self.height is None else self.height
        return self.width / MM, height / MM

    def _measured(self, drawn: str) -> str:
        """The picture with its size in millimetres."""
        width, height = self._millimetres(drawn)
        own = 'width="{}" height="{}"'
        return drawn.replace(
            own.format(*map(number, size_of(drawn))),
            own.format(f"{number(width)}mm", f"{number(height)}mm"),
            1,
        )


def _warnings(drawn: str, ready: Typeset) -> str | None:
    own = drawn.warning if isinstance(drawn, Picture) else None
    return "; ".join(text for text in (own, ready.warning()) if text is not None) or None
