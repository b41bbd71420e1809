"""Pictures of bars: well-formed, safe, bounded, on one scale."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from app.pictures.lettering import width
from app.resources.models.stretches.picture import MOST_SHOWN, Bars, svg
from tests.app.pictures.tree_kit import HOSTILE

NS = "{http://www.w3.org/2000/svg}"
_BAR = re.compile(r"^M([\d.]+) [\d.]+h([\d.]+)v")


def lengths(picture: str) -> list[float]:
    paths = (element.get("d") or "" for element in ET.fromstring(picture).iter(f"{NS}path"))
    return [float(bar[2]) for bar in map(_BAR.match, paths) if bar]


def test_lengths_are_proportional() -> None:
    picture = svg(Bars(["a", "b", "c"], [4.0, 1.0, 0.0], "stretch"))
    longest, second, none = lengths(picture)
    assert second == pytest.approx(longest / 4, abs=0.01)
    assert none == 0.0
    texts = [element.text for element in ET.fromstring(picture).iter(f"{NS}text")]
    assert texts == ["stretch", "a", "4", "b", "1", "c", "0"]


@pytest.mark.parametrize("px", [100, 1000, 4096])
@pytest.mark.parametrize("title", [None, "A title"])
@pytest.mark.parametrize("n", [0, 1, 60, 500])
def test_all_is_inside(px: int, title: str | None, n: int) -> None:
    names = ["a feature with quite a long name " * (1 + k % 3) for k in range(n)]
    picture = ET.fromstring(
        svg(Bars(names, [1.0 / 3**k for k in range(n)], "x"), px=px, title=title)
    )
    high = float(picture.get("height") or 0)
    assert float(picture.get("width") or 0) == px
    for text in picture.iter(f"{NS}text"):
        size, x = float(text.get("font-size") or 0), float(text.get("x") or 0)
        wide = width(text.text or "", size)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.get("text-anchor", "start")]
        assert left >= 0
        assert left + wide <= px
        assert 0 <= float(text.get("y") or 0) <= high
    assert len(lengths(ET.tostring(picture, encoding="unicode"))) <= min(n, MOST_SHOWN)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("palette", ["okabe-ito", "tol-muted", "tol-bright", "grey"])
def test_hostile_names(theme: str, palette: str) -> None:
    values = [1.0] * len(HOSTILE)
    picture = svg(Bars(HOSTILE, values, HOSTILE[0]), theme=theme, palette=palette, title=HOSTILE[0])
    tags = {element.tag.removeprefix(NS) for element in ET.fromstring(picture).iter()}
    assert tags <= {"svg", "rect", "g", "path", "text", "title"}
