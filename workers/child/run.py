"""One job, inside its own process: read the input files, do the work, write the result files.

It has access to neither Redis nor the object store: it gets local paths, the address of an object
that is read in parts, and a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays
from models.errors import UsageError
from models.inputs.data import Data, Value, doubled
from models.inputs.images import as_matrix
from models.inputs.label_sets import LabelSets
from models.inputs.rows import Rows
from models.method import Method
from models.node_names.by_input import by_labels, by_terms
from models.parameters import Params
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.crew import SHARED, Piece
from models.running.progress import Progress, silent
from models.tree.cluster_names import has_names
from models.tree.clusters import CUTS, clusters
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.checkpoints import FOLDER, FileCheckpoint
from workers.child import comparison
from workers.child.crew import Coordinator, Crew
from workers.child.fit import (
    Plan,
    PlanResult,
    StepProgress,
    curves_of,
    first_inputs,
    prepared_inputs,
    run_plan,
)
from workers.child.placing import fitted_of, placing_data, prediction_options
from workers.child.sources import Source, many_of, of_role, tree_of, values_of
from workers.child.support import Replicates, Support
from workers.errors import Problem, problem_of
from workers.model import Advance, Request, now, run_id, sibling


class Spec(BaseModel):
    """Everything that the child needs; sent as JSON.

    folder : empty folder for the result files; everything in it is published.
    n_pieces : the number of pieces of a fit, if its method can be cut.
    checkpoint : the file that an earlier attempt at the fit saved, to resume from.
    checkpoint_s : how often checkpoints are saved; None: never.
    piece : only this piece of the request's fit is computed, and its arrays are the result.
    shared : the file with the arrays that it shares with other pieces.
    """

    model_config = ConfigDict(frozen=True)

    request: Request
    sources: tuple[Source, ...]
    folder: Path
    threads: int = 1
    n_pieces: int = 1
    checkpoint: Path | None = None
    checkpoint_s: float | None = None
    piece: dict[str, Any] | None = None
    shared: Path | None = None


class Outcome(BaseModel):
    """How the job ended: `error` None is a success. Fields as in `workers.model.End`."""

    model_config = ConfigDict(frozen=True)

    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None


Report = Callable[[Advance], None]

RUNS, OUTCOME = "runs", "outcome.json"
"""The folder of the runs that a comparison keeps, and the file with the outcome of one."""


def run(spec: Spec, report: Report, coordinator: Coordinator | None = None) -> Outcome:
    """Do the job.

    The user's errors and a lack of memory are returned as `Outcome.error`.
    coordinator : hands out the pieces of a fit; None: all are computed here.
    """
    kind = spec.request.kind
    try:
        if kind == "fit":
            if spec.piece is not None:
                return _fit_piece(spec, spec.piece)
            return _fit(spec, report, coordinator)
        if kind == "compare":
            return _compare(spec, report, coordinator)
        work = {
            "predict": _predict,
            "transform": _transform,
            "evaluate": _evaluate,
            "consensus": _consensus,
            "calibrate": _calibrate,
            "drift": _drift,
            "map": _map,
            "heatmap": _heatmap,
            "name": _name,
            "attach": _attach,
            "import": _import,
            "inspect": _inspect,
        }[kind]
        return work(spec, report)
    except (UsageError, MemoryError) as error:
        return Outcome(error=problem_of(error))


def trial(folder: Path) -> Spec:
    """A trivial job with its files in `folder`: it warms a process up."""
    result = folder / "result"
    result.mkdir(parents=True)
    path = folder / "logits.json"
    path.write_text("[[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0], [2.0, 1.0, 0.0]]")
    request = Request(
        id="job_trial",
        tenant="none",
        kind="fit",
        method="l2h",
        inputs={"logits": "inline"},
        created_at=now(),
    )
    source = Source(role="logits", kind="inline", path=path)
    return Spec(request=request, sources=(source,), folder=result)


def _fit(spec: Spec, report: Report, coordinator: Coordinator | None) -> Outcome:
    request = spec.request
    plan = _plan(request)
    report(Advance(stage="reading"))
    method_inputs, given = _inputs(spec)
    if request.name_by == "labels" and isinstance(given["labels"], LabelSets):
        # Refused here if some row has none or several, not after the fit.
        given["labels"] = given["labels"].single()

    def crew_of(used: Method[Any], data: Data, params: Params, progress: StepProgress) -> Crew:
        # Helpers have the inputs of the job, not the result of an earlier step.
        compute = partial(_piece_arrays, spec, used, data, params)
        return Crew(compute, progress.within, spec.n_pieces, coordinator, spec.folder.parent)

    progress = _progress(report)
    result = run_plan(
        plan,
        method_inputs,
        progress if request.support is None else StepProgress(progress, 0, 2),
        spec.threads,
        crew_of,
        _checkpoint(spec, coordinator),
    )
    tree, warnings = result.fitted.tree, result.warnings
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
        tree = _named(tree, naming, request.name_by)

    report(Advance(fraction=0.99, stage="writing"))
    members |= _write_fit(spec, result, method_inputs)
    return _with_tree(spec, tree, request.method, members, warnings)


def _write_fit(spec: Spec, result: PlanResult, given: Mapping[str, Value]) -> dict[str, Any]:
    """Write the files of a fit except those of its tree.

    Returns the members of the job's result.
    """
    request, fitted = spec.request, result.fitted
    if fitted.state is not None:
        results.save_state(fitted.state, spec.folder)
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
            result.stages, preparation.roles_given(roles), preparation.pipelines, places
        )
        results.save_model(model, spec.folder)
    curves = curves_of(result)
    return {
        "model": sibling(request.id, "md") if places or first.transforms else None,
        "metrics": result.metrics,
        **({"curves": curves} if curves else {}),
    }


def _checkpoint(spec: Spec, coordinator: Coordinator | None) -> FileCheckpoint | None:
    if coordinator is None or spec.checkpoint_s is None:
        return None
    folder = spec.folder.parent / FOLDER
    return FileCheckpoint(spec.checkpoint, folder, spec.checkpoint_s, coordinator.keep)


def _inputs(spec: Spec) -> tuple[dict[str, Value], dict[str, Value]]:
    """The inputs of the method by role, and these with the inputs that only name its tree."""
    request = spec.request
    values = values_of(spec.sources, many=many_of(request.method))
    roles = method(request.method).inputs
    method_inputs = {
        role: value for role, value in values.items() if role != request.name_by or role in roles
    }
    return method_inputs, values


def _named(tree: Tree, values: Mapping[str, Any], by: str) -> Tree:
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
    return by_terms(tree, matrix, [str(name) for name in naming], keep_leaves)


def _progress(report: Report) -> Progress:
    """The progress of a method as that of the job; the last hundredth is writing."""

    def progress(fraction: float, stage: str, message: str = "") -> None:
        whole = 0.99 * min(max(fraction, 0.0), 1.0)
        report(Advance(fraction=whole, stage=stage, message=message))

    return progress


def opens_sockets(spec: Spec) -> bool:
    """Whether the job reads from the object store by address, or has a fit of several processes."""
    sources: list[Source | None] = list(spec.sources)
    while sources:
        if (source := sources.pop()) is not None:
            if source.link is not None:
                return True
            sources += source.before
    plans: list[Plan] = []
    if spec.request.kind == "fit":
        plans = [_plan(spec.request)]
    elif spec.request.kind == "compare":
        runs = comparison.ComparisonOptions.model_validate(spec.request.options).runs
        plans = [contender.plan(0) for contender in runs]
    steps = [step for plan in plans for step in plan.steps]
    return any(method(step.method).opens_sockets(step.params) for step in steps)


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
    values, _ = _inputs(spec)
    if "replicate" in piece:
        options = Support.model_validate(request.support)
        replicates = Replicates(options, plan, values, spec.threads)
        results.save_arrays(replicates.compute(piece, silent), spec.folder)
        return Outcome()
    _, inputs, _ = prepared_inputs(plan, values)
    data = Data(first_inputs(plan, inputs))
    params = used.Params.model_validate(request.params)
    if spec.shared is not None:
        piece = {**piece, SHARED: results.mapped_arrays(spec.shared)}
    results.save_arrays(_piece_arrays(spec, used, data, params, piece, silent), spec.folder)
    return Outcome()


def _with_tree(
    spec: Spec, tree: Tree, method_id: str, result: dict[str, Any], warnings: list[str]
) -> Outcome:
    """The outcome of a job that made a tree; writes the tree."""
    results.save_tree(tree, spec.folder)
    facts = {
        "method": method_id,
        "kind": tree.kind,
        "n_points": tree.n_points,
        "n_nodes": tree.n_nodes,
        "n_leaves": tree.n_leaves,
        "max_depth": tree.max_depth,
        "monotone": tree.monotone,
        "name": spec.request.name,
    }
    return Outcome(
        result={"tree": sibling(spec.request.id, "tr"), **result},
        tree=facts,
        warnings=tuple(warnings),
    )


def _predict(spec: Spec, report: Report) -> Outcome:
    report(Advance(stage="reading"))
    options = spec.request.options
    tree, model = fitted_of(spec.sources)
    but = ("tree", "calibration")
    values = values_of(spec.sources, but=but, many=many_of(model.stages[0].method))
    report(Advance(fraction=0.1, stage="predicting"))
    data = placing_data(model, values)
    last = model.stages[-1]
    predictions = method(last.method).predict(last.model, tree, data, prediction_options(options))
    bounds = {key: options[key] for key in CUTS if key in options}
    cut = clusters(tree, **bounds) if bounds else None
    answers = None
    if "calibration" in options:
        from workers.child.calibration import answered

        path = of_role(spec.sources, "calibration").file
        found = answered(path, last, tree, data, options.get("alpha"))
        answers = results.CalibratedAnswers.of(tree, found)
    report(Advance(fraction=0.9, stage="writing"))
    in_clusters = None if cut is None else results.PlacedClusters.of(tree, cut.nodes, predictions)
    named = method(last.method).classifies or has_names(tree)
    results.save_predictions(
        predictions, spec.folder, tree.name if named else None, in_clusters, answers
    )
    result = {
        "tree": options["tree"],
        "predictions": {"n_rows": int(predictions.leaf.shape[0])},
    }
    notes = () if cut is None or cut.warning is None else (cut.warning,)
    return Outcome(result=result, warnings=(*notes, *predictions.warnings))


def _calibrate(spec: Spec, report: Report) -> Outcome:
    from workers.child.calibration import calibrated

    report(Advance(stage="reading"))
    tree, model = fitted_of(spec.sources)
    values = values_of(spec.sources, but=("tree",), many=many_of(model.stages[0].method))
    given = {role: values.pop(role, None) for role in ("labels", "costs")}
    data = placing_data(model, values)
    result = calibrated(
        spec.request.options, tree, model.stages[-1], data, given, spec.folder, _progress(report)
    )
    return Outcome(
        result={"tree": spec.request.options["tree"], "calibration": result.facts},
        warnings=result.warnings,
    )


def _drift(spec: Spec, report: Report) -> Outcome:
    from workers.child.drift import compared

    report(Advance(stage="reading"))
    options = spec.request.options
    result = compared(options, spec.sources, spec.folder, _progress(report))
    return Outcome(
        result={"tree": options["tree"], "drift": result.facts}, warnings=result.warnings
    )


def _map(spec: Spec, report: Report) -> Outcome:
    from workers.child.mapping import mapped_points

    report(Advance(stage="reading"))
    result = mapped_points(spec.request, spec.sources, spec.threads, _progress(report))
    results.save_positions(result.positions, spec.folder)
    return Outcome(
        result={"tree": spec.request.options["tree"], "map": result.facts},
        warnings=result.warnings,
    )


def _heatmap(spec: Spec, report: Report) -> Outcome:
    from workers.child.heatmaps import drawn

    report(Advance(stage="reading"))
    result, facts = drawn(spec.request, spec.sources, _progress(report))
    results.save_heatmap(result, spec.folder)
    return Outcome(
        result={"tree": spec.request.options["tree"], "heatmap": facts}, warnings=result.warnings
    )


def _name(spec: Spec, report: Report) -> Outcome:
    from workers.child.names import named

    report(Advance(stage="reading"))
    options = spec.request.options
    tree = tree_of(of_role(spec.sources, "tree"))
    values = values_of(spec.sources, but=("tree",), many=frozenset({"features"}))
    report(Advance(fraction=0.1, stage="naming"))
    result = named(options, tree, values, spec.folder)
    return Outcome(
        result={"tree": options["tree"], "naming": result.facts}, warnings=result.warnings
    )


def _attach(spec: Spec, report: Report) -> Outcome:
    from workers.child.attachment import attached

    report(Advance(stage="reading"))
    result = attached(spec.request, spec.sources, spec.folder, _progress(report))
    return Outcome(
        result={"tree": spec.request.options["tree"], "attachment": result.facts},
        warnings=result.warnings,
    )


def _transform(spec: Spec, report: Report) -> Outcome:
    report(Advance(stage="reading"))
    request = spec.request
    (source,) = (source for source in spec.sources if source.kind == "model")
    model = results.load_model(source.file)
    first = model.stages[0]
    given = [source for source in spec.sources if source.kind != "model"]
    values = values_of(given, many=many_of(first.method))
    data = Data(Preparation(model.prepared).apply(values))
    report(Advance(fraction=0.1, stage="transforming"))
    rows = method(first.method).transform(first.model, data)
    report(Advance(fraction=0.9, stage="writing"))
    results.save_transformed(rows, spec.folder)
    result = {
        "model": request.options["model"],
        "dataset": sibling(request.id, "ds"),
        "shape": list(rows.shape),
        "dtype": str(rows.dtype),
    }
    return Outcome(result=result)


def _evaluate(spec: Spec, report: Report) -> Outcome:
    if "model" in spec.request.options:
        return _evaluate_model(spec, report)
    from workers.child.evaluation import evaluated

    report(Advance(stage="reading"))
    result, warnings = evaluated(spec.request, spec.sources, spec.folder, _progress(report))
    return Outcome(result=result, warnings=warnings)


def _evaluate_model(spec: Spec, report: Report) -> Outcome:
    from workers.child.classification import evaluation_of

    report(Advance(stage="reading"))
    tree, model = fitted_of(spec.sources)
    options = spec.request.options
    values = values_of(spec.sources, but=("tree",), many=many_of(model.stages[0].method))
    measured = evaluation_of(model, tree, values, options, _progress(report))
    report(Advance(fraction=0.99, stage="writing"))
    results.save_tables(measured.tables, spec.folder)
    evaluation = {
        "metrics": measured.metrics,
        "standard_errors": measured.standard_errors,
        "intervals": measured.intervals,
        "n_rows": measured.n_rows,
        "warnings": measured.warnings,
    }
    result = {
        "tree": options["tree"],
        "model": options["model"],
        "evaluation": evaluation,
        "tables": {name: len(rows) for name, rows in measured.tables.items()},
    }
    return Outcome(result=result, warnings=tuple(measured.warnings))


def _compare(spec: Spec, report: Report, coordinator: Coordinator | None) -> Outcome:
    options = comparison.ComparisonOptions.model_validate(spec.request.options)
    report(Advance(stage="reading"))
    runs = comparison.ComparisonRuns(
        options, values_of(spec.sources), spec.threads, partial(_run_files, spec)
    )
    if spec.piece is not None:
        results.save_arrays(runs.compute(spec.piece, silent), spec.folder)
        return Outcome()
    within = StepProgress(_progress(report), 0, 1).within
    crew = Crew(runs.compute, within, coordinator=coordinator)
    return Outcome(result={"comparison": comparison.compare(options, crew, spec.folder / RUNS)})


def _run_files(
    spec: Spec, number: int, result: PlanResult, given: Mapping[str, Value]
) -> dict[str, bytes]:
    """The files of a comparison's run as those of a fit, and its outcome."""
    run = spec.request.options["runs"][number]
    request = spec.request.model_copy(
        update={
            "id": run_id(spec.request.id, number),
            "method": run["method"],
            "then": run["then"],
        }
    )
    with TemporaryDirectory(dir=spec.folder.parent) as place:
        folder = Path(place)
        own = spec.model_copy(update={"request": request, "folder": folder})
        members = _write_fit(own, result, given)
        outcome = _with_tree(own, result.fitted.tree, request.method, members, result.warnings)
        (folder / OUTCOME).write_text(outcome.model_dump_json())
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _consensus(spec: Spec, report: Report) -> Outcome:
    from workers.child.consensus import ConsensusOptions, agreed

    report(Advance(stage="reading"))
    options = ConsensusOptions.model_validate(spec.request.options)
    trees = [tree_of(source) for source in spec.sources if source.role == "trees"]
    references = [tree_of(source) for source in spec.sources if source.role == "reference"]
    result = agreed(options, trees, references[0] if references else None, _progress(report))
    results.save_agreement(result.agreement, spec.folder)
    metrics = {
        "robinson_foulds": float(np.mean(result.facts["normalized"])),
        "n_trees": float(len(trees)),
    }
    facts = {"model": None, "metrics": metrics, "consensus": result.facts}
    return _with_tree(spec, result.tree, spec.request.method, facts, result.warnings)


def _import(spec: Spec, report: Report) -> Outcome:
    from workers.formats.trees import read_tree

    report(Advance(stage="reading"))
    source = of_role(spec.sources, "content")
    tree = read_tree(spec.request.options["format"], source.file)
    warnings = list(doubled(tree.name[tree.leaves].tolist()))
    return _with_tree(spec, tree, "import", {"model": None, "metrics": {}}, warnings)


def _inspect(spec: Spec, report: Report) -> Outcome:
    from workers.child.remote_rows import facts_of
    from workers.formats.catalogue import inspect

    source = of_role(spec.sources, "dataset")
    if source.link is None:
        facts = inspect(source.format or "", source.file, source.member, source.bounds, source.hint)
    else:
        facts = facts_of(source.link, source.format or "", source.member, source.role)
    return Outcome(result={"dataset": {"shape": list(facts.shape), "dtype": facts.dtype}})
