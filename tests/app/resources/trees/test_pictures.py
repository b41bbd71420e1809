"""Pictures over HTTP: sizes in millimetres, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pypdf
import pytest

from app.main import documented_app
from tests.app.conftest import Working
from tests.app.pictures.font_kit import make_font
from tests.app.tree_kit import NEWICK, get, post
from tests.document_kit import spelled_out

UNUSUAL = "(犬:1,\U0010fffd:2)x;".encode()


@pytest.mark.needs("typst")
def test_sizes_in_millimetres_of_a_pdf(working: Working) -> None:
    tree = post(working, NEWICK)
    answer = get(working, tree, ".pdf?width_mm=85&height_mm=60&shape=rectangular")
    assert answer.headers["content-type"] == "application/pdf"
    (page,) = pypdf.PdfReader(io.BytesIO(answer.content)).pages
    assert float(page.mediabox.width) == pytest.approx(85 / 25.4 * 72, abs=1e-3)
    assert float(page.mediabox.height) == pytest.approx(60 / 25.4 * 72, abs=1e-3)
    assert "tulip" in page.extract_text()
    unusual = get(working, post(working, UNUSUAL), ".pdf?width_mm=40")
    assert "U+10FFFD" in unusual.headers["warning"]


def test_sizes_in_millimetres(working: Working) -> None:
    tree = post(working, NEWICK)
    picture = get(working, tree, ".svg?width_mm=85")
    assert 'width="85mm"' in picture.text
    assert "@font-face" in picture.text
    assert "@font-face" not in get(working, tree, ".svg?width_mm=85&fonts=none").text
    assert "@font-face" in get(working, tree, ".svg?fonts=embed").text
    assert picture.headers["etag"] != get(working, tree, ".svg?width_mm=86").headers["etag"]


def test_names_without_room_are_in_the_header(working: Working) -> None:
    tree = post(working, b"((a:1,(b:1,c:1)'It\"s two':1)Three:1,d:1)x;")
    warning = get(working, tree, ".svg?depth=1").headers["warning"]
    assert warning.startswith("199 - \"no room for the names of nodes 'It's two'; ")
    assert "warning" not in get(working, tree, ".svg").headers
    assert "warning" not in get(working, post(working, NEWICK), ".svg").headers


REFUSED = {
    "width_mm=85&px=1000": "'px' or by 'width_mm'",
    "width_mm=85&height=400": "'height' or by 'width_mm'",
    "dpi=300": "'dpi' needs 'width_mm'",
    "height_mm=60": "'height_mm' needs 'width_mm'",
    "width_mm=9": "greater than or equal to 10",
    "width_mm=nan": "finite",
    "width_mm=85&dpi=1201": "less than or equal to 1200",
    "width_mm=500&dpi=1200": "fewer dpi",
}


def test_sizes_that_cannot_be(working: Working) -> None:
    tree = post(working, NEWICK)
    for query, detail in REFUSED.items():
        answer = get(working, tree, f".png?{query}")
        assert answer.status_code == 422, query
        assert detail in answer.text


def test_characters_without_a_glyph_are_named(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_font(tmp_path / "boxes.ttf", "Boxes")
    monkeypatch.setattr(working.service.settings, "fonts", (tmp_path,))
    tree = post(working, UNUSUAL)
    answer = get(working, tree, ".svg")
    assert answer.status_code == 200
    assert '<tspan font-family="Boxes">犬' in answer.text
    assert "U+10FFFD without a name" in answer.headers["warning"]
    assert "U+72AC" not in answer.headers["warning"]
    assert "UMBEL_FONTS" in answer.headers["warning"]


def test_every_picture_is_a_pdf_too_in_the_document() -> None:
    paths = spelled_out(documented_app().openapi())["paths"]
    drawn = [path.removesuffix(".svg") for path in paths if path.endswith(".svg")]
    assert len(drawn) >= 8
    for path in drawn:
        for suffix, media in (("png", "image/png"), ("pdf", "application/pdf")):
            content = paths[f"{path}.{suffix}"]["get"]["responses"]["200"]["content"]
            assert set(content) == {media}
            names = {each.get("name") for each in paths[f"{path}.{suffix}"]["get"]["parameters"]}
            assert {"width_mm", "dpi", "font_pt", "fonts"} <= names
