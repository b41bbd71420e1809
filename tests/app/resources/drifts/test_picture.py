"""The picture of what moved between two samples."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from app.resources.drifts.picture import MOST_SHOWN, Move, Moves, svg

MOVES = [
    Move("mass", 3, "rose", "rose, oak", "gained", 0.25, 0.75, 0.4, 0.6),
    Move("confidence", 4, None, None, "lost", 0.9, 0.5, None, None),
]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(moves: Moves, **options: object) -> tuple[ElementTree.Element, list[str]]:
    page = ElementTree.fromstring(svg(moves, **options))  # type: ignore[arg-type]
    return page, [str(text.text) for text in page.iter(f"{SVG}text")]


def test_a_line_from_before_to_after_with_its_interval() -> None:
    page, texts = drawn(Moves(MOVES, 2, 100, 80, 0.05), px=1000, title="Pets & <more>")
    assert {"Pets & <more>", "share: rose of rose, oak", "confidence: node 4"} <= set(texts)
    assert {"25% to 75%", "90% to 50%", "0%", "100%"} <= set(texts)
    assert any("All changes at the level 0.05: 100 rows before" in text for text in texts)
    paths = [str(path.get("d")) for path in page.iter(f"{SVG}path")]
    # The guides, drawn as one path, are at 0, 25, 50, 75 and 100 percent.
    guides = next(path for path in paths if path.count("V") == 5)
    zero, *_, hundred = (float(x) for x in re.findall(r"M([\d.]+)", guides))
    lines = next(path for path in paths if "H" in path and "V" not in path)
    begin, end = map(float, re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", lines)[0])
    assert (begin - zero) / (hundred - zero) == pytest.approx(0.25, abs=1e-3)
    assert (end - zero) / (hundred - zero) == pytest.approx(0.75, abs=1e-3)
    (bar,) = (path for path in paths if "V" in path and path.endswith("Z"))
    left, right = float(re.findall(r"M([\d.]+)", bar)[0]), float(re.findall(r"H([\d.]+)", bar)[0])
    assert (left - zero) / (hundred - zero) == pytest.approx(0.65, abs=1e-3)
    assert (right - zero) / (hundred - zero) == pytest.approx(0.85, abs=1e-3)


def test_small_changes_have_the_digits_that_they_need() -> None:
    move = Move("confidence", 1, "ug", None, "gained", 0.99991, 0.99994, 0.0, 0.0001)
    _, texts = drawn(Moves([move], 1, 9, 9, 0.05))
    assert "99.991% to 99.994%" in texts


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_and_too_much(theme: str) -> None:
    for px in (100, 4096):
        page, texts = drawn(Moves([], 0, 5, 6, 0.1), px=px, theme=theme)
        assert float(str(page.get("width"))) == px
        assert "Nothing moved, at the level 0.1" in " ".join(texts)
    _, texts = drawn(Moves(MOVES * 50, 100, 5, 6, 0.1), theme=theme)
    assert texts.count("25% to 75%") == MOST_SHOWN / 2
    assert any(f"The {MOST_SHOWN} surest of 100 changes" in text for text in texts)
