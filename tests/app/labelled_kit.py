"""Rows of which some clusters are known, and a method that learns from them a transformation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.app.conftest import Working
from tests.app.tree_kit import npy

# Four clusters of 12 rows along the first feature; rose and cat are known.
ROWS = np.random.default_rng(7).normal(size=(48, 3))
ROWS[:, 0] += np.repeat([0.0, 9.0, 18.0, 27.0], 12)
LABELS = ["rose"] * 12 + ["cat"] * 12 + [None] * 24
NAMES = ["height", "width", "age"]


def learn(working: Working, **fields: Any) -> dict[str, Any]:
    """The job of `fda` on them; `inputs` are further ones."""
    inputs = {"features": ROWS.tolist(), "labels": LABELS, **fields.pop("inputs", {})}
    params = {"n_clusters": 2, "n_init": 2}
    body = {"method": "fda", "inputs": inputs, "params": params, **fields}
    job: dict[str, Any] = working.client.post(
        "/v1/jobs", json=body, headers={"Prefer": "wait=60"}
    ).json()
    assert job["status"] == "succeeded", job
    return job


def upload(working: Working, rows: np.ndarray, **query: str) -> str:
    """The id of a dataset of features."""
    headers = {"Content-Type": "application/x-npy"}
    answer = working.client.post("/v1/datasets", content=npy(rows), headers=headers, params=query)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])
