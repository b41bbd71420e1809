"""Editions over HTTP: begun, changed, undone, shown in every form of the tree, removed with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.conftest import Api, Start, Working, problem_of
from tests.app.tree_kit import UNKNOWN, dataset, get, post
from workers.artifacts.keys import Keys

#   0 plant
#   ├── 1 flower ── 2 rose, 3 tulip, 4 lily
#   └── 5 tree ── 6 oak, 7 elm
NEWICK = "((rose:1,tulip:1,lily:1)flower:1,(oak:1,elm:1)tree:1)plant;"


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def begin(working: Working, tree: dict[str, Any], **body: Any) -> Any:
    return working.client.post(f"/v1/trees/{tree['id']}/editions", json=body)


def change(working: Working, answer: Any, *operations: dict[str, Any], **headers: str) -> Any:
    """Change what the answer is about, as it was then."""
    return working.client.post(
        f"/v1/editions/{answer.json()['id']}/changes",
        json={"operations": operations},
        headers={"If-Match": answer.headers["etag"], **headers},
    )


EDITS: tuple[dict[str, Any], ...] = (
    {"op": "rename", "node": 1, "name": "bulbs & roses"},
    {"op": "note", "node": 1, "text": "see <b>[7]</b>"},
    {"op": "colour", "node": 1, "colour": "#D55E00"},
    {"op": "reorder", "node": 0, "children": [5, 1]},
    {"op": "merge", "nodes": [4, 2], "name": "garden"},
    {"op": "dissolve", "node": 5},
)
# 0 plant: 6 oak, 7 elm, 1 bulbs & roses: 8 garden: 2 rose, 4 lily; 3 tulip


def test_an_edition_from_its_begin_to_its_end(working: Working, tree: dict[str, Any]) -> None:
    made = begin(working, tree, name="for the paper")
    assert made.status_code == 201, made.text
    body = made.json()
    assert made.headers["location"] == f"/v1/editions/{body['id']}"
    assert (body["tree"], body["revision"], body["n_operations"]) == (tree["id"], 1, 0)
    first = change(working, made, *EDITS)
    assert first.status_code == 200, first.text
    assert first.json()["new_nodes"] == [8]
    assert (first.json()["n_operations"], first.json()["undo"], first.json()["redo"]) == (
        6,
        True,
        False,
    )
    place = f"/v1/editions/{body['id']}"
    read = working.client.get(place)
    assert read.headers["etag"] == first.headers["etag"]
    same = working.client.get(place, headers={"If-None-Match": first.headers["etag"]})
    assert same.status_code == 304
    undone = change(working, first, {"op": "undo"})
    assert (undone.json()["n_operations"], undone.json()["redo"]) == (0, True)
    nothing = change(working, undone, {"op": "undo"})
    problem_of(nothing, 409, "conflict")
    redone = change(working, undone, {"op": "redo"})
    assert redone.json()["n_operations"] == 6
    merge = {"Content-Type": "application/merge-patch+json"}
    named = working.client.patch(place, content='{"name": "final"}', headers=merge)
    assert (named.json()["name"], named.json()["revision"]) == ("final", 5)
    stale = {**merge, "If-Match": first.headers["etag"]}
    refused = working.client.patch(place, content='{"name": "x"}', headers=stale)
    problem_of(refused, 412, "precondition-failed")
    page = working.client.get(f"{place}/history", params={"limit": 3})
    kinds = [(each["kind"], each["holds"]) for each in page.json()["items"]]
    assert kinds == [("title", False), ("redo", False), ("undo", False)]
    rest = working.client.get(f"{place}/history", params={"cursor": page.json()["next_cursor"]})
    kinds = [(each["kind"], each["holds"], each["by"]) for each in rest.json()["items"]]
    assert kinds == [("edit", True, None), ("create", True, None)]
    assert rest.json()["items"][0]["operations"][2]["colour"] == "#d55e00"
    # A copy has what holds, as one beginning.
    copy = begin(working, tree, **{"from": body["id"]})
    assert (copy.json()["n_operations"], copy.json()["undo"]) == (6, False)
    listed = working.client.get(f"/v1/trees/{tree['id']}/editions").json()["items"]
    assert [each["id"] for each in listed] == [copy.json()["id"], body["id"]]
    assert working.client.delete(place).status_code == 204
    problem_of(working.client.get(place), 404, "not-found")
    working.client.delete(f"/v1/trees/{tree['id']}")
    problem_of(working.client.get(copy.headers["location"]), 404, "not-found")
    assert not [key for key in working.service.blobs.keys("jobs/") if "/editions/" in key]


def test_a_leaf_with_the_name_of_another_one_is_warned_of(
    working: Working, tree: dict[str, Any]
) -> None:
    same = change(working, begin(working, tree), {"op": "rename", "node": 2, "name": "oak"})
    (warning,) = same.json()["warnings"]
    assert "1 name(s) given to leaves are names of other leaves too" in warning
    assert "'oak'" in warning
    undone = change(working, same, {"op": "undo"})
    assert undone.json()["warnings"] == []
    assert change(working, undone, {"op": "redo"}).json()["warnings"] == [warning]


def test_a_change_is_all_or_nothing_and_for_the_latest(
    working: Working, tree: dict[str, Any]
) -> None:
    made = begin(working, tree)
    place = f"/v1/editions/{made.json()['id']}"
    bare = working.client.post(f"{place}/changes", json={"operations": [{"op": "undo"}]})
    problem_of(bare, 428, "precondition-required")
    wrong = change(working, made, EDITS[0], {"op": "collapse", "node": 2})
    body = problem_of(wrong, 422, "invalid-request")
    assert body["detail"].startswith("Operation 1 (collapse): Node 2 has no children")
    assert body["errors"][0]["pointer"] == "/operations/1/node"
    body = problem_of(change(working, made, EDITS[0], {"op": "undo"}), 422, "invalid-request")
    assert body["errors"][0]["pointer"] == "/operations/1"
    control = change(working, made, {"op": "rename", "node": 1, "name": "a\x1b[0m"})
    body = problem_of(control, 422, "invalid-request")
    assert "U+001B" in body["detail"]
    assert body["errors"][0]["pointer"] == "/operations/0/name"
    assert working.client.get(place).json()["revision"] == 1
    assert change(working, made, EDITS[0]).status_code == 200
    problem_of(change(working, made, EDITS[1]), 412, "precondition-failed")
    # A repetition is no other change.
    etag = working.client.get(place).headers["etag"]
    once = {"Idempotency-Key": "a", "If-Match": etag}
    merged = {"operations": [EDITS[4]]}
    answers = [working.client.post(f"{place}/changes", json=merged, headers=once) for _ in range(2)]
    assert [answer.json()["new_nodes"] for answer in answers] == [[8], [8]]
    assert working.client.get(place).json()["revision"] == 3
    # Where two have seen the same, the store decides.
    edition = working.service.editions.get("local", made.json()["id"])
    assert edition is not None
    late = working.service.editions.change(edition, edition.changes[-1])
    assert late is None


def test_every_form_shows_the_edition(working: Working, tree: dict[str, Any]) -> None:
    made = begin(working, tree)
    edited = change(working, made, *EDITS)
    shown = {"edition": edited.json()["id"]}

    def read(rest: str, **query: Any) -> Any:
        answer = get(working, tree, rest, params={**shown, **query})
        assert answer.status_code == 200, answer.text
        return answer

    nodes = {node["id"]: node for node in read(".json").json()["nodes"]}
    assert {node: each["parent"] for node, each in nodes.items()} == {
        0: None, 6: 0, 7: 0, 1: 0, 8: 1, 3: 1, 2: 8, 4: 8,
    }  # fmt: skip
    assert nodes[1]["name"] == "bulbs & roses"
    assert (nodes[1]["note"], nodes[1]["colour"]) == ("see <b>[7]</b>", "#d55e00")
    newick = read(".nwk").text
    assert newick == (
        "(oak:2.0,elm:2.0,((rose:0.5,lily:0.5)garden:0.5,tulip:1.0)'bulbs & roses'"
        '[&!color=#d55e00,note="see <b>%5B7%5D</b>"]:1.0)plant;\n'
    )
    again = post(working, newick)
    assert again["n_leaves"] == 5
    assert read(".nwk", root=8).text == "(rose:0.5,lily:0.5)garden;\n"
    assert read(".nwk", root=8, labels="id").text == "(2:0.5,4:0.5)8;\n"
    assert [node["id"] for node in read("", root=1, depth=1).json()["nodes"]] == [1, 8, 3]
    assert read(".nex").text.count("garden") == 1
    view = read("/view").json()["nodes"]
    assert [node["id"] for node in view] == [0, 6, 7, 1, 8, 2, 4, 3]
    assert [node["colour"] for node in view] == [None] * 3 + ["#d55e00"] * 5
    assert [node["colour"] for node in read("/view", root=8).json()["nodes"]] == ["#d55e00"] * 3
    node = read("/nodes/8").json()
    assert (node["parent"], node["children"], node["path"]) == (1, [2, 4], [0, 1, 8])
    assert [each["id"] for each in node["ancestors"]] == [0, 1]
    assert node["parent_node"]["name"] == "bulbs & roses"
    assert read("/nodes/1").json()["note"] == "see <b>[7]</b>"
    problem_of(get(working, tree, "/nodes/5", params=shown), 404, "not-found")
    problem_of(get(working, tree, "/nodes/8"), 404, "not-found")
    members = read("/nodes/8/members").json()["items"]
    assert [(each["row"], each["leaf"], each["name"]) for each in members] == [
        (0, 2, "rose"), (2, 4, "lily"),
    ]  # fmt: skip
    assert read("/search", q="garden").json()["items"] == [
        {"node": 8, "name": "garden", "path": [0, 1, 8]}
    ]
    cut = read("/cut", k=3).json()["clusters"]
    assert {each["node"]: each["size"] for each in cut} == {6: 1, 7: 1, 1: 3}
    rows = read("/assignments.json", k=3).json()
    assert {each["node"]: each["size"] for each in rows["clusters"]} == {6: 1, 7: 1, 1: 3}
    assert read("/assignments.csv", k=4).text.splitlines()[1] == "0,rose,2,8,garden"
    nested = read("/assignments", levels="3,4").json()["levels"]
    assert [each["parent"] for each in nested[1]["clusters"]] == [0, 1, 2, 2]
    last = read("/places/4").json()
    assert (last["leaf"], last["name"], last["path"]) == (3, "tulip", [0, 1, 3])
    svg = read(".svg").text
    assert "#d55e00" in svg
    assert "bulbs &amp; roses" in read(".svg", shape="icicle").text
    assert read(".png").content.startswith(b"\x89PNG")
    assert get(working, tree, ".nwk").text == NEWICK.replace(":1", ":1.0") + "\n"


def test_labels_of_leaves_go_with_them(working: Working, tree: dict[str, Any]) -> None:
    made = begin(working, tree)
    shown = {"edition": change(working, made, *EDITS).json()["id"]}
    labels = dataset(working, ["red", "red", "white", "green", "green"])
    view = get(working, tree, "/view", params={**shown, "color_by": labels}).json()
    of_node = {node["id"]: node["category"] for node in view["nodes"]}
    texts = view["categories"]
    assert {node: texts[of_node[node]] for node in (2, 3, 4, 6, 7)} == {
        2: "red", 3: "red", 4: "white", 6: "green", 7: "green",
    }  # fmt: skip
    assert of_node[8] is None
    node = get(working, tree, "/nodes/8", params={**shown, "labels": labels}).json()
    assert {each["label"]: each["count"] for each in node["labels"]["mix"]} == {
        "red": 1,
        "white": 1,
    }


def test_collapsed_nodes_are_folded_in_views_and_pictures(
    working: Working, tree: dict[str, Any]
) -> None:
    made = begin(working, tree)
    edited = change(working, made, {"op": "collapse", "node": 1}, {"op": "collapse", "node": 5})
    shown = {"edition": edited.json()["id"]}
    view = get(working, tree, "/view", params=shown).json()["nodes"]
    assert [(node["id"], node["folded"], node["collapsed"]) for node in view] == [
        (0, False, False), (1, True, True), (5, True, True),
    ]  # fmt: skip
    svg = get(working, tree, ".svg", params=shown).text
    assert "flower (3)" in svg
    assert "rose" not in svg
    opened = change(working, edited, {"op": "expand", "node": 1})
    assert opened.status_code == 200
    assert "rose" in get(working, tree, ".svg", params=shown).text


def test_forms_have_the_etag_of_the_edition(working: Working, tree: dict[str, Any]) -> None:
    made = begin(working, tree)
    shown = {"edition": made.json()["id"]}
    before = get(working, tree, ".nwk", params=shown)
    same = {"If-None-Match": before.headers["etag"]}
    assert get(working, tree, ".nwk", params=shown, headers=same).status_code == 304
    change(working, made, EDITS[0])
    after = get(working, tree, ".nwk", params=shown, headers=same)
    assert after.status_code == 200
    assert "bulbs" in after.text


def test_editions_of_others_are_refused(working: Working, tree: dict[str, Any]) -> None:
    other = post(working, "(a:1,b:1);")
    edition_id = begin(working, other).json()["id"]
    body = problem_of(get(working, tree, "", params={"edition": edition_id}), 422, "wrong-input")
    assert body["errors"][0]["parameter"] == "edition"
    absent = f"ed_{'0' * 52}"
    problem_of(get(working, tree, "/view", params={"edition": absent}), 422, "unknown-input")
    refused = begin(working, tree, **{"from": edition_id})
    assert problem_of(refused, 422, "wrong-input")["errors"][0]["pointer"] == "/from"
    problem_of(begin(working, {"id": UNKNOWN}), 404, "not-found")


def test_history_has_the_names_of_keys(api: Api, start: Start, working: Working) -> None:
    tree = post(working, NEWICK)
    _, secret = Keys(api.service.blobs).add("local", "write", name="ada")
    _, reading = Keys(api.service.blobs).add("local", "read")
    keyed = start()
    keyed.client.headers["Authorization"] = f"Bearer {secret}"
    made = keyed.client.post(f"/v1/trees/{tree['id']}/editions", json={})
    assert made.status_code == 201, made.text
    history = keyed.client.get(f"/v1/editions/{made.json()['id']}/history").json()
    assert history["items"][0]["by"] == "ada"
    keyed.client.headers["Authorization"] = f"Bearer {reading}"
    refused = keyed.client.post(f"/v1/trees/{tree['id']}/editions", json={})
    problem_of(refused, 403, "forbidden")


def test_an_edition_is_bounded(
    working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.resources.editions import routes as editions

    made = begin(working, tree)
    monkeypatch.setattr(editions, "MOST_BYTES", 600)
    edited = change(working, made, {"op": "note", "node": 0, "text": "x" * 200})
    assert edited.status_code == 200
    problem_of(
        change(working, edited, {"op": "note", "node": 0, "text": "x" * 200}), 409, "conflict"
    )
    monkeypatch.setattr(editions, "MOST_CHANGES", 2)
    problem_of(change(working, edited, {"op": "undo"}), 409, "conflict")
    monkeypatch.setattr(editions, "MOST_EDITIONS", 1)
    problem_of(begin(working, tree), 409, "conflict")


def test_a_repeated_begin_gives_the_same(working: Working, tree: dict[str, Any]) -> None:
    once = {"Idempotency-Key": "a"}
    place = f"/v1/trees/{tree['id']}/editions"
    first = working.client.post(place, json={"name": "x"}, headers=once)
    second = working.client.post(place, json={"name": "x"}, headers=once)
    assert json.loads(first.content) == json.loads(second.content)
    other = working.client.post(place, json={"name": "y"}, headers=once)
    problem_of(other, 422, "idempotency-mismatch")
