"""Pictures as files: sizes in millimetres, fonts inside, text that can be searched."""

from __future__ import annotations

import io
import re
import struct
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pypdf
import pypdfium2
import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from app.pictures.lettering import width, wrapped
from app.pictures.sheet import FONT_PT, MM, PT, Sheet
from app.pictures.svg import svg
from app.pictures.typefaces import Typefaces
from app.resources.calibrations import picture as selective
from app.resources.calibrations.picture import Selective
from app.resources.drifts import picture as moves
from app.resources.drifts.picture import Move, Moves
from app.resources.models.stretches import picture as bars
from app.resources.models.stretches.picture import Bars
from models.errors import UsageError
from models.tree.build import from_partition
from tests.app.pictures.font_kit import make_font
from tests.app.pictures.tree_kit import NS

NAMES = [
    "rose",
    "犬 dog",
    "</svg><script>&",
    "\u202eabc",
    "nul\x00",
    "x" * 10_000,
    "עברית",
    "unknown 中",
]
TREE = from_partition([], len(NAMES), names=NAMES)


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "boxes.ttf", "Boxes")
    return Sheet(
        width=85 * MM,
        font=FONT_PT * PT,
        physical=True,
        dpi=300,
        typefaces=Typefaces((folder,), system=False),
    )


def drawn(sheet: Sheet) -> str:
    return svg(
        TREE,
        shape="rectangular",
        px=sheet.width,
        height=sheet.height,
        font=sheet.font,
        title="T & 犬",
    )


@pytest.fixture(scope="module")
def document(sheet: Sheet) -> bytes:
    content, warning = sheet.pdf(drawn(sheet))
    assert warning is not None
    assert "U+4E2D CJK UNIFIED IDEOGRAPH-4E2D" in warning
    assert "U+72AC" not in warning
    assert "fonts-noto-cjk" in warning
    assert warning.isascii()
    return content


@pytest.mark.needs("typst")
def test_a_pdf_has_the_size_requested(sheet: Sheet, document: bytes) -> None:
    (page,) = pypdf.PdfReader(io.BytesIO(document)).pages
    assert float(page.mediabox.width) == pytest.approx(85 / 25.4 * 72, abs=1e-3)
    tall = float(re.search(r'height="([\d.]+)mm"', sheet.svg(drawn(sheet))[0].decode())[1])  # type: ignore[index]
    assert float(page.mediabox.height) == pytest.approx(tall / 25.4 * 72, abs=0.02)
    high = replace(sheet, height=60 * MM)
    (page,) = pypdf.PdfReader(io.BytesIO(high.pdf(drawn(high))[0])).pages
    assert float(page.mediabox.height) == pytest.approx(60 / 25.4 * 72, abs=1e-3)


@pytest.mark.needs("typst")
def test_text_of_a_pdf_can_be_searched_and_its_fonts_are_inside(document: bytes) -> None:
    reader = pypdf.PdfReader(io.BytesIO(document))
    text = reader.pages[0].extract_text()
    for part in ("rose", "犬", "dog", "</svg><script>&", "nul", "T & "):
        assert part in text
    assert reader.metadata is not None
    assert reader.metadata.title == "T & 犬, 8 leaves"
    fonts = [font.get_object() for font in reader.pages[0]["/Resources"]["/Font"].values()]  # type: ignore[index]
    assert len(fonts) == 2
    for font in fonts:
        inner = font["/DescendantFonts"][0]["/FontDescriptor"]
        assert re.fullmatch(r"/[A-Z]{6}\+(DejaVuSans|Boxes).*", font["/BaseFont"])
        assert {"/FontFile2", "/FontFile3"} & set(inner)


@pytest.mark.needs("typst")
def test_the_same_picture_is_the_same_pdf_and_looks_as_the_png(
    sheet: Sheet, document: bytes
) -> None:
    assert sheet.pdf(drawn(sheet))[0] == document
    image = Image.open(io.BytesIO(sheet.png(drawn(sheet))[0])).convert("L")
    page = pypdfium2.PdfDocument(document)[0]
    other = page.render(scale=300 / 72).to_pil().convert("L").resize(image.size)
    one, two = (np.asarray(each, dtype=float) / 255 for each in (image, other))
    # Both are mostly paper, and their ink is at the same places but for the smoothing of edges.
    assert 0.01 < 1 - one.mean() < 0.3
    assert abs(one.mean() - two.mean()) < 0.005
    assert np.mean(np.abs(one - two) > 0.5) < 0.01


