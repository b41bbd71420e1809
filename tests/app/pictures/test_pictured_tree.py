"""The meaning of colours in pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app.pictures.palette import mix, style
from app.pictures.svg import svg
from models.node_names.differences import described
from models.tree import labels as categories
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.app.pictures.tree_kit import FOUR, SHAPES, by, random_tree, star, texts

LIGHT = style()


def strokes(picture: str) -> dict[str, int]:
    """The number of lines of each colour."""
    return {
        colour: sum(len(re.findall("M", path)) for path in paths)
        for colour in set(re.findall(r'stroke="(#\w+)" stroke-width', picture))
        if (
            paths := re.findall(
                rf'<path stroke="{colour}" stroke-width="[\d.]+" d="([^"]+)"', picture
            )
        )
    }


def test_a_branch_has_the_colour_all_its_leaves_share() -> None:
    picture = svg(FOUR, categories=by(FOUR, ["a", "a", "b", None]))
    # Subtree 1: its branch, its arc, two leaves. Leaf 5 alone. Leaf 6 has no label: grey.
    drawn = strokes(picture)
    assert drawn[LIGHT.colours[0]] == 4
    assert drawn[LIGHT.colours[1]] == 1
    assert drawn[LIGHT.other] == 1
    assert drawn[LIGHT.ink] == 3
    labels = texts(picture)
    assert {"a", "b", "none"} <= set(labels)


def test_the_largest_clusters_are_coloured_and_neighbours_differ() -> None:
    # Node 1 is higher than 2: cut into 3, 4 and 2, which is the largest.
    drawn = strokes(svg(FOUR, categories=categories.of_cut(FOUR, k=3)))
    assert [drawn[LIGHT.colours[i]] for i in range(3)] == [4, 1, 1]
    many = random_tree(60)
    cut = categories.of_cut(many, k=50)
    own = style(palette="tol-bright")
    picture = svg(many, categories=cut, palette="tol-bright")
    assert set(strokes(picture)) - {own.guide} == {*own.colours, *own.pale, own.ink}
    assert "44 smaller clusters, in pale colours by turns" in texts(picture)
    for n_clusters in (1, 3, 20, 21, 22, 23, 50, 200):
        # From left to right ever larger, and ever smaller.
        for size in (np.arange(n_clusters), np.arange(n_clusters)[::-1]):
            colour = LIGHT.cluster_colours(size)
            large = [colour[at] for at in np.argsort(-size)[:20]]
            assert len(set(large)) == len(large)
            assert set(large) == set(LIGHT.colours[: len(large)])
            assert all(own != colour[at - 1] for at, own in enumerate(colour) if n_clusters > 1)


def test_a_part_has_the_colours_of_the_whole() -> None:
    for cut in (by(FOUR, ["a", "a", "b", None]), categories.of_cut(FOUR, k=2)):
        whole, part = strokes(svg(FOUR, categories=cut)), strokes(svg(FOUR, root=2, categories=cut))
        assert LIGHT.colours[1] in part
        assert set(part) <= set(whole)


def test_named_clusters_have_a_legend() -> None:
    named = Tree(
        FOUR.parent,
        FOUR.height,
        FOUR.size,
        np.array([None, "flowers", "trees", "p", "q", "r", "s"], dtype=object),
        FOUR.leaf_of_point,
    )
    assert {"flowers", "trees"} <= set(texts(svg(named, categories=categories.of_cut(named, k=2))))
    assert len(texts(svg(FOUR, categories=categories.of_cut(FOUR, k=2)))) == 4


def test_clusters_of_rows_have_a_legend_by_what_tells_them_apart() -> None:
    #  0: 100 rows, of which 1 and 2 have 50, and each node below them 25
    parent = [-1, 0, 0, 1, 1, 2, 2, *np.repeat([3, 4, 5, 6], 25).tolist()]
    names = [*[None] * 7, *(f"bird {row}" for row in range(100))]
    rows = from_parents(parent, [3.0, 2.0, 2.0, *[1.0] * 4, *[0.0] * 100], names, np.arange(7, 107))
    weight = np.repeat([5.0, 0.0, 5.0, 0.0], 25)[:, None]
    tree = described(rows, weight, ["weight of the whole bird"])
    narrow = svg(tree, px=321, font=9.33, categories=categories.of_cut(tree, k=4))
    # Siblings have different names; clusters of different parents have their points beside them.
    assert [text for text in texts(narrow) if "weight" in text] == [
        f"{side} weight of the whole bird (25)" for side in ("high", "low", "high", "low")
    ]
    # Entries below each other begin at the same place.
    places = re.findall(r'<rect x="([\d.]+)"[^>]*rx="', narrow)
    assert len(places) == 4
    assert len(set(places)) == 1


def test_folded_tips_fade_with_mixture() -> None:
    picture = svg(FOUR, depth=1, categories=by(FOUR, ["a", "b", "a", "a"]))
    drawn = strokes(picture)
    assert LIGHT.colours[0] in drawn
    assert mix(LIGHT.ink, LIGHT.colours[0], 0.5) in drawn


def test_children_folded_into_one_are_grey() -> None:
    wide = star(5000)
    labelled = by(wide, ["a"] * 5000)
    drawn = strokes(svg(wide, shape="rectangular", categories=labelled))
    assert drawn[LIGHT.ink] == 1


def test_more_categories_than_colours_share_a_grey() -> None:
    n = 60
    tree = random_tree(n)
    labelled = by(tree, [f"kind {i % 24:02}" for i in range(n)])
    labels = texts(svg(tree, categories=labelled))
    assert "4 others" in labels
    assert "kind 19" in labels
    assert "kind 20" not in labels
    labels = texts(svg(tree, categories=labelled, palette="tol-muted"))
    assert "15 others" in labels


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dark_picture_has_no_colour_of_the_light_one(shape: str) -> None:
    tree = random_tree(30)
    labelled = by(tree, [f"kind {i % 3}" for i in range(30)])
    dark = svg(tree, shape=shape, theme="dark", categories=labelled, title="t")  # type: ignore[arg-type]
    for colour in (LIGHT.paper, LIGHT.text, LIGHT.ink, LIGHT.guide, LIGHT.faint):
        assert colour not in dark
    assert f'fill="{style("dark").paper}"' in dark


def test_tips_of_several_rows_have_their_most_frequent_label_with_its_share() -> None:
    leaf = np.repeat([1, 2], [10, 4]).astype(np.int32)
    names = np.array([None, None, "birds"], dtype=object)
    tree = Tree(
        np.array([-1, 0, 0], dtype=np.int32), np.array([1.0, 0.0, 0.0]),
        np.array([14, 10, 4]), names, leaf,
    )  # fmt: skip
    of_rows = ["dog"] * 9 + ["cat"] + ["owl"] * 3 + ["dog"]
    for shape in SHAPES:
        drawn = texts(svg(tree, categories=by(tree, of_rows), shape=shape))
        assert {"dog 90%", "birds: owl 75%"} <= set(drawn), shape
    assert not any("%" in text for text in texts(svg(tree)))
    # A name that is the label is not written twice; a folded subtree keeps its number of leaves.
    named = svg(FOUR, categories=by(FOUR, ["a", "a", "b", "b"]), depth=1)
    assert {"a 100% (2)", "b 100% (2)"} <= set(texts(named))
