"""What tools answer with: the schemas of their outputs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

Warnings = Annotated[
    list[str], Field(description="What was decided, approximated or left out, in sentences")
]
Rows = list[dict[str, Any]]


class Fields(TypedDict):
    """What a method takes."""

    inputs: Annotated[list[str], Field(description="Roles of its inputs")]
    params: Annotated[list[str], Field(description="Names of its parameters")]
    documentation: Annotated[str, Field(description="What it does and what each argument means")]


class Catalogue(TypedDict):
    """The methods, or one of them."""

    methods: Annotated[dict[str, str], Field(description="By id, one sentence each")]
    method: Annotated[Fields | None, Field(description="What the requested one takes")]


class Uploaded(TypedDict):
    """A dataset that was made."""

    dataset: Annotated[str, Field(description="Its id, which every input takes: ds_...")]
    columns: Annotated[list[str], Field(description="The first 100 columns that were read")]
    warnings: Warnings


class Ran(TypedDict):
    """A tree that was made."""

    tree: Annotated[str, Field(description="Its id, which the other tools take: tr_...")]
    job: Annotated[str | None, Field(description="The id of the job that made it")]
    n_points: Annotated[int, Field(description="Rows under the root")]
    n_leaves: int
    metrics: Annotated[dict[str, Any], Field(description="What the method measured itself")]
    warnings: Warnings
    page: Annotated[str, Field(description="Where a person sees the tree")]


class Compared(TypedDict):
    """A table of runs."""

    comparison: Annotated[str, Field(description="Its id: cmp_...")]
    rows: Annotated[
        Rows,
        Field(description="A run each: method, params, means of metrics, seconds, error, tree"),
    ]
    best: Annotated[dict[str, str], Field(description="The best method by metric")]
    warnings: Warnings


class JobState(TypedDict):
    """Where a job stands."""

    job: str
    status: Annotated[
        str, Field(description="queued, running, cancelling, succeeded, failed or cancelled")
    ]
    kind: Annotated[str | None, Field(description="fit, predict, drift, ...")]
    tree: Annotated[str | None, Field(description="The tree that it made, or is about")]
    problem: Annotated[str | None, Field(description="Why it failed")]


class Found(TypedDict):
    """What is kept."""

    trees: Annotated[Rows, Field(description="id, name, method, n_leaves, n_points, created_at")]
    datasets: Annotated[Rows, Field(description="id, name, role, shape")]


class Text(TypedDict):
    """A tree as text."""

    tree: str
    n_points: int
    n_leaves: int
    text: Annotated[str, Field(description="The whole, or its beginning")]
    n_characters: Annotated[int, Field(description="Length of the whole text")]


class Levels(TypedDict):
    """Cuts that stand out."""

    levels: Annotated[
        Rows,
        Field(description="From coarse to fine: k, height, criterion, score, names, p_value"),
    ]
    reason: Annotated[str | None, Field(description="Why none stands out; null where some do")]


class Clusters(TypedDict):
    """A cut."""

    requested: Annotated[dict[str, Any], Field(description="The cut: k, height or level")]
    n_clusters: Annotated[int, Field(description="All clusters, maybe more than are listed")]
    low: Annotated[float | None, Field(description="The least height that gives this cut")]
    below: Annotated[float | None, Field(description="All heights below this one give it, too")]
    smallest: Annotated[int, Field(description="Rows of the smallest cluster")]
    median: float
    largest: int
    n_noise: Annotated[int, Field(description="Rows in no cluster")]
    clusters: Annotated[Rows, Field(description="id, node, size, name, support; the largest first")]
    warnings: Warnings


class Confused(TypedDict):
    """Which classes are taken for which."""

    source: Annotated[str, Field(description="labels, where rows are counted, or logits")]
    pairs: Annotated[
        Rows, Field(description="name, taken_for_name, mass, share, ...; the largest first")
    ]
    warnings: Warnings


class Evaluated(TypedDict):
    """The metrics of a tree."""

    metrics: Annotated[dict[str, float | None], Field(description="Values by metric")]
    standard_errors: Annotated[dict[str, Any], Field(description="For metrics that are estimated")]
    cut: Annotated[dict[str, Any] | None, Field(description="The cut that flat metrics looked at")]
    warnings: Warnings


class Predicted(TypedDict):
    """New rows in a tree."""

    rows: Annotated[
        Rows,
        Field(description="row, leaf, label, probabilities, cluster; nodes with a calibration"),
    ]
    n_rows: Annotated[int, Field(description="All rows, maybe more than are listed")]


class Calibrated(TypedDict):
    """What a calibration promises."""

    calibration: Annotated[str, Field(description="Its id, which `predict` takes: cal_...")]
    result: Annotated[dict[str, Any], Field(description="alpha, loss, area, temperature, ...")]
    suspects: Annotated[Rows, Field(description="Rows whose labels look wrong, likeliest first")]
    n_suspects: int
    pairs: Annotated[Rows, Field(description="Classes that more data would tell apart, best first")]
    n_pairs: int
    warnings: Warnings


class Drifted(TypedDict):
    """What moved."""

    drift: Annotated[str, Field(description="Its id: dr_...")]
    moved: Annotated[bool, Field(description="Whether any change is sure")]
    aspects: Annotated[Rows, Field(description="Each aspect's test, with its p_value")]
    moves: Annotated[
        Rows,
        Field(description="aspect, node, name, direction, before, after, p_value; surest first"),
    ]
    n_moves: int
    warnings: Warnings


class Named(TypedDict):
    """Names of nodes."""

    naming: Annotated[str, Field(description="Its id: nam_...")]
    nodes: Annotated[Rows, Field(description="node, name, size; the largest first")]
    n_nodes: Annotated[int, Field(description="All named nodes, maybe more than are listed")]
    sent: Annotated[
        dict[str, Any] | None,
        Field(description="What was sent to which language model, if any"),
    ]
    warnings: Warnings
