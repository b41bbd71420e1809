"""Comparisons over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from app.creation.expiry import ExpiresAtField
from app.creation.fields import CutBody, Inputs, MaybeGiven, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.creation.result_schemas import Row, RunDifference
from app.creation.step_schemas import MethodId, NewStep, Params
from app.http.late import LateModel
from models.parameters import Exact
from models.preprocess.steps import Step
from workers.model import Record, run_id, sibling

MOST_FITS = 1000
"""Runs times seeds."""

NEW_EXAMPLE: dict[str, Any] = {
    "inputs": {"features": [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]]},
    "labels": ["rose", "rose", "cat", "cat"],
    "runs": [
        {"method": "hac", "params": {"linkage": "ward"}},
        {"method": "kmeans", "params": {"n_clusters": 2}},
    ],
    "seeds": 3,
    "metrics": ["nmi", "ari"],
}
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "cmp_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "table": [
        {
            "method": "kmeans",
            "params": {"n_clusters": 2, "seed": 0},
            "preprocess": [],
            "then": None,
            "seeds": 3,
            "metrics": {"nmi": {"mean": 0.97, "std": 0.01}},
            "values": {"nmi": [0.96, 0.97, 0.98]},
            "seconds": {"mean": 0.02, "std": 0.001},
            "warnings": [],
            "error": None,
            "job": "job_01kamjx5w0ahwbcuvh3mqsx4fb",
            "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
        }
    ],
    "best": {"nmi": 0},
    "differences": [],
}


class RunBody(LateModel):
    """A run, one row of the table: a method with its params, and the steps before and after it."""

    model_config = ConfigDict(title="Run", extra="forbid")

    method: MethodId
    params: Params = {}
    preprocess: list[Step] = Field(default=[], max_length=8)
    then: MethodId | NewStep | None = None


class NewComparison(Exact, NewWork):
    """Several methods on the same inputs."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [NEW_EXAMPLE]})

    inputs: Inputs
    labels: MaybeGiven = Field(
        None, description="The true class of every row, by id or as a list; for the metrics only."
    )
    hierarchy: MaybeGiven = Field(
        None, description="A true hierarchy as for an evaluation; for the metrics only."
    )
    runs: list[RunBody] = Field(min_length=1, max_length=100)
    seeds: int = Field(
        5,
        ge=1,
        le=100,
        description="How often a method that draws random numbers is run, with a seed that is one "
        "higher each time; other methods are run once.",
    )
    metrics: list[str] | None = Field(
        None,
        max_length=100,
        description="The metrics to compute; by default all that the labels allow or, without "
        "labels, the features.",
    )
    cut: CutBody | None = Field(None, description="As for an evaluation.")
    keep_trees: bool = Field(
        False,
        description="Keep the tree and the model of each run, with its first seed, as a separate "
        "job. These stay when the comparison is removed.",
    )
    expires_at: ExpiresAtField = None


class Comparison(NamedJobBody):
    """The state of a comparison, and its table once it has ended."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    table: list[Row] | None = Field(
        description="A row for each run, in order; null until the comparison has ended."
    )
    best: dict[str, int] | None = Field(
        description="The number of the row with the best mean, by metric."
    )
    differences: list[RunDifference] | None = Field(
        None,
        description="Where labels are given and rows are at most 100,000: each run against the one "
        "with the highest dendrogram purity, on the same rows, means over seeds. The p-values are "
        "adjusted for the number of runs (Holm).",
    )

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = {} if record.result is None else record.result["comparison"]
        return {
            "table": _linked(record.id, result.get("table")),
            "best": result.get("best"),
            "differences": result.get("differences"),
        }


def _linked(job_id: str, table: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The table with the jobs and trees of the runs that are kept."""
    if table is None:
        return None
    rows = []
    for number, row in enumerate(table):
        own = run_id(job_id, number) if row.get("kept") else None
        tree = None if own is None else sibling(own, "tr")
        rows.append({**row, "job": own, "tree": tree})
    return rows
