"""Pictures: well-formed, safe, bounded, without overlaps."""

from __future__ import annotations

import math
import re
import struct
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from app.pictures import circular, lettering, renderer
from app.pictures.lettering import clean, clip, width
from app.pictures.marks import points
from app.pictures.renderer import png
from app.pictures.svg import svg
from models.errors import UsageError
from models.tree.tree import Tree
from tests.app.pictures.tree_kit import (
    FOUR,
    HOSTILE,
    NS,
    SHAPES,
    by,
    chain,
    flat,
    random_tree,
    single,
    star,
    texts,
)
from workers.errors import TransientError


def size_of(image: bytes) -> tuple[int, int]:
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    wide, tall = struct.unpack(">II", image[16:24])
    return wide, tall


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "tree",
    [
        single(),
        random_tree(2),
        random_tree(10, names=HOSTILE),
        flat(random_tree(60)),
        star(12),
        star(5000),
        chain(1000),
        random_tree(100_000),
    ],
    ids=["one", "two", "hostile", "equal", "star", "wide", "chain", "large"],
)
def test_every_tree_gives_a_complete_picture(tree: Tree, shape: str) -> None:
    picture = svg(tree, shape=shape, px=400, title="<b>&\x00")  # type: ignore[arg-type]
    root = ET.fromstring(picture.encode())
    assert len(picture) < 1_000_000
    allowed = {"svg", "g", "rect", "path", "text", "title"}
    for element in root.iter():
        assert element.tag.removeprefix(NS) in allowed
        for key, value in element.attrib.items():
            assert not key.startswith("on")
            assert "href" not in key
            assert "url(" not in value
    assert "nan" not in picture.replace("leaves", "").lower().split("</title>")[-1]
    assert not re.search(r'[" ,LMHVAlv](nan|inf)', picture)
    wide, tall = size_of(png(picture, 400))
    assert wide == 400
    assert abs(tall - float(root.attrib["height"])) <= 1


def test_names_are_escaped_and_shortened() -> None:
    picture = svg(random_tree(10, names=HOSTILE))
    labels = texts(picture)
    assert any(text.startswith("<script>alert(") for text in labels)
    assert "\"'&]]>" in labels
    assert "<script" not in picture
    long = next(text for text in labels if text.startswith("xxx"))
    assert long.endswith("…")
    assert len(long) < 60
    assert "new line tab\ufffd\ufffd\ufffd\ufffd" in labels


def test_ids_instead_of_names() -> None:
    assert sorted(map(int, texts(svg(random_tree(5), labels="id")))) == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("n", [10, 60, 140, 300])
def test_circular_labels_do_not_overlap_and_stay_inside(n: int) -> None:
    px = 1000
    picture = svg(random_tree(n), px=px)
    matches = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)"(?: transform="rotate\(([-\d.]+) [^)]*\)")?'
        r'(?: text-anchor="(\w+)")? font-size="([\d.]+)"[^>]*>([^<]*)',
        picture,
    )
    labels = [row for row in matches if row[5].startswith("leaf")]
    assert len(labels) == n
    middle = px / 2
    places = []
    for x, y, turn, anchor, size, text in labels:
        font = float(size)
        # The baseline was lowered by 0.36 of the font to centre the line.
        at_x, at_y = float(x) - middle, float(y) - 0.36 * font - middle
        radius, angle = math.hypot(at_x, at_y), math.atan2(at_y, at_x)
        degrees = float(turn or 0) + (180 if anchor == "end" else 0)
        assert math.cos(math.radians(degrees) - angle) > 0.9999, "labels point outwards"
        assert abs((float(turn or 0) + 90) % 360 - 90) <= 90.5, "labels can be read upright"
        assert radius + width(text, font) <= middle
        places.append((angle, radius, font))
    places.sort()
    for (low, radius, font), (high, _, _) in pairwise(places):
        assert (high - low) * radius >= 0.97 * font


@pytest.mark.parametrize(("n", "font"), [(10, 13.0), (500, 6.0), (2000, 6.0)])
def test_rectangular_labels_do_not_overlap(n: int, font: float) -> None:
    picture = svg(random_tree(n), shape="rectangular")
    rows = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)" font-size="([\d.]+)"[^>]*>(leaf[^<]*)', picture
    )
    assert len(rows) == n
    assert all(float(x) + width(text, float(size)) <= 1000 for x, _, size, text in rows)
    heights = sorted(float(y) for _, y, _, _ in rows)
    assert min(b - a for a, b in pairwise(heights)) >= float(rows[0][2]) >= font


