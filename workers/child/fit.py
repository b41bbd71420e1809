"""A fit: features prepared, a method run on them, and maybe a second one on its logits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from models.data import Data, Value
from models.errors import UsageError
from models.method import Checkpoint, Crew, Fitted, Method
from models.parameters import Params
from models.preprocess.pipeline import (
    DOCUMENTS,
    ROLE,
    Pipeline,
    PreparedRows,
    parsed,
    reads_documents,
)
from models.preprocess.pipeline import fit as prepare
from models.progress import Progress
from models.registry import method
from models.rows import Rows
from models.tree import silhouette
from workers.artifacts.results import Stage
from workers.model import Step


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run: one method, or a second one on the logits of the first."""

    method: str
    params: Mapping[str, Any]
    preprocess: Sequence[Mapping[str, Any]] = ()
    then: Step | None = None

    @property
    def steps(self) -> list[Step]:
        first = Step(method=self.method, params=dict(self.params))
        return [first] if self.then is None else [first, self.then]


@dataclass(slots=True)
class Done:
    """What came of it.

    fitted : by the last method. inputs : of the first one, prepared. stages : those that left a
        model. metrics, warnings : of all.
    """

    fitted: Fitted
    inputs: Mapping[str, Value]
    stages: list[Stage] = field(default_factory=list)
    prepared: tuple[Pipeline, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


TERMS = "feature_names"
"""The input that names the columns; where they are words of documents it need not be given."""

CrewOf = Callable[[Method[Any], Data, Params, "Share"], Crew]
"""Who computes the pieces of a method's fit."""


def run_plan(
    plan: Plan,
    values: dict[str, Value],
    progress: Progress,
    threads: int,
    crew: CrewOf | None = None,
    checkpoint: Checkpoint | None = None,
) -> Done:
    """Run it on inputs by role.

    crew : who computes the pieces of the first step; None: this process alone.
    checkpoint : of the first step.

    Raises UsageError, and Cancelled when `progress` says so.
    """
    steps = plan.steps
    metrics: dict[str, float] = {}
    warnings: list[str] = []
    inputs = values
    stages: list[Stage] = []
    prepared: tuple[Pipeline, ...] = ()
    fitted: Fitted | None = None
    for number, step in enumerate(steps):
        used = method(step.method)
        if fitted is not None:
            if fitted.logits is None:
                raise UsageError(
                    f"Method {plan.method!r} gives no logits, so nothing can be run on them.",
                    code="wrong-input",
                    parameter="then",
                )
            values = {
                "logits": fitted.logits,
                **{role: value for role, value in values.items() if role == "names"},
            }
        elif plan.preprocess or "base" in values:
            values, prepared, notes = prepared_for(plan, values)
            warnings.extend(notes)
            for pipeline in prepared:
                metrics.update(pipeline.explained)
            if TERMS in used.inputs and TERMS not in values:
                words = prepared[0].words
                values = values if words is None else {**values, TERMS: words}
        inputs = inputs if number else values
        data = Data(values if number == len(steps) - 1 else unnamed(values))
        checked = used.Params.model_validate(step.params)
        share = Share(progress, number, len(steps))
        company = crew(used, data, checked, share) if crew and number == 0 else None
        kept = checkpoint if number == 0 else None
        fitted = used.fit(data, checked, share, threads=threads, crew=company, checkpoint=kept)
        metrics.update(fitted.metrics)
        warnings.extend(fitted.warnings)
        if fitted.model is not None:
            stages.append(Stage(step.method, step.params, fitted.model))
    assert fitted is not None
    return Done(fitted, inputs, stages, prepared, metrics, warnings)


def curves_of(done: Done) -> dict[str, list[tuple[int, float]]]:
    """By criterion what tells good numbers of clusters: the methods' own, and the silhouette."""
    curves = {name: [*curve] for name, curve in done.fitted.curves.items()}
    features, tree = done.inputs.get(ROLE), done.fitted.tree
    # Where leaves are tasks, rows lie at them whatever their features.
    if features is not None and tree.kind == "hierarchy" and "tasks" not in done.inputs:
        matrix = _matrix(features[0] if isinstance(features, tuple) else features)
        # A tree grown from an earlier job has that one's points, too, whose features are not here.
        found = silhouette.curve(tree, matrix) if matrix.shape[0] == tree.n_points else []
        if found:
            curves["silhouette"] = found
    return curves


class Share:
    """Progress of one step as its share of that of all."""

    def __init__(self, progress: Progress, number: int, steps: int) -> None:
        self._progress, self._number, self._steps = progress, number, steps
        self._fraction = 0.0

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        self._fraction = min(max(fraction, 0.0), 1.0)
        self._progress((self._number + self._fraction) / self._steps, stage, message)

    def within(self, fraction: float, stage: str, message: str = "") -> None:
        """Progress of pieces: where they are many it is an estimate, which must not go back."""
        self(max(fraction, self._fraction), stage, message)


def prepared_for(
    plan: Plan, values: dict[str, Value]
) -> tuple[dict[str, Value], tuple[Pipeline, ...], list[str]]:
    """The values with the features prepared, how, and warnings.

    With the input `base` they are prepared as its job's were: what is learned anew from new rows
    would put them into another space than the old ones. UsageError for other steps than it had.
    """
    earlier = Data(values).earlier()
    if earlier is not None:
        prepared = cast(tuple[Pipeline, ...], earlier.prepared)
        _require_steps(plan.preprocess, prepared)
        return apply_to(prepared, values), prepared, []
    seed = int(plan.params.get("seed", 0))
    if reads_documents(plan.preprocess):
        pipeline, rows, warnings = prepare(plan.preprocess, _documents(values), seed)
        rest = {role: value for role, value in values.items() if role != DOCUMENTS}
        return {**rest, ROLE: cast(Value, rows)}, (pipeline,), list(warnings)
    features = values.get(ROLE)
    several = features if isinstance(features, tuple) else (features,)
    done: list[Any] = []
    pipelines: list[Pipeline] = []
    notes: list[str] = []
    for one in several:
        pipeline, rows, warnings = prepare(plan.preprocess, _matrix(one), seed)
        pipelines.append(pipeline)
        done.append(rows)
        notes.extend(warnings)
    found = tuple(done) if isinstance(features, tuple) else done[0]
    return {**values, ROLE: found}, tuple(pipelines), notes


def _require_steps(asked: Sequence[Mapping[str, Any]], before: tuple[Pipeline, ...]) -> None:
    had = [one.model_dump(mode="json") for one in before[0].steps] if before else []
    if [one.model_dump(mode="json") for one in parsed(asked)] != had:
        raise UsageError(
            f"`preprocess` must be as in the job in 'base', which had {json.dumps(had)}: new rows "
            "are prepared as its own were.",
            code="wrong-parameter",
            parameter="preprocess",
        )


def apply_to(prepared: tuple[Pipeline, ...], values: dict[str, Value]) -> dict[str, Value]:
    """The values with new features prepared as the old ones were."""
    if prepared and prepared[0].reads_documents:
        counted = prepared[0].apply(_documents(values))
        return {**{role: one for role, one in values.items() if role != DOCUMENTS}, ROLE: counted}
    if not prepared or ROLE not in values:
        return values
    features = values[ROLE]
    several = features if isinstance(features, tuple) else (features,)
    if len(several) != len(prepared):
        raise UsageError(
            f"Input {ROLE!r}: {len(several)} matrix(es) are given; the model takes "
            f"{len(prepared)}.",
            code="wrong-shape",
            role=ROLE,
        )
    done: list[Any] = []
    for pipeline, one in zip(prepared, several, strict=True):
        rows = _matrix(one)
        is_rows = isinstance(rows, Rows)
        done.append(PreparedRows(rows, pipeline) if is_rows else pipeline.apply(rows))
    return {**values, ROLE: tuple(done) if isinstance(features, tuple) else done[0]}


def _documents(values: Mapping[str, Value]) -> list[str]:
    found = Data(values).names(DOCUMENTS)
    if not found or ROLE in values:
        raise UsageError(
            f"The preprocessing begins with 'words': give the input {DOCUMENTS!r}, no {ROLE!r}.",
            code="wrong-input",
            role=DOCUMENTS,
        )
    return found


def _matrix(value: Any) -> Any:
    """Features that can be prepared: numbers by rows, dense or sparse."""
    return value if isinstance(value, Rows) else Data({ROLE: value}).matrix(ROLE)


def unnamed(values: dict[str, Value]) -> dict[str, Value]:
    """The names are the last step's."""
    return {role: value for role, value in values.items() if role != "names"}
