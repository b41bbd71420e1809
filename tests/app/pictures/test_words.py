"""Words of pictures: enough of them, readable, whole or plainly cut, none over another or over the
edge."""

from __future__ import annotations

import json
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.pictures import lettering
from app.pictures.labels import Ground, groups, spaced, spots
from app.pictures.lettering import clip, shortened
from app.pictures.sheet import FONT_PT, MM, PT
from app.pictures.svg import Shape, svg
from models.errors import UsageError
from models.tree.tree import Tree
from tests.app.pictures.tree_kit import HOSTILE, SHAPES, random_tree, texts
from tests.app.pictures.words_kit import lines, readable

PAGES: dict[str, dict[str, float]] = {
    "85 mm": {"px": 85 * MM, "font": FONT_PT * PT},
    "1440 px": {"px": 1440},
    "390 px": {"px": 390},
}
WORDS = ["goose", "albatross", "king_penguin", "brain_coral", "sea_slug", "ox", "bighorn"]


def named(n: int, seed: int = 0) -> Tree:
    """A tree of n leaves with names of many lengths."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(WORDS), size=(2, n)).tolist()
    return random_tree(
        n,
        names=[
            f"{WORDS[a]}_{WORDS[b]} {i}" for i, (a, b) in enumerate(zip(first, second, strict=True))
        ],
    )


@pytest.mark.parametrize("n", [20, 200, 1_000, 12_000, 100_000])
def test_every_picture_has_readable_words(n: int) -> None:
    tree = named(n)
    for page, sizes in PAGES.items():
        for shape in SHAPES:
            least = 6 * PT if "font" in sizes else 6.0
            picture = svg(tree, shape=shape, title="A tree", **sizes)  # type: ignore[arg-type]
            found = readable(picture, least)
            enough = 15 if n > 20 or page == "1440 px" else 12
            assert len(found) >= enough, (page, shape, len(found))
            assert not any("_" in word.text for word in found)
            if n >= 12_000 and shape == "circular":
                assert len(found) <= 60 + 3, (page, shape, len(found))


CASES = json.loads(Path(__file__).with_name("label_cases.json").read_text())
"""The page's module has the same cases (`tests/dashboard/js/label_places.test.js`)."""


def test_names_are_made_readable() -> None:
    for name, wanted in CASES["readable"]:
        assert lettering.readable(name) == wanted


def test_names_that_draw_nothing_have_their_code_points() -> None:
    for name, wanted in CASES["seen"]:
        assert lettering.seen(name) == wanted
    names = ["\u200b", " ", "\x07", "", "oak", "\u00ad\u2060"]
    found = set(texts(svg(random_tree(6, names=names), shape="rectangular")))
    assert {"U+200B", "U+0020", "U+0007", "oak", "U+00AD U+2060"} <= found


def test_parts_of_names_go_before_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lettering, "_advance", lambda _: 1000)
    for name, room, wanted in CASES["shortened"]:
        assert shortened(name, 1, room) == wanted


def test_groups_are_just_wide_enough() -> None:
    for case in CASES["groups"]:
        parent, width = np.array(case["parent"]), np.array(case["width"], dtype=float)
        tip = np.bincount(parent[1:], minlength=parent.size) == 0
        assert groups(parent, width, tip, case["least"]) == case["rows"]


def test_the_largest_names_have_room_first() -> None:
    for case in CASES["spaced"]:
        assert spaced(case["at"], case["rank"], case["apart"], case["around"]) == case["kept"]
    ground = Ground(*CASES["ground"]["size"])
    for *box, wanted in CASES["ground"]["boxes"]:
        assert ground.take(*box) is wanted, box


def test_many_long_lines_are_marked_in_little_memory() -> None:
    ground = Ground(8000.0, 100.0)
    line = np.full(2000, 50.0)
    tracemalloc.start()
    ground.draw(0 * line, line, 0 * line + 8000, line)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20
    assert not ground.take(7000.0, 40.0, 100.0, 20.0, clear=True)
    assert ground.take(7000.0, 60.0, 100.0, 20.0, clear=True)


def test_names_of_nodes_stand_beside_them_else_at_the_end_of_a_line() -> None:
    for case in CASES["spots"]:
        found = spots(case["wide"], case["size"], is_round=case["round"], is_led=case["led"])
        assert len(found) == case["count"]
        for (x, y, end), (left, down, line) in zip(found, case["spots"], strict=False):
            assert (x, y) == pytest.approx((left, down), abs=1e-5)
            assert end == (None if line is None else pytest.approx(tuple(line), abs=1e-5))


