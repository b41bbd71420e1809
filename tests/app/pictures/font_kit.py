"""A font for tests: a box for each of a few characters that the service's own font lacks."""

from __future__ import annotations

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

LETTERS = "犬猫👩हि"


def make_font(file: Path, family: str, letters: str = LETTERS, embedding: int = 0) -> Path:
    """Write a font of full boxes, 1000 units wide. embedding : OS/2 fsType."""
    glyphs = {ord(letter): f"u{ord(letter):x}" for letter in letters}
    order = [".notdef", *glyphs.values()]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 800), (1000, 800), (1000, 0)):
        pen.lineTo(corner)
    pen.closePath()
    box = pen.glyph()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(order)
    font.setupCharacterMap(glyphs)
    font.setupGlyf(dict.fromkeys(order, box))
    font.setupHorizontalMetrics(dict.fromkeys(order, (1000, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    names = {"familyName": family, "styleName": "Regular", "psName": "Boxes-Regular"}
    font.setupNameTable(names)
    font.setupOS2(sTypoAscender=800, usWeightClass=400, fsType=embedding)
    font.setupPost()
    font.save(file)
    return file
