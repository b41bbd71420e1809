"""Views of trees: parts for drawing, and nodes found by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, dataset, get, post, rows_tree


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def test_a_view_of_a_small_tree_is_the_whole_tree(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/view").json()
    assert (body["root"], body["max_nodes"]) == (0, 500)
    assert (body["scale"], body["axis"]) == ("height", {"top": 3.0, "bottom": 0.0})
    assert "categories" not in body
    assert "category" not in body["nodes"][0]
    assert [node["id"] for node in body["nodes"]] == [0, 1, 2, 3, 4]
    root = body["nodes"][0]
    assert root["parent"] is None
    assert (root["y"], root["height"], root["size"], root["n_leaves"]) == (0.0, 3.0, 3, 3)
    assert not any(node["folded"] for node in body["nodes"])
    assert all(0 <= node["x"] <= 1 and 0 <= node["y"] <= 1 for node in body["nodes"])
    assert body["nodes"][3]["y"] == 1.0


def test_a_view_folds_subtrees_beyond_its_size(working: Working, tree: dict[str, Any]) -> None:
    nodes = get(working, tree, "/view?max_nodes=3").json()["nodes"]
    assert [(node["id"], node["folded"], node["hidden"]) for node in nodes] == [
        (0, False, 0),
        (1, True, 2),
        (4, False, 0),
    ]
    assert nodes[1]["n_leaves"] == 2
    part = get(working, tree, "/view?root=1").json()
    assert part["root"] == 1
    assert [(node["id"], node["parent"]) for node in part["nodes"]] == [(1, None), (2, 1), (3, 1)]
    alone = get(working, tree, "/view?max_nodes=1").json()["nodes"]
    assert [(node["id"], node["folded"]) for node in alone] == [(0, True)]


def test_a_view_by_depth(working: Working, tree: dict[str, Any]) -> None:
    nodes = get(working, tree, "/view?scale=depth").json()["nodes"]
    assert [node["y"] for node in nodes] == [0.0, 0.5, 1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("scale", "y", "axis"),
    [
        ("height", [0.0, 1 / 3, 2 / 3, 1.0, 1.0], True),
        ("sqrt", [0.0, 1 - (2 / 3) ** 0.5, 1 - (1 / 3) ** 0.5, 1.0, 1.0], True),
        ("rank", [0.0, 1 / 3, 2 / 3, 1.0, 1.0], False),
        ("level", [0.0, 0.5, 1.0, 1.0, 1.0], False),
    ],
)
def test_scales(
    working: Working, tree: dict[str, Any], scale: str, y: list[float], axis: bool
) -> None:
    body = get(working, tree, f"/view?scale={scale}").json()
    assert [node["y"] for node in body["nodes"]] == pytest.approx(y)
    assert (body["scale"], body["axis"] is not None) == (scale, axis)
    if axis:
        assert body["axis"] == {"top": 3.0, "bottom": 0.0}


def test_the_suggested_scale(working: Working, tree: dict[str, Any]) -> None:
    assert get(working, tree, "/view?scale=auto").json()["scale"] == "height"
    # If all edges have length 0, heights do not separate nodes, and levels are used.
    level = post(working, "(a:0,b:0,(c:0,d:0):0);")
    for scale in ("height", "auto", "sqrt"):
        body = get(working, level, f"/view?scale={scale}").json()
        assert (body["scale"], body["axis"]) == ("level", None)


def categories(body: dict[str, Any]) -> list[tuple[int, int | None, float | None]]:
    return [(node["id"], node["category"], node["share"]) for node in body["nodes"]]


def test_a_view_coloured_by_labels(working: Working, tree: dict[str, Any]) -> None:
    soft = dataset(working, ["soft", "soft", "wood"])
    body = get(working, tree, f"/view?color_by={soft}").json()
    assert body["color_by"] == soft
    assert (body["n_categories"], body["categories"]) == (2, ["soft", "wood"])
    assert (body["category_sizes"], body["category_nodes"]) == ([2, 1], None)
    assert body["warnings"] == []
    # The root is mixed and open.
    assert categories(body) == [
        (0, None, None),
        (1, 0, 1.0),
        (2, 0, 1.0),
        (3, 0, 1.0),
        (4, 1, 1.0),
    ]
    # A folded node has the category of most of its leaves.
    folded = get(working, tree, f"/view?color_by={soft}&max_nodes=1").json()
    assert categories(folded) == [(0, 0, pytest.approx(2 / 3))]
    # Categories are numbered over the whole tree, whatever part is viewed.
    part = get(working, tree, f"/view?color_by={soft}&root=4").json()
    assert categories(part) == [(4, 1, 1.0)]


@pytest.mark.parametrize("cut", ["cluster:2", "height:2", "level:1"])
def test_a_view_coloured_by_a_cut(working: Working, tree: dict[str, Any], cut: str) -> None:
    body = get(working, tree, f"/view?color_by={cut}").json()
    assert body["categories"] == ["flower", "oak"]
    assert (body["category_sizes"], body["category_nodes"]) == ([2, 1], [1, 4])
    assert [category for _, category, _ in categories(body)] == [None, 0, 0, 0, 1]


def test_a_cut_that_cannot_be_met_gives_a_warning(working: Working) -> None:
    wide = post(working, "(a,b,c);")
    body = get(working, wide, "/view?color_by=cluster:2").json()
    assert body["n_categories"] == 1
    assert "k = 2" in body["warnings"][0]


def test_a_leafs_category_is_that_of_most_of_its_rows(working: Working) -> None:
    tree = rows_tree(working)
    # Class 0 has rows 0 to 2, class 1 rows 3 and 4.
    labels = dataset(working, [7, 8, 8, 9, 7])
    body = get(working, tree, f"/view?color_by={labels}").json()
    # 7 and 8 are equally frequent: the smaller number wins.
    assert body["categories"] == ["7", "8", "9"]
    assert body["category_sizes"] == [2, 2, 1]
    category_of = {
        node["name"]: node["category"] for node in body["nodes"] if node["n_leaves"] == 1
    }
    # Class 1 has a row of each label: the first in order wins. Class 2 has no rows.
    assert category_of == {"x": 1, "y": 0, "z": None}


@pytest.mark.parametrize(
    ("color_by", "status", "code"),
    [
        ("cluster:0", 422, "wrong-parameter"),
        ("cluster:x", 422, "wrong-parameter"),
        ("cluster:", 422, "wrong-parameter"),
        ("cluster:\u00b2", 422, "wrong-parameter"),
        ("cluster:4", 422, "wrong-cut"),
        ("height:tall", 422, "wrong-parameter"),
        ("height:nan", 422, "wrong-cut"),
        ("level:-1", 422, "wrong-parameter"),
        ("rainbow", 422, "invalid-request"),
        ("", 422, "invalid-request"),
        ("ds_" + "0" * 26, 404, "not-found"),
        ("tr_" + "0" * 26, 422, "invalid-request"),
    ],
)
def test_wrong_colours(
    working: Working, tree: dict[str, Any], color_by: str, status: int, code: str
) -> None:
    for form in ("/view", ".svg", ".png"):
        problem_of(get(working, tree, form, params={"color_by": color_by}), status, code)


def test_labels_of_another_shape(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, f"/view?color_by={dataset(working, [1, 2])}")
    assert "3 rows" in problem_of(answer, 422, "wrong-shape")["detail"]
    answer = get(working, tree, f"/view?color_by={dataset(working, [[1, 2], [3, 4], [5, 6]])}")
    assert answer.status_code == 422


def test_a_view_never_exceeds_the_requested_size(working: Working) -> None:
    tree = post(working, "(" * 300 + "a" + ",b)" * 300 + ";")
    for most in (1, 2, 10, 200):
        assert len(get(working, tree, f"/view?max_nodes={most}").json()["nodes"]) <= most


@pytest.mark.parametrize("query", ["max_nodes=0", "max_nodes=20001", "root=-1", "scale=x"])
def test_wrong_views(working: Working, tree: dict[str, Any], query: str) -> None:
    problem_of(get(working, tree, f"/view?{query}"), 422, "invalid-request")


def test_a_view_of_an_unknown_node(working: Working, tree: dict[str, Any]) -> None:
    problem_of(get(working, tree, "/view?root=5"), 422, "unknown-node")


def test_search(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/search", params={"q": "O"}).json()
    assert body == {
        "items": [
            {"node": 4, "name": "oak", "path": [0, 4]},
            {"node": 1, "name": "flower", "path": [0, 1]},
            {"node": 2, "name": "rose", "path": [0, 1, 2]},
        ],
        "next_cursor": None,
    }
    assert get(working, tree, "/search", params={"q": "zebra"}).json()["items"] == []
    assert get(working, tree, "/search", params={"q": "ROSE"}).json()["items"][0]["node"] == 2


def test_hits_come_in_pages(working: Working, tree: dict[str, Any]) -> None:
    address = f"/v1/trees/{tree['id']}/search?q=o&limit=2"
    pages = []
    while address:
        answer = working.client.get(address)
        pages.append([hit["name"] for hit in answer.json()["items"]])
        address = answer.links["next"]["url"] if "next" in answer.links else ""
        assert (answer.json()["next_cursor"] is None) == (not address)
    assert pages == [["oak", "flower"], ["rose"]]


@pytest.mark.parametrize(
    "query", ["", "?q=", "?q=a&limit=0", "?q=a&limit=1001", "?q=a&cursor=x", "?q=a&cursor=-1"]
)
def test_wrong_searches(working: Working, tree: dict[str, Any], query: str) -> None:
    problem_of(get(working, tree, f"/search{query}"), 422, "invalid-request")


def test_a_search_for_blanks(working: Working, tree: dict[str, Any]) -> None:
    assert get(working, tree, "/search", params={"q": "  "}).status_code == 422
