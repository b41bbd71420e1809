"""Evaluations as they go over the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from app.creation.expiry import ExpiresAtField
from app.creation.fields import CutBody, Inputs, MaybeGiven, NewWork
from app.creation.result_schemas import CutDict, PlacedRows
from app.http.late import LateModel
from models.parameters import Exact


class EvaluationRequest(Exact, NewWork):
    """What to evaluate a tree against."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "labels": ["rose", "rose", "tulip"],
                    "metrics": ["dendrogram_purity", "nmi"],
                    "cut": {"k": 2},
                    "per_node": True,
                },
                {
                    "inputs": {"logits": [[2.0, 0.5], [0.1, 1.9]]},
                    "labels": ["rose", "tulip"],
                },
            ]
        },
    )

    inputs: Inputs = Field(
        {},
        description="Rows that were not in the fit, as the inputs of a prediction, each a "
        "dataset's id or a list: the tree's model places them, and the metrics are computed for "
        "them in place of the rows of the fit. `labels` and all else are then of these rows. "
        "Metrics use `features` that are given here, too.",
    )
    labels: MaybeGiven = Field(
        None,
        description="The true class of every row, one each: a dataset's id or a list.",
    )
    features: MaybeGiven = Field(
        None,
        description="The rows' features: for metrics that use distances or similarities, for "
        "metrics of clusters without labels, and for exemplars.",
    )
    distances: MaybeGiven = Field(None, description="Pairwise distances of the rows.")
    similarity: MaybeGiven = Field(None, description="Pairwise similarities of the rows.")
    hierarchy: MaybeGiven = Field(
        None,
        description="Another tree to compare with, by id: a true hierarchy whose leaves the labels "
        "name, by name, by path of names (`animal/cat/lion`) or by row; or a tree over the same "
        "rows. Or the paths of all classes, or a tree as Newick, Nexus or JSON, as a list or a "
        "dataset's id; Newick and Nexus also as text.",
    )
    metrics: list[str] | None = Field(
        None,
        max_length=100,
        description="The metrics to compute; by default all that the given inputs allow.",
    )
    cut: CutBody | None = None
    kernel: Literal["cosine", "gaussian"] = Field(
        "cosine",
        description="How features become similarities: (1 + cosine) / 2, or a Gaussian of the "
        "distance whose variance is the mean squared distance.",
    )
    sample: int | None = Field(
        None,
        ge=2,
        le=10_000_000,
        description="Estimate dendrogram purity from this many pairs of rows, with its standard "
        "error; by default it is exact.",
    )
    per_node: bool = Field(
        False,
        description="Also report on every node: purity, entropy and most frequent class if labels "
        "are given, exemplars if dense features are. `nodes` is the address of the report.",
    )
    n_exemplars: int = Field(
        3, ge=1, le=100, description="The most exemplars per node: the rows nearest to its mean."
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed for metrics that sample.")
    expires_at: ExpiresAtField = None


class Evaluation(LateModel):
    """The metrics of a tree."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "job_01jz8a3m9f0000000000000000",
                    "metrics": {"dendrogram_purity": 0.98, "nmi": 0.91},
                    "standard_errors": {},
                    "cut": {"k": 2, "n_clusters": 2},
                    "nodes": "/v1/jobs/job_01jz8a3m9f0000000000000000/nodes",
                    "warnings": [],
                }
            ]
        }
    )

    id: str = Field(description="The job that made it.")
    metrics: dict[str, float | None]
    standard_errors: dict[str, float] = Field(
        description="Standard errors of the metrics that were estimated from a sample."
    )
    cut: CutDict | None = Field(description="The cut that flat metrics were computed for.")
    placed: PlacedRows | None = Field(
        None, description="How many rows were placed, and how, if the request had `inputs`."
    )
    nodes: str | None = Field(
        None, description="The address of the report on every node, if it was requested."
    )
    warnings: list[str]


class NodeFacts(LateModel):
    """One node by the rows under it; null where labels or features would be needed."""

    node: int
    size: int = Field(description="Rows under the node.")
    purity: float | None = Field(description="Share of the most frequent class.")
    entropy: float | None = Field(description="Entropy of the classes, in nats.")
    n_classes: int | None = Field(description="Number of classes with rows under the node.")
    majority: str | int | None = Field(
        description="The most frequent class; of equally frequent ones the first in sorted order."
    )
    exemplars: list[int] | None = Field(
        description="Rows nearest to the mean of all features, nearest first."
    )
    exemplar_ids: list[str] | None = Field(
        None, description="The ids of the exemplars, where the rows have ids."
    )


class NodeReport(LateModel):
    """Every node of a tree, in the order of their ids."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "items": [
                        {
                            "node": 0,
                            "size": 3,
                            "purity": 0.6666666666666666,
                            "entropy": 0.6365141682948128,
                            "n_classes": 2,
                            "majority": "rose",
                            "exemplars": [1, 0, 2],
                        }
                    ]
                }
            ]
        }
    )

    items: list[NodeFacts]
