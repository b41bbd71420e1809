"""Drawings of clients as files: checked, escaped, kept nowhere."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from typing import Any

import pypdf
import pytest

from app.resources.figures import schemas
from app.resources.figures.schemas import EXAMPLE, MOST_ITEMS, MOST_LETTERS
from tests.app.conftest import Api, problem_of
from tests.app.pictures.tree_kit import NS

TEXT: dict[str, Any] = {
    "kind": "text",
    "x": 10,
    "y": 20,
    "text": "</svg><script>&\x00",
    "size": 12,
    "colour": "#000000",
    "halo": "#ffffff",
    "turn": 1.5,
    "align": "right",
}


def draw(api: Api, *items: dict[str, Any], **changes: Any) -> Any:
    body = {**EXAMPLE, "items": [*EXAMPLE["items"], *items], **changes}
    return api.client.post("/v1/figures", json=body)


@pytest.mark.needs("typst")
def test_a_drawing_becomes_a_page_of_its_size(api: Api) -> None:
    document = draw(api, TEXT).content
    (page,) = pypdf.PdfReader(io.BytesIO(document)).pages
    assert float(page.mediabox.width) == pytest.approx(85 / 25.4 * 72, abs=1e-3)
    assert float(page.mediabox.height) == pytest.approx(85 / 25.4 * 72 / 3, abs=1e-3)
    assert "rose" in page.extract_text()


def test_a_drawing_becomes_a_file_of_its_size(api: Api) -> None:
    answer = draw(api, TEXT, form="svg", title="a < b", paper="#fefefe")
    assert answer.headers["content-type"] == "image/svg+xml"
    root = ET.fromstring(answer.content)
    assert (root.attrib["width"], root.attrib["viewBox"]) == ("85mm", "0 0 300 100")
    texts = [text.text for text in root.iter(f"{NS}text")]
    assert texts == ["rose", "</svg><script>&\ufffd"]
    assert root.attrib["aria-label"] == "a < b"
    assert [path.attrib["d"] for path in root.iter(f"{NS}path")] == ["M10 50L200 50"]
    assert draw(api, form="png", dpi=50).content.startswith(b"\x89PNG")

    narrow = draw(api, {**TEXT, "text": "wwwwwwwwww", "wide": 20}, form="svg", fonts="none")
    size = float(list(ET.fromstring(narrow.content).iter(f"{NS}text"))[-1].attrib["font-size"])
    assert size < 4

    refused = (
        {"kind": "fill", "colour": "#000000", "path": 'M0 0"/><script>'},
        {"kind": "fill", "colour": "url(#x)", "path": "M0 0"},
        {"kind": "image", "href": "file:///etc/passwd"},
        {**TEXT, "size": -1},
        {**TEXT, "onload": "x"},
    )
    for item in refused:
        problem_of(draw(api, item), 422, "invalid-request")
    problem_of(draw(api, width_mm=5), 422, "invalid-request")
    for size in ({"width": 5e-324}, {"width": 1, "height": 20_000}, {"width": 20_000, "height": 1}):
        problem_of(draw(api, **size), 422, "invalid-request")
    assert "fewer dpi" in str(
        problem_of(draw(api, form="png", width_mm=2000), 422, "wrong-parameter")
    )


def test_as_many_items_as_the_document_promises(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    most = document["components"]["schemas"]["FigureRequest"]["properties"]["items"]["maxItems"]
    assert most == MOST_ITEMS
    full = {**TEXT, "text": "a", "wide": 20}
    answer = api.client.post("/v1/figures", json={**EXAMPLE, "form": "svg", "items": [full] * most})
    assert answer.status_code == 200, answer.text
    problem_of(draw(api, *[full] * most, form="svg"), 422, "invalid-request")


def test_what_would_cost_too_much_is_refused_before_it_is_drawn(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = {**TEXT, "text": "W" * 10_000}
    long = problem_of(draw(api, *[letters] * 11, form="png"), 422, "invalid-request")
    assert f"{MOST_LETTERS:,} are accepted" in long["detail"]
    monkeypatch.setattr(schemas, "MOST_PATH", 10)
    path = {"kind": "fill", "colour": "#000000", "path": "M0 0"}
    assert "10 are accepted" in problem_of(draw(api, path), 422, "invalid-request")["detail"]
    # One sentence, and not one for each of very many members.
    for wrong in ({**TEXT, **dict.fromkeys(map(str, range(9000)))}, {**TEXT, "dash": ["x"] * 9000}):
        errors = problem_of(draw(api, *[wrong, wrong]), 422, "invalid-request")["errors"]
        assert len(errors) == 1


def test_what_is_transparent_needs_no_layer(api: Api) -> None:
    path = {"colour": "#000000", "path": "M0 0L9 9", "alpha": 0.5}
    stroke, fill = {**path, "kind": "stroke", "width": 1}, {**path, "kind": "fill"}
    root = ET.fromstring(draw(api, stroke, fill, form="svg", fonts="none").content)
    drawn = [set(each.attrib) for each in root.iter(f"{NS}path")][1:]
    assert ["stroke-opacity" in each for each in drawn] == [True, False]
    assert ["fill-opacity" in each for each in drawn] == [False, True]
    assert not any("opacity" in each for each in drawn)