@pytest.mark.parametrize("shape", SHAPES)
def test_names_of_inner_nodes_are_in_the_picture(shape: Shape) -> None:
    tree = named(40)
    name = tree.name.copy()
    largest = [row for row in range(1, tree.n_nodes) if tree.n_children[row]]
    largest = sorted(largest, key=lambda row: -tree.size[row])[:4]
    name[largest] = ["Large_birds", "Things", "עצים", "<script>alert(1)</script>"]
    found = {w.text for w in readable(svg(replace(tree, name=name), shape=shape), 6.0)}
    assert {"Large birds", "Things"} <= found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_picture_says_which_names_it_leaves_out(shape: Shape) -> None:
    """Each name that a node was given is in the picture or in its warning, however deep it lies."""
    given = ["Birds", "Sea animals", "Vögel", "Geese", "Slugs"]
    for n in (20, 200, 5_000):
        tree = named(n)
        name = tree.name.copy()
        inner = sorted(
            (row for row in range(1, tree.n_nodes) if tree.n_children[row]),
            key=lambda row: -tree.size[row],
        )
        name[[*inner[:2], *inner[-3:]]] = given
        picture = svg(replace(tree, name=name), shape=shape, **PAGES["85 mm"])  # type: ignore[arg-type]
        missing = [each for each in given if each not in picture]
        if not missing:
            assert picture.warning is None
            continue
        assert picture.warning
        assert all(ascii(each) in picture.warning for each in missing[:1] if len(missing) < 4)
        counted = re.search(r" and (\d+) more", picture.warning)
        listed = picture.warning.count("'") // 2 + (int(counted[1]) if counted else 0)
        assert listed == len(missing)
    assert svg(named(20), shape=shape, **PAGES["85 mm"]).warning is None  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", ["circular", "rectangular"])
@pytest.mark.parametrize("n", [20, 60, 200])
def test_no_name_of_a_figure_lies_on_a_branch(shape: Shape, n: int) -> None:
    tree = named(n)
    name = tree.name.copy()
    inner = sorted(
        (row for row in range(1, tree.n_nodes) if tree.n_children[row]),
        key=lambda row: -tree.size[row],
    )[:8]
    given = ["Birds", "Sea animals", "Corals of reefs", "Geese", "Slugs", "Oxen", "Kin", "Horns"]
    name[inner] = given
    page: dict[str, Any] = {**PAGES["85 mm"]}
    picture = svg(replace(tree, name=name), shape=shape, **page)
    own = [word for word in readable(picture, 6 * PT) if word.text in given]
    assert len(own) >= (7 if shape == "rectangular" else 2)
    if shape == "circular":
        # A crowded circle has branches everywhere: there a name lies over them.
        return
    x, y = lines(picture)
    for word in own:
        (left, top), (right, bottom) = word.corners[0], word.corners[2]
        on = (x > left) & (x < right) & (y > top) & (y < bottom)
        assert not on.any(), (word, x[on], y[on])


def test_siblings_called_the_same_have_their_numbers_of_leaves() -> None:
    tree = random_tree(400, names=["positive"] * 400)
    labels = texts(svg(tree, shape="rectangular", depth=2))
    counted = [text for text in labels if text.startswith("positive (")]
    assert len(set(counted)) == len(counted) > 1


NAMES = {
    "long": lambda i: f"{i}" + "W" * 10_000,
    "short": lambda i: chr(97 + i % 26),
    "equal": lambda i: "the same for all",
    "emoji": lambda i: "🦊🎉👩‍👩‍👧 " * (i % 3 + 1),
    "right to left": lambda i: f"שלום עולם {i} مرحبا",
    "wide": lambda i: "日本語の名前" * (i % 4 + 1),
    "hostile": lambda i: HOSTILE[i % len(HOSTILE)],
    "markup": lambda i: f"<script>alert({i})</script>",
}


@pytest.mark.parametrize("kind", NAMES)
def test_odd_names_are_readable_or_plainly_cut(kind: str) -> None:
    for n in (20, 300):
        tree = random_tree(n, names=[NAMES[kind](i) for i in range(n)])
        for shape in SHAPES:
            for sizes in PAGES.values():
                picture = svg(tree, shape=shape, **sizes)  # type: ignore[arg-type]
                found = readable(picture, 6.0)
                assert "<script" not in picture
                assert len(found) >= 12
                assert all(len(w.text) < 80 or w.text.endswith("…") for w in found)


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_drawn_reversed(shape: Shape) -> None:
    marks = "\u061c\u200e\u200f\u202a\u202d\u202e\u2066\u2067\u2069"
    names = [f"{i}\u202eabc{marks}def" for i in range(20)]
    picture = svg(random_tree(20, names=names), shape=shape, title="to\u202epic")
    assert not set(marks) & set(picture)
    assert "topic" in picture
    assert "3abcdef" in picture


def test_no_character_is_cut_in_two() -> None:
    family, flag = "👩🏽\u200d👩🏽\u200d👧", "ne\u0301"
    for room in range(1, 60):
        cut = clip(family * 3, 12.0, room).removesuffix("…")
        assert cut == family * (len(cut) // len(family))
        assert not clip(flag * 9, 12.0, room).removesuffix("…").endswith("e")


def test_a_figure_without_room_for_words_is_refused() -> None:
    tree = named(20)
    for shape in SHAPES:
        with pytest.raises(UsageError, match=r"20 mm.*7 points.*font_pt") as error:
            svg(tree, shape=shape, px=20 * MM, font=7 * PT)
        assert error.value.where == {"parameter": "width_mm"}
        with pytest.raises(UsageError, match="height_mm"):
            svg(tree, shape=shape, px=85 * MM, height=15 * MM, font=7 * PT)
        readable(svg(tree, shape=shape, px=40 * MM, font=7 * PT), 6 * PT)
