"""Results of jobs over the wire: members depend on the kind of the job.

The worker wrote them, and they are sent as they were stored (`app.openapi.documented`).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from app.creation.step_schemas import StepBody
from app.http.late import LateModel
from app.http.problem_schemas import PROBLEM
from app.openapi.documented import Documented

ProblemDict = Annotated[dict[str, Any], WithJsonSchema(PROBLEM)]
"""A stored problem."""


class Spread(LateModel):
    """The values of all seeds, summarised."""

    mean: float
    std: float = Field(description="Standard deviation of the sample; 0 for a single value.")


class Row(LateModel):
    """One run and its results."""

    model_config = ConfigDict(title="ComparisonRow")

    method: str
    params: dict[str, Any] = Field(description="With defaults filled in.")
    preprocess: list[dict[str, Any]]
    then: StepBody | None
    seeds: int
    metrics: dict[str, Spread]
    values: dict[str, list[float]] = Field(description="The value for each seed, by metric.")
    seconds: Spread | None = Field(description="Wall time of a fit; null if none succeeded.")
    warnings: list[str]
    error: ProblemDict | None = Field(description="The problem, if a fit failed.")
    job: str | None = Field(
        None, description="The job with the fit of the first seed, if it was kept."
    )
    tree: str | None = Field(
        None, description="The tree of that job; it may have been removed since."
    )


class Tested(LateModel):
    """A two-sided test."""

    n_better: int
    n_worse: int
    p_value: float


class RunDifference(LateModel):
    """A run beside the one whose trees have the purest classes, row by row."""

    run: int = Field(description="The number of the run.")
    than: int = Field(description="The number of the run with the highest dendrogram purity.")
    rows: Tested = Field(
        description="Sign test by the purity of each row: the mean share of its class in the "
        "smallest clusters with the others of its class. Rows of a class hang together, so that "
        "this says a difference too easily where whole clusters differ."
    )
    classes: Tested = Field(
        description="Wilcoxon's signed-rank test by the mean purity of each class."
    )


class ComparisonTable(TypedDict):
    """The table of a comparison."""

    table: Annotated[list[Row], Field(description="A row for each run, in order.")]
    best: Annotated[
        dict[str, int], Field(description="The number of the row with the best mean, by metric.")
    ]
    differences: Annotated[
        list[RunDifference], Field(description="Whether runs differ beyond chance.")
    ]


class EvaluatedCut(TypedDict, total=False):
    """The clusters that flat metrics looked at: what chose them, and how many they are."""

    k: Annotated[int, Field(description="The requested number of clusters.")]
    height: Annotated[float, Field(description="The height of the cut.")]
    level: Annotated[int, Field(description="The number of edges below the root.")]
    leaves: Annotated[bool, Field(description="True: the clusters are the leaves.")]
    n_clusters: Annotated[int, Field(description="Noise is not among them.")]
    n_noise: Annotated[
        int,
        Field(
            description="Rows of noise, of trees that have some: one more cluster to flat metrics."
        ),
    ]


CutDict = Annotated[dict[str, Any], Documented(EvaluatedCut)]


class PlacedRows(TypedDict):
    """The rows of an evaluation that were not in the fit."""

    n_rows: int
    method: Annotated[str, Field(description="The method whose model placed them.")]
    rule: Annotated[str, Field(description="Where a row goes, as `placing` of the method says it.")]


class SentItems(TypedDict):
    """What of the items an endpoint of embeddings got."""

    to: Annotated[str, Field(description="Host and port.")]
    model: str
    what: str
    n_items: Annotated[int, Field(description="Sent by the last attempt; equal ones count once.")]
    n_kept: Annotated[int, Field(description="Not sent, since their vectors were there already.")]
    n_bytes: Annotated[int, Field(description="Bytes of what was sent.")]


class _Measured(TypedDict):
    metrics: Annotated[
        dict[str, float | None], Field(description="By metric; null where it is not defined.")
    ]
    standard_errors: Annotated[
        dict[str, float], Field(description="By metric, for the metrics that have them.")
    ]
    warnings: list[str]


class JobEvaluation(_Measured, total=False):
    """The metrics of a tree, or of a classifier on rows."""

    cut: Annotated[
        EvaluatedCut | None,
        Field(description="Trees only: the cut that flat metrics were computed for."),
    ]
    placed: Annotated[
        PlacedRows | None,
        Field(description="Trees only: the rows that were placed, if `inputs` gave some."),
    ]
    intervals: Annotated[
        dict[str, tuple[float, float]],
        Field(description="Classifiers only: percentiles 2.5 and 97.5 of the resampled values."),
    ]
    n_rows: Annotated[int, Field(description="Classifiers only: the number of labelled rows.")]


class ConsensusFacts(TypedDict):
    """What is known of a consensus; lists are in the order of the job's input `trees`."""

    rule: str
    n_trees: int
    n_items: int
    matched_by: str
    distance: Annotated[
        list[int], Field(description="Clusters that only the tree or only the new one has.")
    ]
    normalized: Annotated[list[float], Field(description="The same as a share of both.")]
    halves: Annotated[
        dict[str, float] | None, Field(description="As of the answer to `POST /v1/consensus`.")
    ]


