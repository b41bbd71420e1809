"""Points in the plane: one scale, inside the picture, marks or pixels."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from app.pictures import raster
from app.pictures.palette import style
from app.pictures.sheet import MM, PT
from app.resources.maps.names import Named
from app.resources.maps.picture import Scatter, svg
from models.errors import UsageError
from models.tree.walk import points_in_order
from tests.app.pictures.tree_kit import random_tree, texts
from tests.app.pictures.words_kit import readable

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
    picture = svg(scatter(XY * [1, 2]), OWN, px=200, dots=2)
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
    assert rows.max() - rows.min() == pytest.approx(columns.max() - columns.min(), abs=6)


def mapped(n: int) -> Named:
    """Points about places that follow a tree, with a name each."""
    tree = random_tree(n, names=[f"king_penguin {i}" for i in range(n)])
    rng = np.random.default_rng(0)
    place = np.zeros((tree.n_nodes, 2))
    for node in range(1, tree.n_nodes):
        far = np.sqrt(tree.size[node] / n)
        place[node] = place[tree.parent[node]] + far * rng.normal(size=2)
    row = points_in_order(tree)
    return Named(tree, place[tree.leaf_of_point[row]])


@pytest.mark.parametrize("n", [20, 1_000, 30_000])
def test_names_lie_on_their_points(n: int) -> None:
    named = mapped(n)
    drawn = replace(scatter(named.xy), named=named)
    for sizes, least in (
        ({"px": 85 * MM, "font": 7 * PT}, 6 * PT),
        ({"px": 1000}, 6),
        ({"px": 390}, 6),
    ):
        picture = svg(drawn, OWN, **sizes)  # type: ignore[arg-type]
        found = [word for word in readable(picture, least) if "penguin" in word.text]
        enough = 8 if n == 20 or sizes["px"] < 1000 else 15
        assert enough <= len(found) <= 60, len(found)
        points = np.array(dots(picture)) if n <= 20_000 else None
        if points is not None:
            for word in found:
                middle = np.mean(word.corners, axis=0)
                assert np.hypot(*(points - middle).T).min() < 90
    assert not any("penguin" in text for text in texts(svg(scatter(named.xy), OWN)))


def test_names_of_a_window_are_of_its_points() -> None:
    named = mapped(1_000)
    middle = named.xy[500]
    window = np.array([middle - 0.2, middle + 0.2])
    drawn = replace(scatter(named.xy), named=named, window=window)
    assert len([w for w in readable(svg(drawn, OWN), 6) if "penguin" in w.text]) >= 1


def test_a_map_without_room_for_words_is_refused() -> None:
    with pytest.raises(UsageError, match=r"20 mm.*font_pt"):
        svg(scatter(), OWN, px=20 * MM, font=7 * PT)
