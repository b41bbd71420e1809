"""Labels with several a row, class paths, edges, ARFF and libsvm files over HTTP."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, dataset, fit, get, post, predict

JSON = "application/json"
LIBSVM = "text/x-libsvm"
ARFF = "text/x-arff"

PETS = """@relation pets
@attribute x real
@attribute y real
@attribute class hierarchical animal,animal/cat,animal/dog,plant/rose
@data
0,0,animal@animal/cat
0.1,0,animal/dog
9,9,plant/rose
"""


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    """Rows rose, tulip, oak; single points at the leaves."""
    return post(working, NEWICK)


def upload(working: Working, content: bytes | str, media: str, **query: Any) -> dict[str, Any]:
    """The dataset, once it has been inspected."""
    answer = working.client.post(
        "/v1/datasets", content=content, headers={"Content-Type": media}, params=query
    )
    assert answer.status_code == 201, answer.text
    working.work.join()
    return dict(working.client.get(answer.headers["location"]).json())


def evaluate(working: Working, tree: dict[str, Any], **body: Any) -> Any:
    return working.client.post(
        f"/v1/trees/{tree['id']}/evaluations", json=body, headers={"Prefer": "wait=60"}
    )


def parquet(column: list[Any]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"y": column}), buffer)
    return buffer.getvalue()


def sparse(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array(matrix))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "media", "shape"),
    [
        (b'[["a", "b"], "c", null]', JSON, [3]),
        (b'["a", "b"]\n"c"\nnull\n', "application/x-ndjson", [3]),
        (parquet([["a", "b"], ["c"], None]), "application/vnd.apache.parquet", [3]),
        (b"1,2 1:1\n3 1:1\n-1 2:1\n", LIBSVM, [3, 2]),
        (sparse([[1, 1, 0], [0, 0, 1], [0, 0, 0]]), "application/x-npz", [3, 3]),
    ],
    ids=["json", "jsonl", "parquet", "libsvm", "npz"],
)
def test_datasets_of_several_labels_are_ready_and_refused_where_one_is_needed(
    content: bytes, media: str, shape: list[int], working: Working, tree: dict[str, Any]
) -> None:
    labels = upload(working, content, media, role="labels")
    assert (labels["status"], labels["shape"]) == ("ready", shape)
    answer = evaluate(working, tree, labels=labels["id"])
    body = problem_of(answer, 422, "wrong-input")
    assert "2 labels at row 0" in body["detail"]
    assert body["where"] == {"role": "labels", "row": 0}


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b'[["soft"], "soft", ["wood"]]', JSON),
        (parquet([[1], [1], [2]]), "application/vnd.apache.parquet"),
        (b"1 1:1\n1 1:1\n2 2:1\n", LIBSVM),
        (sparse([[1, 0], [1, 0], [0, 1]]), "application/x-npz"),
        (b"@relation r\n@attribute y {u, v}\n@data\nu\nu\nv\n", ARFF),
    ],
    ids=["json", "parquet", "libsvm", "npz", "arff"],
)
def test_one_label_for_each_row_is_measured(
    content: bytes, media: str, working: Working, tree: dict[str, Any]
) -> None:
    labels = upload(working, content, media, role="labels")
    answer = evaluate(working, tree, labels=labels["id"], metrics=["nmi"])
    assert answer.json()["metrics"] == {"nmi": 1.0}


@pytest.mark.parametrize(
    ("labels", "code", "where", "says"),
    [
        (["a", ["b", "c"], "a"], "wrong-input", {"row": 1}, "2 labels at row 1"),
        (["a", None, "b"], "wrong-input", {"row": 1}, "0 labels at row 1"),
        (["a", [], "b"], "wrong-input", {"row": 1}, "0 labels at row 1"),
        (["a", ["b", 1], "a"], "wrong-input", {"row": 1}, "all integers or all text"),
        ([None, None, None], "empty", {}, "no label in any"),
    ],
)
def test_inline_labels_that_are_refused(
    labels: list[Any],
    code: str,
    where: dict[str, int],
    says: str,
    working: Working,
    tree: dict[str, Any],
) -> None:
    body = problem_of(evaluate(working, tree, labels=labels), 422, code)
    assert body["where"] == {"role": "labels", **where}
    assert says in body["detail"]


def test_naming_by_several_labels_is_refused_before_the_fit(working: Working) -> None:
    body: dict[str, Any] = {
        "method": "hac",
        "inputs": {"features": [[0.0], [1.0], [5.0]], "labels": ["a", ["b", "c"], "c"]},
        "name_by": "labels",
    }
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "failed"
    assert "2 labels at row 1" in job["error"]["detail"]
    body["inputs"]["labels"] = [["a"], "a", ["c"]]
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
    assert nodes[0]["name"] == "a (66%)"


def test_a_comparison_with_several_labels_has_the_problem_in_its_table(working: Working) -> None:
    body = {
        "inputs": {"features": [[0.0], [1.0], [5.0]]},
        "labels": ["a", ["b", "c"], "c"],
        "runs": [{"method": "hac"}],
        "metrics": ["nmi"],
    }
    answer = working.client.post("/v1/comparisons", json=body, headers={"Prefer": "wait=60"})
    assert "2 labels at row 1" in answer.json()["table"][0]["error"]["detail"]


def test_colours_take_rows_without_a_label(working: Working, tree: dict[str, Any]) -> None:
    labels = dataset(working, [["a"], None, "b"])
    view = get(working, tree, f"/view?color_by={labels}").json()
    assert view["categories"] == ["a", "b"]
    assert sum(node["category"] is None for node in view["nodes"] if node["n_leaves"] == 1) == 1
    several = dataset(working, [["a", "b"], None, "b"])
    body = problem_of(get(working, tree, f"/view?color_by={several}"), 422, "wrong-input")
    assert "2 labels at row 0" in body["detail"]


def test_several_labels_need_their_role(working: Working) -> None:
    for content, says in (
        (b'[["a", "b"], ["c", "d"]]', "?role=labels"),
        (b'["a", null]', "missing value at row 1"),
        (b"[[1, 2], [3]]", "ragged"),
    ):
        answer = working.client.post(
            "/v1/datasets", content=content, headers={"Content-Type": JSON}
        )
        assert answer.status_code == 422
        assert says in answer.json()["detail"]


def test_a_dense_matrix_is_one_hot_or_no_labels(working: Working, tree: dict[str, Any]) -> None:
    for values in (np.eye(3), np.arange(9.0).reshape(3, 3)):
        buffer = io.BytesIO()
        np.save(buffer, values)
        matrix = upload(working, buffer.getvalue(), "application/x-npy", role="labels")
        answer = evaluate(working, tree, labels=matrix["id"])
        if values[0, 0]:
            assert any("one-hot" in text for text in answer.json()["warnings"]), answer.text
        else:
            assert "is sparse" in problem_of(answer, 422, "wrong-shape")["detail"]


PATHS = ["soft/rose", "soft/tulip", "wood/oak", "soft/rose"]


def test_a_hierarchy_of_paths(working: Working, tree: dict[str, Any]) -> None:
    labels = PATHS[:3]
    lines = "\n".join(PATHS)
    given: list[Any] = [
        PATHS,
        upload(working, str(PATHS).replace("'", '"'), JSON)["id"],
        upload(working, f"class\n{lines}\n", "text/csv", role="hierarchy")["id"],
        upload(
            working,
            '["soft/rose", "soft/tulip"]\n["wood/oak"]\n',
            "application/x-ndjson",
            role="hierarchy",
        )["id"],
        upload(working, f"@relation r\n@attribute y string\n@data\n{lines}\n", ARFF)["id"],
        post(working, "\n".join(labels), "text/plain")["id"],
    ]
    metrics = [
        evaluate(working, tree, labels=labels, hierarchy=one, metrics=["shortest_path_similarity"])
        for one in given
    ]
    values = [answer.json()["metrics"]["shortest_path_similarity"] for answer in metrics]
    assert values == [pytest.approx(1 - 1 / 108)] * len(given)
    compared = working.client.post(
        "/v1/comparisons",
        json={
            "inputs": {"features": [[0.0], [1.0], [5.0]]},
            "labels": labels,
            "hierarchy": PATHS,
            "runs": [{"method": "hac"}],
            "metrics": ["shortest_path_similarity"],
        },
        headers={"Prefer": "wait=60"},
    ).json()
    assert compared["table"][0]["error"] is None


@pytest.mark.parametrize(
    ("hierarchy", "code", "where", "says"),
    [
        (["a/b", "a//c"], "invalid-tree", {"row": 1}, "empty part"),
        (["a/b", ""], "missing-value", {"row": 1}, "row 1"),
        ([-1, 0, 0], "wrong-input", {}, "class paths such as 'animal/dog'"),
        ([[-1, 0]], "wrong-input", {}, "class paths"),
    ],
)
def test_inline_hierarchies_that_are_refused(
    hierarchy: list[Any],
    code: str,
    where: dict[str, int],
    says: str,
    working: Working,
    tree: dict[str, Any],
) -> None:
    answer = evaluate(working, tree, labels=["a", "b", "c"], hierarchy=hierarchy)
    body = problem_of(answer, 422, code)
    assert body["where"] == {"role": "hierarchy", **where}
    assert says in body["detail"]


def test_edges_are_stored_as_pairs(working: Working) -> None:
    for content, media in (
        (b'[["a", "b"], ["b", "c"]]', JSON),
        (b'["a", "b"]\n["b", "c"]\n', "application/x-ndjson"),
        (b"from,to\na,b\nb,c\n", "text/csv"),
    ):
        edges = upload(working, content, media, role="graph")
        facts = (edges["status"], edges["shape"], edges["dtype"])
        assert facts == ("ready", [2, 2], "str"), edges
    broken = upload(working, b"from,to\na,b\nb,\n", "text/csv", role="graph")
    assert broken["status"] == "invalid"
    assert broken["problem"]["where"]["line"] == 3
    # A method that takes a matrix refuses them.
    body = {"method": "multinomial", "inputs": {"features": edges["id"]}}
    refused = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
    assert "numbers" in refused.json()["detail"]


def test_features_and_labels_of_one_arff_file(working: Working) -> None:
    pets = upload(working, PETS, ARFF, name="pets")
    assert (pets["format"], pets["status"], pets["shape"]) == ("arff", "ready", [3, 2])
    tree = fit(working, "hac", {"features": pets["id"]}, params={"linkage": "average"})
    paths = ["animal/cat", "animal/dog", "plant/rose"]
    by_file, inline = (
        evaluate(working, tree, labels=labels, hierarchy=labels) for labels in (pets["id"], paths)
    )
    assert by_file.status_code == 200, by_file.text
    assert {**by_file.json(), "id": None} == {**inline.json(), "id": None}
    assert by_file.json()["metrics"]["shortest_path_similarity"] > 0.9
    gap = upload(working, PETS.replace("9,9", "9,?"), ARFF)
    steps = [{"step": "missing"}]
    filled = fit(working, "hac", {"features": gap["id"]}, preprocess=steps)
    assert any("1 empty value(s)" in text for text in filled["warnings"])
    broken = upload(working, PETS.replace("9,9", "9,x"), ARFF)
    assert broken["status"] == "invalid"
    assert broken["problem"]["where"] == {"row": 2, "column": 1, "line": 8}


def test_a_model_of_one_libsvm_file_predicts_on_another(working: Working) -> None:
    train = upload(working, b"1 1:5 3:1\n1 1:5.5\n2 3:9 4:1\n2 3:8\n", LIBSVM)
    assert train["shape"] == [4, 4]
    tree = fit(working, "kmeans", {"features": train["id"]}, params={"n_clusters": 2})
    fewer = b"1 1:5\n2 3:9\n"
    refused = predict(working, tree, {"features": upload(working, fewer, LIBSVM)["id"]})
    assert (
        "3 columns; the model was fitted on 4" in problem_of(refused, 422, "wrong-shape")["detail"]
    )
    rows = upload(working, fewer, LIBSVM, n_features=4)
    assert rows["shape"] == [2, 4]
    items = predict(working, tree, {"features": rows["id"]}).json()["items"]
    fitted = get(working, tree, "/assignments").json()
    assert len({item["leaf"] for item in items}) == 2
    assert fitted["assignments"][0] != fitted["assignments"][2]
    wide = upload(working, b"1 1:1\n1 2:3 7:1\n", LIBSVM, n_features=4)
    assert wide["status"] == "invalid"
    assert wide["problem"]["where"] == {"line": 2}
    assert "the index 7; the last declared feature has the index 4" in wide["problem"]["detail"]


def test_n_features_is_for_libsvm(working: Working) -> None:
    answer = working.client.post(
        "/v1/datasets?n_features=4", content=b"[[1, 2]]", headers={"Content-Type": JSON}
    )
    assert "this file is json" in problem_of(answer, 422, "invalid-request")["detail"]
    answer = working.client.post("/v1/datasets?n_features=0", content=b"1 1:1\n")
    problem_of(answer, 422, "invalid-request")


def test_an_upload_in_parts_declares_its_width(working: Working) -> None:
    upload = working.client.post(f"/v1/uploads?n_features=9&media_type={LIBSVM}").json()
    place = f"/v1/uploads/{upload['id']}"
    working.client.put(f"{place}/parts/1", content=b"1,2 1:1\n 3:1\n")
    answer = working.client.post(f"{place}/complete", json={})
    assert answer.status_code == 201, answer.text
    working.work.join()
    assert working.client.get(answer.headers["location"]).json()["shape"] == [2, 9]
