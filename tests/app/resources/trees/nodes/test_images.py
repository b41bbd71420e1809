"""Images that a model made of nodes, over HTTP."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.http.environment_keys import new_key
from tests.app.conftest import Start, Working, problem_of
from tests.app.labelled_kit import upload
from tests.app.tree_kit import NEWICK, fit, get, post, predict
from tests.needs_kit import need

_rng = np.random.default_rng(0)
PLANTED = _rng.integers(0, 256, (3, 6, 5)).astype(np.float64)
IMAGES = np.clip(PLANTED[np.arange(60) % 3] + _rng.normal(scale=9, size=(60, 6, 5)), 0, 255)
IMAGES = np.rint(IMAGES).astype(np.uint8)
PARAMS = {
    "n_clusters": 3,
    "hidden_sizes": [8],
    "embedding_size": 2,
    "pretrain_epochs": 20,
    "epochs": 10,
    "learning_rate": 0.01,
}


def learn(working: Working, features: Any, **params: Any) -> dict[str, Any]:
    need("torch")
    return fit(working, "deepect", {"features": features}, params={**PARAMS, **params})


def read(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        assert image.format == "PNG"
        return np.asarray(image)


def test_nodes_of_images_have_pictures(working: Working) -> None:
    tree = learn(working, upload(working, IMAGES))
    assert tree["n_points"] == 60
    for node in tree["nodes"]:
        details = get(working, tree, f"/nodes/{node['id']}").json()
        address = f"/v1/trees/{tree['id']}/nodes/{node['id']}/picture"
        assert details["picture"]["address"] == address
        assert details["picture"]["caption"]
        answer = working.client.get(address)
        assert answer.headers["content-type"] == "image/png"
        canvas = read(answer.content)
        times = 320 // (2 * 5 + 1)
        assert canvas.shape == (6 * times, 11 * times, 4)
    leaf = tree["nodes"][-1]["id"]
    rows = [item["row"] for item in get(working, tree, f"/nodes/{leaf}/members").json()["items"]]
    canvas = read(get(working, tree, f"/nodes/{leaf}/picture?px=22").content)[::2, ::2]
    mean = IMAGES[rows].mean(axis=0)
    np.testing.assert_allclose(canvas[:, 6:, 0].astype(np.float64), mean, atol=0.51)


def test_the_same_images_in_each_form(working: Working) -> None:
    trees = [
        learn(working, upload(working, IMAGES)),
        learn(working, upload(working, IMAGES[..., None])),
        learn(working, upload(working, IMAGES.reshape(60, -1)), image_shape=[6, 5]),
    ]
    pictures = {get(working, tree, "/nodes/0/picture").content for tree in trees}
    assert len(pictures) == 1
    items = [
        predict(working, trees[0], {"features": upload(working, rows)}).json()["items"]
        for rows in (IMAGES[:5], IMAGES[:5].reshape(5, -1))
    ]
    assert items[0] == items[1]


def test_etags(working: Working) -> None:
    tree = learn(working, upload(working, IMAGES))
    answer = get(working, tree, "/nodes/1/picture")
    headers = {"If-None-Match": answer.headers["etag"]}
    assert get(working, tree, "/nodes/1/picture", headers=headers).status_code == 304
    assert get(working, tree, "/nodes/2/picture", headers=headers).status_code == 200
    assert get(working, tree, "/nodes/1/picture?px=64", headers=headers).status_code == 200


@pytest.mark.parametrize("px", [15, 2049, "x"])
def test_sizes_out_of_range(working: Working, px: object) -> None:
    tree = post(working, NEWICK)
    problem_of(get(working, tree, f"/nodes/0/picture?px={px}"), 422, "invalid-request")


def test_trees_without_images_have_none(working: Working) -> None:
    vectors = learn(working, IMAGES.reshape(60, -1).tolist())
    imported = post(working, NEWICK)
    for tree in (vectors, imported):
        assert get(working, tree, "/nodes/0").json().get("picture") is None
        problem = problem_of(get(working, tree, "/nodes/0/picture"), 404, "not-found")
        assert "has no pictures of its nodes" in problem["detail"]
        assert "deepect" in problem["detail"]


@pytest.mark.needs("torch")
def test_the_tree_of_another_method_has_none(working: Working) -> None:
    body = {
        "method": "deepect",
        "inputs": {"features": upload(working, IMAGES)},
        "params": PARAMS,
        "then": "l2h",
    }
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    tree = {"id": job["result"]["tree"]}
    assert get(working, tree, "/nodes/0").json().get("picture") is None
    problem_of(get(working, tree, "/nodes/0/picture"), 404, "not-found")


@pytest.mark.needs("torch")
def test_other_methods_and_steps_refuse_images(working: Working) -> None:
    images = upload(working, IMAGES)
    for body in (
        {"method": "kmeans", "inputs": {"features": images}},
        {
            "method": "deepect",
            "inputs": {"features": images},
            "preprocess": [{"step": "standardize"}],
        },
    ):
        problem = problem_of(working.client.post("/v1/jobs", json=body), 422, "wrong-shape")
        assert problem["errors"][0]["pointer"] == "/inputs/features"


@pytest.mark.needs("torch")
def test_images_in_comparisons_and_evaluations(working: Working) -> None:
    images = upload(working, IMAGES)
    labels = (np.arange(60) % 3).tolist()
    body = {
        "inputs": {"features": images},
        "labels": labels,
        "runs": [{"method": "deepect", "params": PARAMS}],
        "seeds": 2,
        "metrics": ["nmi", "silhouette"],
    }
    headers = {"Prefer": "wait=60"}
    table = working.client.post("/v1/comparisons", json=body, headers=headers).json()["table"]
    assert table[0]["error"] is None
    assert table[0]["metrics"]["nmi"]["mean"] == 1.0
    tree = learn(working, images)
    measured = [
        working.client.post(
            f"/v1/trees/{tree['id']}/evaluations",
            json={"labels": labels, "features": features, "metrics": ["silhouette"]},
            headers=headers,
        ).json()["metrics"]
        for features in (images, IMAGES.reshape(60, -1).tolist())
    ]
    assert measured[0] == measured[1]


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    ("features", "params", "message"),
    [
        (IMAGES.reshape(60, -1), {"image_shape": [5, 5]}, "has 25 values, but a row has 30"),
        (IMAGES, {"image_shape": [5, 6]}, "the array has images of shape"),
        (IMAGES.reshape(60, 3, 5, 2), {}, "Images have 2 channels"),
        (np.full((20, 4, 4), 7, np.uint8), {}, "distinct"),
        (IMAGES[:2], {}, "3"),
    ],
)
def test_images_that_cannot_be_used(
    working: Working, features: np.ndarray, params: dict[str, Any], message: str
) -> None:
    body = {
        "method": "deepect",
        "inputs": {"features": upload(working, features)},
        "params": {**PARAMS, **params},
    }
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    problem = answer if "status" in answer and answer["status"] == 422 else answer["error"]
    assert message in problem["detail"], problem


def test_pictures_of_another_tenant_are_not_found(start: Start) -> None:
    (ann, ann_hash), (bob, bob_hash) = new_key("ann"), new_key("bob")
    api = start(api_keys=(ann_hash, bob_hash))
    answer = api.client.get(
        f"/v1/trees/tr_{0:026d}/nodes/0/picture", headers={"Authorization": f"Bearer {bob}"}
    )
    problem_of(answer, 404, "not-found")
    assert ann != bob
