"""Importing trees: every format, refusals, idempotency keys."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Start, Working, problem_of
from tests.app.tree_kit import NEWICK, get, npy, post
from tests.workers.formats.tree_forms_kit import FORMS, REFUSED, Form

FLAT = {
    "nodes": [
        {"id": "top", "parent": None, "height": 2.0},
        {"id": "a", "parent": "top", "name": "rose", "height": 0.0, "weight": 0.5},
        {"id": "b", "parent": "top", "name": "oak", "height": 0.5, "weight": 1.5},
    ]
}
NESTED = {"name": "top", "children": [{"name": "rose"}, {"name": "oak"}]}


def send(working: Working, content: str | bytes, media: str, **headers: str) -> Any:
    return working.client.post(
        "/v1/trees", content=content, headers={"Content-Type": media, **headers}
    )


def test_the_answer_to_an_import_has_the_trees_address(working: Working) -> None:
    answer = send(working, NEWICK, "text/x-nh")
    tree = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/trees/{tree['id']}"
    assert "preference-applied" not in answer.headers
    assert tree["job"] is None
    assert tree["name"] is None
    assert tree["method"] == "import"
    # The job that read it is not listed as a job of the user.
    assert working.client.get("/v1/jobs").json()["items"] == []


@pytest.mark.parametrize(
    ("media", "content", "names"),
    [
        ("text/x-nh", "(rose,oak)top;", ["top", "rose", "oak"]),
        ("text/x-nh; charset=utf-8", "\ufeff[&R](rose,oak)top;", ["top", "rose", "oak"]),
        ("application/json", json.dumps(FLAT), ["top", "rose", "oak"]),
        ("application/json", json.dumps(FLAT["nodes"]), ["top", "rose", "oak"]),
        ("application/json", json.dumps(NESTED), ["top", "rose", "oak"]),
        ("application/json", json.dumps({"root": NESTED}), ["top", "rose", "oak"]),
        ("text/plain", "top/rose\ntop/oak\n", ["top", "rose", "oak"]),
        ("text/plain", "rose\r\noak", [None, "rose", "oak"]),
        ("application/x-npy", npy(np.array([[0, 1, 1.0, 2]])), [None, "0", "1"]),
    ],
)
def test_every_format(
    working: Working, media: str, content: str | bytes, names: list[str | None]
) -> None:
    tree = get(working, post(working, content, media)).json()
    assert [node["name"] for node in tree["nodes"]] == names
    assert tree["n_points"] == tree["n_leaves"] == 2
    assert [node["size"] for node in tree["nodes"]] == [2, 1, 1]


def test_extra_fields_are_kept(working: Working) -> None:
    tree = post(working, json.dumps(FLAT), "application/json")
    nodes = get(working, tree).json()["nodes"]
    assert [node.get("weight") for node in nodes] == [None, 0.5, 1.5]
    assert [node["height"] for node in nodes] == [2.0, 0.0, 0.5]
    assert get(working, tree, "/nodes/2").json()["weight"] == 1.5


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_one_tree_in_every_form_with_its_warnings(working: Working, form: Form) -> None:
    made = send(working, form.text.encode(), form.media)
    assert made.status_code == 201, made.text
    tree = get(working, made.json()).json()
    inner = {node["parent"] for node in tree["nodes"]}
    leaves = sorted(node["name"] for node in tree["nodes"] if node["id"] not in inner)
    assert leaves == (["0", "1", "2"] if "linkage" in form.name else ["a", "b", "c"])
    assert tree["warnings"] == made.json()["warnings"]
    assert (form.warned or "") in " ".join(tree["warnings"])
    assert bool(tree["warnings"]) is (form.warned is not None)
    (listed,) = working.client.get("/v1/trees").json()["items"]
    assert listed["warnings"] == tree["warnings"]


@pytest.mark.parametrize(
    ("media", "content", "word"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_other_contents_are_refused_by_their_names(
    working: Working, media: str, content: bytes, word: str
) -> None:
    answer = send(working, content, media)
    assert 400 <= answer.status_code < 500
    assert word in answer.json()["detail"]


def test_support_is_served_and_comes_back(working: Working) -> None:
    tree = post(working, "((a:1,b:1)98:1,(c:1,d:1)[&x=1]50:1);")
    assert "as percent" in tree["warnings"][0]
    support = [node["support"] for node in get(working, tree).json()["nodes"]]
    assert support == [None, 0.98, None, None, 0.5, None, None]
    for suffix in ("nwk", "nex", "json"):
        served = get(working, tree, f".{suffix}")
        again = post(working, served.content, served.headers["content-type"])
        assert get(working, again).json()["nodes"] == get(working, tree).json()["nodes"]


@pytest.mark.parametrize("suffix", ["json", "nwk", "nex"])
def test_served_trees_can_be_imported(working: Working, suffix: str) -> None:
    tree = post(working, NEWICK)
    served = get(working, tree, f".{suffix}")
    again = post(working, served.content, served.headers["content-type"])
    assert get(working, again).json()["nodes"] == get(working, tree).json()["nodes"]
    binary = post(working, "((a:1,b:1):1,c:2);")
    hclust = get(working, binary, ".hclust.json")
    again = post(working, hclust.content, hclust.headers["content-type"])
    assert get(working, again, ".hclust.json").json() == hclust.json()
    nested = get(working, tree, "?layout=nested")
    again = post(working, nested.content, "application/json")
    assert get(working, again, ".nwk").text == get(working, tree, ".nwk").text


def test_rows_are_the_leaves_in_order(working: Working) -> None:
    tree = post(working, "((c,a),b);")
    body = get(working, tree, "/assignments").json()
    assert [body["clusters"][cluster]["name"] for cluster in body["assignments"]] == ["c", "a", "b"]


def test_a_missing_length_is_1(working: Working) -> None:
    tree = post(working, "((a,b:3):0.5,c);")
    assert get(working, tree, ".nwk").text == "((a:1.0,b:3.0):0.5,c:1.0);\n"


@pytest.mark.parametrize(
    ("media", "content", "message"),
    [
        ("text/x-nh", "(a:-1,b:1);", "negative"),
        ("text/x-nh", "(a:NaN,b:1);", "finite"),
        ("text/x-nh", "((a,b);", "never closed"),
        ("text/x-nh", "", "no tree"),
        ("text/x-nh", b"(a\xff,b);", "byte 2"),
        ("application/json", "{", "JSON"),
        ("application/json", "[]", "node"),
        ("application/json", '{"name": NaN}', "NaN"),
        ("application/json", '[{"id": 1, "parent": 2}]', "does not exist"),
        (
            "application/json",
            '[{"id": 0, "height": 1}, {"id": 1, "parent": 0, "height": 2}]',
            "higher",
        ),
        (
            "application/json",
            '[{"id": "top"}, {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}]',
            "is its own ancestor: the parents form a cycle",
        ),
        ("application/json", '[{"id": 0, "parent": 0}]', "they form a cycle"),
        (
            "application/json",
            '[{"id": 0}, {"id": 1, "parent": 0}, {"id": 2, "parent": 0}, {"id": 2, "parent": 1}]',
            "Two nodes have the id 2; each node is listed once, with one parent",
        ),
        (
            "application/json",
            '[{"id": "r"}, {"id": "a", "parent": "r"}, {"id": "b", "parent": ["r", "a"]}]',
            "Node 'b' has several parents; a node has one",
        ),
        ("application/json", "[" * 100_000, "JSON"),
        ("application/x-npy", npy(np.array([[0, 5, 1.0, 2]])), "Row 0"),
        ("application/x-npy", npy(np.array([[0, 1, -1.0, 2]])), "negative"),
        ("application/x-npy", npy(np.array([[0, 1, np.nan, 2]])), "row 0"),
        ("application/x-npy", npy(np.zeros((3, 3))), "4 columns"),
        ("application/x-npy", b"not npy", "npy"),
        ("text/plain", "a/b\n\nc", "Line 2"),
        ("text/plain", "a/b\na/b", "Line 2"),
    ],
)
def test_the_error_locates_what_is_not_a_tree(
    working: Working, media: str, content: str | bytes, message: str
) -> None:
    answer = send(working, content, media)
    assert 400 <= answer.status_code < 500, answer.text
    code = answer.json()["type"].rpartition("/")[2]
    assert message in problem_of(answer, answer.status_code, code)["detail"]
    assert working.client.get("/v1/trees").json()["items"] == []


@pytest.mark.parametrize("media", ["application/pdf", "text/html", "", "x", "application/x-nexus"])
def test_the_refusal_of_another_type_names_the_accepted_ones(working: Working, media: str) -> None:
    detail = problem_of(send(working, NEWICK, media), 415, "unsupported-format")["detail"]
    for accepted in ("text/x-nh", "text/plain", "application/json", "application/x-npy"):
        assert accepted in detail


def test_an_object_array_is_never_unpickled(working: Working) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}, []], dtype=object), allow_pickle=True)
    answer = send(working, buffer.getvalue(), "application/x-npy")
    assert answer.status_code in (415, 422)
    assert "object" in answer.json()["detail"]


def test_the_refusal_of_a_large_tree_names_the_limit(start: Start) -> None:
    api = start(max_tree_bytes=100)
    headers = {"Content-Type": "text/x-nh"}
    answer = api.client.post("/v1/trees", content=b"(" * 101, headers=headers)
    assert "100 bytes" in problem_of(answer, 413, "too-large")["detail"]
    # Also without a Content-Length.
    answer = api.client.post("/v1/trees", content=iter([b"(" * 60] * 2), headers=headers)
    problem_of(answer, 413, "too-large")
    assert api.sent == []


def test_gzip_is_not_read_as_text(working: Working) -> None:
    answer = send(working, gzip.compress(NEWICK.encode()), "text/x-nh")
    assert "UTF-8" in problem_of(answer, 422, "invalid-tree")["detail"]


def test_the_same_key_returns_the_same_tree(working: Working) -> None:
    first = send(working, NEWICK, "text/x-nh", **{"Idempotency-Key": "k1"})
    second = send(working, NEWICK, "text/x-nh", **{"Idempotency-Key": "k1"})
    assert second.status_code == 201
    assert second.json() == first.json()
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["idempotent-replayed"] == "true"
    assert len(working.client.get("/v1/trees").json()["items"]) == 1
    changed = send(working, "(a,b);", "text/x-nh", **{"Idempotency-Key": "k1"})
    problem_of(changed, 422, "idempotency-mismatch")
    named = working.client.post(
        "/v1/trees?name=x",
        content=NEWICK,
        headers={"Content-Type": "text/x-nh", "Idempotency-Key": "k1"},
    )
    problem_of(named, 422, "idempotency-mismatch")


def test_a_refused_import_is_refused_again_by_its_key(working: Working) -> None:
    answers = [send(working, "(a;", "text/x-nh", **{"Idempotency-Key": "k"}) for _ in range(2)]
    details = [problem_of(answer, 422, "invalid-tree")["detail"] for answer in answers]
    assert details[0] == details[1]
    assert len(working.work.sent) == 1


def test_a_long_import_is_a_job_that_can_be_followed(working: Working) -> None:
    working.work.held = True
    headers = {"Prefer": "wait=0", "Idempotency-Key": "k"}
    answer = send(working, NEWICK, "text/x-nh", **headers)
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "wait=0"
    assert answer.headers["retry-after"] == "1"
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["kind"], job["status"]) == ("import", "queued")
    working.work.release()
    ended = working.client.get(answer.headers["location"]).json()
    assert ended["status"] == "succeeded"
    tree = working.client.get(f"/v1/trees/{ended['result']['tree']}").json()
    assert tree["n_leaves"] == 3


def test_an_applied_preference_is_confirmed(working: Working) -> None:
    answer = send(working, NEWICK, "text/x-nh", Prefer="wait=9")
    assert answer.status_code == 201
    assert answer.headers["preference-applied"] == "wait=9"


def test_any_text_is_a_valid_name(working: Working) -> None:
    name = "<b>\"x\" & 'y'\n\t日"
    assert post(working, NEWICK, name=name)["name"] == name
    answer = working.client.post(
        "/v1/trees", params={"name": "x" * 1001}, content=NEWICK,
        headers={"Content-Type": "text/x-nh"},
    )  # fmt: skip
    problem_of(answer, 422, "invalid-request")
