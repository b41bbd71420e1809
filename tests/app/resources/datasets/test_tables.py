"""Tables with names, ids, labels and dates, from the file to every answer about their rows."""

from __future__ import annotations

import csv
import io
import itertools
import json
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.app.conftest import Working

ROWS = [
    {"name": "ann", "kind": "cat", "born": "2020-01-01", "width": 0.0, "height": 0.0},
    {"name": "bob", "kind": "cat", "born": "2020-01-02", "width": 0.0, "height": 1.0},
    {"name": "cyd", "kind": "dog", "born": "2020-02-01", "width": 9.0, "height": 0.0},
    {"name": "dan", "kind": "dog", "born": "2021-01-01", "width": 9.0, "height": 1.5},
]
ROLES = {"name": "id", "kind": None, "born": None, "width": "feature", "height": "feature"}
NAMES = list(ROLES)


def as_csv(rows: list[dict[str, Any]], names: list[str], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def table(rows: list[dict[str, Any]], names: list[str]) -> pa.Table:
    return pa.table({name: [row[name] for row in rows] for name in names})


def as_arrow(rows: list[dict[str, Any]], names: list[str]) -> bytes:
    sink = pa.BufferOutputStream()
    own = table(rows, names)
    with pa.ipc.new_stream(sink, own.schema) as writer:
        writer.write_table(own)
    return bytes(sink.getvalue())


def as_parquet(rows: list[dict[str, Any]], names: list[str]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table(rows, names), sink)
    return sink.getvalue()


def as_lines(rows: list[dict[str, Any]], names: list[str]) -> bytes:
    return "".join(json.dumps({n: row[n] for n in names}) + "\n" for row in rows).encode()


def as_json(rows: list[dict[str, Any]], names: list[str]) -> bytes:
    return json.dumps([{n: row[n] for n in names} for row in rows]).encode()


FORMS = {
    "text/csv": as_csv,
    "text/tab-separated-values": lambda rows, names: as_csv(rows, names, "\t"),
    "application/vnd.apache.arrow.stream": as_arrow,
    "application/vnd.apache.parquet": as_parquet,
    "application/x-ndjson": as_lines,
    "application/json": as_json,
}


def upload(
    working: Working, content: bytes, media: str = "text/csv", **query: Any
) -> dict[str, Any]:
    answer = working.client.post(
        "/v1/datasets", content=content, headers={"Content-Type": media}, params=query
    )
    assert answer.status_code == 201, answer.text
    dataset = dict(answer.json())
    while dataset["status"] == "inspecting":
        time.sleep(0.02)
        dataset = working.client.get(f"/v1/datasets/{dataset['id']}").json()
    return dataset


def job(working: Working, method: str, inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    body = {"method": method, "inputs": inputs, **fields}
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
    assert answer.status_code in (201, 202), answer.text
    return dict(answer.json())


def predict(working: Working, tree: str, dataset: str) -> Any:
    return working.client.post(
        f"/v1/trees/{tree}/predictions",
        json={"inputs": {"features": dataset}},
        headers={"Prefer": "wait=60"},
    )


@pytest.mark.parametrize("media", FORMS)
def test_a_table_is_read_as_it_is(working: Working, media: str) -> None:
    dataset = upload(working, FORMS[media](ROWS, NAMES), media, role="features")
    assert (dataset["status"], dataset["shape"]) == ("ready", [4, 2]), dataset
    assert {own["name"]: own["role"] for own in dataset["columns"]} == ROLES
    (note,) = dataset["warnings"]
    for name in ("'name'", "'kind'", "'born'"):
        assert name in note
    done = job(working, "hac", {"features": dataset["id"]})
    assert done["status"] == "succeeded", done["error"]
    assert note in done["warnings"]
    tree = done["result"]["tree"]
    newick = working.client.get(f"/v1/trees/{tree}.nwk").text
    assert all(row["name"] in newick for row in ROWS)
    answer = working.client.get(f"/v1/trees/{tree}/assignments?k=2").json()
    assert answer["ids"] == ["ann", "bob", "cyd", "dan"]
    first, second, third, fourth = answer["assignments"]
    assert first == second != third == fourth


@pytest.mark.parametrize("media", FORMS)
def test_new_rows_are_matched_by_name(working: Working, media: str) -> None:
    dataset = upload(working, FORMS[media](ROWS, NAMES), media, role="features")
    tree = job(working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2})["result"][
        "tree"
    ]
    expected = predict(working, tree, dataset["id"]).json()["items"]
    assert [row["id"] for row in expected] == ["ann", "bob", "cyd", "dan"]
    for names in itertools.islice(itertools.permutations(NAMES), 0, None, 7):
        again = upload(working, FORMS[media](ROWS, list(names)), media, role="features")
        assert predict(working, tree, again["id"]).json()["items"] == expected
    lacking = upload(working, FORMS[media](ROWS, ["name", "width"]), media, role="features")
    problem = predict(working, tree, lacking["id"]).json()
    assert "lacks the column(s) 'height'" in problem["detail"]
    more = upload(
        working,
        FORMS[media]([{**row, "depth": 1.5} for row in ROWS], [*NAMES, "depth"]),
        media,
        role="features",
    )
    problem = predict(working, tree, more["id"]).json()
    assert "has the column(s) 'depth', which the fit did not have" in problem["detail"]
    other = upload(
        working,
        FORMS[media]([{**row, "Width": row["width"]} for row in ROWS], ["Width", "height"]),
        media,
        role="features",
    )
    problem = predict(working, tree, other["id"]).json()
    assert "'width'" in problem["detail"]
    assert "'Width'" in problem["detail"]


def test_rows_without_names_are_taken_in_order(working: Working) -> None:
    dataset = upload(working, as_csv(ROWS, ["width", "height"]), role="features")
    assert dataset["warnings"] == []
    tree = job(working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2})["result"][
        "tree"
    ]
    plain = upload(working, b"0,0\n0,1\n9,0\n9,1.5\n", role="features")
    assert plain["columns"] is None
    expected = predict(working, tree, dataset["id"]).json()["items"]
    assert predict(working, tree, plain["id"]).json()["items"] == expected


