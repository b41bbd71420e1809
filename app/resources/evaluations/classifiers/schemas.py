"""Evaluations of classifiers as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app.creation.expiry import ExpiresAtField
from app.creation.fields import MOST_BEST, Given, Inputs, NewWork
from app.creation.result_schemas import Tested
from app.http.late import LateModel
from models.metrics.classification.scores import DEFAULT_TABLES, MetricId, TableId
from models.parameters import Exact

EXAMPLE: dict[str, Any] = {
    "id": "job_01jz8a3m9f0000000000000000",
    "metrics": {"accuracy": 0.799, "macro_f1": 0.555},
    "standard_errors": {"accuracy": 0.012, "macro_f1": 0.025},
    "intervals": {"accuracy": [0.776, 0.822], "macro_f1": [0.498, 0.593]},
    "n_rows": 1006,
    "versus": None,
    "tables": {
        "level": [
            {
                "level": 1,
                "n_nodes": 8,
                "n_occurring": 8,
                "support": 1006,
                "macro_f1": 0.799,
                "micro_f1": 0.875,
            }
        ],
    },
    "warnings": [],
}


FEWEST_DRAWS = 10
MOST_DRAWS = 10_000


def _none_or_enough(n_draws: int) -> int:
    if 0 < n_draws < FEWEST_DRAWS:
        raise PydanticCustomError(
            "number_of_draws", f"Input should be 0 or from {FEWEST_DRAWS} to {MOST_DRAWS}"
        )
    return n_draws


class ModelEvaluationRequest(Exact, NewWork):
    """Rows, and the labels that they truly have."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {
                    "inputs": {"features": [[0.2, 1.9], [3.1, 0.4]]},
                    "labels": ["rose", "cat"],
                    "metrics": ["micro_f1", "macro_f1"],
                    "by": ["level", "class_size"],
                }
            ]
        },
    )

    inputs: Inputs
    labels: Given = Field(
        description="The true labels of every row, as for a fit: a dataset's id or a list. A label "
        "that the model does not know counts as missed; rows that are not labelled are left out."
    )
    metrics: list[MetricId] | None = Field(
        None,
        max_length=100,
        description="By default all but `precision_at_k`, `r_precision` and "
        "`propensity_precision_at_k`, which tell something where rows have several labels; without "
        "`top_k_accuracy` where the model has no more than `top_k` classes.",
    )
    by: list[TableId] = Field(
        list(DEFAULT_TABLES),
        max_length=100,
        description="The tables to make; by default all but `node`, which has a row for every node "
        "of the tree.",
    )
    top_k: int = Field(
        5,
        ge=0,
        le=MOST_BEST,
        description="How many of the best classes `top_k_accuracy`, `precision_at_k` and "
        "`propensity_precision_at_k` look at.",
    )
    threshold: float | None = Field(
        None, ge=0, le=1, description="As for predictions: the least probability of a given label."
    )
    bootstrap: Annotated[int, AfterValidator(_none_or_enough)] = Field(
        1000,
        ge=0,
        le=MOST_DRAWS,
        description="The number of times that the rows are drawn anew for standard errors and "
        "intervals: 10 or more; 0: none.",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of these draws.")
    against: str | None = Field(
        None,
        max_length=200,
        description="Another classifier to compare with on the same rows and draws: a model's id, "
        "or an alias.",
    )
    expires_at: ExpiresAtField = None


class _F1(LateModel):
    n_occurring: int = Field(
        description="How many of them are a true or a given label of some row; the means are over "
        "these."
    )
    support: int = Field(description="True labels among them, over all rows.")
    macro_f1: float | None
    micro_f1: float | None


class LevelF1(_F1):
    """The nodes of one level; a row counts for every node on the paths to its labels."""

    level: int = Field(description="Edges below the root.")
    n_nodes: int


class ClassSizeF1(_F1):
    """The classes with about as many training examples."""

    training_examples: str = Field(description="`1-5`, `6-10`, ..., `>100`; `0` for unknown ones.")
    n_classes: int


class _Rates(LateModel):
    precision: float | None
    recall: float | None
    f1: float | None


class ClassF1(_Rates):
    """One class, or a true label that is none."""

    label: str = Field(description="The name; the path of names if several nodes have the name.")
    node: int | None
    training_examples: int
    support: int = Field(description="Rows with this true label.")
    n_given: int = Field(description="Rows that were given it.")


class NodeF1(_Rates):
    """One node of the tree; a row counts for every node on the paths to its labels."""

    node: int
    level: int = Field(description="Edges below the root.")
    support: int = Field(description="Rows with a true label at or below the node.")
    n_given: int = Field(description="Rows that were given a label there.")


class Confusion(LateModel):
    """A true label that was missed, and the most probable wrong label of the row."""

    true: str
    true_node: int | None
    predicted: str | None = Field(description="Null if the row was given no wrong label.")
    predicted_node: int | None
    count: int


class EvaluationTables(LateModel):
    """The requested tables."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE["tables"]]})

    level: list[LevelF1] = []
    class_size: list[ClassSizeF1] = []
    class_: list[ClassF1] = Field([], alias="class")
    confusions: list[Confusion] = Field([], description="The most frequent ones, at most 100.")
    node: list[NodeF1] = Field([], description="Only if `by` asks for it.")


class Difference(LateModel):
    """A metric of the evaluated model minus that of the other one."""

    value: float
    interval: tuple[float, float] | None = Field(description="95 %, by the same draws for both.")


class Versus(LateModel):
    """The evaluated model beside another one: what is beyond chance."""

    model: str
    metrics: dict[str, float | None] = Field(description="The other model's.")
    differences: dict[str, Difference] = Field(
        description="A warning names metrics that mean different things of the two."
    )
    rows: Tested = Field(
        description="Sign test by wrong decisions; with one label a row, McNemar's exact test."
    )
    classes: Tested = Field(description="Wilcoxon's signed-rank test of F1.")


class ModelEvaluation(LateModel):
    """What a classifier does on rows."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str = Field(description="The job that made it.")
    metrics: dict[str, float | None]
    standard_errors: dict[str, float] = Field(description="By bootstrap over the rows.")
    intervals: dict[str, tuple[float, float]] = Field(
        description="Percentiles 2.5 and 97.5 of the resampled values."
    )
    n_rows: int = Field(description="Number of labelled rows.")
    versus: Versus | None = Field(description="With `against`, the comparison; else null.")
    tables: EvaluationTables
    warnings: list[str]
