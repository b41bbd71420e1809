"""Trees over HTTP: trees to import, and functions that make, read and predict with them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tests.app.conftest import Working

# ((rose:1,tulip:2)flower:1,oak:3)plant;
#   plant 3 - flower 2 - rose 1, tulip 0;  oak 0
NEWICK = "((rose:1,tulip:2)flower:1,oak:3)plant;"
# A root with three children: no linkage can hold it.
WIDE = "(a:1,b:1,c:1);"
UNKNOWN = "tr_" + "0" * 26


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def post(
    working: Working, content: str | bytes, media: str = "text/x-nh", **query: str
) -> dict[str, Any]:
    answer = working.client.post(
        "/v1/trees", content=content, headers={"Content-Type": media}, params=query
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def get(working: Working, tree: dict[str, Any], rest: str = "", **options: Any) -> Any:
    return working.client.get(f"/v1/trees/{tree['id']}{rest}", **options)


def dataset(working: Working, values: list[Any]) -> str:
    """The id of a labels dataset."""
    answer = working.client.post("/v1/datasets?role=labels", json=values)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def rows_tree(working: Working) -> dict[str, Any]:
    """Five rows of classes x, x, x, y, y; none of class z."""
    logits = [[4.0, 1, 0], [3, 1, 0], [2, 1, 0], [0, 3, 2], [0, 3.5, 2]]
    body = {"method": "l2h", "inputs": {"logits": logits, "names": ["x", "y", "z"]}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "succeeded", job
    return {"id": job["result"]["tree"]}


def fit(working: Working, method: str, inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    body = {"method": method, "inputs": inputs, **fields}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "succeeded", job
    return dict(working.client.get(f"/v1/trees/{job['result']['tree']}").json())


def predict(
    working: Working,
    tree: dict[str, Any],
    inputs: Any,
    options: dict[str, Any] | None = None,
    **headers: str,
) -> Any:
    headers = {"Prefer": "wait=60", **headers}
    body = {"inputs": inputs, **(options or {})}
    return working.client.post(f"/v1/trees/{tree['id']}/predictions", json=body, headers=headers)


#        0
#      /   \
#  animal   plant
#   /  \      |
# cat  dog  =rose
CLASSES = "animal/cat\nanimal/dog\nplant/=rose"
CLASS_ROWS = [[9.0, 0.0], [8.0, 1.0], [8.0, 6.0], [9.0, 7.0], [-9.0, 0.0], [-8.0, 1.0]]
CLASS_LABELS = ["cat", "cat", "animal/dog", "dog", "=rose", "plant/=rose"]


def classifier(working: Working) -> dict[str, Any]:
    """The tree of `mlr` over `CLASSES`, two rows each."""
    hierarchy = post(working, CLASSES, "text/plain")
    inputs = {"features": CLASS_ROWS, "labels": CLASS_LABELS, "hierarchy": hierarchy["id"]}
    return fit(working, "mlr", inputs)


def model_of(tree: dict[str, Any]) -> str:
    """The id of the model beside a tree."""
    return f"md_{tree['id'].partition('_')[2]}"
