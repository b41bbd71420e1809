"""Two trees face to face over HTTP."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from app.resources.tangles import forms as tangles
from app.resources.tangles.pairs import PairedTrees, moved_leaves
from models.tree.build import from_merges, from_partition
from tests.app.conftest import Working, problem_of
from tests.app.pictures.tree_kit import texts
from tests.app.tree_kit import UNKNOWN, get, post, rows_tree


def leaves(body: list[dict[str, Any]]) -> list[str]:
    return [node["name"] for node in sorted(body, key=lambda n: n["x"]) if node["n_leaves"] == 1]


def grown(working: Working, features: list[float]) -> dict[str, Any]:
    """The tree of average linkage for points on a line."""
    body = {
        "method": "hac",
        "inputs": {
            "features": [[value] for value in features],
            "names": [f"row {row}" for row in range(len(features))],
        },
        "params": {"linkage": "average"},
    }
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "succeeded", job
    return {"id": job["result"]["tree"]}


def test_a_number_of_a_row_is_not_that_of_a_cluster() -> None:
    # Rows called by their numbers, or by other ones, beside clusters 0 to 2.
    numbered = from_merges([0, 2, 4], [1, 3, 5], [1.0, 2.0, 3.0])
    ids = from_merges([0, 2, 4], [1, 3, 5], [1.0, 2.0, 3.0], names=["1", "2", "0", "4"])
    clusters = from_partition(np.array([0, 0, 1, 2]), 3)
    for rows in (numbered, ids):
        for left, right in ((rows, clusters), (clusters, rows)):
            pair = PairedTrees.of(left, right, "auto")
            assert (pair.by, pair.left_only, pair.right_only) == ("row", 0, 0)
            assert not moved_leaves(left, right, pair).moved
    # Where the rows are others, only names are known.
    other = from_partition(np.array([0, 0, 1, 2, 2]), 3)
    assert any(
        "numbers its clusters anew" in each
        for each in PairedTrees.of(clusters, other, "auto").warnings
    )
    named = from_partition(np.array([0, 0, 1, 2, 2]), 3, names=["a", "b", "c"])
    assert not PairedTrees.of(named, named, "name").warnings


def test_siblings_are_reordered(working: Working) -> None:
    # Rows 0 and 2 form a pair, as do 1 and 3; the nearer pair is merged first.
    left, right = grown(working, [0, 10, 1, 12]), grown(working, [0, 10, 2, 11])
    before = get(working, left, f"/tangle?other={right['id']}&rotate=none").json()
    orders = [leaves(before[side]) for side in ("left", "right")]
    assert orders[0] != orders[1]
    apart = sum(abs(place - orders[1].index(name)) ** 1.5 for place, name in enumerate(orders[0]))
    worst = 2 * (3**1.5 + 1)
    assert before["entanglement"] == before["entanglement_before"]
    assert before["entanglement"] == pytest.approx(apart / worst)
    assert before["crossings"] == 4

    body = get(working, left, f"/tangle?other={right['id']}").json()
    assert (body["other"], body["n_points"], body["max_nodes"]) == (right["id"], 4, 200)
    assert body["entanglement_before"] == before["entanglement"]
    assert (body["entanglement"], body["crossings"]) == (0.0, 0)
    assert (body["links_left_out"], body["points_left_out"]) == (0, 0)
    assert leaves(body["left"]) == leaves(body["right"])

    picture = get(working, left, f"/tangle.svg?other={right['id']}&width_mm=178&height_mm=60")
    assert 'width="178mm" height="60mm"' in picture.text
    assert picture.text.count(">row 3<") == 2
    names = {side: {n["id"]: n["name"] for n in body[side]} for side in ("left", "right")}
    assert sorted(names["left"][end] for end, _, _ in body["links"]) == [
        "row 0",
        "row 1",
        "row 2",
        "row 3",
    ]
    for end, other_end, points in body["links"]:
        assert (names["left"][end], points) == (names["right"][other_end], 1)
    # The left tree is unchanged where only the right one is reordered.
    body = get(working, left, f"/tangle?other={right['id']}&rotate=other").json()
    assert leaves(body["left"]) == orders[0]
    assert body["entanglement"] == 0.0


def test_a_reversed_tree(working: Working) -> None:
    left = rows_tree(working)
    logits = [[0.0, 1, 4], [0, 1, 3], [0, 1, 2], [2, 3, 0], [2, 3.5, 0]]
    body = {"method": "l2h", "inputs": {"logits": logits, "names": ["z", "y", "x"]}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    right = job["result"]["tree"]
    tangle = get(working, left, f"/tangle?other={right}").json()
    assert tangle["entanglement"] == 0
    before = get(working, left, f"/tangle?other={right}&rotate=none").json()
    assert before["entanglement"] == before["entanglement_before"] == tangle["entanglement_before"]
    assert sum(points for *_, points in tangle["links"]) == 5
    assert {points for *_, points in tangle["links"]} == {3, 2}


def test_folded_ends_and_few_links(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "((((a,b),c),d),((e,f),(g,h)));"
    left, right = post(working, text), post(working, text)
    body = get(working, left, f"/tangle?other={right['id']}&max_nodes=3").json()
    ends = [node["id"] for node in body["left"] if node["folded"]]
    assert len(body["left"]) == len(body["right"]) == 3
    assert sorted(body["links"]) == [[end, end, 4] for end in ends]
    monkeypatch.setattr(tangles, "MOST_LINKS", 1)
    body = get(working, left, f"/tangle?other={right['id']}&max_nodes=3").json()
    assert (len(body["links"]), body["links_left_out"], body["points_left_out"]) == (1, 1, 4)


def test_a_figure_without_a_height_fits_a_page_and_names_what_is_folded(working: Working) -> None:
    names = [f"leaf{at}" for at in range(100)]
    text = "(" * 99 + names[0] + "".join(f",{name})" for name in names[1:]) + ";"
    one = post(working, text)
    path = f"/tangle.svg?other={one['id']}&width_mm=85"
    picture = get(working, one, path).text
    high = float(re.search(r'height="([\d.]+)mm"', picture)[1])  # type: ignore[index]
    assert 200 < high <= 230
    written = texts(picture)
    folded = sum(name not in written for name in names)
    caption = " ".join(text for text in written if "entanglement" in text or "leaves are" in text)
    assert f"{folded} and {folded} leaves are folded into ends" in caption
    narrow = get(working, one, f"/tangle.svg?other={one['id']}&width_mm=20")
    assert narrow.status_code == 422
    assert "no room for words of 7 points; at least 24.7 mm" in narrow.text
    # Whoever chooses a height has all ends.
    assert "folded into" not in get(working, one, f"{path}&height_mm=500").text


def test_a_root_with_too_many_children_is_folded(working: Working) -> None:
    wide = post(working, "(a,b,c,d,e,f);")
    body = get(working, wide, f"/tangle?other={wide['id']}&max_nodes=3").json()
    assert sorted(body["links"]) == [[0, 0, 4], [1, 1, 1], [2, 2, 1]]


def test_trees_without_shared_names(working: Working) -> None:
    left, right = post(working, "(a,b);"), post(working, "(a,b,c);")
    answer = get(working, left, f"/tangle?other={right['id']}")
    detail = problem_of(answer, 422, "wrong-shape")["detail"]
    assert "share only 'a', 'b'" in detail
    assert "the right one has 'c'" in detail
    answer = get(working, left, f"/tangle?other={right['id']}&match=row")
    assert "2 and 3 rows" in problem_of(answer, 422, "wrong-shape")["detail"]


def test_a_class_tree_beside_a_hierarchy_of_its_classes(working: Working) -> None:
    # Rows of logits: a goes with b, c with d and e.
    names = ["a", "b", "c", "d", "e"]
    logits = [[3.0, 2, 0, 0, 0], [2, 3, 0, 0, 0], [0, 0, 3, 2, 1], [0, 0, 2, 3, 1]]
    logits += [[0, 0, 2, 1, 3], [4, 3, 0, 0, 0]]
    body = {"method": "l2h", "inputs": {"logits": logits, "names": names}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    left = {"id": job["result"]["tree"]}
    right = post(working, "((e,d,c)many,(a,b)pair,other);")
    body = get(working, left, f"/tangle?other={right['id']}").json()
    assert (body["matched_by"], body["n_points"]) == ("name", 5)
    assert (body["left_only"], body["right_only"]) == (0, 1)
    assert body["warnings"] == [
        "1 leaf of the right tree alone: 'other'. What is compared leaves it out."
    ]
    assert (body["entanglement"], body["crossings"], body["moved"]) == (0.0, 0, [])
    ends = {side: {n["id"]: n["name"] for n in body[side]} for side in ("left", "right")}
    assert {ends["left"][a] for a, _, _ in body["links"]} == set(names)
    for a, b, n_shared in body["links"]:
        assert (ends["left"][a], n_shared) == (ends["right"][b], 1)


def test_what_moved(working: Working) -> None:
    left = post(working, "((cat,dog,cow,pig)animals,(oak,elm,fir,ivy)plants);")
    right = post(working, "((dog,cow,pig)animals,(oak,elm,fir,cat,ivy)plants,new);")
    body = get(working, left, f"/tangle?other={right['id']}").json()
    (move,) = body["moved"]
    assert (move["name"], move["share"]) == ("cat", 0.5)
    assert move["from"]["name"] == "animals"
    assert move["to"]["name"] == "plants"
    assert move["from"]["names"] == ["dog", "cow", "pig"]
    assert move["to"]["n_names"] == 4
    assert move["ends"] == [move["left"], move["right"]]
    assert (body["n_groups"], body["n_kept"], body["n_moved"]) == (2, 2, 1)
    text = get(working, left, f"/tangle.csv?other={right['id']}").text
    head, row = text.splitlines()
    assert head.startswith("name,share,left,right,from_node,from_name,from_with")
    assert row.startswith("cat,0.5,")
    assert "dog; cow; pig" in row
    same = get(working, left, f"/tangle.csv?other={left['id']}").text
    assert same.splitlines() == [head]
    assert "1 moved" in get(working, left, f"/tangle.svg?other={right['id']}").text


def test_as_many_leaves_of_other_names(working: Working) -> None:
    left, right = post(working, "((a,b),c,d);"), post(working, "((b,e),d,c);")
    by_name = get(working, left, f"/tangle?other={right['id']}").json()
    assert (by_name["matched_by"], by_name["n_points"]) == ("name", 3)
    by_row = get(working, left, f"/tangle?other={right['id']}&match=row").json()
    assert (by_row["matched_by"], by_row["n_points"]) == ("row", 4)
    other = post(working, "((w,x),y,z);")
    body = get(working, left, f"/tangle?other={other['id']}").json()
    assert body["matched_by"] == "row"
    assert "different names" in body["warnings"][0]


@pytest.mark.parametrize("second", [UNKNOWN, "job_x", ""])
def test_an_invalid_second_tree(working: Working, second: str) -> None:
    left = post(working, "(a,b);")
    problem_of(get(working, left, f"/tangle?other={second}"), 404, "not-found")
    problem_of(
        working.client.get(f"/v1/trees/{UNKNOWN}/tangle?other={left['id']}"), 404, "not-found"
    )


@pytest.mark.parametrize("query", ["", "other=x&max_nodes=2", "other=x&max_nodes=1001"])
def test_wrong_queries(working: Working, query: str) -> None:
    left = post(working, "(a,b);")
    problem_of(get(working, left, f"/tangle?{query}"), 422, "invalid-request")
