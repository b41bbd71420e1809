"""Heatmaps over HTTP: made of the fit's rows or of given ones, read in tiles, removed with their
tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.heatmaps import heatmap as tiles
from tests.app.conftest import Working, problem_of
from tests.app.pictures.tree_kit import texts
from tests.app.tree_kit import NEWICK, fit, get, post
from workers.artifacts import results

ROWS = [
    *([0.0 + step, 0.1 * step, 0.0] for step in range(4)),
    *([20.0 + step, 5.0, 0.1 * step] for step in range(4)),
]
NAMES = ["length", "width", "depth"]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    steps = [{"step": "standardize"}]
    return fit(
        working, "hac", {"features": ROWS}, preprocess=steps, expires_at="2099-01-31T00:00:00Z"
    )


def ask(working: Working, tree: dict[str, Any], **body: Any) -> Any:
    headers = {"Prefer": "wait=60"}
    return working.client.post(f"/v1/trees/{tree['id']}/heatmaps", json=body, headers=headers)


def made(working: Working, tree: dict[str, Any], **body: Any) -> dict[str, Any]:
    answer = ask(working, tree, **body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def values_of(working: Working, heatmap: dict[str, Any]) -> Any:
    """The tile of level 0, which has all of a small heatmap."""
    answer = working.client.get(f"/v1/heatmaps/{heatmap['id']}/tiles/0/0/0")
    assert answer.status_code == 200, answer.text
    result = heatmap["result"]
    cells = np.frombuffer(answer.content, dtype="<u2").reshape(
        result["n_rows"], result["n_columns"]
    )
    return result["low"] + cells / 65_535 * (result["high"] - result["low"])


def test_features_of_clusters(working: Working, tree: dict[str, Any]) -> None:
    heatmap = made(
        working, tree, cut={"k": 2}, scale="none", name="two", inputs={"feature_names": NAMES}
    )
    assert heatmap["id"].startswith("hm_")
    assert (heatmap["status"], heatmap["tree"], heatmap["name"]) == ("succeeded", tree["id"], "two")
    assert heatmap["cut"] == {"k": 2, "height": None, "level": None}
    # It goes when its tree goes.
    assert heatmap["expires_at"].startswith("2099-01-31")
    result = heatmap["result"]
    assert (result["n_rows"], result["n_columns"], result["n_levels"]) == (2, 3, 1)
    path = f"/v1/heatmaps/{heatmap['id']}"
    assert working.client.get(path).json() == heatmap
    assert get(working, tree, "/heatmaps").json()["items"] == [heatmap]
    assert working.client.get("/v1/heatmaps").json()["items"] == [heatmap]
    job = working.client.get(f"/v1/jobs/{heatmap['job']}").json()
    assert (job["kind"], job["result"]["heatmap"]) == ("heatmap", heatmap["id"])

    answer = working.client.get(f"{path}/axes")
    etag = {"If-None-Match": answer.headers["etag"]}
    assert working.client.get(f"{path}/axes", headers=etag).status_code == 304
    axes = answer.json()
    assert sorted(axes["columns"]["name"]) == sorted(NAMES)
    assert len(axes["columns"]["merges"]) == 2
    cut = get(working, tree, "/cut?k=2").json()["clusters"]
    assert sorted(axes["rows"]["node"]) == sorted(cluster["node"] for cluster in cut)
    # The values are means of the features as the fit prepared them.
    standard = (np.array(ROWS) - np.mean(ROWS, axis=0)) / np.std(ROWS, axis=0)
    assigned = np.array(get(working, tree, "/assignments?k=2").json()["assignments"])
    node_of = {cluster["id"]: cluster["node"] for cluster in cut}
    for number, node in node_of.items():
        row = axes["rows"]["node"].index(node)
        expected = standard[assigned == number].mean(axis=0)[axes["columns"]["column"]]
        np.testing.assert_allclose(values_of(working, heatmap)[row], expected, atol=1e-3)


@pytest.mark.needs("typst")
def test_a_picture_as_pdf(working: Working, tree: dict[str, Any]) -> None:
    heatmap = made(working, tree, cut={"k": 2}, inputs={"feature_names": NAMES})
    query = {"px": 300, "height": 200}
    pdf = working.client.get(f"/v1/heatmaps/{heatmap['id']}.pdf", params=query)
    assert pdf.content.startswith(b"%PDF")


def test_a_picture(working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    heatmap = made(working, tree, cut={"k": 2}, inputs={"feature_names": NAMES})
    path = f"/v1/heatmaps/{heatmap['id']}"
    answer = working.client.get(f"{path}.svg", params={"title": "<Both>", "width_mm": 85})
    assert answer.status_code == 200, answer.text
    assert 'width="85mm"' in answer.text
    assert "warning" not in answer.headers
    assert {*NAMES, "<Both>", "2 rows, 3 columns"} <= {*texts(answer.text)}
    etag = {"If-None-Match": answer.headers["etag"]}
    query = {"title": "<Both>", "width_mm": 85}
    assert working.client.get(f"{path}.svg", params=query, headers=etag).status_code == 304
    assert working.client.get(f"{path}.svg", headers=etag).status_code == 200
    png = working.client.get(path, headers={"Accept": "image/png"})
    assert png.content.startswith(b"\x89PNG")
    problem_of(working.client.get(f"{path}.gif"), 406, "not-acceptable")
    problem_of(working.client.get(f"{path}.svg", params={"dpi": 300}), 422, "invalid-request")

    monkeypatch.setattr(tiles, "TILE", 4)
    distances = made(working, tree, what="distances")
    answer = working.client.get(f"/v1/heatmaps/{distances['id']}.svg")
    average = "the average of up to 2 rows and 2 columns"
    assert f"A cell is {average}: a picture has at most" in answer.headers["warning"]
    assert f"8 rows, 8 columns; a cell is {average}" in texts(answer.text)


def test_a_tile_that_is_not_there(working: Working, tree: dict[str, Any]) -> None:
    heatmap = made(working, tree)
    path = f"/v1/heatmaps/{heatmap['id']}/tiles"
    tile = working.client.get(f"{path}/0/0/0")
    etag = {"If-None-Match": tile.headers["etag"]}
    assert working.client.get(f"{path}/0/0/0", headers=etag).status_code == 304
    for absent in ("1/0/0", "0/1/0", "0/0/1"):
        problem_of(working.client.get(f"{path}/{absent}"), 404, "not-found")


def test_distances_of_given_rows(working: Working) -> None:
    tree = post(working, NEWICK)
    problem = problem_of(ask(working, tree), 422, "wrong-input")
    assert "give `inputs` with a row of features" in problem["detail"]
    problem = problem_of(ask(working, tree, inputs={"features": ROWS}), 422, "wrong-shape")
    assert "8 rows; the tree has 3 points" in problem["detail"]
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 8.0]])
    heatmap = made(working, tree, what="distances", inputs={"features": rows.tolist()})
    axes = working.client.get(f"/v1/heatmaps/{heatmap['id']}/axes").json()
    assert axes["columns"] is None
    assert axes["rows"]["name"] == ["rose", "tulip", "oak"]
    expected = [[0, 5, 8], [5, 0, 5], [8, 5, 0]]
    np.testing.assert_allclose(values_of(working, heatmap), expected, atol=1e-3)
    apart = made(
        working, tree, what="distances", metric="hamming", inputs={"features": rows.tolist()}
    )
    np.testing.assert_allclose(
        values_of(working, apart), [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]], atol=1e-4
    )
    heights = made(working, tree, what="distances", metric="cophenetic")
    # rose and tulip meet in flower, at height 2; oak in plant, at 3.
    np.testing.assert_allclose(
        values_of(working, heights), [[0, 2, 3], [2, 0, 3], [3, 3, 0]], atol=1e-3
    )
    body = {"what": "distances", "metric": "cophenetic", "inputs": {"features": rows.tolist()}}
    problem = problem_of(ask(working, tree, **body), 422, "wrong-input")
    assert "leave out `inputs`" in problem["detail"]


def test_columns_have_the_names_of_what_was_fitted(working: Working) -> None:
    inputs = {"logits": [[3.0, 1, 0], [0, 4, 1], [1, 0, 2]], "names": ["x", "y", "z"]}
    of_logits = made(working, fit(working, "l2h", inputs))
    axes = working.client.get(f"/v1/heatmaps/{of_logits['id']}/axes").json()
    assert sorted(axes["columns"]["name"]) == ["x", "y", "z"]
    given = {"features": ROWS[1:], "feature_names": NAMES}
    unit = [{"step": "l2"}]
    of_names = made(working, fit(working, "vmf", given, params={"n_clusters": 2}, preprocess=unit))
    axes = working.client.get(f"/v1/heatmaps/{of_names['id']}/axes").json()
    assert sorted(axes["columns"]["name"]) == sorted(NAMES)
    texts = ["red rose", "red rose", "blue sky", "blue sky", "red sky"]
    words = [{"step": "words", "min_count": 1}]
    tree = fit(working, "kmeans", {"documents": texts}, params={"n_clusters": 2}, preprocess=words)
    of_words = made(working, tree)
    axes = working.client.get(f"/v1/heatmaps/{of_words['id']}/axes").json()
    assert sorted(axes["columns"]["name"]) == ["blue", "red", "rose", "sky"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"what": "distances", "n_columns": 3}, "n_columns is no term"),
        ({"what": "features", "metric": "cosine"}, "metric is no term"),
        ({"cut": {"k": 1, "level": 0}}, "exactly one of k, height and level"),
        ({"n_columns": 0}, "greater than or equal to 1"),
    ],
)
def test_terms_that_do_not_fit(
    working: Working, tree: dict[str, Any], body: dict[str, Any], why: str
) -> None:
    assert why in str(problem_of(ask(working, tree, **body), 422, "invalid-request"))


def test_a_cut_that_the_tree_has_not(working: Working, tree: dict[str, Any]) -> None:
    answer = ask(working, tree, cut={"k": 99})
    assert answer.status_code == 422
    assert "k must be 1 to" in answer.json()["detail"]


def test_heatmaps_go_with_their_tree(working: Working, tree: dict[str, Any]) -> None:
    kept, removed = made(working, tree), made(working, tree, n_columns=1)
    assert working.client.delete(f"/v1/heatmaps/{removed['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/heatmaps/{removed['id']}"), 404, "not-found")
    file = working.service.trees.file("local", kept["id"], results.HEATMAP)
    assert file is not None
    assert working.client.delete(f"/v1/trees/{tree['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/heatmaps/{kept['id']}"), 404, "not-found")
    assert not file.exists()


def test_empty_values_are_cells_without_a_value(working: Working) -> None:
    rows = [[*row] for row in ROWS]
    for row in rows[:4]:
        row[2] = None
    steps = [{"step": "missing", "fill": "pairwise"}]
    text = "a,b,c\n" + "".join(
        ",".join("" if value is None else str(value) for value in row) + "\n" for row in rows
    )
    headers = {"Content-Type": "text/csv"}
    given = working.client.post("/v1/datasets?role=features", content=text, headers=headers).json()
    tree = fit(working, "hac", {"features": given["id"]}, preprocess=steps)
    heatmap = made(working, tree, cut={"k": 2}, scale="none")
    result = heatmap["result"]
    assert result["missing"] == 65_535
    assert any("drawn as missing" in note for note in heatmap["warnings"])
    tile = working.client.get(f"/v1/heatmaps/{heatmap['id']}/tiles/0/0/0").content
    cells = np.frombuffer(tile, dtype="<u2").reshape(2, 3)
    assert (cells == result["missing"]).sum() == 1
    picture = working.client.get(f"/v1/heatmaps/{heatmap['id']}.svg").text
    assert any("grey cells have no value" in text for text in texts(picture))
    assert made(working, tree, cut={"k": 2}, what="distances", metric="pairwise")["result"]