class SupportFacts(TypedDict):
    """The runs that the support of a tree's nodes is from."""

    replicates: Annotated[int, Field(description="Runs that count.")]
    failed: Annotated[int, Field(description="Runs that could not be fitted.")]
    halves: Annotated[
        dict[str, float] | None,
        Field(
            description="With `stop`: how alike the support by random halves of the runs is, as "
            "their mean `correlation`, and the share of halves that are `alike` (by .99)."
        ),
    ]


class ChosenValue(TypedDict):
    """What was taken for a parameter that was `auto`."""

    value: str | float
    reason: str


class JobResult(TypedDict, total=False):
    """What a job has left. A member that its kind of job does not leave is absent."""

    tree: Annotated[
        str, Field(description="The id of the tree: the new one, or the one that was used.")
    ]
    model: Annotated[
        str | None,
        Field(description="The id of the model; null if the method leaves none."),
    ]
    metrics: Annotated[
        dict[str, float | None], Field(description="`fit`: what the method reports of itself.")
    ]
    curves: Annotated[
        dict[str, list[tuple[float, float]]],
        Field(description="`fit`: points (x, y) by the curve's name, such as a loss by epoch."),
    ]
    chosen: Annotated[
        dict[str, ChosenValue],
        Field(description="`fit`: by parameter that was `auto` what was taken, and why."),
    ]
    support: Annotated[
        SupportFacts, Field(description="`fit`: the runs of its `support`, if requested.")
    ]
    predictions: Annotated[str, Field(description="`predict`: the address of the predictions.")]
    dataset: Annotated[
        str, Field(description="`transform`, `embed`: the id of the dataset of the new rows.")
    ]
    shape: Annotated[list[int], Field(description="`transform`, `embed`: rows and columns.")]
    dtype: Annotated[str, Field(description="`transform`, `embed`: the type of its numbers.")]
    sent: Annotated[SentItems, Field(description="`embed`: what the endpoint got.")]
    evaluation: Annotated[JobEvaluation, Field(description="`evaluate`: the metrics.")]
    nodes: Annotated[
        str,
        Field(description="`evaluate`: the address of the report on every node, if requested."),
    ]
    tables: Annotated[
        str, Field(description="`evaluate`, of a classifier: the address of its tables.")
    ]
    calibration: Annotated[str, Field(description="`calibrate`: the id of the calibration.")]
    drift: Annotated[str, Field(description="`drift`: the id of the drift.")]
    n_moves: Annotated[int, Field(description="`drift`: the number of changes that were found.")]
    placement: Annotated[str, Field(description="`place`: the id of the placement.")]
    map: Annotated[str, Field(description="`map`: the id of the map.")]
    heatmap: Annotated[str, Field(description="`heatmap`: the id of the heatmap.")]
    naming: Annotated[str, Field(description="`name`: the id of the naming.")]
    comparison: Annotated[ComparisonTable, Field(description="`compare`: the table.")]
    consensus: Annotated[
        ConsensusFacts, Field(description="`consensus`: the trees beside the new one.")
    ]


ResultDict = Annotated[dict[str, Any], Documented(JobResult)]
