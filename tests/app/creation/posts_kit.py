"""A request for each kind of work: where it is posted, and what is enough for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from workers.kinds.registry import kind_of

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
ROWS = {"inputs": {"logits": LOGITS}}
FEATURES = {"inputs": {"features": LOGITS}}
FIT = {"method": "l2h", **ROWS}
LEARN = {
    "method": "fda",
    "inputs": {
        "features": [[0, 0, 1], [0, 1, 0], [9, 0, 0], [9, 1, 1], [5, 0, 0], [5, 1, 2]],
        "labels": ["low", "low", "high", "high", None, None],
    },
    "params": {"n_clusters": 1},
}
"""A fit whose model transforms rows of three features."""
OF_TREE: dict[str, dict[str, Any]] = {
    "attachments": {},
    "calibrations": {"inputs": {"logits": 4 * LOGITS}, "labels": 4 * [0, 1, 2]},
    "drifts": {"reference": ROWS, "batch": ROWS},
    "evaluations": {"labels": [0, 1, 1]},
    "heatmaps": {"what": "distances", "metric": "cophenetic"},
    "maps": {"by": "pca", **FEATURES},
    "namings": {"by": "labels", "inputs": {"labels": [0, 1, 1]}},
    "placements": {"hierarchy": ["a/0", "a/1", "b/2"]},
    "predictions": ROWS,
}
"""Work on a tree of three rows, by the last part of its address."""


@dataclass(frozen=True, slots=True)
class Post:
    """The rest of a POST: `at` is its address, `body` JSON unless `media` says otherwise."""

    at: str
    body: Any = field(default_factory=dict)
    media: str = "application/json"

    def send(self, client: httpx.Client, more: Mapping[str, Any], **headers: str) -> httpx.Response:
        """The response to it; what `more` there is beside the work goes where it belongs."""
        headers = {"Content-Type": self.media, **headers}
        if isinstance(self.body, bytes):
            query = {"tag" if name == "tags" else name: value for name, value in more.items()}
            return client.post(self.at, content=self.body, params=query, headers=headers)
        return client.post(self.at, json={**self.body, **more}, headers=headers)


def body_of(client: httpx.Client, path: str) -> dict[str, Any]:
    """The body of work on a tree of three rows; {} for a path that is not known here."""
    if path != "attachments":
        return OF_TREE.get(path, {})
    items = client.post("/v1/datasets?role=items", json=[{"n": 1}, {"n": 2}, {"n": 3}])
    return {"items": items.json()["id"]}


def post_of(client: httpx.Client, kind_name: str, tree: str, model: str = "") -> Post:
    """The POST that starts work of a kind.

    tree : of a fit as `FIT`. model : one that transforms rows of three features. A kind that is not
    named here is taken for work on a tree that needs no more.
    """
    elsewhere = {
        "fit": Post("/v1/jobs", FIT),
        "consensus": Post("/v1/consensus", {"trees": [tree, tree]}),
        "compare": Post("/v1/comparisons", {**FEATURES, "runs": [{"method": "hac"}]}),
        "import": Post("/v1/trees", b"((a,b),c);", "text/x-nh"),
        "inspect": Post("/v1/datasets", b"1,2\n3,4\n", "text/csv"),
        "transform": Post(f"/v1/models/{model}/transformations", FEATURES),
    }
    if kind_name in elsewhere:
        return elsewhere[kind_name]
    path = f"{kind_of(kind_name).noun}s"
    return Post(f"/v1/trees/{tree}/{path}", body_of(client, path))
