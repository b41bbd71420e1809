"""Items attached to a tree over HTTP: columns, examples, values and matches of nodes, images."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, fit, get, post, rows_tree
from tests.needs_kit import need
from tests.workers.formats.files_kit import image_bytes, write_images

ROWS = [
    *([step**2, 0.25 * step, 0.0] for step in range(4)),
    *([30.0 + step**2, 5.0, 0.5 * step] for step in range(4)),
]
TABLE = [
    {
        "word": f"=word {row}",
        "group": "plant" if row < 5 else "animal",
        "weight": None if row == 3 else float(row),
        "seen": f"2024-01-0{row + 1}",
    }
    for row in range(8)
]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "hac", {"features": ROWS})


def upload(working: Working, content: Any, media: str = "application/json") -> dict[str, Any]:
    body = json.dumps(content) if media == "application/json" else content
    answer = working.client.post(
        "/v1/datasets?role=items", content=body, headers={"Content-Type": media}
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def attach(working: Working, tree: dict[str, Any], items: str, **body: Any) -> Any:
    return working.client.post(
        f"/v1/trees/{tree['id']}/attachments",
        json={"items": items, **body},
        headers={"Prefer": "wait=60"},
    )


def attached(
    working: Working, tree: dict[str, Any], content: Any, media: str = "application/json"
) -> dict[str, Any]:
    answer = attach(working, tree, upload(working, content, media)["id"])
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_columns_examples_values_and_matches(working: Working, tree: dict[str, Any]) -> None:
    made = attached(working, tree, TABLE)
    assert made["status"] == "succeeded", made
    assert made["result"] == {
        "per": "row", "n_items": 8, "n_columns": 4, "basis": "features", "kept": None
    }  # fmt: skip
    assert get(working, tree, "/attachments").json()["items"] == [made]
    path = f"/v1/attachments/{made['id']}"
    assert working.client.get(path).json() == made
    job = working.client.get(f"/v1/jobs/{made['job']}").json()
    assert job["result"]["attachment"] == made["id"]

    columns = working.client.get(f"{path}/columns").json()["items"]
    assert [each["kind"] for each in columns] == ["text", "category", "number", "date"]
    assert columns[1]["categories"] == [
        {"text": "plant", "count": 5},
        {"text": "animal", "count": 3},
    ]
    assert (columns[2]["n"], columns[2]["n_missing"], columns[2]["quantiles"][-1]) == (7, 1, 7.0)

    # The literal definition, over the rows under each node.
    nodes = tree["nodes"]
    members = {
        node["id"]: [
            each["row"]
            for each in get(working, tree, f"/nodes/{node['id']}/members").json()["items"]
        ]
        for node in nodes
    }
    values = working.client.get(f"{path}/columns/2/nodes.json").json()["items"]
    for node in nodes:
        weights = [TABLE[row]["weight"] for row in members[node["id"]]]
        present = [weight for weight in weights if weight is not None]
        mean = values[node["id"]]["value"]
        assert mean == (pytest.approx(np.mean(present)) if present else None)
    shares = np.load(io.BytesIO(working.client.get(f"{path}/columns/1/nodes.npy").content))
    assert shares.dtype == np.float32
    assert shares[0].tolist() == [0.0, 0.625]
    problem_of(working.client.get(f"{path}/columns/0/nodes"), 404, "not-found")
    problem_of(working.client.get(f"{path}/columns/9/nodes"), 404, "not-found")

    counts = np.load(
        io.BytesIO(
            working.client.get(
                f"{path}/matches.npy", params={"column": 0, "contains": "WORD 1"}
            ).content
        )
    )
    assert counts.dtype == np.int32
    for node in nodes:
        assert counts[node["id"]].tolist() == [
            len(members[node["id"]]),
            int(1 in members[node["id"]]),
        ]
    for query, n in (
        ({"column": 1, "equals": ["animal"]}, 3),
        ({"column": 2, "low": "2", "high": "5"}, 3),
        ({"column": 3, "high": "2024-01-03"}, 3),
    ):
        rows = working.client.get(f"{path}/matches", params=query).json()["items"]
        assert rows[0] == {"node": 0, "n": 8, "n_matches": n}
    for query in ({"column": 1, "low": "2"}, {"column": 2}, {"column": 2, "low": "nan"}):
        problem_of(working.client.get(f"{path}/matches", params=query), 422, "wrong-parameter")

    several = [
        {"column": 1, "equals": ["plant"]},
        {"column": 2, "low": 1, "high": "5.5"},
        {"column": 0, "contains": "WORD"},
    ]
    where = [json.dumps(condition) for condition in several]
    answer = working.client.get(f"{path}/matches", params={"where": where})
    matching = {
        row
        for row, item in enumerate(TABLE)
        if item["group"] == "plant"
        and item["weight"] is not None
        and 1 <= item["weight"] <= 5.5
        and "word" in item["word"]
    }
    assert 0 < len(matching) < 5
    for row in answer.json()["items"]:
        assert row["n_matches"] == len(matching & set(members[row["node"]]))
    # The first of them beside `where` is the same.
    mixed = {"column": 1, "equals": "plant", "where": where[1:]}
    assert working.client.get(f"{path}/matches", params=mixed).json() == answer.json()

    features = np.array(ROWS)
    for by, sign in (("central", 1), ("unsure", -1)):
        for node in (0, nodes[1]["id"]):
            own = np.array(sorted(members[node]))
            away = np.linalg.norm(features[own] - features[own].mean(axis=0), axis=1)
            found = working.client.get(
                f"{path}/nodes/{node}/examples", params={"by": by, "n": 3}
            ).json()
            assert found["basis"] == "features"
            assert [each["item"] for each in found["items"]] == own[
                np.argsort(sign * away)[:3]
            ].tolist()
    drawn = working.client.get(f"{path}/nodes/0/examples?by=random&n=50&seed=3").json()
    assert sorted(each["item"] for each in drawn["items"]) == list(range(8))
    one = next(each for each in drawn["items"] if each["item"] == 3)
    assert one["values"] == {
        "word": "=word 3", "group": "plant", "weight": None, "seen": "2024-01-04T00:00:00Z"
    }  # fmt: skip
    assert working.client.get(f"{path}/items/3").json() == {
        name: value for name, value in one.items() if name != "score"
    }
    problem_of(working.client.get(f"{path}/items/8"), 404, "not-found")
    problem_of(working.client.get(f"{path}/nodes/99/examples"), 404, "not-found")

    # Pictures and views are coloured by a column of categories.
    view = get(working, tree, f"/view?color_by={made['id']}.1").json()
    assert view["categories"] == ["plant", "animal"]
    assert get(working, tree, f".svg?color_by={made['id']}.1").text.count("animal") == 1
    problem_of(get(working, tree, f"/view?color_by={made['id']}.2"), 422, "invalid-request")
    problem_of(get(working, tree, f"/view?color_by={made['id']}"), 422, "invalid-request")
    other = post(working, NEWICK)
    problem_of(get(working, other, f"/view?color_by={made['id']}.1"), 404, "not-found")

    # It goes with its tree.
    assert working.client.delete(f"/v1/trees/{tree['id']}").status_code == 204
    problem_of(working.client.get(path), 404, "not-found")


def test_strips_in_pictures(working: Working, tree: dict[str, Any]) -> None:
    at = attached(working, tree, TABLE)["id"]
    other = post(working, NEWICK)
    strips = f"{at}.1,{at}.2,{at}.3"
    for shape in ("circular", "rectangular", "icicle"):
        picture = get(working, tree, f".svg?strips={strips}&shape={shape}").text
        for text in ("1 group:", "2 weight:", "3 seen:", "plant", "animal", "2024-01-01 to 2024"):
            assert text in picture, (shape, text)
    image = get(working, tree, f".png?strips={strips}&px=200")
    assert (image.status_code, image.content[:4]) == (200, b"\x89PNG")
    # Text forms have none.
    assert get(working, tree, f".nwk?strips={at}.0").status_code == 422
    for strips, code in (
        ("weight", "invalid-request"),
        ("", "invalid-request"),
        (f"{at}.1,", "invalid-request"),
        (f"{at}.1,{at}.1", "invalid-request"),
        (",".join(f"{at}.{n}" for n in range(9)), "invalid-request"),
        (f"{at}.0", "invalid-request"),
        (f"{at}.4", "unknown-input"),
        (f"at_{'0' * 26}.1", "unknown-input"),
    ):
        problem = problem_of(get(working, tree, ".svg", params={"strips": strips}), 422, code)
        assert (
            "strip" in problem["detail"] or at in problem["detail"] or "at_0" in problem["detail"]
        )
    problem_of(get(working, other, f".svg?strips={at}.1"), 422, "unknown-input")


def test_items_colour_an_edition_as_its_tree(working: Working, tree: dict[str, Any]) -> None:
    at = attached(working, tree, TABLE)["id"]
    children = [node["id"] for node in tree["nodes"] if node["parent"] == 0]
    made = working.client.post(f"/v1/trees/{tree['id']}/editions", json={})
    changed = working.client.post(
        f"/v1/editions/{made.json()['id']}/changes",
        json={"operations": [{"op": "reorder", "node": 0, "children": children[::-1]}]},
        headers={"If-Match": made.headers["etag"]},
    )
    assert changed.status_code < 300, changed.text
    turned, plain = (
        get(working, tree, "/view", params={**shown, "color_by": f"{at}.1"}).json()["nodes"]
        for shown in ({"edition": made.json()["id"]}, {})
    )
    of_turned, of_plain = (
        {node["id"]: node["category"] for node in nodes} for nodes in (turned, plain)
    )
    assert of_turned == of_plain
    assert [node["id"] for node in turned] != [node["id"] for node in plain]
    assert {0, 1} <= set(of_plain.values())


def test_images_of_leaves(working: Working, tmp_path: Path) -> None:
    tree = post(working, NEWICK)
    archive = tmp_path / "images.zip"
    write_images(archive, dict.fromkeys(("a10.png", "a2.png", "../a1.png"), image_bytes()))
    made = attached(working, tree, archive.read_bytes(), "application/zip")
    assert made["result"]["basis"] is None
    assert "no order" in made["warnings"][0]
    path = f"/v1/attachments/{made['id']}"
    item = working.client.get(f"{path}/items/1").json()
    assert item["values"]["file"] == "a2.png"
    answer = working.client.get(item["values"]["image"]["image"])
    assert answer.content == image_bytes()
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    again = working.client.get(
        item["values"]["image"]["image"], headers={"If-None-Match": answer.headers["etag"]}
    )
    assert again.status_code == 304
    problem_of(working.client.get(f"{path}/items/1/images/0"), 404, "not-found")
    problem_of(working.client.get(f"{path}/nodes/0/examples"), 409, "conflict")
    assert len(working.client.get(f"{path}/nodes/0/examples?by=random").json()["items"]) == 3
    problem_of(
        working.client.get(f"{path}/matches", params={"column": 1, "contains": "x"}),
        422,
        "wrong-parameter",
    )


def test_margins_of_logits_by_row_and_by_leaf(working: Working) -> None:
    tree = rows_tree(working)
    made = attached(working, tree, [{"n": row} for row in range(5)])
    assert made["result"]["basis"] == "logits"
    path = f"/v1/attachments/{made['id']}/nodes/0/examples"
    logits = np.array([[4.0, 1, 0], [3, 1, 0], [2, 1, 0], [0, 3, 2], [0, 3.5, 2]])
    share = np.sort(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), axis=1)
    margin = share[:, -1] - share[:, -2]
    for by, order in (("central", np.argsort(-margin)), ("unsure", np.argsort(margin))):
        found = working.client.get(path, params={"by": by}).json()["items"]
        assert [each["item"] for each in found] == order.tolist()
        assert [each["score"] for each in found] == pytest.approx(margin[order].tolist())
    by_leaf = attached(working, tree, [{"class": name} for name in "xyz"])
    assert by_leaf["result"]["per"] == "leaf"
    found = working.client.get(
        f"/v1/attachments/{by_leaf['id']}/nodes/0/examples?by=central"
    ).json()["items"]
    # No row is of class z, so that nothing is known of it.
    assert [each["values"]["class"] for each in found] == ["x", "y"]
    assert found[0]["score"] == pytest.approx(margin[:3].mean())


def test_what_is_refused(working: Working, tree: dict[str, Any]) -> None:
    other = working.client.post("/v1/datasets?role=features", json=ROWS).json()
    problem_of(attach(working, tree, other["id"]), 422, "wrong-role")
    problem_of(attach(working, tree, "ds_" + "0" * 26), 422, "unknown-input")
    few = upload(working, TABLE[:5])
    wrong = problem_of(attach(working, tree, few["id"]), 422, "wrong-shape")
    assert "5 items" in wrong["detail"]
    assert "8 rows" in wrong["detail"]
    problem_of(attach(working, {"id": UNKNOWN}, few["id"]), 404, "not-found")
    problem_of(attach(working, tree, few["id"], column="x"), 422, "invalid-request")
    unknown = "/v1/attachments/at_" + "0" * 26
    problem_of(working.client.get(unknown), 404, "not-found")
    problem_of(working.client.get(f"{unknown}/columns"), 404, "not-found")


def test_a_fit_whose_features_are_gone(working: Working) -> None:
    features = working.client.post("/v1/datasets?role=features", json=ROWS).json()["id"]
    tree = fit(working, "hac", {"features": features})
    assert working.client.delete(f"/v1/datasets/{features}").status_code == 204
    made = attached(working, tree, TABLE)
    assert made["result"]["basis"] is None
    assert made["warnings"] == ["Items are in no order: the features of the fit were deleted."]
    refused = working.client.get(f"/v1/attachments/{made['id']}/nodes/0/examples?by=unsure")
    assert "by=random" in problem_of(refused, 409, "conflict")["detail"]


def test_a_cell_that_a_spreadsheet_would_run_is_guarded(
    working: Working, tree: dict[str, Any]
) -> None:
    """Tables of nodes hold numbers alone: no text of an item is ever written as CSV."""
    made = attached(working, tree, TABLE)
    text = working.client.get(f"/v1/attachments/{made['id']}/columns/1/nodes.csv").text
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["node", "value", "share"]
    assert all(float(cell) >= 0 for row in rows for cell in row)


CONDITION = '{"column": 2, "low": 1}'


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "invalid-request", "Give a condition"),
    ({"low": "1"}, "invalid-request", "Give the `column`"),
    ({"contains": "x", "where": [CONDITION]}, "invalid-request", "Give the `column`"),
    ({"where": [CONDITION] * 9}, "invalid-request", "8"),
    ({"column": 2, "low": "1", "where": [CONDITION] * 8}, "invalid-request", "at most 8"),
    ({"where": ["column=2&low=1"]}, "invalid-request", "JSON"),
    ({"where": [""]}, "invalid-request", "JSON"),
    ({"where": ["[" * 5000]}, "invalid-request", "JSON"),
    ({"where": ["null"]}, "invalid-request", "where"),
    ({"where": ['{"low": 1}']}, "invalid-request", "column"),
    ({"where": ['{"column": 2, "lower": 1}']}, "invalid-request", "lower"),
    ({"where": ['{"column": 2, "low": true}']}, "invalid-request", "low"),
    ({"where": ['{"column": 2, "low": NaN}']}, "invalid-request", "low"),
    ({"where": ['{"column": 2, "low": 1e999}']}, "invalid-request", "low"),
    ({"where": ['{"column": 2, "low": %s}' % ("9" * 400)]}, "invalid-request", "low"),
    ({"where": ['{"column": 1, "equals": "plant"}']}, "invalid-request", "equals"),
    ({"where": ['{"column": 0, "contains": ""}']}, "invalid-request", "contains"),
    ({"where": ['{"column": 0, "contains": "\\ud800"}']}, "invalid-request", "where"),
    ({"where": ['{"column": 2}']}, "wrong-parameter", "takes `low` and `high`"),
    ({"where": [CONDITION, '{"column": 1, "low": 1}']}, "wrong-parameter", "In condition 2"),
    ({"where": ['{"column": 3, "low": 5}']}, "wrong-parameter", "a date is written"),
    ({"where": ['{"column": true, "low": 1}']}, "invalid-request", "valid integer"),
    ({"where": ['{"column": 2, "low": "1_0"}']}, "wrong-parameter", "not a finite number"),
    ({"where": [CONDITION, '{"column": 9, "low": 1}']}, "unknown-input", "no column 9"),
    ({"column": 4, "low": "1"}, "unknown-input", "no column 4"),
]


def test_wrong_conditions(working: Working, tree: dict[str, Any]) -> None:
    path = f"/v1/attachments/{attached(working, tree, TABLE)['id']}/matches"
    for query, code, detail in WRONG:
        problem = problem_of(working.client.get(path, params=query), 422, code)
        assert detail in problem["detail"], query


def test_rows_stand_for_themselves(working: Working, tree: dict[str, Any]) -> None:
    answer = working.client.post(
        f"/v1/trees/{tree['id']}/attachments", json={}, headers={"Prefer": "wait=60"}
    )
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["result"]["per"], made["result"]["basis"]) == ("row", "features")
    path = f"/v1/attachments/{made['id']}"
    root = working.client.get(f"{path}/nodes/0/outliers").json()["items"]
    away = np.linalg.norm(np.array(ROWS) - np.mean(ROWS, axis=0), axis=1)
    assert [each["item"] for each in root] == np.argsort(-away).tolist()
    assert [each["distance"] for each in root] == pytest.approx(sorted(away, reverse=True))
    assert {each["doubt"] for each in root} == {None}
    near = working.client.get(f"{path}/nodes/0/outliers?by=near&n=1").json()["items"]
    assert [each["item"] for each in near] == [int(np.argmin(away))]
    assert near[0]["point"] == str(near[0]["item"])
    answer = working.client.get(f"{path}/nodes/0/outliers?by=doubt")
    assert "no siblings" in problem_of(answer, 422, "wrong-parameter")["detail"]
    first, second = get(working, tree, "/nodes/0").json()["child_nodes"]
    text = working.client.get(f"{path}/nodes/{first['id']}/outliers.csv?by=doubt").text
    head, *lines = text.splitlines()
    assert head == "item,leaf,name,distance,doubt,nearest,point"
    assert len(lines) == first["size"]
    assert {line.split(",")[5] for line in lines} == {str(second["id"])}
    problem_of(working.client.get(f"{path}/nodes/99/outliers"), 404, "not-found")


def test_outliers_have_the_values_of_their_items(working: Working, tree: dict[str, Any]) -> None:
    made = attached(working, tree, TABLE)
    path = f"/v1/attachments/{made['id']}/nodes/0/outliers"
    for each in working.client.get(path).json()["items"]:
        row = TABLE[each["item"]]
        assert (each["word"], each["group"], each["weight"]) == (
            row["word"],
            row["group"],
            row["weight"],
        )
        assert each["seen"] == f"{row['seen']}T00:00:00Z"
    assert working.client.get(path.replace("outliers", "outliers.arrow")).status_code == 200
    lines = working.client.get(path.replace("outliers", "outliers.csv")).text.splitlines()
    assert len(lines) == 9


def test_points_that_are_images_show_them(working: Working) -> None:
    need("torch")
    images = np.random.default_rng(0).integers(0, 60, (40, 8, 8)).astype(np.uint8)
    images[20:, :4] += 180
    buffer = io.BytesIO()
    np.save(buffer, images)
    answer = working.client.post(
        "/v1/datasets?role=features",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    )
    params = {"n_clusters": 2, "pretrain_epochs": 1, "epochs": 1}
    tree = fit(working, "deepect", {"features": answer.json()["id"]}, params=params)
    made = working.client.post(
        f"/v1/trees/{tree['id']}/attachments", json={}, headers={"Prefer": "wait=60"}
    ).json()
    columns = working.client.get(f"/v1/attachments/{made['id']}/columns").json()["items"]
    assert [each["kind"] for each in columns] == ["image", "text"]
    content = working.client.get(f"/v1/attachments/{made['id']}/items/4/images/0").content
    assert content.startswith(b"\x89PNG")
    assert (
        "image"
        not in (
            working.client.get(f"/v1/attachments/{made['id']}/nodes/0/outliers").json()["items"][0]
        )
    )


def test_an_imported_tree_has_names_and_no_outliers(working: Working) -> None:
    tree = post(working, NEWICK)
    made = working.client.post(
        f"/v1/trees/{tree['id']}/attachments", json={}, headers={"Prefer": "wait=60"}
    ).json()
    assert made["result"]["basis"] is None
    answer = working.client.get(f"/v1/attachments/{made['id']}/nodes/0/outliers")
    problem_of(answer, 409, "conflict")
