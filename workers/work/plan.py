"""A fit: features are prepared, a method runs on them, and optionally a second one on its logits
or on the rows that it transformed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from models.inputs.data import Data, Value, as_matrix
from models.inputs.reading import noting
from models.inputs.rows import Rows
from models.levels import silhouette
from models.levels.divided import divided
from models.levels.suggested_cuts import P_VALUE, candidates
from models.method import Checkpoint, Fitted, Method, handed_on
from models.parameters import Choice, Params
from models.preprocess.inputs import TERMS, Preparation, feature_matrix, fit_inputs
from models.preprocess.pipeline import ROLE
from models.registry import method, require_distances
from models.running.progress import Crew, Progress
from models.tree.tree import Tree
from workers.artifacts.results import Stage
from workers.model import MethodStep
from workers.work.bare_rows import NONE, BareRows, counting_without, left_out, put_back


@dataclass(frozen=True, slots=True)
class Plan:
    """The methods to run: one, or a second one on what the first gives."""

    method: str
    params: Mapping[str, Any]
    preprocess: Sequence[Mapping[str, Any]] = ()
    then: MethodStep | None = None

    @property
    def steps(self) -> list[MethodStep]:
        first = MethodStep(method=self.method, params=dict(self.params))
        return [first] if self.then is None else [first, self.then]

    @property
    def opens_sockets(self) -> bool:
        """Whether a step is divided among processes that speak over sockets."""
        return any(method(step.method).opens_sockets(step.params) for step in self.steps)


@dataclass(slots=True)
class PlanResult:
    """The result of a plan.

    fitted : the result of the last method, of all rows. bare : the rows that have no value, which
        the methods did not see. inputs : the prepared inputs of the first method, without them.
    stages : the methods that produced a model. metrics, warnings, chosen : of all
        methods.
    """

    fitted: Fitted
    inputs: Mapping[str, Value]
    preparation: Preparation
    stages: list[Stage] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    bare: BareRows = NONE
    chosen: dict[str, Choice] = field(default_factory=dict)

    @property
    def tree(self) -> Tree:
        """The tree of the rows of `inputs`."""
        return self.bare.of(self.fitted.tree)


CrewOf = Callable[[Method[Any], Data, Params, "StepProgress"], Crew]
"""Gives the crew that computes the pieces of a method's fit."""


def run_plan(
    plan: Plan,
    values: dict[str, Value],
    progress: Progress,
    threads: int,
    crew_of: CrewOf | None = None,
    checkpoint: Checkpoint | None = None,
) -> PlanResult:
    """Run a plan on inputs by role.

    crew_of : gives the crew of the first step; None: this process computes all pieces.
    checkpoint : that of the first step.

    Raises UsageError, and Cancelled if `progress` does.
    """
    prepared = prepared_inputs(plan, values)
    preparation, inputs, warnings = prepared.preparation, prepared.inputs, prepared.warnings
    metrics = preparation.explained
    stages: list[Stage] = []
    chosen: dict[str, Choice] = {}
    steps = plan.steps
    fitted: Fitted | None = None
    for number, step in enumerate(steps):
        used, is_first = method(step.method), number == 0
        data = Data(
            first_inputs(plan, inputs) if fitted is None else _after(plan, fitted, inputs),
            pairwise=is_first and preparation.pairwise,
        )
        params = used.Params.model_validate(step.params)
        step_progress = StepProgress(progress, number, len(steps))
        # What one step hands to the next needs no notes: nobody sent it.
        with counting_without(prepared.bare), nullcontext() if is_first else noting():
            fitted = used.fit(
                data,
                params,
                step_progress,
                threads=threads,
                crew=crew_of(used, data, params, step_progress) if crew_of and is_first else None,
                checkpoint=checkpoint if is_first else None,
            )
        metrics.update(fitted.metrics)
        chosen.update(fitted.chosen)
        warnings.extend(fitted.warnings)
        if fitted.model is not None:
            stages.append(Stage(step.method, step.params, fitted.model))
    assert fitted is not None
    bare = replace(prepared.bare, n_nodes=fitted.tree.n_nodes)
    by_row = method(steps[-1].method).inputs.get("names")
    named = by_row is not None and by_row.one_per == "row"
    whole, notes = put_back(fitted, bare, Data(values).names() if named else None)
    warnings.extend(notes)
    return PlanResult(whole, inputs, preparation, stages, metrics, warnings, bare, chosen)