def test_labels_are_dropped_first_then_leaves_are_folded() -> None:
    some = re.findall(
        r'rotate\([-\d.]+ ([\d.]+) ([\d.]+)\)"[^>]*? font-size="([\d.]+)"[^>]*>leaf',
        svg(random_tree(2000), px=1000),
    )
    assert 15 <= len(some) <= 100
    apart = [
        math.dist((float(a[0]), float(a[1])), (float(b[0]), float(b[1]))) for a, b in pairwise(some)
    ]
    assert min(apart) >= float(some[0][2]) >= 6.5
    assert len(texts(svg(random_tree(2000), px=6000))) == 2000
    folded = texts(svg(random_tree(3000), px=1000))
    assert "wedges: folded subtrees, 160 shown for 3,000 leaves" in folded[-1]
    assert any(re.search(r"leaf \d+, … \(\d+\)$", text) for text in folded[:-1])


def test_further_children_of_wide_nodes_are_folded() -> None:
    labels = texts(svg(star(5000), shape="rectangular"))
    assert "4,880 more" in labels
    assert "s119" in labels


def test_depth_folds_subtrees() -> None:
    labels = texts(svg(random_tree(64), depth=1))
    assert len(labels) == 3
    counts = [int(text.split("(")[1].rstrip(")")) for text in labels[:2] if "(" in text]
    assert sum(counts) in (63, 64)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("px", "height"), [(1000, 700), (400, 1000), (300, 100), (100, 300)])
def test_a_given_height_is_kept(shape: str, px: int, height: int) -> None:
    for n in (1, 12, 119, 3000):
        tree = random_tree(n)
        labelled = by(tree, [f"kind {i % 7} of them all" for i in range(n)])
        picture = svg(
            tree,
            shape=shape,  # type: ignore[arg-type]
            px=px,
            height=height,
            title="A title",
            categories=labelled,
        )
        page = ET.fromstring(picture.encode()).attrib
        assert (float(page["width"]), float(page["height"])) == (px, height)
        for x, y in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', picture):
            assert -1 <= float(x) <= px + 1
            assert -1 <= float(y) <= height + 1
        assert not re.search(r'(?:width|height|font-size)="-', picture)
    assert size_of(png(picture, px)) == (px, height)


@pytest.mark.parametrize("shape", ["rectangular", "icicle"])
def test_a_figure_for_print_ends_with_the_page(shape: str) -> None:
    """Rows that fit keep their height; more are as high as a page, with names of groups."""
    font = 7 * 96 / 72
    width_mm = 85 * 96 / 25.4
    few, many = (
        svg(random_tree(n), shape=shape, px=width_mm, font=font)  # type: ignore[arg-type]
        for n in (30, 1000)
    )
    high = [
        float(ET.fromstring(text.encode()).attrib["height"]) * 25.4 / 96 for text in (few, many)
    ]
    assert high[0] < 200
    assert 240 <= high[1] <= 250
    assert many.count("<text") >= 15


def test_labels_do_not_overlap_in_a_given_height() -> None:
    for n in (20, 60, 119, 500):
        picture = svg(random_tree(n), shape="rectangular", height=800)
        rows = re.findall(r' y="([\d.]+)" font-size="([\d.]+)"[^>]*>leaf', picture)
        assert len(rows) == n if n < 100 else 15 <= len(rows) <= 60
        heights = sorted(float(y) for y, _ in rows)
        assert all(b - a >= 0.97 * float(rows[0][1]) for a, b in pairwise(heights))


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"shape": "square"}, "shape"),
        ({"px": 20}, "px"),
        ({"px": 10_001}, "px"),
        ({"height": 20}, "height"),
        ({"palette": "rainbow"}, "palette"),
        ({"theme": "blue"}, "theme"),
        ({"depth": -1}, "depth"),
    ],
)
def test_errors_locate_bad_requests(bad: dict[str, object], place: str) -> None:
    with pytest.raises(UsageError) as error:
        svg(FOUR, **bad)  # type: ignore[arg-type]
    assert error.value.where == {"parameter": place}
    with pytest.raises(UsageError, match="no node 7"):
        svg(FOUR, root=7)


def test_png_is_bounded() -> None:
    picture = svg(FOUR)
    with pytest.raises(UsageError, match="at least one pixel"):
        png(picture, 0)
    with pytest.raises(UsageError, match="20,971,520"):
        png(picture, 5000)
    with pytest.raises(UsageError, match="20,971,520"):
        png(svg(random_tree(2000), shape="rectangular"), 2000)


