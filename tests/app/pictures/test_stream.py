"""Pictures of clusters over time: well-formed, safe, bounded, without overlaps."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from app.pictures.lettering import width
from app.pictures.moving import Moving
from app.pictures.panels import spread
from app.pictures.renderer import png
from app.pictures.stream import MOST_SHOWN, svg
from app.pictures.timeline import shortened, ticks
from tests.app.pictures.tree_kit import HOSTILE

NS = "{http://www.w3.org/2000/svg}"


def moving(n_periods: int, n_clusters: int, n_shown: int | None = None, **changes: Any) -> Moving:
    rng = np.random.default_rng(n_periods + n_clusters)
    walk = np.cumsum(rng.normal(size=(n_periods, n_clusters)) * 0.4, axis=0)
    weight = np.exp(walk - walk.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    drift = rng.uniform(1, 29, size=(n_periods, n_clusters))
    drift[0] = np.nan
    months = np.datetime64("1990-01", "M") + np.arange(n_periods)
    n_shown = n_clusters if n_shown is None else n_shown
    values: dict[str, Any] = {
        "labels": [f"{month}-01T00:00:00Z" for month in months],
        "dated": True,
        "n_rows": [10] * n_periods,
        "names": [f"name {k}" for k in range(n_shown)],
        "n_clusters": n_clusters,
        "weight": weight[:, :n_shown],
        "drift": drift[:, :n_shown],
        "from_first": np.nancumsum(drift, axis=0)[:, :n_shown] % 180,
    }
    return Moving(**{**values, **changes})


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture.encode()).iter(f"{NS}text")]


def lines(picture: str) -> list[tuple[float, float, float, str, str]]:
    """(x, y of the middle, font, anchor, text) of each line."""
    drawn_lines = []
    for element in ET.fromstring(picture.encode()).iter(f"{NS}text"):
        font = float(element.attrib["font-size"])
        middle = float(element.attrib["y"]) - 0.36 * font
        anchor = element.attrib.get("text-anchor", "start")
        drawn_lines.append((float(element.attrib["x"]), middle, font, anchor, element.text or ""))
    return drawn_lines


def box(line: tuple[float, float, float, str, str]) -> tuple[float, float, float, float]:
    x, y, font, anchor, text = line
    wide = width(text, font)
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
    return left, left + wide, y - 0.5 * font, y + 0.5 * font


@pytest.mark.parametrize("n_periods", [1, 2, 24, 61, 200, 2000])
@pytest.mark.parametrize("n_clusters", [1, 5, 100])
def test_pictures_are_complete_and_nothing_overlaps(n_periods: int, n_clusters: int) -> None:
    names = [*HOSTILE, *(f"name {k}" for k in range(n_clusters))][:n_clusters]
    drawn = svg(moving(n_periods, n_clusters, names=names), title="<b>&\x00")
    root = ET.fromstring(drawn.encode())
    assert len(drawn) < 700_000
    for element in root.iter():
        assert element.tag.removeprefix(NS) in {"svg", "g", "rect", "path", "text", "title"}
        for key, value in element.attrib.items():
            assert not key.startswith("on")
            assert "href" not in key
            assert "url(" not in value
    assert not re.search(r'[" ,LMHVChvC-](nan|inf)', drawn)
    assert "<script" not in drawn
    wide, tall = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [box(line) for line in lines(drawn) if line[4].strip()]
    for left, right, top, bottom in boxes:
        assert -1 <= left <= right <= wide + 1
        assert -1 <= top <= bottom <= tall + 1
    for number, first in enumerate(boxes):
        for second in boxes[number + 1 :]:
            apart = (
                first[1] <= second[0]
                or second[1] <= first[0]
                or first[3] <= second[2]
                or second[3] <= first[2]
            )
            assert apart, (first, second)
    note = " ".join(texts(drawn))
    assert ("Turn from one period to the next" in note) == (n_periods > 1)
    assert ("12 of 100 clusters in colour" in note) == (n_clusters == 100)
    assert ("88 others" in note) == (n_clusters == 100)
    assert ("every 4 periods drawn as one" in note) == (n_periods == 2000)


def heights(drawn: str, fill: str, top: float, bottom: float) -> tuple[float, float]:
    """First and last y of the upper edge of this colour's band, as shares of the panel."""
    path = re.search(rf'<path d="M([^"]*)L[^"]*Z" fill="{fill}"', drawn)
    assert path is not None
    values = [float(number) for number in re.findall(r"-?[\d.]+", path[1])]
    return (bottom - values[1]) / (bottom - top), (bottom - values[-1]) / (bottom - top)


def test_bands_show_weights_and_bars_show_degrees() -> None:
    model = moving(
        3,
        2,
        weight=np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]),
        drift=np.array([[np.nan, np.nan], [10.0, 2.0], [20.0, 0.0]]),
        from_first=np.array([[0.0, 0.0], [10.0, 2.0], [29.6, 2.0]]),
    )
    drawn = svg(model)
    ends = {text: y for x, y, _, _, text in lines(drawn) if text in ("0%", "100%")}
    fills = re.findall(r'<path d="[^"]*" fill="(#\w+)" stroke="#ffffff"', drawn)
    assert len(fills) == 2
    assert heights(drawn, fills[0], ends["100%"], ends["0%"]) == pytest.approx((1.0, 1.0), abs=1e-3)
    lower = heights(drawn, fills[1], ends["100%"], ends["0%"])
    assert lower == pytest.approx((0.25, 0.75), abs=1e-3)
    bars = re.findall(r'<path d="((?:M[^v]*v-?[\d.]+h[\d.]+v-?[\d.]+Z)+)"', drawn)
    tall = [[float(length) for length in re.findall(r"v(-?[\d.]+)h", row)] for row in bars]
    assert tall[0][1] == pytest.approx(2 * tall[0][0], abs=0.02)
    assert tall[1][0] == pytest.approx(tall[0][0] / 5, abs=0.02)
    assert tall[1][1] == 0
    assert "a full row is 20\N{DEGREE SIGN}" in " ".join(texts(drawn))
    assert [
        label for label in texts(drawn) if label.endswith("\N{DEGREE SIGN}") and len(label) < 6
    ] == [
        "30\N{DEGREE SIGN}",
        "2\N{DEGREE SIGN}",
    ]


