"""Trees over HTTP: forms, parts, lists, deletion."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.resources.trees.forms import FORMS
from tests.app.conftest import Start, Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, WIDE, get, post


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK, name="plants")


def test_json_is_flat_with_parents_first(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree)
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    nodes = body.pop("nodes")
    assert body == {
        "id": tree["id"],
        "job": None,
        "name": "plants",
        "description": None,
        "tags": [],
        "method": "import",
        "kind": "hierarchy",
        "monotone": True,
        "n_points": 3,
        "n_leaves": 3,
        "max_depth": 2,
        "created_at": tree["created_at"],
        "warnings": [],
    }
    assert body == tree
    assert nodes == [
        {"id": 0, "parent": None, "name": "plant", "height": 3.0, "size": 3},
        {"id": 1, "parent": 0, "name": "flower", "height": 2.0, "size": 2},
        {"id": 2, "parent": 1, "name": "rose", "height": 1.0, "size": 1},
        {"id": 3, "parent": 1, "name": "tulip", "height": 0.0, "size": 1},
        {"id": 4, "parent": 0, "name": "oak", "height": 0.0, "size": 1},
    ]


def test_a_tree_of_a_job_names_its_job_and_method(working: Working) -> None:
    logits = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
    body = {"method": "l2h", "inputs": {"logits": logits, "names": ["x", "x", "y"]}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "succeeded", job
    tree = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    assert tree["job"] == job["id"]
    assert tree["method"] == "l2h"
    assert [node["name"] for node in tree["nodes"]].count("x") == 2
    assert any("labels=id" in warning for warning in job["warnings"])


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, id=form.suffix, marks=pytest.mark.needs(*form.needs)) for form in FORMS],
)
def test_every_form_by_suffix_and_by_accept(working: Working, form: Any) -> None:
    tree = post(working, "((rose:1,tulip:1)flower:1,oak:2);")
    by_suffix = get(working, tree, f".{form.suffix}")
    by_accept = get(working, tree, headers={"Accept": form.media})
    for answer in (by_suffix, by_accept):
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].partition(";")[0] == form.media
        assert "Accept" in answer.headers["vary"]
        assert "warning" not in answer.headers
        assert len(answer.content) > 10
    assert by_suffix.headers["etag"] == by_accept.headers["etag"]
    again = get(
        working, tree, f".{form.suffix}", headers={"If-None-Match": by_suffix.headers["etag"]}
    )
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == by_suffix.headers["etag"]


def test_a_suffix_takes_precedence_over_accept(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, ".nwk", headers={"Accept": "image/png"})
    assert answer.headers["content-type"].startswith("text/x-nh")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("text/x-nh;q=0.5, image/*;q=0.9", "image/svg+xml"),
        ("text/html, application/xhtml+xml, */*;q=0.1", "application/json"),
        ("application/json;q=0, */*", "text/x-nh"),
        ("TEXT/X-NEXUS", "text/x-nexus"),
    ],
)
def test_accept_is_weighted(
    working: Working, tree: dict[str, Any], accept: str, media: str
) -> None:
    answer = get(working, tree, headers={"Accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == media


@pytest.mark.parametrize(
    ("rest", "accept"), [("", "text/html"), (".gif", "*/*"), ("", "application/json;q=0")]
)
def test_the_refusal_of_another_form_names_the_available_ones(
    working: Working, tree: dict[str, Any], rest: str, accept: str
) -> None:
    answer = get(working, tree, rest, headers={"Accept": accept})
    detail = problem_of(answer, 406, "not-acceptable")["detail"]
    for form in FORMS:
        assert f".{form.suffix} ({form.media})" in detail


def test_etags_differ_by_form_and_part(working: Working, tree: dict[str, Any]) -> None:
    rests = ["", ".nwk", ".nwk?labels=id", "?root=1", "?depth=1", "?layout=nested", ".svg?px=500"]
    tags = {get(working, tree, rest).headers["etag"] for rest in rests}
    assert len(tags) == len(rests)
    wide = post(working, WIDE)
    assert get(working, wide).headers["etag"] not in tags
    assert get(working, tree, headers={"If-None-Match": '"x"'}).status_code == 200


def test_the_text_forms(working: Working, tree: dict[str, Any]) -> None:
    newick = get(working, tree, ".nwk").text
    assert newick == "((rose:1.0,tulip:2.0)flower:1.0,oak:3.0)plant;\n"
    assert get(working, tree, ".nwk?labels=id").text == "((2:1.0,3:2.0)1:1.0,4:3.0)0;\n"
    nexus = get(working, tree, ".nex").text
    assert nexus.startswith("#NEXUS")
    assert "((" in nexus


def test_the_columns_as_arrow(working: Working, tree: dict[str, Any]) -> None:
    table = pa.ipc.open_file(get(working, tree, ".arrow").content).read_all()
    assert table.column("parent").to_pylist() == [-1, 0, 1, 1, 0]
    assert table.column("height").to_pylist() == [3.0, 2.0, 1.0, 0.0, 0.0]
    assert table.column("name").to_pylist() == ["plant", "flower", "rose", "tulip", "oak"]


def test_linkage_and_hclust_of_a_binary_tree(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, ".linkage.npy")
    # Rows: rose 0, tulip 1, oak 2.
    assert np.load(io.BytesIO(answer.content)).tolist() == [[0, 1, 2, 2], [2, 3, 3, 3]]
    assert answer.headers["warning"].startswith("199 ")
    assert "leaf heights" in answer.headers["warning"]
    hclust = get(working, tree, ".hclust.json")
    assert "leaf heights" in hclust.headers["warning"]
    assert hclust.json() == {
        "merge": [[-1, -2], [-3, 1]],
        "height": [2.0, 3.0],
        "order": [3, 1, 2],
        "labels": ["rose", "tulip", "oak"],
    }


@pytest.mark.parametrize("suffix", [".linkage.npy", ".hclust.json"])
def test_a_tree_that_is_not_binary_has_no_merges(working: Working, suffix: str) -> None:
    wide = post(working, WIDE)
    assert "3 children" in problem_of(get(working, wide, suffix), 406, "not-binary")["detail"]
    alone = post(working, "one;")
    problem_of(get(working, alone, suffix), 406, "not-binary")


def test_a_linkage_survives_a_round_trip(working: Working) -> None:
    linkage = np.array([[0, 2, 0.5, 2], [1, 4, 1.5, 3], [3, 5, 1.5, 4]])
    buffer = io.BytesIO()
    np.save(buffer, linkage)
    tree = post(working, buffer.getvalue(), "application/x-npy")
    answer = get(working, tree, ".linkage.npy")
    assert np.load(io.BytesIO(answer.content)).tolist() == linkage.tolist()
    assert "warning" not in answer.headers


def test_a_part_keeps_the_ids_of_the_whole(working: Working, tree: dict[str, Any]) -> None:
    part = get(working, tree, "?root=1").json()
    assert [(node["id"], node["parent"]) for node in part["nodes"]] == [(1, None), (2, 1), (3, 1)]
    assert part["n_leaves"] == 2
    assert part["n_points"] == 2
    assert part["id"] == tree["id"]
    top = get(working, tree, "?depth=1").json()
    assert [(node["id"], node["size"]) for node in top["nodes"]] == [(0, 3), (1, 2), (4, 1)]
    assert get(working, tree, ".nwk?root=1&labels=id").text == "(2:1.0,3:2.0)1;\n"
    assert get(working, tree, "?root=4&depth=0").json()["nodes"][0]["id"] == 4
    nested = get(working, tree, "?root=1&layout=nested").json()["root"]
    assert (nested["id"], [child["id"] for child in nested["children"]]) == (1, [2, 3])


@pytest.mark.parametrize("rest", ["?root=5", ".svg?root=5", ".nwk?root=99", ".png?root=5"])
def test_an_unknown_root(working: Working, tree: dict[str, Any], rest: str) -> None:
    assert "0 to 4" in problem_of(get(working, tree, rest), 422, "unknown-node")["detail"]


@pytest.mark.parametrize(
    "query",
    [
        "root=-1",
        "root=x",
        f"root={2**31}",
        "depth=-1",
        "layout=deep",
        "labels=both",
        "shape=cube",
        "px=99",
        "px=4097",
        f"title={'x' * 301}",
    ],
)
def test_parameters_out_of_range(working: Working, tree: dict[str, Any], query: str) -> None:
    body = problem_of(get(working, tree, f".svg?{query}"), 422, "invalid-request")
    assert query.partition("=")[0] in body["detail"]


def test_the_nested_form(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "?layout=nested").json()
    assert "nodes" not in body
    assert body["n_leaves"] == 3
    assert body["root"] == {
        "id": 0,
        "name": "plant",
        "height": 3.0,
        "size": 3,
        "children": [
            {
                "id": 1,
                "name": "flower",
                "height": 2.0,
                "size": 2,
                "children": [
                    {"id": 2, "name": "rose", "height": 1.0, "size": 1},
                    {"id": 3, "name": "tulip", "height": 0.0, "size": 1},
                ],
            },
            {"id": 4, "name": "oak", "height": 0.0, "size": 1},
        ],
    }


def test_the_nested_form_has_limits(working: Working) -> None:
    # Caterpillars: one more leaf at each level.
    fits = post(working, "(" * 200 + "a" + ",b)" * 200 + ";")
    assert get(working, fits, "?layout=nested").status_code == 200
    deep = post(working, "(" * 201 + "a" + ",b)" * 201 + ";")
    detail = problem_of(get(working, deep, "?layout=nested"), 422, "too-deep")["detail"]
    assert "200" in detail
    assert "layout=flat" in detail
    assert len(get(working, deep).json()["nodes"]) == 403
    many = post(working, "(" + ",".join(["a"] * 50_000) + ");")
    detail = problem_of(get(working, many, "?layout=nested"), 422, "too-many-nodes")["detail"]
    assert "50,000" in detail


def test_pictures(working: Working, tree: dict[str, Any]) -> None:
    for shape in ("circular", "rectangular", "icicle"):
        picture = get(working, tree, f".svg?shape={shape}&px=600&title=Plants+%26+co").text
        assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg" width="600"')
        assert "Plants &amp; co" in picture
        assert "rose" in picture
    ids = get(working, tree, ".svg?labels=id").text
    assert "rose" not in ids
    folded = get(working, tree, ".svg?depth=1&shape=rectangular").text
    assert "flower (2)" in folded
    png = get(working, tree, ".png?px=120").content
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 120
    sized = get(working, tree, ".png?px=320&height=200&theme=dark&palette=tol-bright").content
    assert [int.from_bytes(sized[i : i + 4], "big") for i in (16, 20)] == [320, 200]
    dark = get(working, tree, ".svg?theme=dark").text
    assert "#ffffff" not in dark
    for query in ("theme=blue", "palette=x", "height=50", "height=8193", "shape=square", "px=50"):
        problem_of(get(working, tree, f".svg?{query}"), 422, "invalid-request")


def test_pictures_are_coloured(working: Working, tree: dict[str, Any]) -> None:
    plain = get(working, tree, ".svg").text
    assert get(working, tree, ".svg?color_by=cluster:2").text != plain
    # One label for each leaf, read from a dataset.
    labels = working.client.post(
        "/v1/datasets?role=labels",
        content=json.dumps(["soft", "soft", "wood"]),
        headers={"Content-Type": "application/json"},
    ).json()
    coloured = get(working, tree, f".svg?color_by={labels['id']}").text
    assert "soft" in coloured
    assert "wood" in coloured
    # Text forms have no colours.
    assert get(working, tree, f".nwk?color_by={labels['id']}").status_code == 422


def test_trees_are_listed_newest_first_in_pages(working: Working) -> None:
    imported = [post(working, WIDE, name=f"tree {number}") for number in range(5)]
    listed: list[str] = []
    address = "/v1/trees?limit=2"
    while address:
        answer = working.client.get(address)
        listed += [item["id"] for item in answer.json()["items"]]
        assert all("nodes" not in item for item in answer.json()["items"])
        following = answer.links.get("next")
        address = following["url"] if following else ""
        assert (answer.json()["next_cursor"] is None) == (following is None)
    assert listed == [tree["id"] for tree in reversed(imported)]


@pytest.mark.parametrize("query", ["limit=0", "limit=100000", "limit=x"])
def test_a_page_has_a_bounded_length(working: Working, query: str) -> None:
    problem_of(working.client.get(f"/v1/trees?{query}"), 422, "invalid-request")


def test_a_wrong_cursor_is_refused(working: Working) -> None:
    assert working.client.get("/v1/trees?cursor=nonsense").status_code == 422


@pytest.mark.parametrize("tree_id", [UNKNOWN, "tr_x", "job_" + "0" * 26, "..%2f..%2fetc", "%00"])
@pytest.mark.parametrize("rest", ["", ".nwk", "/view", "/assignments", "/assignments.csv"])
def test_an_unknown_tree(working: Working, tree_id: str, rest: str) -> None:
    problem_of(working.client.get(f"/v1/trees/{tree_id}{rest}"), 404, "not-found")


def test_delete(working: Working, tree: dict[str, Any]) -> None:
    wide = post(working, WIDE)
    path = f"/v1/trees/{tree['id']}"
    answer = working.client.delete(path)
    assert answer.status_code == 204
    assert answer.content == b""
    problem_of(working.client.get(path), 404, "not-found")
    problem_of(working.client.get(f"{path}.nwk"), 404, "not-found")
    problem_of(working.client.delete(path), 404, "not-found")
    items = working.client.get("/v1/trees").json()["items"]
    assert [item["id"] for item in items] == [wide["id"]]


def test_deleting_the_tree_of_a_job_keeps_the_job(working: Working) -> None:
    body = {"method": "l2h", "inputs": {"logits": [[2.0, 1.0], [0.0, 3.0]]}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    tree_id = job["result"]["tree"]
    assert working.client.delete(f"/v1/trees/{tree_id}").status_code == 204
    problem_of(working.client.get(f"/v1/trees/{tree_id}"), 404, "not-found")
    again = working.client.get(f"/v1/jobs/{job['id']}").json()
    assert again["status"] == "succeeded"
    inputs = {"inputs": {"logits": [[1.0, 2.0]]}}
    answer = working.client.post(f"/v1/trees/{tree_id}/predictions", json=inputs)
    problem_of(answer, 404, "not-found")


def test_a_tenant_sees_no_other_tenants_tree(working: Working, start: Start) -> None:
    from app.http.environment_keys import new_key

    tree = post(working, NEWICK)
    # The same Redis and store, now with keys; the first tree belongs to the tenant without a key.
    key, line = new_key("other")
    keyed = start(api_keys=(line,))
    headers = {"Authorization": f"Bearer {key}"}
    assert keyed.client.get("/v1/trees", headers=headers).json()["items"] == []
    path = f"/v1/trees/{tree['id']}"
    rests = ("", ".nwk", ".png", "/view", "/search?q=a", "/nodes/0", "/assignments")
    for rest in rests:
        problem_of(keyed.client.get(path + rest, headers=headers), 404, "not-found")
    problem_of(keyed.client.delete(path, headers=headers), 404, "not-found")
    for rest, body in (("evaluations", {"labels": [1]}), ("predictions", {"inputs": {}})):
        answer = keyed.client.post(f"{path}/{rest}", json=body, headers=headers)
        problem_of(answer, 404, "not-found")
    assert get(working, tree).status_code == 200


def test_hostile_names_are_text_in_every_form(working: Working) -> None:
    name = "a 'b' \"c\" [d](e){f}\n<script>alert(1)</script>; \\ \x07 é 日"
    document = {"nodes": [{"id": 0, "parent": None}, {"id": 1, "parent": 0, "name": name},
                          {"id": 2, "parent": 0, "name": ""}]}  # fmt: skip
    tree = post(working, json.dumps(document), "application/json", name=name[:-4])
    assert get(working, tree).json()["nodes"][1]["name"] == name
    assert name.replace("'", "''") in get(working, tree, ".nwk").text
    picture = get(working, tree, ".svg", params={"title": name}).text
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture
    assert get(working, tree, ".png", params={"title": name}).status_code == 200
