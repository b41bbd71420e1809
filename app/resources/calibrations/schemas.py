"""Calibrations over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.creation.fields import CutBody, Given, Inputs, MaybeGiven, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.calibration.calibration import Answer, CalibrationTerms, Loss, Per
from models.calibration.climbing import SetScore
from workers.model import Record

_REQUEST: dict[str, Any] = {
    "inputs": {"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"},
    "labels": "ds_01kamjx5w0n5zr4v8cqe2t7h3g",
    "alpha": 0.05,
}
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "cal_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "loss": "miss",
        "per": "all",
        "answer": "node",
        "score": None,
        "promise": "Holds the class with probability at least 0.95.",
        "sizes": {"n_classes": 1.6, "low": 1.5, "high": 1.7, "n_nodes": 1.0, "abstained": 0.0},
        "alpha": 0.05,
        "seed": 0,
        "n_rows": 800,
        "n_temperature": 200,
        "n_unlabelled": 0,
        "n_groups": 1,
        "n_promised": 1,
        "threshold": 0.62,
        "temperature": 1.4,
        "likelihood": {"before": -0.41, "after": -0.37},
        "area": 0.011,
        "error": 0.12,
        "n_suspects": 14,
        "n_pairs": 6,
    },
    "warnings": [],
}
CURVE_EXAMPLE: dict[str, Any] = {
    "area": 0.011,
    "threshold": 0.62,
    "steps": [
        {"threshold": -1.0, "coverage": 1.0, "error": 0.12, "depth": 6.2},
        {"threshold": 0.62, "coverage": 0.91, "error": 0.05, "depth": 5.5},
    ],
}
GROUPS_EXAMPLE: dict[str, Any] = {
    "items": [
        {
            "node": 3,
            "name": "rose",
            "n_rows": 40,
            "threshold": 0.71,
            "promised": True,
            "held": 0.951,
        }
    ]
}

SUSPECTS_EXAMPLE: dict[str, Any] = {
    "items": [
        {
            "row": 17,
            "label": 3,
            "label_name": "rose",
            "likely": 4,
            "likely_name": "tulip",
            "meet": 1,
            "meet_name": "rose, tulip",
            "of_label": 0.02,
            "of_likely": 0.95,
            "n_classes": 2,
        }
    ]
}

PAIRS_EXAMPLE: dict[str, Any] = {
    "items": [
        {
            "of": "classes",
            "node": 3,
            "node_name": "rose",
            "other": 4,
            "other_name": "tulip",
            "meet": 1,
            "meet_name": "rose, tulip",
            "n_rows": 60,
            "n_confused": 15,
            "rate": 0.25,
            "low": 0.154,
            "high": 0.37,
            "expected": 0.08,
            "learned": 0.1,
            "gain": 0.167,
            "sure": 0.9999,
        }
    ]
}


class CalibrationRequest(CalibrationTerms, NewWork):
    """Rows with known classes that the model has not seen, and what is to be promised."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"examples": [_REQUEST]},
    )

    inputs: Inputs
    labels: Given = Field(
        description="The class of each row: name of its leaf, path of names, or number from 0 "
        "where no leaf is named so; null or -1 where unknown."
    )
    costs: MaybeGiven = Field(
        None,
        description="For `loss` cost: a row for each true class, a column for the one that it is "
        "taken for, in the model's order; 0 on the diagonal.",
    )
    cut: CutBody | None = Field(
        None,
        description="With `per` subtree; by default the root's children.",
    )

    drift: str | None = Field(
        None,
        max_length=200,
        description="A drift of this tree: new rows have the shares of its batch.",
    )
    after: str | None = Field(
        None,
        max_length=200,
        description="The calibration that answered these rows, which it now follows.",
    )

    @model_validator(mode="after")
    def _members_of_others(self) -> CalibrationRequest:
        terms = set(CalibrationTerms.model_fields) | {"costs", "cut", "drift"}
        own = sorted(self.model_fields_set & terms)
        if self.after is not None and own:
            raise ValueError(f"after keeps the terms of that calibration: leave out {own[0]}")
        if (self.drift is None) != (self.shift is None):
            raise ValueError("give drift and shift together")
        if (self.costs is not None) != (self.loss == "cost"):
            raise ValueError("costs are for the loss cost alone, which needs them")
        if self.cut is not None and self.per != "subtree":
            raise ValueError("cut is that of `per` subtree")
        return self


class Likelihood(LateModel):
    """Mean log likelihood of the rows that fitted the temperature, in nats."""

    before: float = Field(description="At the temperature 1.")
    after: float


class AnswerSizes(LateModel):
    """What the rows that set thresholds are answered by."""

    n_classes: float = Field(description="Mean classes of an answer.")
    low: float = Field(description="The lower end of its 95 % interval.")
    high: float
    n_nodes: float = Field(description="Mean nodes.")
    abstained: float = Field(description="Share of rows without a node.")


class Followed(LateModel):
    """Rows given after they were answered."""

    n_rows: int
    n_missed: int = Field(description="Those whose answer did not hold their class.")
    level: float = Field(description="In place of `alpha` now; up to 0 all classes are held.")
    surplus: float = Field(
        description="The most rows ever missed beyond `alpha` of all, while no more are given at "
        "once than so far."
    )