@pytest.mark.parametrize(("px", "height"), [(1000, 420), (400, 1000), (300, 100), (100, 300)])
def test_a_given_height_is_kept(px: int, height: int) -> None:
    for n_clusters in (1, 12, 40):
        drawn = svg(moving(36, n_clusters), px=px, height=height, title="A title")
        page = ET.fromstring(drawn.encode()).attrib
        assert (float(page["width"]), float(page["height"])) == (px, height)
        for left, right, top, bottom in map(box, lines(drawn)):
            assert -1 <= left <= right <= px + 1
            assert -3 <= top <= bottom <= height + 3
        assert not re.search(r'(?:width|height|font-size)="-', drawn)
    assert struct.unpack(">II", png(drawn, px)[16:24]) == (px, height)


def test_fewer_colours_than_clusters() -> None:
    labels = texts(svg(moving(5, 9), palette="tol-bright"))
    assert "3 others" in labels
    assert "6 of 9 clusters in colour" in labels
    # If only some clusters are selected, the others are the rest.
    assert "7 others" in texts(svg(moving(5, 9, n_shown=2)))
    assert "1 other" in texts(svg(moving(5, MOST_SHOWN + 1)))


def test_periods_without_rows_are_reported() -> None:
    labels = texts(svg(moving(5, 2, n_rows=[3, 0, 4, 0, 1])))
    assert "2 periods have no rows and follow from those around" in labels


def test_merged_periods_keep_the_largest_turn() -> None:
    model = moving(9, 1, drift=np.array([[np.nan, 9, 2, 3, 4, 5, 1, 1, 7]]).T)
    joined = model.every(4)
    assert joined.labels == [model.labels[0], model.labels[4], model.labels[8]]
    assert joined.drift[1:, 0].tolist() == [9, 7]
    assert joined.n_rows == [40, 40, 10]
    assert joined.weight.sum(axis=1) == pytest.approx(np.ones(3))
    assert joined.from_first[-1] == model.from_first[-1]


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (["2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z"], ["2023", "2024"]),
        (["2023-12-01T00:00:00Z", "2024-01-01T00:00:00Z"], ["2023-12", "2024-01"]),
        (["2023-12-31T00:00:00Z", "2024-01-01T00:00:00Z"], ["2023-12-31", "2024-01-01"]),
        (["2024-01-01T12:00:00Z", "2024-01-02T12:00:00Z"], ["2024-01-01", "2024-01-02"]),
        (
            ["2024-01-01T12:00:00Z", "2024-01-01T18:00:00Z"],
            ["2024-01-01 12:00", "2024-01-01 18:00"],
        ),
        (["2024-01-01T12:00:00.500000Z"], ["2024-01-01 12:00:00.500000"]),
    ],
)
def test_times_are_shortened_as_far_as_possible(labels: list[str], short: list[str]) -> None:
    assert shortened(labels, True) == short
    assert shortened(labels, False) == labels


@pytest.mark.parametrize("n", [1, 2, 13, 200, 2000])
@pytest.mark.parametrize("letters", [1, 10, 27])
def test_labels_of_an_axis_do_not_overlap_and_stay_inside(n: int, letters: int) -> None:
    x = np.linspace(50, 700, n).tolist() if n > 1 else [400.0]
    placed = ticks(["8" * letters] * n, x, 10.5, 1000)
    assert placed[0].x == x[0]
    ends = [
        (tick.at - width(tick.text, 10.5) / 2, tick.at + width(tick.text, 10.5) / 2)
        for tick in placed
    ]
    assert ends[0][0] >= 0
    assert ends[-1][1] <= 1000
    assert all(b[0] - a[1] >= 10.5 - 1e-6 for a, b in pairwise(ends))


def test_names_are_moved_as_little_as_possible() -> None:
    assert spread(np.array([5.0, 50.0]), 10, 0, 100).tolist() == [5, 50]
    assert spread(np.array([50.0, 50.0]), 10, 0, 100).tolist() == [45, 55]
    assert spread(np.array([99.0, 99.0, 99.0]), 10, 0, 100).tolist() == [80, 90, 100]
    assert spread(np.array([0.0, 0.0]), 10, 0, 100).tolist() == [0, 10]
    rng = np.random.default_rng(0)
    targets = np.sort(rng.uniform(0, 1000, 40))
    places = spread(targets, 12, 0, 1000)
    assert (np.diff(places) >= 12 - 1e-9).all()
    # No shift of a run of touching names reduces the total distance.
    cost = ((places - targets) ** 2).sum()
    runs = np.split(np.arange(40), np.flatnonzero(np.diff(places) > 12 + 1e-9) + 1)
    for run in runs:
        for by in (-0.1, 0.1):
            shifted = places.copy()
            shifted[run] += by
            assert ((shifted - targets) ** 2).sum() >= cost - 1e-9
