"""Every kind of picture but trees, on a phone, a desk and paper: its words are at least 7 pixels
high (6 points of 7 in print), lie on the page and overlap no other."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.pictures import stream
from app.pictures.lettering import LEAST, width
from app.pictures.moving import Moving
from app.pictures.palette import style
from app.pictures.sheet import MM, PT
from app.resources.calibrations import picture as selective
from app.resources.confusions import picture as confusions
from app.resources.drifts import picture as drifts
from app.resources.flows import picture as flows
from app.resources.heatmaps import picture as heatmaps
from app.resources.maps import picture as maps
from app.resources.models.stretches import picture as stretches
from app.resources.placements import picture as placements
from app.resources.tangles import picture as tangles
from models.clusterings.graph import graph_of
from models.clusterings.levels import of_table
from models.heatmaps.heatmap import joins_of_merges
from models.running.progress import silent
from models.tree.window import scene
from tests.app.pictures.tree_kit import NS, random_tree
from tests.app.pictures.words_kit import readable
from tests.models.clusterings.tables_kit import table

RNG = np.random.default_rng(0)
KINDS = [
    "police_van",
    "W" * 180,
    "עברית כלב",
    "日本語の猫と犬",
    "👩\u200d👩\u200d👧 family",
    "e\u0301\u0302 combining",
    "<script>alert(1)</script>",
    "a, long, list, of, many, short, words, in, one, name",
]
NAMES = [f"{KINDS[at % len(KINDS)]} {at}" for at in range(24)]
SIZES: dict[str, dict[str, float]] = {
    "phone": {"px": 390},
    "desk": {"px": 1000},
    "column": {"px": 85 * MM, "font": 7 * PT},
}
TREE = random_tree(300, names=[NAMES[at % len(NAMES)] for at in range(300)])


def _moves(**how: Any) -> str:
    shown = [
        drifts.Move("mass", at, name, NAMES[-at], way, 0.7123, 0.5312, -0.3, -0.1)
        for at, name in enumerate(NAMES)
        for way in ("gained", "lost")
    ]
    return drifts.svg(drifts.Moves(shown, 90, 1000, 1200, 0.05), **how)


def _odds(**how: Any) -> str:
    odd = [
        placements.Odd("class", name, 1, NAMES[-1], NAMES[1], NAMES[:3], 0.1, 0.8, 1e-19, True)
        for name in NAMES
    ]
    return placements.svg(placements.Odds(odd, 24, 3, 24, 0.05), **how)


def _curve(**how: Any) -> str:
    share = np.linspace(1, 0, 50)
    return selective.svg(selective.Selective(share, 0.45 * share**3, 0.15, 24), **how)


def _end(**how: Any) -> str:
    """A curve that is chosen at its end, whose text has no room on the right."""
    share = np.linspace(1, 0, 50)
    return selective.svg(selective.Selective(share, 0.00122 * share, 0.1, 0), **how)


def _bars(**how: Any) -> str:
    return stretches.svg(stretches.Bars(NAMES, np.linspace(9, 0, 24).tolist(), "How far"), **how)


def _matrix(**how: Any) -> str:
    share = RNG.random((24, 24)) / 20
    drawn = confusions.Matrix(NAMES, share, "class", "taken for", "share of each class's rows")
    return confusions.svg(drawn, style(), **how)


def _heatmap(**how: Any) -> str:
    merges = [[at if at == 0 else 23 + at, at + 1, float(at + 1)] for at in range(23)]
    side = heatmaps.Side(np.arange(25), joins_of_merges(24, merges), NAMES)
    other = heatmaps.Side(np.arange(25), joins_of_merges(24, merges), NAMES[::-1])
    drawn = heatmaps.Heatmap(
        RNG.normal(size=(24, 24)), side, other, -2, 2, (True, True), True, False, "Mean", "24 rows"
    )
    return heatmaps.svg(drawn, style(), **how)


def _tangle(**how: Any) -> str:
    nodes = scene(TREE, 0, 60).nodes
    ends = [node["id"] for node in nodes if node["folded"]]
    links = [(at, at, 3) for at in ends]
    return tangles.svg(tangles.Facing(nodes, nodes, links, "300 points"), style(), **how)


def _flows(**how: Any) -> str:
    columns: dict[str, list[str | None]] = {
        f"level {k}": [NAMES[row % k] for row in range(96)] for k in (2, 6, 24)
    }
    return flows.svg(graph_of(of_table(table(columns), list(columns))[0], silent), style(), **how)


def _paths(**how: Any) -> str:
    weight = RNG.dirichlet(np.ones(12), size=8)
    drift = RNG.uniform(1, 29, size=(8, 12))
    moving = Moving(
        [f"{at}" for at in range(8)], False, [9] * 8, NAMES[:12], 12, weight, drift, drift
    )
    return stream.svg(moving, **how)


DRAWN: dict[str, Callable[..., str]] = {
    "moves": _moves,
    "odds": _odds,
    "curve": _curve,
    "end of a curve": _end,
    "bars": _bars,
    "matrix": _matrix,
    "heatmap": _heatmap,
    "tangle": _tangle,
    "flows": _flows,
    "paths": _paths,
}


@pytest.mark.parametrize("page", SIZES)
@pytest.mark.parametrize("kind", DRAWN)
def test_words_are_large_enough_on_the_page_and_apart(kind: str, page: str) -> None:
    for how in ({}, {"title": "A title", "theme": "dark"}):
        try:
            picture = DRAWN[kind](**SIZES[page], **how)
        except TypeError:
            picture = DRAWN[kind](**SIZES[page], title="A title")
        found = readable(picture, 6 * PT * 0.8 if page == "column" else LEAST)
        assert len(found) >= 5
        assert "<script" not in picture
        assert kind == "bars" or not any("police_van" in word.text for word in found)


def test_folded_ends_of_two_trees_have_names_at_even_distances() -> None:
    picture = _tangle(px=1000)
    root = ET.fromstring(picture.encode())
    texts = [text for text in root.iter(f"{NS}text") if text.get("text-anchor") is None]
    y = np.sort([float(text.attrib["y"]) for text in texts])
    np.testing.assert_allclose(np.diff(y), np.diff(y)[0], atol=0.02)


def test_columns_of_a_low_heatmap_leave_room_for_its_cells() -> None:
    picture = _heatmap(px=1000, height=300)
    path = next(
        p for p in ET.fromstring(picture.encode()).iter(f"{NS}path") if "v" in p.get("d", "")
    )
    assert path is not None
    names = [word for word in readable(picture, LEAST) if word.corners[0][0] == word.corners[1][0]]
    assert max(width(word.text, word.size) for word in names) <= 90


def test_a_map_is_as_high_as_its_points_need() -> None:
    for high, expected in ((1.0, 1.0), (0.6, 0.6), (0.1, 0.5)):
        xy = RNG.random((50, 2)) * [1, high]
        xy[:2] = [[0, 0], [1, high]]
        drawn = maps.Scatter(xy, np.zeros(50, int), ["#000000"], [], False, "50 points")
        page = ET.fromstring(maps.svg(drawn, style(), px=1000).encode()).attrib
        assert float(page["height"]) == pytest.approx(1000 * expected + 42, abs=40)


def test_ticks_of_a_curve_are_round_and_its_axes_have_titles() -> None:
    texts = [text.text for text in ET.fromstring(_curve(px=1000).encode()).iter(f"{NS}text")]
    assert {"0%", "10%", "20%", "30%", "40%", "50%"} <= set(texts)
    assert {"Share of wrong answers", "Share of information given"} <= set(texts)


def test_moves_have_a_key_of_their_colours() -> None:
    assert {"gained", "lost"} <= {
        text.text for text in ET.fromstring(_moves(px=390)).iter(f"{NS}text")
    }
