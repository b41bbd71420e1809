"""Drifts over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.creation.fields import Inputs, MaybeGiven, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.drift.options import Aspect, DriftTerms
from workers.model import Record

_REQUEST: dict[str, Any] = {
    "reference": {"inputs": {"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"}},
    "batch": {"inputs": {"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3g"}},
    "webhook": "https://example.org/hooks/drift",
}
_MOVE: dict[str, Any] = {
    "aspect": "mass",
    "node": 17,
    "name": "rose",
    "parent": 3,
    "parent_name": "rose, tulip",
    "direction": "gained",
    "before": 0.41,
    "after": 0.63,
    "low": 0.14,
    "high": 0.3,
    "p_value": 2.1e-8,
    "n_before": 164,
    "n_after": 252,
    "label": None,
}
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "dr_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "level": 0.05,
        "n_reference": 2000,
        "n_batch": 2000,
        "aspects": [
            {"aspect": "mass", "moved": True, "p_value": 4e-6, "n_tested": 98, "n_moved": 2},
            {"aspect": "confidence", "moved": False, "p_value": 0.6, "n_tested": 40, "n_moved": 0},
        ],
        "n_moves": 2,
        "moves": [_MOVE],
    },
    "warnings": [],
}
NODE_EXAMPLE: dict[str, Any] = {
    "node": 17,
    "parent": 3,
    "name": "rose",
    "n_before": 164,
    "n_after": 252,
    "mass_before": 0.082,
    "mass_after": 0.126,
    "mass_low": 0.025,
    "mass_high": 0.063,
    "split_p_value": None,
    "share_before": 0.41,
    "share_after": 0.63,
    "share_low": 0.14,
    "share_high": 0.3,
    "share_p_value": 2.1e-8,
    "share_moved": True,
}


class SampleBody(LateModel):
    """Rows to place in the tree."""

    model_config = ConfigDict(title="DriftSample", extra="forbid")

    inputs: Inputs
    labels: MaybeGiven = Field(
        None,
        description="For each row, any text or number; null or -1 where unknown. With labels of "
        "both samples, purity is compared.",
    )


class DriftRequest(DriftTerms, NewWork):
    """Two samples of rows, and how many false discoveries are accepted."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"examples": [_REQUEST]},
    )

    reference: SampleBody = Field(
        description="Rows as they should be, such as those held out; not rows of the fit, of which "
        "the model is surer."
    )
    batch: SampleBody = Field(description="New rows.")

    @model_validator(mode="after")
    def _labels_of_both(self) -> DriftRequest:
        if (self.reference.labels is None) != (self.batch.labels is None):
            raise ValueError("labels are given for one sample alone: give both, or none")
        return self


class AspectBody(LateModel):
    """What moved in one aspect."""

    model_config = ConfigDict(title="DriftAspect")

    aspect: Aspect
    moved: bool = Field(description="Whether it changed somewhere.")
    p_value: float = Field(description="That nothing of it has changed.")
    n_tested: int = Field(description="Nodes with rows enough to be tested.")
    n_moved: int = Field(description="Nodes where a change was found.")


class MoveBody(LateModel):
    """Where something moved. For confidence and purity, of nodes one above another the surest
    stands for the others."""

    model_config = ConfigDict(title="DriftMove", json_schema_extra={"examples": [_MOVE]})

    aspect: Aspect
    node: int
    name: str | None
    parent: int | None
    parent_name: str | None
    direction: Literal["gained", "lost"]
    before: float = Field(
        description="In the reference. `mass`: share of its parent's rows; `confidence`: mean "
        "probability of the leaf of its rows; `purity`: share of its labelled rows with `label`."
    )
    after: float = Field(description="The same in the batch.")
    low: float | None = Field(description="With `high`: the 95% interval of the change.")
    high: float | None
    p_value: float
    n_before: int = Field(description="Rows of the reference under the node.")
    n_after: int = Field(description="Rows of the batch under the node.")
    label: str | None = Field(
        description="For `purity`: the most frequent label there in both samples together."
    )


class DriftResult(LateModel):
    """What moved from the reference to the batch."""

    level: float
    n_reference: int
    n_batch: int
    aspects: list[AspectBody] = Field(description="Those that could be tested.")
    n_moves: int
    moves: list[MoveBody] = Field(description="The 20 surest; `GET /v1/drifts/{id}.csv` has all.")


class DriftBody(NamedJobBody):
    """The state of a drift, and what moved once it has succeeded."""

    model_config = ConfigDict(title="Drift", json_schema_extra={"examples": [EXAMPLE]})
    tree: str | None = Field(description="Null until it has succeeded.")
    result: DriftResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str] = Field(description="What could not be compared, and why.")

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "tree": result.get("tree"),
            "result": result.get("drift"),
            "warnings": record.warnings,
        }


class DriftNode(LateModel):
    """A node in the reference and in the batch. A p-value is null where rows are too few, an
    interval or a mean where there are none."""

    model_config = ConfigDict(json_schema_extra={"examples": [NODE_EXAMPLE]})

    node: int
    parent: int | None
    name: str | None
    n_before: int
    n_after: int
    mass_before: float = Field(description="Share of all rows.")
    mass_after: float
    mass_low: float = Field(description="With `mass_high`: the 95% interval of the change.")
    mass_high: float
    split_p_value: float | None = Field(
        description="That its rows go to its children in the same shares."
    )
    share_before: float | None = Field(description="Share of the rows of its parent.")
    share_after: float | None
    share_low: float | None
    share_high: float | None
    share_p_value: float | None
    share_moved: bool
    confidence_before: float | None = None
    confidence_after: float | None = None
    confidence_low: float | None = None
    confidence_high: float | None = None
    confidence_p_value: float | None = None
    confidence_moved: bool | None = None
    purity_before: float | None = None
    purity_after: float | None = None
    purity_low: float | None = None
    purity_high: float | None = None
    purity_p_value: float | None = None
    purity_moved: bool | None = None
    label: str | None = Field(None, description="The label of purity.")


class DriftNodes(LateModel):
    """Every node of the tree, compared."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [NODE_EXAMPLE]}]})

    items: list[DriftNode]