def test_columns_of_logits_are_the_classes(working: Working) -> None:
    values = np.random.default_rng(0).normal(size=(40, 4)).round(3)
    rows = [dict(zip(["cat", "dog", "rose", "tulip"], row, strict=True)) for row in values.tolist()]
    dataset = upload(working, as_csv(rows, ["cat", "dog", "rose", "tulip"]), role="logits")
    tree = job(working, "l2h", {"logits": dataset["id"]})["result"]["tree"]
    newick = working.client.get(f"/v1/trees/{tree}.nwk").text
    assert all(name in newick for name in ("cat", "dog", "rose", "tulip"))
    given = job(working, "l2h", {"logits": dataset["id"], "names": ["a", "b", "c", "d"]})
    newick = working.client.get(f"/v1/trees/{given['result']['tree']}.nwk").text
    assert "cat" not in newick
    turned = upload(working, as_csv(rows, ["rose", "cat", "tulip", "dog"]), role="logits")
    placed = [
        working.client.post(
            f"/v1/trees/{tree}/predictions",
            json={"inputs": {"logits": own["id"]}},
            headers={"Prefer": "wait=60"},
        ).json()["items"]
        for own in (dataset, turned)
    ]
    assert placed[0] == placed[1]


def test_one_table_gives_features_and_labels(working: Working) -> None:
    rows = [{**row, "species": row["kind"]} for row in ROWS] * 3
    dataset = upload(working, as_csv(rows, ["width", "species", "height"]), role="features")
    assert [own["role"] for own in dataset["columns"]] == ["feature", "label", "feature"]
    both = {"features": dataset["id"], "labels": dataset["id"]}
    done = job(working, "bsvm", both)
    assert done["status"] == "succeeded", done["error"]
    nodes = working.client.get(f"/v1/trees/{done['result']['tree']}").json()["nodes"]
    assert {"cat", "dog"} <= {node["name"] for node in nodes}


def test_the_uploader_chooses(working: Working) -> None:
    content = as_csv(ROWS, NAMES)
    dataset = upload(working, content, role="features", columns=["height"], id_column="born")
    assert dataset["shape"] == [4, 1]
    assert dataset["warnings"] == []
    roles = {own["name"]: own["role"] for own in dataset["columns"]}
    assert (roles["height"], roles["width"], roles["born"]) == ("feature", None, "id")
    wrong = upload(working, content, role="features", columns=["hieght"])
    assert wrong["status"] == "invalid"
    assert "Did you mean 'height'?" in wrong["problem"]["detail"]
    text = upload(working, content, role="features", columns=["name", "width"])
    assert "'name' is chosen as a feature and holds text" in text["problem"]["detail"]


def test_ids_that_were_chosen_must_differ(working: Working) -> None:
    rows = [*ROWS, {**ROWS[0], "width": 5.0}]
    dataset = upload(working, as_csv(rows, NAMES), role="features", id_column="name")
    done = job(working, "hac", {"features": dataset["id"]})
    assert done["status"] == "failed"
    assert "'ann' at row 0 and at row 4" in done["error"]["detail"]


