"""A matrix of shares: a cell for each, names where there is room, pixels where there are many."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app.pictures import raster
from app.pictures.palette import contrast, style
from app.resources.confusions.picture import Matrix, svg
from tests.app.pictures.tree_kit import texts

SHARE = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.03, 0.0, 0.9]])


def matrix(names: list[str], share: np.ndarray = SHARE) -> Matrix:
    return Matrix(names, share, "class", "taken for", "share of rows")


@pytest.mark.parametrize("px", [600, 1000])
def test_each_share_is_a_cell(px: int) -> None:
    own = style()
    picture = svg(matrix(["a", "</svg>", "c" * 500]), own, px=px, title="T")
    cells = re.findall(r'<path d="M[\d. ]+h([\d.]+)v([\d.]+)h-[\d.]+Z" fill="(#\w{6})"/>', picture)
    squares = [fill for wide, high, fill in cells if wide == high]
    assert len(squares) == np.count_nonzero(SHARE)
    # The largest share has the strongest colour; a tenth of it is two thirds along three decades.
    assert squares[1] == own.ramp(64)[63]
    assert squares[3] == own.ramp(64)[42]
    assert contrast(squares[3], own.paper) > 3
    written = texts(picture)
    assert written.count("</svg>") == 2
    assert any(text.startswith("ccc") and text.endswith("…") for text in written)
    assert "0.03% or less to 30%, by the logarithm; grey: taken for itself" in written


def test_many_cells_are_one_image_and_some_of_their_names_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(raster, "MOST_MARKS", 4)
    picture = svg(matrix(["a", "b", "c"]), style())
    assert picture.count("<image ") == 1
    assert "data:image/png;base64," in picture
    many = 300
    names = [f"name {number}" for number in range(many)]
    written = [text for text in texts(svg(matrix(names, np.eye(many)), style())) if text in names]
    assert len(written) == 2 * len(set(written))
    numbers = [int(text.split()[1]) for text in written[::2]]
    assert numbers == list(range(0, many, numbers[1]))
    assert 40 < len(numbers) < 100


def test_nothing_is_taken_for_anything() -> None:
    assert "nan" not in svg(matrix(["a", "b"], np.eye(2)), style())
    assert "<svg" in svg(matrix([], np.zeros((0, 0))), style())