class CalibrationResult(LateModel):
    """What a calibration learned."""

    loss: Loss
    per: Per
    answer: Answer
    score: SetScore | None = Field(description="Null for single nodes.")
    promise: str | None = Field(None, description="What holds of answers, in words.")
    sizes: AnswerSizes | None = None
    alpha: float
    seed: int
    n_rows: int = Field(description="Rows that set thresholds.")
    n_temperature: int = Field(description="Other rows, which fitted the temperature.")
    n_unlabelled: int = Field(description="Rows without a label, left out.")
    n_groups: int = Field(description="Groups with thresholds: one, subtrees or classes.")
    n_promised: int = Field(description="Those with a promise, their own or shared.")
    threshold: float | None = Field(
        description="At `alpha`: an answer has more mass; of sets the largest score of a class. "
        "-1: the most probable class alone. Null with several groups."
    )
    temperature: float
    likelihood: Likelihood | None = Field(description="Null where the temperature was given.")
    area: float = Field(description="Under the selective curve; smaller is better.")
    error: float = Field(description="Share of rows whose most probable class is wrong.")
    n_suspects: int = Field(description="Labelled rows whose label looks wrong.")
    n_pairs: int = Field(description="Pairs of classes and of subtrees with confused rows.")
    following: Followed | None = Field(None, description="With `after`.")


class CalibrationBody(NamedJobBody):
    """The state of a calibration, and what it learned once it has succeeded."""

    model_config = ConfigDict(title="Calibration", json_schema_extra={"examples": [EXAMPLE]})
    tree: str | None = Field(description="Null until it has succeeded.")
    result: CalibrationResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str] = Field(description="What is not promised, and why.")

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "tree": result.get("tree"),
            "result": result.get("calibration"),
            "warnings": record.warnings,
        }


class CurveStep(LateModel):
    """What a threshold would answer."""

    threshold: float = Field(description="-1: every row is answered by a leaf.")
    coverage: float = Field(
        description="Mean information of answers: 1 for a leaf, 0 for the root, else "
        "1 - log(classes under the node) / log(classes)."
    )
    error: float = Field(description="Share of rows whose answer does not hold their class.")
    depth: float = Field(description="Mean depth of answers.")


class CurveBody(LateModel):
    """What every threshold would answer, and how often that is wrong."""

    model_config = ConfigDict(
        title="SelectiveCurve", json_schema_extra={"examples": [CURVE_EXAMPLE]}
    )

    area: float = Field(description="Under the error as a function of the coverage.")
    threshold: float | None = Field(description="That of the calibration; null with several.")
    steps: list[CurveStep] = Field(description="At most 1000 of the thresholds, rising.")


class GroupBody(LateModel):
    """A group of rows with a threshold."""

    model_config = ConfigDict(title="CalibrationGroup")

    node: int = Field(description="The class, the subtree, or the root for all rows.")
    name: str | None
    n_rows: int = Field(description="Calibration rows.")
    threshold: float | None = Field(description="At its `alpha`; null: answered by the root.")
    promised: bool = Field(description="Whether rows are enough, or those it shares with.")
    held: float | None = Field(None, description="Mean share of new rows held, at least.")
    low: float | None = Field(None, description="The 95 % interval, given these rows.")
    high: float | None = None
    shared: int | None = Field(
        None, description="The node whose classes share the threshold, and `held`."
    )
    n_classes: float | None = Field(None, description="Mean classes of its rows' answers.")


class GroupsBody(LateModel):
    """The groups of a calibration."""

    model_config = ConfigDict(
        title="CalibrationGroups", json_schema_extra={"examples": [GROUPS_EXAMPLE]}
    )

    items: list[GroupBody]


class SuspectBody(LateModel):
    """A row whose label looks wrong."""

    model_config = ConfigDict(title="SuspectedLabel")

    row: int = Field(description="Its number, from 0.")
    id: str | None = Field(None, description="The row's id, where its table has ids.")
    label: int = Field(description="The node of its label.")
    label_name: str | None
    likely: int = Field(description="The node of its likely class.")
    likely_name: str | None
    meet: int = Field(description="The node where the two classes part.")
    meet_name: str | None
    of_label: float = Field(description="The probability of the label.")
    of_likely: float = Field(description="That of the likely class.")
    n_classes: int = Field(description="Classes under `meet`.")


class SuspectsBody(LateModel):
    """Rows whose labels look wrong, the likeliest errors first."""

    model_config = ConfigDict(
        title="SuspectedLabels", json_schema_extra={"examples": [SUSPECTS_EXAMPLE]}
    )

    items: list[SuspectBody]


class PairBody(LateModel):
    """Two classes, or two sibling subtrees, of which rows are taken for the other."""

    model_config = ConfigDict(title="ConfusedPairNeed")

    of: Literal["classes", "subtrees"]
    node: int
    node_name: str | None
    other: int
    other_name: str | None
    meet: int = Field(description="The node where the two part.")
    meet_name: str | None
    n_rows: int = Field(description="Rows labelled as one of the two.")
    n_confused: int = Field(description="Those taken for the other.")
    rate: float = Field(description="Their share.")
    low: float = Field(description="The lower end of its 95 % interval (Jeffreys).")
    high: float
    expected: float | None = Field(
        description="What the model's probabilities expect. Null without any."
    )
    learned: float | None = Field(
        description="What a linear classifier that learns from the other rows leaves. Null with "
        "over 1024 classes or few rows."
    )
    gain: float = Field(
        description="Mean excess of the share over the smaller of both: what more data could take "
        "away."
    )
    sure: float = Field(description="The probability that there is an excess.")


class PairsBody(LateModel):
    """Pairs that more data would tell apart better, by falling `gain`."""

    model_config = ConfigDict(
        title="PairsNeedingData", json_schema_extra={"examples": [PAIRS_EXAMPLE]}
    )

    items: list[PairBody]