def test_a_png_says_its_resolution(sheet: Sheet) -> None:
    image = sheet.png(drawn(sheet))[0]
    assert image[37:41] == b"pHYs"
    assert struct.unpack(">IIB", image[41:50]) == (11811, 11811, 1)
    opened = Image.open(io.BytesIO(image))
    opened.load()
    assert opened.width == round(85 / 25.4 * 300)
    assert opened.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    with pytest.raises(UsageError, match=r"20,971,520.*fewer dpi") as error:
        replace(sheet, dpi=2000).png(drawn(sheet))
    assert error.value.where == {"parameter": "dpi"}


def test_an_svg_has_its_glyphs_inside(sheet: Sheet) -> None:
    content, _ = replace(sheet, embeds=True).svg(drawn(sheet))
    root = ET.fromstring(content)
    assert root.attrib["width"] == "85mm"
    assert root.attrib["height"].endswith("mm")
    assert root.attrib["viewBox"].startswith("0 0 321.26 ")
    style = root.find(f"{NS}style")
    assert style is not None
    fonts = re.findall(
        r"font-family:'([\w ]+)';src:url\(data:font/ttf;base64,([^)]+)\)", style.text or ""
    )
    assert [family for family, _ in fonts] == ["DejaVu Sans", "Boxes"]
    first, second = (TTFont(io.BytesIO(b64decode(data))) for _, data in fonts)
    assert second.getBestCmap().keys() == {ord("犬")}
    assert set(map(ord, "rose<>&")) <= first.getBestCmap().keys()
    assert ord("Z") not in first.getBestCmap()
    spans = [span for span in root.iter(f"{NS}tspan") if span.attrib["font-family"] == "Boxes"]
    assert {span.text for span in spans} == {"犬"}
    plain, _ = sheet.svg(drawn(sheet))
    assert b"@font-face" not in plain


def test_labels_of_print_have_the_size_requested(sheet: Sheet) -> None:
    for mm in (85, 178):
        for shape in ("circular", "rectangular", "icicle"):
            picture = svg(TREE, shape=shape, px=mm * MM, font=7 * PT)  # type: ignore[arg-type]
            size = re.search(r'font-size="([\d.]+)"[^>]*>rose', picture)
            assert size is not None
            assert float(size[1]) == pytest.approx(7 * PT, abs=0.01)


@pytest.mark.needs("typst")
def test_by_pixels_a_pdf_has_96_an_inch(tmp_path: Path) -> None:
    sheet = Sheet(400, typefaces=Typefaces((tmp_path,), system=False))
    content, _ = sheet.pdf(drawn(sheet))
    (page,) = pypdf.PdfReader(io.BytesIO(content)).pages
    assert float(page.mediabox.width) == pytest.approx(300, abs=1e-3)


def test_by_pixels_other_forms_have_no_millimetres(tmp_path: Path) -> None:
    sheet = Sheet(400, typefaces=Typefaces((tmp_path,), system=False))
    assert 'width="400"' in sheet.svg(drawn(sheet))[0].decode()
    assert b"pHYs" not in sheet.png(drawn(sheet))[0][:60]


MOVE = Move("mass", 3, "a cluster", "its parent", "gained", 0.1, 0.2, -0.05, 0.08)
MOVES = Moves([MOVE] * 3, 40, 1000, 1200, 0.05)
CURVE = Selective(np.linspace(1, 0, 9), np.linspace(0.3, 0, 9), 0.1, 3)
BARS = Bars(["a feature"] * 3, [1.0, 2.0, 3.0], "How far a row moves when the feature grows by 1")


@pytest.mark.parametrize("mm", [85, 178])
@pytest.mark.parametrize(
    "draw",
    [
        lambda **sizes: moves.svg(MOVES, **sizes),
        lambda **sizes: selective.svg(CURVE, **sizes),
        lambda **sizes: bars.svg(BARS, **sizes),
        lambda **sizes: svg(TREE, shape="rectangular", **sizes),
        lambda **sizes: svg(TREE, shape="icicle", **sizes),
    ],
    ids=["moves", "selective", "bars", "rectangular", "icicle"],
)
def test_no_text_leaves_the_page(draw: Callable[..., str], mm: int) -> None:
    px = mm * MM
    root = ET.fromstring(draw(px=px, font=FONT_PT * PT, title="A title" * 9))
    for text in root.iter(f"{NS}text"):
        size, x = float(text.attrib["font-size"]), float(text.attrib["x"])
        wide = width(text.text or "", size)
        anchor = text.attrib.get("text-anchor", "start")
        if "rotate(-90" in text.attrib.get("transform", ""):
            assert size / 2 <= x <= px - size / 2
            continue
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        assert left >= -0.5
        assert left + wide <= px + 0.5


def test_a_note_is_broken_between_words() -> None:
    text = "three short words andonelongword"
    lines = wrapped(text, 10, width("three short", 10) + 1)
    assert lines[:2] == ["three short", "words"]
    assert all(width(line, 10) <= width("three short", 10) + 1 for line in lines)
    assert wrapped("", 10, 100) == []
