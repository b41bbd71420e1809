"""`fit`: a method runs on data, and leaves a tree and maybe a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from models.arrays import Arrays
from models.errors import UsageError
from models.inputs.data import Data, Value, as_matrix
from models.inputs.label_sets import LabelSets
from models.inputs.oddities import odd_columns
from models.inputs.rows import Rows
from models.inputs.stand_ins import stand_ins
from models.method import Method
from models.node_names.by_input import by_labels, by_terms
from models.node_names.differences import described
from models.parameters import Params
from models.preprocess.inputs import TERMS, feature_matrix
from models.preprocess.pipeline import ROLE, parsed
from models.registry import method
from models.running.progress import SHARED, Piece, Progress, silent
from models.tree.cluster_names import DIFFERENCES, DISTINCTIVE
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.checkpoints import FOLDER, FileCheckpoint
from workers.formats.column_roles import is_id_name
from workers.kinds.kind import Kind, Lane, Options, Size, lane_by_cost
from workers.model import Request, sibling
from workers.work.bare_rows import BareRows
from workers.work.crew import Coordinator, Crew
from workers.work.job import Job, Outcome, Spec, with_tree
from workers.work.named_columns import (
    Names,
    RowIds,
    columns_of,
    given_names,
    ids_of_points,
    implied,
    implied_weights,
    matched,
    named_matrices,
    names_taken,
)
from workers.work.plan import (
    Plan,
    PlanResult,
    StepProgress,
    curves_of,
    first_inputs,
    prepared_inputs,
    run_plan,
    structure_warnings,
)
from workers.work.sources import many_of, reading_warnings, values_of
from workers.work.support import Replicates, Support


class FitOptions(Options):
    """None: a fit is all in its method, params and inputs."""


class _Fit(Kind[FitOptions]):
    name = "fit"
    noun = "job"
    read_by = "method"
    Options = FitOptions

    def lane(self, request: Request) -> Lane:
        return lane_by_cost(request)

    def opens_sockets(self, request: Request) -> bool:
        return _plan(request).opens_sockets

    def resumes(self, request: Request) -> bool:
        return method(request.method).resumes

    def seconds(self, options: FitOptions, params: Mapping[str, Any], size: Size) -> float | None:
        """None: `models.method.Method.seconds` of its methods."""
        return None

    def run(self, job: Job, options: FitOptions) -> Outcome:
        if job.spec.piece is not None:
            return _fit_piece(job.spec, job.spec.piece)
        return _fit(job)


KIND = _Fit()


def _fit(job: Job) -> Outcome:
    spec, request, coordinator = job.spec, job.request, job.coordinator
    plan = _plan(request)
    job.reading()
    rows = RowIds(spec.sources)
    method_inputs, given = _inputs(spec, rows)
    if request.name_by == "labels" and isinstance(given["labels"], LabelSets):
        # Refused here if some row has none or several, not after the fit.
        given["labels"] = given["labels"].single()

    def crew_of(used: Method[Any], data: Data, params: Params, progress: StepProgress) -> Crew:
        # Helpers have the inputs of the job, not the result of an earlier step.
        compute = partial(_piece_arrays, spec, used, data, params)
        return Crew(compute, progress.within, spec.n_pieces, coordinator, spec.folder.parent)

    progress = job.progress
    try:
        result = run_plan(
            plan,
            method_inputs,
            progress if request.support is None else StepProgress(progress, 0, 2),
            spec.threads,
            crew_of,
            _checkpoint(spec, coordinator),
        )
    except UsageError as error:
        raise _with_odd_columns(spec, method_inputs, error) from error
    tree = result.fitted.tree
    warnings = [
        *reading_warnings(given),
        *_stand_ins(spec, method_inputs, rows.ids or ()),
        *_column_warnings(spec, result.inputs),
        *result.warnings,
    ]
    warnings += structure_warnings(result, plan)
    members: dict[str, Any] = {}
    if request.support is not None:
        options = Support.model_validate(request.support)
        replicates = Replicates(options, plan, method_inputs, spec.threads)
        tree, members["support"], support_warnings = replicates.supported(
            tree,
            lambda part: Crew(replicates.compute, part, coordinator=coordinator),
            StepProgress(progress, 1, 2).within,
        )
        warnings = [*warnings, *support_warnings]
    if request.name_by is not None:
        naming = result.preparation.with_words(given, result.inputs)
        tree = _named(tree, naming, request.name_by, result.bare)
    else:
        tree = _described(tree, spec, result)

    job.at(0.99, "writing")
    ids, notes = ids_of_points(spec.sources, rows, method_inputs, tree)
    members |= write_fit(spec, result, method_inputs, ids)
    warnings += notes
    return with_tree(spec, tree, request.method, members, warnings)


def write_fit(
    spec: Spec, result: PlanResult, given: Mapping[str, Value], ids: Sequence[str] | None
) -> dict[str, Any]:
    """Write the files of a fit except its tree's. ids : of the points, where they have any.

    Returns the members of the job's result.
    """
    request, fitted = spec.request, result.fitted
    if fitted.state is not None:
        results.save_state(fitted.state, spec.folder)
    if ids is not None:
        results.save_ids(ids, spec.folder)
    if fitted.steps:
        results.save_steps(fitted.steps, spec.folder)
    if fitted.point_columns:
        results.save_points(fitted.point_columns, spec.folder)
    first = method(request.method)
    # Each step must have left a model to place rows; the first one's is enough to transform them.
    places = len(result.stages) == (1 if request.then is None else 2)
    if places or first.transforms:
        choice = {role for role in first.one_of if not first.inputs[role].fit_only}
        roles = [*first.needed(predicting=True), *(choice & set(given))]
        preparation = result.preparation
        model = results.FittedModel(
            result.stages,
            preparation.roles_given(roles),
            preparation.pipelines,
            places,
            columns_of(spec.sources),
            result.bare.rows,
            result.bare.n_nodes,
            given_names(spec.sources, given, request.method, request.preprocess),
        )
        results.save_model(model, spec.folder)
    curves = curves_of(result)
    return {
        "model": sibling(request.id, "md") if places or first.transforms else None,
        "metrics": result.metrics,
        **({"curves": curves} if curves else {}),
        **({"chosen": _chosen(result)} if result.chosen else {}),
    }


def _chosen(result: PlanResult) -> dict[str, dict[str, Any]]:
    return {
        parameter: {"value": choice.value, "reason": choice.reason}
        for parameter, choice in result.chosen.items()
    }


def _stand_ins(spec: Spec, inputs: Mapping[str, Value], ids: Sequence[str]) -> tuple[str, ...]:
    """Warnings of numbers that stand for something else, among the features as they came.

    ids : of the rows, where they have any.
    """
    matrices = named_matrices(inputs.get(ROLE), columns_of(spec.sources))
    return tuple(dict.fromkeys(chain(*(stand_ins(*each, ids) for each in matrices))))


def _column_warnings(spec: Spec, inputs: Mapping[str, Value]) -> tuple[str, ...]:
    """Warnings of odd columns of each matrix of features, by the names that its table has."""
    if not all(step.keeps_columns for step in parsed(spec.request.preprocess)):
        return ()
    matrices = named_matrices(inputs.get(ROLE), columns_of(spec.sources))
    distances = method(spec.request.method).distances
    found = (odd_columns(matrix, names, is_id_name, distances) for matrix, names in matrices)
    return tuple(dict.fromkeys(chain(*found)))


def _with_odd_columns(spec: Spec, inputs: Mapping[str, Value], error: UsageError) -> UsageError:
    """The refusal of a fit that names no place in its features, with the odd columns among these,
    which may be why."""
    if {"row", "column"} & error.where.keys() or parsed(spec.request.preprocess):
        return error
    notes = _column_warnings(spec, inputs)
    if not notes:
        return error
    detail = f"{error.detail} Odd in the features: {' '.join(notes)}"
    return UsageError(detail, code=error.code, **error.where)


def _checkpoint(spec: Spec, coordinator: Coordinator | None) -> FileCheckpoint | None:
    if coordinator is None or spec.checkpoint_s is None:
        return None
    folder = spec.folder.parent / FOLDER
    return FileCheckpoint(spec.checkpoint, folder, spec.checkpoint_s, coordinator.keep)


def _inputs(spec: Spec, rows: RowIds) -> tuple[dict[str, Value], dict[str, Value]]:
    """The inputs of the method by role, and these with the inputs that only name its tree."""
    request = spec.request
    sources = matched(spec.sources, _columns_of_base(spec))
    values = values_of(sources, many=many_of(request.method))
    taken = names_taken(method(request.method))
    if request.name_by == "feature_names":
        taken["feature_names"] = "column"
    values |= implied(sources, values, taken, request.preprocess, rows)
    values |= implied_weights(sources, values, request.method)
    _require_names(request.name_by, values)
    roles = method(request.method).inputs
    method_inputs = {
        role: value for role, value in values.items() if role != request.name_by or role in roles
    }
    return method_inputs, values


def _require_names(by: str | None, values: Mapping[str, Value]) -> None:
    """Raises UsageError where the tree is to be named by what nobody gave."""
    if by is not None and by not in values and "documents" not in values:
        raise UsageError(
            f"`name_by` needs the input {by!r}, or features of a table with named columns that are "
            "not turned into others.",
            code="wrong-input",
            role=by,
        )


def _columns_of_base(spec: Spec) -> Names | None:
    """The names of the columns of the job that this one grows from, if it has a model."""
    base = next((source for source in spec.sources if source.kind == "job"), None)
    if base is None or results.MODEL not in base.files:
        return None
    return results.load_columns(base.files[results.MODEL])


def _named(tree: Tree, values: Mapping[str, Any], by: str, bare: BareRows) -> Tree:
    """The tree named by labels or terms; names from the input `names` stay."""
    keep_leaves, naming = "names" in values, values[by]
    if by == "labels":
        return by_labels(tree, naming, keep_leaves)
    features = values.get("features")
    if isinstance(features, tuple):
        features = features[0]
    if isinstance(features, Rows):
        features = features.values(0, features.shape[0])
    matrix = Data({"features": as_matrix(features)}).matrix("features")
    matrix = matrix[bare.kept(matrix.shape[0])]
    named = by_terms(bare.of(tree), matrix, [str(name) for name in naming], keep_leaves)
    return bare.with_names(tree, named)


def _described(tree: Tree, spec: Spec, result: PlanResult) -> Tree:
    """The tree; where its leaves are rows, or clusters without names, with what nodes are called
    by."""
    inputs, bare = result.inputs, result.bare
    features = inputs.get(ROLE)
    if features is None or {"labels", "logits", "tasks"} & inputs.keys():
        return tree
    if "names" in inputs and tree.n_leaves < tree.n_points:
        return tree
    given = {TERMS: inputs[TERMS]} if TERMS in inputs else {}
    given |= implied(spec.sources, given, {TERMS: "column"}, spec.request.preprocess)
    named: Any = result.preparation.with_words(given, inputs).get(TERMS)
    own, matrix = bare.of(tree), None
    if not isinstance(features, tuple):
        matrix = feature_matrix(as_matrix(features))
    if matrix is not None and matrix.shape[0] != own.n_points:
        matrix = None
    made = described(own, matrix, named)
    return bare.with_column(tree, made, DIFFERENCES if DIFFERENCES in made.extra else DISTINCTIVE)


def _plan(request: Request) -> Plan:
    return Plan(request.method, request.params, request.preprocess, request.then)


def _piece_arrays(
    spec: Spec, used: Method[Any], data: Data, params: Params, piece: Piece, progress: Progress
) -> Arrays:
    return used.piece(data, params, piece, progress, threads=spec.threads)


def _fit_piece(spec: Spec, piece: Piece) -> Outcome:
    """One piece of a fit, or one replicate of its support, for an attempt on another worker."""
    request, plan = spec.request, _plan(spec.request)
    used = method(request.method)
    values, _ = _inputs(spec, RowIds(spec.sources))
    if "replicate" in piece:
        options = Support.model_validate(request.support)
        replicates = Replicates(options, plan, values, spec.threads)
        results.save_arrays(replicates.compute(piece, silent), spec.folder)
        return Outcome()
    data = Data(first_inputs(plan, prepared_inputs(plan, values).inputs))
    params = used.Params.model_validate(request.params)
    if spec.shared is not None:
        piece = {**piece, SHARED: results.mapped_arrays(spec.shared)}
    results.save_arrays(_piece_arrays(spec, used, data, params, piece, silent), spec.folder)
    return Outcome()