def test_png_does_not_depend_on_installed_fonts() -> None:
    # Text leaves ink: the picture differs from one without text.
    with_text, without = svg(FOUR), re.sub(r"<text.*?</text>", "", svg(FOUR))
    assert png(with_text, 300) != png(without, 300)
    assert png(with_text, 300) == png(with_text, 300)


def test_other_threads_run_while_a_png_is_drawn() -> None:
    picture = svg(random_tree(2000), px=4000)
    begun, done, n_turns = threading.Event(), threading.Event(), 0

    def watch() -> None:
        nonlocal n_turns
        while not done.wait(0.005):
            n_turns += begun.is_set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun.set()
    png(picture, 2000)
    done.set()
    watcher.join()
    # Held up for the whole picture, it would have had one or two.
    assert n_turns >= 10


def test_a_picture_that_cannot_be_drawn_is_an_internal_error() -> None:
    with pytest.raises(RuntimeError, match="renderer"):
        png('<svg viewBox="0 0 10 10"><broken', 100)


def test_text_for_pictures() -> None:
    assert clean("a\r\n b\x07") == "a b\ufffd"
    assert clip("abc", 10, 100) == "abc"
    assert clip("wwwwwwwwww", 10, 50).endswith("w…")
    assert width(clip("W" * 500, 10, 120), 10) <= 120
    assert points(-0.001, 1.5, 2.0) == "0 1.5 2"


def test_the_whole_circle_is_used() -> None:
    most, after = circular.capacity(1000)
    assert (most, after) == (2000, 160)


def test_support_is_shown_at_inner_nodes() -> None:
    tree = random_tree(12, seed=3)
    support = np.where(tree.n_children > 0, np.arange(tree.n_nodes) / 100, np.nan)
    shown = replace(tree, extra={"support": support})
    inner = np.flatnonzero(tree.n_children > 0)
    plain, numbers = (texts(svg(each, shape="rectangular")) for each in (tree, shown))
    added = set(numbers) - set(plain)
    assert added <= {f"{100 * support[node]:.0f}" for node in inner}
    assert len(added) >= len(inner) // 2
    dots = [svg(each, shape="circular").count("<path") for each in (tree, shown)]
    assert dots[1] - dots[0] == len(inner) - int(support[0] == 0)


@pytest.mark.parametrize("letters", ["W", "il.", "ﬁ漢e\u0301a", " a "])
def test_text_is_fitted_as_by_taking_letters_off(letters: str) -> None:
    """`clip` in one pass, against its definition."""
    for n_letters in (0, 1, 7, 60, 399, 400):
        text = clean((letters * n_letters)[:n_letters])
        for room in (0.0, 5.0, 12.5, 40.0, 333.3, 1e9):
            expected = text
            if width(text, 12.5) > room:
                while expected and width(expected, 12.5) + 12.5 > room:
                    expected = expected[:-1]
                expected = expected.rstrip() + "…"
            assert clip(text, 12.5, room) == expected


def test_long_names_are_cut_before_they_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0
    advance = lettering._advance

    def counted(letter: str) -> int:
        nonlocal measured
        measured += 1
        return advance(letter)

    monkeypatch.setattr(lettering, "_advance", counted)
    n_measured = []
    for length in (1_000, 100_000):
        for shape in SHAPES:
            svg(random_tree(3, names=["W" * length] * 3), shape=shape)
        n_measured.append(measured)
        measured = 0
    assert n_measured[0] == n_measured[1] < 3 * 20 * len(SHAPES) * 40
    lettering.wrapped("W " * 1000, 12.5, 1e9)
    assert measured < 10 * 2000


def test_a_picture_that_takes_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that would need more memory than a renderer may have: a signal ends it."""
    drawn = svg(star(4))
    monkeypatch.setattr(renderer, "MEMORY_BYTES", 40 << 20)
    with pytest.raises(UsageError, match="processor or") as refused:
        png(drawn, 4000)
    assert refused.value.code == "too-costly"
    monkeypatch.setattr(renderer, "MEMORY_BYTES", 2 << 30)
    monkeypatch.setattr(renderer, "SHORT_S", 0.0)
    monkeypatch.setattr(renderer, "TIMEOUT_S", 0.01)
    with pytest.raises(TransientError, match=r"within 0\.01 s"):
        png(drawn, 4000)
