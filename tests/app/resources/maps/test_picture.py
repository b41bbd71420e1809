"""Points in the plane: one scale, inside the picture, marks or pixels."""

from __future__ import annotations

import io
import re
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image

from app.pictures import raster
from app.pictures.palette import style
from app.resources.maps.picture import Scatter, svg
from tests.app.pictures.tree_kit import texts

OWN = style()
XY = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0]])


def scatter(xy: np.ndarray = XY, circle: bool = False) -> Scatter:
    colour = np.arange(len(xy)) % 2
    return Scatter(xy, colour, OWN.colours[:2], [(OWN.colours[0], "x & y")], circle, "a map")


def dots(picture: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", picture)]


@pytest.mark.parametrize("height", [None, 300.0])
def test_both_axes_have_one_scale(height: float | None) -> None:
    picture = svg(scatter(), OWN, px=500, height=height)
    # By colour: the first and the third, then the second and the fourth.
    (a, c, b, d) = dots(picture)
    assert b[0] - a[0] == pytest.approx(2 * (a[1] - c[1]), abs=0.05)
    assert a[0] == pytest.approx(500 - b[0], abs=0.05)
    assert d[1] == c[1]
    assert "x & y" in texts(picture)
    if height:
        assert 'height="300"' in picture


def test_one_point_and_the_disc() -> None:
    assert len(dots(svg(scatter(XY[:1]), OWN))) == 1
    disc = svg(scatter(XY / 10, circle=True), OWN, px=400)
    assert re.search(r'stroke="#d9dde2"[^>]*d="M[\d. ]+a', disc)


def test_many_points_are_pixels_of_their_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "MOST_MARKS", 3)
    picture = svg(scatter(), OWN, px=200, dots=2)
    assert not dots(picture)
    data = re.search(r'href="data:image/png;base64,([^"]+)"', picture)
    assert data is not None
    image = np.asarray(Image.open(io.BytesIO(b64decode(data[1]))))
    assert image.shape == (400, 400, 4)
    inked = image[image[..., 3] > 0][:, :3]
    assert {tuple(pixel) for pixel in inked.tolist()} == {
        tuple(colour) for colour in raster.rgb(list(OWN.colours[:2])).tolist()
    }
    rows, columns = np.nonzero(image[..., 3])
    assert columns.min() < 40
    assert columns.max() > 360
    assert rows.max() - rows.min() == pytest.approx((columns.max() - columns.min()) / 2, abs=6)
