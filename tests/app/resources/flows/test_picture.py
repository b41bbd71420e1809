"""Rows of circles: every cluster, every flow, colours that go down from parents."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app.pictures.palette import style
from app.resources.flows import picture
from app.resources.flows.picture import svg
from models.clusterings.graph import ClusterGraph, graph_of
from models.clusterings.levels import of_table
from models.running.progress import silent
from tests.app.pictures.tree_kit import texts
from tests.models.clusterings.tables_kit import random_labels, table

CIRCLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)" fill="(#\w+)"')


def graph(columns: dict[str, list[str | None]]) -> ClusterGraph:
    return graph_of(of_table(table(columns), list(columns))[0], silent)


#  all -> left -> a, b;  all -> right -> c, noise
DRAWN = graph(
    {
        "one": ["all"] * 20,
        "two": ["left"] * 8 + ["right"] * 12,
        "<four>": ["a"] * 4 + ["b"] * 4 + ["c"] * 6 + [None] * 6,
    }
)


def test_every_cluster_is_a_circle_with_its_label() -> None:
    drawn = svg(DRAWN, style(), px=1000, title="T & t")
    circles = [tuple(map(float, found[:3])) for found in CIRCLE.findall(drawn)]
    assert len(circles) == 7
    written = texts(drawn)
    for text in ("one", "two", "<four>", "all", "left", "right", "a", "b", "c", "T & t"):
        assert text in written
    assert any("Grey: rows without a label" in text for text in written)
    # Areas are by rows, a level is a row.
    radius = [own[2] for own in circles]
    np.testing.assert_allclose(np.square(radius) / radius[0] ** 2, DRAWN.size / 20, atol=0.01)
    assert len({own[1] for own in circles}) == 3
    assert circles[3][0] < circles[4][0] < circles[5][0] < circles[6][0]


def test_colours_go_down_from_the_first_level_of_several() -> None:
    own = style()
    fills = [fill for *_, fill in CIRCLE.findall(svg(DRAWN, own))]
    left, right = own.colours[:2]
    assert fills == [own.ink, left, right, left, left, right, own.other]


def test_every_flow_is_a_line_and_the_strong_ones_are_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = svg(DRAWN, style())
    lines = re.findall(r'stroke-opacity="([\d.]+)" stroke-width="[\d.]+" d="([^"]+)"', drawn)
    assert sum(path.count("M") for _, path in lines) == len(DRAWN.rows) == 6
    strengths = [float(strength) for strength, _ in lines]
    assert strengths == sorted(strengths)
    monkeypatch.setattr(picture, "MOST_LINES", 2)
    drawn = svg(DRAWN, style())
    assert any("4 thin lines are left out" in text for text in texts(drawn))


@pytest.mark.parametrize("seed", range(15))
def test_circles_of_a_level_do_not_overlap_nor_leave_the_page(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, int(rng.integers(1, 60)), int(rng.integers(2, 6)))
    columns = {f"K{number}": list(map(str, own)) for number, own in enumerate(labels)}
    drawn = svg(graph(dict(columns)), style(), px=700)
    assert "nan" not in drawn
    high = float(re.findall(r'height="([\d.]+)"', drawn)[0])
    circles = [tuple(map(float, found[:3])) for found in CIRCLE.findall(drawn)]
    for place, (x, y, r) in enumerate(circles):
        assert x - r >= 0
        assert x + r <= 700
        assert y - r >= 0
        assert y + r <= high
        for other in circles[place + 1 :]:
            if other[1] == y:
                assert abs(other[0] - x) >= r + other[2] - 0.02
