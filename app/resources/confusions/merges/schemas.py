"""Merged classes over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel

EXAMPLE: dict[str, Any] = {
    "source": "labels",
    "n_rows": 300.0,
    "steps": [
        {
            "node": None,
            "name": None,
            "n_classes": 3,
            "accuracy": 0.9,
            "bits": 1.585,
            "ratio": None,
            "accuracy_low": 0.9,
            "accuracy_high": 0.9,
        },
        {
            "node": 1,
            "name": "rose or tulip",
            "n_classes": 2,
            "accuracy": 0.98,
            "bits": 0.918,
            "ratio": 0.12,
            "accuracy_low": 0.98,
            "accuracy_high": 0.98,
        },
        {
            "node": 0,
            "name": None,
            "n_classes": 1,
            "accuracy": 1.0,
            "bits": 0.0,
            "ratio": 0.022,
            "accuracy_low": 1.0,
            "accuracy_high": 1.0,
        },
    ],
    "nodes": [
        {
            "node": 1,
            "name": "rose or tulip",
            "gain": 0.08,
            "lost_bits": 0.667,
            "gain_low": 0.08,
            "gain_high": 0.08,
        }
    ],
    "warnings": [],
}


class MergesQuery(LateModel):
    """Whose classes, and how many are listed."""

    model_config = ConfigDict(extra="ignore")

    labels: str | None = Field(
        None,
        max_length=200,
        description="A dataset of labels, the class of each input row, as for `confusions`.",
    )
    limit: int = Field(100, ge=1, le=10_000, description="JSON: how many nodes are listed.")


class MergeStep(LateModel):
    """One step of the curve."""

    node: int | None = Field(description="The node whose classes become one; null at the start.")
    name: str | None
    n_classes: int = Field(description="Classes that remain.")
    accuracy: float = Field(
        description="Share of the rows that are in the right class; by logits an estimate. 1 where "
        "one class remains."
    )
    bits: float = Field(description="Entropy of the classes that remain.")
    ratio: float | None = Field(
        description="Share of rows made right for each bit that the step loses; null at the start, "
        "and where nothing is lost."
    )
    accuracy_low: float = Field(description="The accuracy is no lower.")
    accuracy_high: float = Field(description="The accuracy is no higher.")


class MergedNode(LateModel):
    """A node alone."""

    node: int
    name: str | None
    gain: float = Field(description="Share of the rows made right by merging its classes.")
    lost_bits: float = Field(description="Bits that this loses.")
    gain_low: float = Field(description="The gain is no lower.")
    gain_high: float = Field(description="The gain is no higher.")


class MergesBody(LateModel):
    """What merging classes gains and loses."""

    model_config = ConfigDict(title="Merges", json_schema_extra={"examples": [EXAMPLE]})

    source: Literal["labels", "logits"] = Field(description="As of `confusions`.")
    n_rows: float
    steps: list[MergeStep] = Field(description="From all classes to one; `ratio` falls.")
    nodes: list[MergedNode] = Field(description="Those that gain most.")
    warnings: list[str]