@pytest.mark.parametrize("media", FORMS)
def test_two_columns_of_one_name_are_refused(working: Working, media: str) -> None:
    if media in ("application/x-ndjson", "application/json"):
        pytest.skip("an object has one member of a name")
    content = (
        b"a\tb\ta\n1\t2\t3\n"
        if "tab" in media
        else b"a,b,a\n1,2,3\n"
        if media == "text/csv"
        else _doubled(media)
    )
    dataset = upload(working, content, media, role="features")
    assert dataset["status"] == "invalid"
    assert "two columns of the" in dataset["problem"]["detail"]


def _doubled(media: str) -> bytes:
    own = pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"])
    if "parquet" in media:
        sink = io.BytesIO()
        pq.write_table(own, sink)
        return sink.getvalue()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, own.schema) as writer:
        writer.write_table(own)
    return bytes(out.getvalue())


def test_a_word_among_numbers_is_refused_where_it_stands(working: Working) -> None:
    lines = [f"{at},{at % 3}.5,w{at % 2}" for at in range(5000)]
    lines[4321] = "4321,none of it,w0"
    content = ("x,y,word\n" + "\n".join(lines) + "\n").encode()
    dataset = upload(working, content, role="features")
    assert dataset["status"] == "invalid"
    assert "row 4321" in dataset["problem"]["detail"]
    assert "line 4323" in dataset["problem"]["detail"]


def test_ids_come_back_with_every_answer_about_rows(working: Working) -> None:
    dataset = upload(working, as_csv(ROWS, NAMES), role="features")
    tree = job(working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2})["result"][
        "tree"
    ]
    ids = ["ann", "bob", "cyd", "dan"]
    at = f"/v1/trees/{tree}"
    text = working.client.get(f"{at}/assignments.csv?k=2").text
    assert text.splitlines()[0] == "row,id,cluster,node,name"
    assert [line.split(",")[1] for line in text.splitlines()[1:]] == ids
    nested = working.client.get(f"{at}/assignments?levels=1,2").json()
    assert nested["ids"] == ids
    arrow = working.client.get(f"{at}/assignments.arrow?k=2").content
    assert pa.ipc.open_file(arrow).read_all()["id"].to_pylist() == ids
    members = working.client.get(f"{at}/nodes/0/members").json()["items"]
    assert [row["id"] for row in members] == ids
    made = working.client.post(f"{at}/maps", json={"by": "pca"}, headers={"Prefer": "wait=60"})
    assert made.status_code == 201, made.text
    positions = working.client.get(f"/v1/maps/{made.json()['id']}/positions").json()["items"]
    assert [row["id"] for row in positions] == ids
    criteria = {"features": dataset["id"], "per_node": True, "metrics": []}
    for rows in ({}, {"inputs": {"features": dataset["id"]}}):
        body = {**criteria, **rows}
        if rows:
            del body["features"]
            body["labels"] = ["a", "a", "b", "b"]
        answer = working.client.post(f"{at}/evaluations", json=body, headers={"Prefer": "wait=60"})
        assert answer.status_code == 200, answer.text
        nodes = working.client.get(answer.json()["nodes"]).json()["items"]
        for node in nodes:
            assert node["exemplar_ids"] == [ids[row] for row in node["exemplars"]]
    place = working.client.get(f"{at}/places/1").json()
    assert place["id"] == ids[place["row"]]


def test_ids_of_items_come_back_and_stand_beside_heatmap_rows_and_examples(
    working: Working,
) -> None:
    dataset = upload(working, as_csv(ROWS, NAMES), role="items", id_column="name")
    assert {own["name"]: own["role"] for own in dataset["columns"]}["name"] == "id", dataset
    done = job(working, "hac", {"items": dataset["id"]})
    assert done["status"] == "succeeded", done["error"]
    ids, at = ["ann", "bob", "cyd", "dan"], f"/v1/trees/{done['result']['tree']}"
    assert working.client.get(f"{at}/assignments?k=2").json()["ids"] == ids
    members = working.client.get(f"{at}/nodes/0/members").json()["items"]
    wait = {"Prefer": "wait=60"}
    request = {"what": "distances", "metric": "cophenetic"}
    made = working.client.post(f"{at}/heatmaps", json=request, headers=wait)
    assert made.status_code == 201, made.text
    path = f"/v1/heatmaps/{made.json()['id']}"
    rows = working.client.get(f"{path}/axes").json()["rows"]
    expected = {row["leaf"]: row["id"] for row in members}
    assert rows["id"] == [expected[node] for node in rows["node"]]
    rows_of_leaves = rows["id"]
    made = working.client.post(
        f"{at}/heatmaps", json={**request, "cut": {"k": 3}}, headers=wait
    ).json()
    rows = working.client.get(f"/v1/heatmaps/{made['id']}/axes").json()["rows"]
    assert [own is None for own in rows["id"]] == [size > 1 for size in rows["size"]]
    gower = {"what": "distances", "metric": "gower"}
    made = working.client.post(f"{at}/heatmaps", json=gower, headers=wait)
    assert made.status_code == 201, made.text
    path = f"/v1/heatmaps/{made.json()['id']}"
    assert working.client.get(f"{path}/axes").json()["rows"]["id"] == rows_of_leaves
    assert working.client.get(f"{path}.svg").status_code == 200
    made = working.client.post(f"{at}/attachments", json={"items": dataset["id"]}, headers=wait)
    assert made.status_code == 201, made.text
    path = f"/v1/attachments/{made.json()['id']}"
    examples = working.client.get(f"{path}/nodes/0/examples?by=random").json()["items"]
    assert sorted(own["id"] for own in examples) == ids
    assert [own["id"] for own in examples] == [ids[own["item"]] for own in examples]
    assert working.client.get(f"{path}/items/2").json()["id"] == "cyd"


