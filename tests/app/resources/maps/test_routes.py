"""Maps over HTTP: made, read in every form, searched by an outline, removed with their tree."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, fit, get, npy, post
from workers.artifacts import results

ROWS = [
    *([0.0 + step, 0.1 * step, 0.0] for step in range(4)),
    *([20.0 + step, 5.0, 0.1 * step] for step in range(4)),
]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "hac", {"features": ROWS}, expires_at="2099-01-31T00:00:00Z")


def ask(working: Working, tree: dict[str, Any], **body: Any) -> Any:
    headers = {"Prefer": "wait=60"}
    return working.client.post(f"/v1/trees/{tree['id']}/maps", json=body, headers=headers)


@pytest.mark.needs("typst")
def test_a_map_as_pdf(working: Working, tree: dict[str, Any]) -> None:
    path = f"/v1/maps/{ask(working, tree).json()['id']}/positions.pdf"
    drawn = working.client.get(path, params={"width_mm": 85, "height_mm": 60})
    assert drawn.content.startswith(b"%PDF")


def positions_of(working: Working, made: dict[str, Any], **query: str) -> np.ndarray:
    answer = working.client.get(f"/v1/maps/{made['id']}/positions.npy", params=query)
    assert answer.status_code == 200, answer.text
    array: np.ndarray = np.load(io.BytesIO(answer.content))
    return array


def test_a_map_and_the_node_that_fits_an_outline(working: Working, tree: dict[str, Any]) -> None:
    answer = ask(working, tree, name="plane")
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["id"].startswith("map_")
    assert answer.headers["location"].endswith(f"/v1/maps/{made['id']}")
    assert (made["status"], made["tree"], made["name"]) == ("succeeded", tree["id"], "plane")
    # It goes when its tree goes.
    assert made["expires_at"].startswith("2099-01-31")
    result = made["result"]
    assert (result["by"], result["n_points"], result["n_columns"]) == ("pca", 8, 3)
    assert result["explained"] > 0.99
    assert result["neighbors_kept"] == pytest.approx(1.0)
    path = f"/v1/maps/{made['id']}"
    assert working.client.get(path).json() == made
    assert get(working, tree, "/maps").json()["items"] == [made]
    job = working.client.get(f"/v1/jobs/{made['job']}").json()
    assert (job["kind"], job["result"]["map"]) == ("map", made["id"])
    assert job["params"] == {"by": made["by"], "seed": 0} == {"by": "pca", "seed": 0}

    picture = working.client.get(f"{path}/positions.svg?width_mm=85&color_by=cluster:2")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "warning" not in picture.headers
    by_colour = re.findall(r'stroke="(#\w{6})"[^>]*d="((?:M[\d.]+ [\d.]+h0)+)"', picture.text)
    assert sorted(dots.count("h0") for _, dots in by_colour) == [4, 4]

    xy = positions_of(working, made)
    assert (xy.shape, xy.dtype) == ((8, 2), np.float32)
    json = working.client.get(f"{path}/positions")
    assert [[item["x"], item["y"]] for item in json.json()["items"]] == xy.tolist()
    etag = {"If-None-Match": json.headers["etag"]}
    assert working.client.get(f"{path}/positions", headers=etag).status_code == 304
    rows = list(csv.DictReader(io.StringIO(working.client.get(f"{path}/positions.csv").text)))
    assert [float(row["x"]) for row in rows] == pytest.approx(xy[:, 0].tolist(), rel=1e-6)
    arrow = working.client.get(f"{path}/positions.arrow", params={"order": "leaves"}).content
    table = pa.ipc.open_file(arrow).read_all()
    order = table["row"].to_numpy()
    np.testing.assert_array_equal(positions_of(working, made, order="leaves"), xy[order])

    # A box around the first group but for its last point.
    (x0, y0), (x1, y1) = xy[:3].min(axis=0) - 0.1, xy[:3].max(axis=0) + 0.1
    query = {"outline": f"{x0},{y0},{x1},{y0},{x1},{y1},{x0},{y1}", "limit": "1"}
    found = working.client.get(f"{path}/selection", params=query).json()
    assert found["n_points"] == 3
    (best,) = found["items"]
    node = get(working, tree, f"/nodes/{best['node']}").json()
    assert (best["size"], best["path"]) == (node["size"], node["path"])
    assert best["f1"] >= 6 / 7
    for place in (0, 7):
        point = get(working, tree, f"/places/{place}").json()
        assert point["row"] == order[place]
        leaf = get(working, tree, f"/nodes/{point['leaf']}").json()
        assert (leaf["points_before"], leaf["name"]) == (place, point["name"])
        assert leaf["path"] == point["path"]
    problem_of(get(working, tree, "/places/8"), 404, "not-found")


@pytest.mark.parametrize(
    ("outline", "why"),
    [
        ("0,0,1,1", "3 to 1,000 corners"),
        ("0,0,1,0,1", "3 to 1,000 corners"),
        ("0,0,1,0,1,x", "corners are numbers"),
        ("0,0,1,0,1,nan", "finite numbers"),
        (",".join(["0"] * 2002), "3 to 1,000 corners"),
    ],
)
def test_an_outline_that_is_none_is_refused(
    working: Working, tree: dict[str, Any], outline: str, why: str
) -> None:
    made = ask(working, tree).json()
    answer = working.client.get(f"/v1/maps/{made['id']}/selection", params={"outline": outline})
    problem = problem_of(answer, 422, "invalid-request")
    assert why in str(problem)


def test_maps_go_with_their_tree(working: Working, tree: dict[str, Any]) -> None:
    kept, removed = ask(working, tree).json(), ask(working, tree, seed=1).json()
    assert working.client.delete(f"/v1/maps/{removed['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/maps/{removed['id']}"), 404, "not-found")
    file = working.service.trees.file("local", kept["id"], results.POSITIONS)
    assert file is not None
    assert file.exists()
    assert working.client.delete(f"/v1/trees/{tree['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/maps/{kept['id']}"), 404, "not-found")
    problem_of(working.client.get(f"/v1/jobs/{kept['job']}"), 404, "not-found")
    assert not file.exists()


def test_maps_go_with_the_job_of_their_tree(working: Working, tree: dict[str, Any]) -> None:
    made = ask(working, tree).json()
    assert working.client.delete(f"/v1/jobs/{tree['job']}").status_code == 204
    problem_of(working.client.get(f"/v1/maps/{made['id']}"), 404, "not-found")


def test_an_imported_tree_is_mapped_by_rows_given(working: Working) -> None:
    tree = post(working, NEWICK)
    problem = problem_of(ask(working, tree), 422, "wrong-input")
    assert "give `inputs` with a row of features" in problem["detail"]
    problem = problem_of(ask(working, tree, inputs={"features": ROWS}), 422, "wrong-shape")
    assert "8 rows; the tree has 3 points" in problem["detail"]
    made = ask(working, tree, inputs={"features": ROWS[:3]})
    assert made.status_code == 201, made.text
    assert positions_of(working, made.json()).shape == (3, 2)
    assert working.client.delete(f"/v1/trees/{tree['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/maps/{made.json()['id']}"), 404, "not-found")


def test_a_map_is_of_what_the_fit_used(working: Working) -> None:
    steps = [{"step": "standardize"}, {"step": "pca", "n": 2}]
    prepared = fit(
        working, "kmeans", {"features": ROWS}, params={"n_clusters": 2}, preprocess=steps
    )
    result = ask(working, prepared).json()["result"]
    assert (result["n_columns"], result["explained"]) == (2, pytest.approx(1.0))
    texts = ["red rose", "red rose", "blue sky", "blue sky", "red sky"]
    words = [{"step": "words", "min_count": 1}]
    documents = fit(
        working, "kmeans", {"documents": texts}, params={"n_clusters": 2}, preprocess=words
    )
    made = ask(working, documents).json()
    assert made["result"]["n_columns"] == 4
    xy = positions_of(working, made)
    np.testing.assert_allclose(xy[0], xy[1], atol=1e-6)
    logits = fit(working, "l2h", {"logits": [[3.0, 1, 0], [0, 4, 1], [1, 0, 2]]})
    assert ask(working, logits).json()["result"]["n_columns"] == 3


@pytest.mark.needs("torch")
def test_the_disc_is_where_the_method_placed_the_points(working: Working) -> None:
    params = {"max_iter": 20, "n_init": 1, "batch_size": 64}
    tree = fit(working, "hyphc", {"features": ROWS[1:]}, params=params)
    made = ask(working, tree, by="disc").json()
    assert (made["result"]["explained"], made["result"]["neighbors_kept"]) == (1.0, None)
    path = working.service.trees.file("local", tree["id"], results.MODEL)
    assert path is not None
    embedding = results.load_model(path).stages[0].model.arrays["embedding"]
    np.testing.assert_array_equal(positions_of(working, made), embedding.astype(np.float32))
    problem = problem_of(
        ask(working, tree, by="disc", inputs={"features": ROWS[1:]}), 422, "wrong-input"
    )
    assert "leave out `inputs`" in problem["detail"]
    hac = fit(working, "hac", {"features": ROWS})
    problem = problem_of(ask(working, hac, by="disc"), 422, "invalid-request")
    assert "ghhc, hyphc" in problem["detail"]
    working.client.delete(f"/v1/models/{tree['id'].replace('tr_', 'md_')}")
    answer = ask(working, tree, by="disc")
    assert answer.status_code == 422
    assert "model was deleted" in answer.json()["detail"]


def uploaded(working: Working) -> str:
    """The id of a dataset with the rows."""
    headers = {"Content-Type": "application/x-npy"}
    content = npy(np.array(ROWS, dtype=np.float32))
    answer = working.client.post("/v1/datasets?role=features", content=content, headers=headers)
    return str(answer.json()["id"])


@pytest.mark.needs("torch")
def test_the_ball_of_ghhc_is_projected(working: Working) -> None:
    params = {"n_internal": 3, "max_iter": 10, "n_init": 1}
    # From a dataset its features are read by rows.
    tree = fit(working, "ghhc", {"features": uploaded(working)}, params=params)
    made = ask(working, tree, by="disc").json()
    assert made["result"]["n_columns"] == 3
    assert made["warnings"][0].startswith("The ball has 3 dimensions")
    assert np.linalg.norm(positions_of(working, made), axis=1).max() < 1
    plane = ask(working, tree).json()
    assert plane["result"]["explained"] > 0.99
    inline = ask(working, tree, inputs={"features": ROWS}).json()
    np.testing.assert_allclose(
        positions_of(working, plane), positions_of(working, inline), atol=1e-4
    )


def test_a_deleted_input_is_reported(working: Working) -> None:
    features = uploaded(working)
    tree = fit(working, "hac", {"features": features})
    assert working.client.delete(f"/v1/datasets/{features}").status_code == 204
    problem_of(ask(working, tree), 422, "input-deleted")


def test_many_points_are_one_image_and_a_warning_says_so(
    working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ask(working, tree).json()
    monkeypatch.setattr("app.resources.maps.forms.MOST_MARKS", 7)
    monkeypatch.setattr("app.pictures.raster.MOST_MARKS", 7)
    picture = working.client.get(f"/v1/maps/{made['id']}/positions.svg")
    assert "8 points are one image" in picture.headers["warning"]
    assert picture.text.count("<image ") == 1
