"""A heatmap: a cell for each value, trees on the sides, names where there is room."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.pictures import raster
from app.pictures.palette import style
from app.resources.heatmaps.picture import SHADES, Heatmap, Side, svg
from models.heatmaps.heatmap import joins_of_merges
from tests.app.pictures.tree_kit import texts

OWN = style()
BOX = re.compile(r'<path d="M([\d.]+) ([\d.]+)h[\d.]+v[\d.]+h-[\d.]+Z" fill="(#\w{6})"/>')
LINE = re.compile(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)")
VALUES = np.array([[-2.0, 0.0, 1.0], [2.0, 2.0, 9.0]])


def side(*names: str) -> Side:
    merges = [[0, 1, 1.0], [2, 3, 2.0]][: len(names) - 1]
    return Side(np.arange(len(names) + 1), joins_of_merges(len(names), merges), names)


def heatmap(values: np.ndarray = VALUES, **changed: Any) -> Heatmap:
    fields: dict[str, Any] = {
        "rows": side("</svg>", "b"),
        "columns": side("x", "y", "z" * 500),
        "low": -2.0,
        "high": 2.0,
        "clipped": (False, True),
        "diverging": True,
        "strong_low": False,
        "meaning": "Mean",
        "caption": "2 rows",
    }
    return Heatmap(values, **{**fields, **changed})


def boxes(picture: str) -> list[tuple[float, float, str]]:
    """(left, top, colour) of each run of cells; the boxes of the scale are below, and many."""
    found = BOX.findall(picture)
    cells = found[: len(found) - SHADES]
    return [(float(left), float(top), fill) for left, top, fill in cells]


def test_each_value_has_its_colour() -> None:
    picture = svg(heatmap(), OWN, title="T")
    # Two and nine share an area: two is as high as the scale goes.
    low, zero, one, two = boxes(picture)
    assert zero[2] == OWN.paper
    assert len({fill for *_, fill in (low, zero, one, two)}) == 4
    assert low[0] == two[0] < zero[0] < one[0]
    assert low[1] == zero[1] == one[1] < two[1]
    written = texts(picture)
    assert {"</svg>", "b", "x", "y", "T", "−2", "≥ 2", "Mean", "2 rows"} <= {*written}
    assert any(text.startswith("zzz") and text.endswith("…") for text in written)


@pytest.mark.parametrize("is_near_strong", [True, False])
def test_one_end_of_distances_has_the_colour_of_the_page(is_near_strong: bool) -> None:
    own = {"diverging": False, "low": 0.0, "high": 4.0, "strong_low": is_near_strong}
    square = heatmap(np.array([[0.0, 4.0], [4.0, 0.0]]), columns=side("x", "y"), **own)
    near, far, far_too, near_too = (fill for *_, fill in boxes(svg(square, OWN)))
    assert (near, far) == (near_too, far_too)
    assert OWN.paper == (far if is_near_strong else near) != (near if is_near_strong else far)


@pytest.mark.parametrize("height", [None, 300.0])
def test_trees_end_at_the_cells(height: float | None) -> None:
    picture = svg(heatmap(), OWN, px=600, height=height)
    if height:
        assert 'height="300"' in picture
    (ink,) = re.findall(rf'stroke="{OWN.ink}"[^>]* d="([^"]+)"', picture)
    lines = [tuple(map(float, each)) for each in LINE.findall(ink)]
    # A line over the children of a node, and one to each: a node on the left, two above.
    assert len(lines) == 3 + 3 + 3
    left, top, _ = boxes(picture)[0]
    rows, columns = lines[:3], lines[3:]
    assert all(x <= left + 0.01 for _, _, x, _ in rows)
    assert max(x for _, _, x, _ in rows) == pytest.approx(left, abs=1.5)
    assert all(y <= top + 0.01 for *_, y in columns)
    # The columns' leaves are over the middle of their cells.
    wide = np.diff(sorted(x for x, _, _, y in columns if abs(y - top) < 1.5))
    assert wide[0] == pytest.approx(wide[1], abs=0.02)


def test_many_cells_are_one_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "MOST_MARKS", 4)
    picture = svg(heatmap(), OWN)
    data = re.search(r'href="data:image/png;base64,([^"]+)"', picture)
    assert data is not None
    pixels = np.asarray(Image.open(io.BytesIO(b64decode(data[1]))))
    assert pixels.shape == (2, 3, 4)
    assert (pixels[1, 0] == pixels[1, 2]).all()
    assert tuple(pixels[0, 1, :3]) == tuple(raster.rgb([OWN.paper])[0])


def test_each_of_several_rows_has_its_name_where_there_is_no_room_for_all() -> None:
    names = [f"name {number}" for number in range(300)]
    many = Side(np.arange(301), [], names)
    written = texts(svg(heatmap(np.zeros((2, 300)), columns=many), OWN, px=300))
    shown = [names.index(text) for text in written if text in names]
    assert shown == list(range(0, 300, shown[1]))
    assert 10 < len(shown) < 100
    # Three columns in two cells, of which the first has two.
    pooled = Side(np.array([0, 2, 3]), joins_of_merges(3, [[0, 1, 1.0], [2, 3, 2.0]]), "xyz")
    assert pooled.labels(10.0, 100.0) == [(25.0 / 2, "x"), (75.0 / 2, "y"), (75.0, "z")]
    assert pooled.labels(30.0, 100.0) == [(25.0 / 2, "x"), (75.0, "z")]
    picture = svg(heatmap(np.zeros((2, 2)), columns=pooled), OWN)
    assert {*"xyz"} <= {*texts(picture)}
    # The first two share a cell, so that their node is not drawn: one on the left, one above.
    (ink,) = re.findall(rf'stroke="{OWN.ink}"[^>]* d="([^"]+)"', picture)
    assert ink.count("M") == 3 + 3


def test_one_cell() -> None:
    one = side("a")
    assert "nan" not in svg(heatmap(np.zeros((1, 1)), rows=one, columns=one), OWN)


def test_a_cell_without_a_value_is_grey() -> None:
    values = np.where(VALUES == 0.0, np.nan, VALUES)
    found = boxes(svg(heatmap(values), OWN))
    assert found[1][2] == OWN.other
    assert sum(fill == OWN.other for *_, fill in found) == 1