def test_a_choice_of_columns_is_refused_of_other_files(working: Working) -> None:
    sink = io.BytesIO()
    np.save(sink, np.zeros((3, 2)))
    for query in ({"columns": "a"}, {"id_column": "a"}, {"decimal": ","}, {"header": "true"}):
        answer = working.client.post("/v1/datasets", content=sink.getvalue(), params=query)
        assert answer.status_code == 422, answer.text
        assert "npy" in answer.json()["detail"]


@pytest.mark.parametrize(("last", "word"), [("g1", "'g1' at row 1 and at row 2500"), ("", "2500")])
def test_proposed_ids_that_fail_far_below_are_left_out_with_a_warning(
    working: Working, last: str, word: str
) -> None:
    lines = [f"g{at},{at % 7},{at % 5}" for at in range(2500)]
    content = "\n".join(["gene,x,y", *lines, f"{last},1,2", ""]).encode()
    dataset = upload(working, content, role="features")
    assert dataset["columns"][0]["role"] == "id"
    done = job(working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2})
    assert done["status"] == "succeeded", done["error"]
    assert any("no ids from column 'gene'" in text and word in text for text in done["warnings"])
    answer = working.client.get(f"/v1/trees/{done['result']['tree']}/assignments").json()
    assert answer.get("ids") is None
    chosen = upload(working, content, role="features", id_column="gene")
    done = job(working, "kmeans", {"features": chosen["id"]}, params={"n_clusters": 2})
    assert done["status"] == "failed"
    assert word in done["error"]["detail"]


def test_a_file_is_read_anew_with_other_columns(working: Working) -> None:
    """The table of an earlier dataset, which does not change and may go."""
    client, first = working.client, upload(working, as_csv(ROWS, NAMES), name="people")

    def anew(**query: Any) -> dict[str, Any]:
        return upload(working, b"", **{"from": first["id"], **query})

    other = anew(columns="height", label_column="kind")
    assert (other["shape"], other["name"], other["format"]) == ([4, 1], "people", "csv")
    roles = {own["name"]: own["role"] for own in other["columns"]}
    assert roles == {
        "name": "id",
        "kind": "label",
        "born": None,
        "width": None,
        "height": "feature",
    }
    assert client.get(f"/v1/datasets/{first['id']}").json() == first
    assert (other["sha256"], other["bytes"]) == (first["sha256"], first["bytes"])
    assert anew(role="items", name="others")["role"] == "items"
    both = client.post(f"/v1/datasets?from={first['id']}", content=b"x\n1\n")
    assert (both.status_code, "no body" in both.json()["detail"]) == (422, True)
    client.delete(f"/v1/datasets/{first['id']}")
    assert client.get(f"/v1/datasets/{other['id']}/content").content == as_csv(ROWS, NAMES)
    gone = client.post(f"/v1/datasets?from={first['id']}")
    assert (gone.status_code, first["id"] in gone.json()["detail"]) == (404, True)


def test_distances_of_a_table_of_one_column(working: Working) -> None:
    """A column of condensed distances names no point; a list of pairs is no condensed matrix."""
    headers = {"Content-Type": "text/csv"}

    def fit(text: str) -> dict[str, Any]:
        uploaded = working.client.post("/v1/datasets", content=text, headers=headers).json()
        body = {"method": "hac", "inputs": {"distances": uploaded["id"]}}
        return dict(
            working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
        )

    job = fit("d\n1\n4.5\n4\n")
    assert job["status"] == "succeeded", job
    assert any("condensed matrix of 3 points" in note for note in job["warnings"])
    newick = working.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text
    assert newick.startswith("((0:1.0,1:1.0)")
    job = fit("from,to,d\na,c,4.5\na,b,1\nb,c,4\n")
    assert "a list of pairs" in job["error"]["detail"]
    assert "'from', 'to'" in job["error"]["detail"]