@dataclass(frozen=True, slots=True)
class PreparedInputs:
    """inputs : of the first step. bare : the rows that have no value, which are not among them."""

    preparation: Preparation
    inputs: dict[str, Value]
    warnings: list[str]
    bare: BareRows


def prepared_inputs(plan: Plan, values: Mapping[str, Value]) -> PreparedInputs:
    """The inputs of a plan, prepared.

    Raises UsageError as `left_out` and `fit_inputs`, and where empty values are to be left out by a
    method that measures no distances.
    """
    seed = int(plan.params.get("seed", 0))
    bare, others, notes = left_out(plan.method, plan.preprocess, dict(values))
    with counting_without(bare):
        preparation, inputs, warnings = fit_inputs(plan.preprocess, others, seed)
    if preparation.pairwise:
        require_distances(plan.method)
    if TERMS in method(plan.method).inputs:
        inputs = dict(preparation.with_words(inputs, inputs))
    return PreparedInputs(preparation, inputs, [*notes, *warnings], bare)


def _after(plan: Plan, fitted: Fitted, inputs: Mapping[str, Value]) -> dict[str, Value]:
    """The inputs of the second step: the logits of the first or the rows that it transformed, and
    the names."""
    assert plan.then is not None
    first, second = method(plan.method), method(plan.then.method)
    role = handed_on(first, second)
    given = fitted.logits if role == "logits" else fitted.features
    assert given is not None
    names = {} if first.names_labels else {key: inputs[key] for key in inputs if key == "names"}
    if first.names_labels and role == "logits" and "names" in second.inputs:
        # The leaves of its partition are the columns of its logits.
        names = {"names": [str(name) for name in fitted.tree.name[fitted.tree.leaves]]}
    return {role: given, **names}


def first_inputs(plan: Plan, inputs: Mapping[str, Value]) -> dict[str, Value]:
    """The inputs of the first step: names go to the last one, unless they name labels."""
    if plan.then is None or method(plan.method).names_labels:
        return dict(inputs)
    return {role: value for role, value in inputs.items() if role != "names"}


def curves_of(result: PlanResult) -> dict[str, list[tuple[int, float]]]:
    """The value of each criterion at each number of clusters: the method's own and the
    silhouette, with the p-values of its peaks."""
    curves = {name: [*curve] for name, curve in result.fitted.curves.items()}
    features, tree = result.inputs.get(ROLE), result.tree
    # Where leaves are tasks or classes, rows belong to them independently of their features.
    own = {"tasks", "labels"} & result.inputs.keys() or result.preparation.pairwise
    if features is not None and tree.kind == "hierarchy" and not own:
        matrix = feature_matrix(as_matrix(features[0] if isinstance(features, tuple) else features))
        # A tree grown from an earlier job also has that job's points, whose features are not here.
        curve = silhouette.curve(tree, matrix) if matrix.shape[0] == tree.n_points else []
        if curve:
            curves["silhouette"] = curve
            peaks = candidates(tree, curve)
            curves[f"silhouette{P_VALUE}"] = silhouette.p_values(tree, matrix, sorted(peaks))
    return curves


def structure_warnings(result: PlanResult, plan: Plan) -> tuple[str, ...]:
    """A sentence where the clusters of a partition of rows, which no labels or tasks made, are no
    more than parts of rows without structure (`models.levels.divided`)."""
    features, tree = result.inputs.get(ROLE), result.tree
    if features is None or not method(plan.method).distances or isinstance(features, tuple):
        return ()
    if {"tasks", "labels"} & result.inputs.keys() or result.preparation.pairwise:
        return ()
    matrix = feature_matrix(as_matrix(features))
    if isinstance(matrix, Rows) and matrix.far:
        return ()
    found = divided(tree, matrix) if matrix.shape[0] == tree.n_points else None
    return () if found is None or found.warning is None else (found.warning,)


class StepProgress:
    """The progress of one step, as its share of all steps."""

    def __init__(self, progress: Progress, number: int, n_steps: int) -> None:
        self._progress, self._number, self._n_steps = progress, number, n_steps
        self._fraction = 0.0

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        self._fraction = min(max(fraction, 0.0), 1.0)
        self._progress((self._number + self._fraction) / self._n_steps, stage, message)

    def within(self, fraction: float, stage: str, message: str = "") -> None:
        """The progress of pieces: with many of them it is an estimate, which must not go back."""
        self(max(fraction, self._fraction), stage, message)
