"""Columns of items beside the tips of a picture."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from app.pictures.palette import style
from app.pictures.pictured_tree import take
from app.pictures.strips import N_STEPS, Column, runs, step_of, strip
from app.pictures.svg import svg
from tests.app.pictures.tree_kit import FOUR, SHAPES, random_tree, texts

NAN = math.nan
KIND = Column(
    "kind", 0, "category", np.array([0.0, 0, 1, 0, NAN, 1, 2]),
    np.array([0.5, 1, 0.6, 1, NAN, 1, 1]), texts=("plant", "animal", "stone"),
)  # fmt: skip
WEIGHT = Column(
    "weight", 1, "number", np.array([5.0, 2.5, 7.5, 0, 5, NAN, 10]), ends=(0.0, 10.0)
)  # fmt: skip
SEEN = Column("seen", 2, "date", np.full(7, 86400.0 * 19_724), ends=(86400.0 * 19_723,) * 2)


def test_steps_are_those_of_the_literal_definition() -> None:
    values = np.array([0.0, 1, 1.2, 4.9, 9.99, 10, NAN, -3, 40])
    literal = [
        -1 if math.isnan(v) else min(N_STEPS - 1, max(0, math.floor(v / 10 * N_STEPS)))
        for v in values
    ]
    assert step_of(values, 0.0, 10.0).tolist() == literal
    assert step_of(np.array([3.0, NAN]), 3.0, 3.0).tolist() == [N_STEPS // 2, -1]
    huge = np.array([-1.7e308, 0.0, 1.7e308])
    assert step_of(huge, -1.7e308, 1.7e308).tolist() == [0, N_STEPS // 2, N_STEPS - 1]


def test_runs_join_equal_neighbours_and_leave_blanks_out() -> None:
    colours: Sequence[str | None] = ["a", "a", None, "a", "b", None, None]
    assert runs(colours) == [("a", 0, 1), ("a", 3, 3), ("b", 4, 4)]


def test_missing_values_are_blank_and_the_legend_has_what_is_drawn() -> None:
    look = style()
    own = strip(KIND, np.array([3, 4, 5, -1, 90]), look)
    assert own.colour == [look.colours[0], None, look.colours[1], None, None]
    assert [text for _, text in own.legend] == ["kind:", "plant", "animal"]
    own = strip(WEIGHT, np.array([3, 4, 5, 6]), look)
    assert own.colour[2] is None
    assert own.colour[3] == look.colours[1]
    assert len({*own.colour}) == 4
    assert own.legend[1][1] == "0 to 1.111"
    # One value is written once, in the colour that it has.
    own = strip(SEEN, np.array([3]), look)
    assert own.legend[1:] == [(own.colour[0], "2024-01-01")]


def test_categories_beyond_the_palette_share_a_grey() -> None:
    look = style(palette="grey")
    column = Column("k", 0, "category", np.arange(7.0), texts=tuple("abcdefg"))
    own = strip(column, np.arange(7), look)
    assert own.colour[4:] == [look.other] * 3
    assert own.legend[-1] == (look.other, "3 others")
    # A mixed tip fades to that grey.
    mixed = Column("k", 0, "category", np.zeros(1), np.array([0.4]), texts=("a",))
    assert strip(mixed, np.zeros(1, dtype=int), look).colour[0] not in (look.colours[0], look.other)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_picture_has_its_strips_and_their_legend(shape: str) -> None:
    picture = svg(FOUR, shape=shape, strips=(KIND, WEIGHT, SEEN))  # type: ignore[arg-type]
    ET.fromstring(picture)
    written = texts(picture)
    assert {"1 kind:", "2 weight:", "3 seen:", "plant", "animal", "stone"} <= {*written}
    # Each strip has its number, as its legend has.
    bare = texts(svg(FOUR, shape=shape))  # type: ignore[arg-type]
    assert {
        text: n for text, n in (Counter(written) - Counter(bare)).items() if text.isdigit()
    } == {
        "1": 1,
        "2": 1,
        "3": 1,
    }
    fills = re.findall(r'<path d="[^"]*" fill="(#[0-9a-f]{6})"', picture)
    kind, weight, seen = take(
        FOUR, 0, max_tips=9, max_depth=None, categories=None, style=style(), labels="name",
        strips=(KIND, WEIGHT, SEEN),
    ).strips  # fmt: skip
    assert kind.colour.count(None) == weight.colour.count(None) == 1
    for own in (kind, weight, seen):
        for colour, _, _ in runs(own.colour):
            assert colour in fills
    alone = texts(svg(FOUR, shape=shape, strips=(KIND,)))  # type: ignore[arg-type]
    assert "kind:" in alone
    assert sorted(set(alone) - {"kind:", "plant", "animal", "stone"}) == sorted(set(bare))


def test_folded_tips_have_the_value_of_their_node() -> None:
    tree = random_tree(5000)
    column = Column(
        "own", 0, "number", np.arange(tree.n_nodes, dtype=float), ends=(0.0, tree.n_nodes - 1.0)
    )
    ids = np.arange(tree.n_nodes)[::-1].copy()
    pictured = take(
        tree, 0, max_tips=50, max_depth=None, categories=None, style=style(), labels="id",
        ids=ids, strips=(column,),
    )  # fmt: skip
    assert pictured.folded.any()
    # Labels are ids here, and ids are values.
    shown = [int(pictured.label[row].split()[0]) for row in np.flatnonzero(pictured.tip)]
    expected = strip(column, np.array(shown), style()).colour
    assert list(pictured.strips[0].colour) == expected
    picture = svg(tree, px=400, ids=ids, strips=(column,) * 4)
    assert len(picture) < 200_000
