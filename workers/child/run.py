"""One job, inside its own process: read the input files, do the work, write the result files.

Knows neither Redis nor the object store: it is given local paths, the address of an object that is
read in parts, and a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.data import Data, Value, doubled
from models.errors import UsageError
from models.method import Arrays, Method, Params, Piece, Progress, silent
from models.naming import by_labels, by_terms
from models.preprocess.pipeline import DOCUMENTS, ROLE
from models.registry import method
from models.rows import Rows
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.checkpoints import FOLDER, FileCheckpoint
from workers.child import comparison
from workers.child.crew import Board, Crew
from workers.child.fit import (
    TERMS,
    Done,
    Plan,
    Share,
    apply_to,
    curves_of,
    prepared_for,
    run_plan,
    unnamed,
)
from workers.child.sources import Source, many_of, of_role, tree_of, values_of
from workers.child.support import Replicates, Support
from workers.errors import Problem, problem_of
from workers.model import Advance, Request, sibling


class Spec(BaseModel):
    """All that the child needs; travels as JSON.

    folder : empty folder for the result files; everything in it is published.
    n_pieces : how many pieces a fit is cut into, where its method can be cut.
    checkpoint : what an earlier attempt at the fit had, to go on from.
    checkpoint_s : how often such are kept; never where it is None.
    piece : of the request's fit only this piece is wanted, and its arrays are the result.
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


class Outcome(BaseModel):
    """What came of it: `error` None is a success. Fields as in `workers.model.End`."""

    model_config = ConfigDict(frozen=True)

    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None


Report = Callable[[Advance], None]


def run(spec: Spec, report: Report, board: Board | None = None) -> Outcome:
    """Do the job. The user's errors and a lack of memory come back as `Outcome.error`.

    board : hands out the pieces of a fit that is cut; None: all of them are computed here.
    """
    kind = spec.request.kind
    try:
        if kind == "fit":
            return _fit(spec, report, board) if spec.piece is None else _piece(spec, spec.piece)
        if kind == "compare":
            return _compare(spec, report, board)
        work = {
            "predict": _predict,
            "evaluate": _evaluate,
            "import": _import,
            "inspect": _inspect,
        }[kind]
        return work(spec, report)
    except (UsageError, MemoryError) as error:
        return Outcome(error=problem_of(error))


def _fit(spec: Spec, report: Report, board: Board | None) -> Outcome:
    request = spec.request
    plan = _plan(request)
    report(Advance(stage="reading"))
    values, given = _inputs(spec)

    def crew(used: Method[Any], data: Data, params: Params, share: Share) -> Crew:
        # Helpers have the job's own inputs, not what an earlier step gave.
        compute = partial(_compute, spec, used, data, params)
        return Crew(compute, share.within, spec.n_pieces, board)

    told = _told(report)
    asked = request.support
    whole = told if asked is None else Share(told, 0, 2)
    done = run_plan(plan, values, whole, spec.threads, crew, _kept(spec, board))
    fitted, warnings = done.fitted, done.warnings
    tree = fitted.tree
    if asked is not None:
        replicates = Replicates(Support.model_validate(asked), plan, values, spec.threads)
        others = Crew(replicates.compute, Share(told, 1, 2).within, board=board)
        tree, notes = replicates.supported(tree, others)
        warnings = [*warnings, *notes]

    if request.name_by is not None:
        tree = _named(tree, _naming(given, done), request.name_by)
    report(Advance(fraction=0.99, stage="writing"))
    if fitted.state is not None:
        results.save_state(fitted.state, spec.folder)
    if fitted.points:
        results.save_points(fitted.points, spec.folder)
    predicts = len(done.stages) == len(plan.steps)
    if predicts:
        first = method(request.method)
        needed = [*first.needed(predicting=True), *(set(first.one_of) & set(values))]
        if done.prepared and done.prepared[0].reads_documents:
            needed = [DOCUMENTS if role == ROLE else role for role in needed]
        results.save_model(results.FittedModel(done.stages, needed, done.prepared), spec.folder)
    result: dict[str, Any] = {
        "model": sibling(request.id, "md") if predicts else None,
        "metrics": done.metrics,
    }
    curves = curves_of(done)
    if curves:
        result["curves"] = curves
    return _with_tree(spec, tree, request.method, result, warnings)


def _kept(spec: Spec, board: Board | None) -> FileCheckpoint | None:
    if board is None or spec.checkpoint_s is None:
        return None
    return FileCheckpoint(
        spec.checkpoint, spec.folder.parent / FOLDER, spec.checkpoint_s, board.keep
    )


def _inputs(spec: Spec) -> tuple[dict[str, Value], dict[str, Value]]:
    """What the method is given by role, and that with what only names its tree."""
    given = values_of(spec.sources, many=many_of(spec.request.method))
    taken = method(spec.request.method).inputs
    named = spec.request.name_by
    return {role: one for role, one in given.items() if role != named or role in taken}, given


def _naming(given: Mapping[str, Value], done: Done) -> Mapping[str, Value]:
    """The inputs that the tree can be named by: of documents, too, their words and counts."""
    words = done.prepared[0].words if done.prepared else None
    if words is None or TERMS in given:
        return given
    return {**given, ROLE: done.inputs[ROLE], TERMS: words}


def _named(tree: Tree, values: Mapping[str, Any], by: str) -> Tree:
    """The tree named by labels or terms; names that were given for its leaves stay."""
    keep_leaves, naming = "names" in values, values[by]
    if by == "labels":
        return by_labels(tree, naming, keep_leaves)
    features = values.get("features")
    if isinstance(features, tuple):
        features = features[0]
    if isinstance(features, Rows):
        features = features.values(0, features.shape[0])
    matrix = Data({"features": features}).matrix("features")
    return by_terms(tree, matrix, [str(name) for name in naming], keep_leaves)


def _told(report: Report) -> Progress:
    """What a method says of its progress; the rest is writing."""

    def progress(fraction: float, stage: str, message: str = "") -> None:
        whole = 0.99 * min(max(fraction, 0.0), 1.0)
        report(Advance(fraction=whole, stage=stage, message=message))

    return progress


def _plan(request: Request) -> Plan:
    return Plan(request.method, request.params, request.preprocess, request.then)


def _compute(
    spec: Spec, used: Method[Any], data: Data, params: Params, piece: Piece, progress: Progress
) -> Arrays:
    return used.piece(data, params, piece, progress, threads=spec.threads)


def _piece(spec: Spec, piece: Piece) -> Outcome:
    request = spec.request
    used = method(request.method)
    values, _ = _inputs(spec)
    if "replicate" in piece:
        asked = Support.model_validate(request.support)
        replicates = Replicates(asked, _plan(request), values, spec.threads)
        results.save_arrays(replicates.compute(piece, silent), spec.folder)
        return Outcome()
    if request.preprocess:
        values = prepared_for(_plan(request), values)[0]
    data = Data(values if request.then is None else unnamed(values))
    params = used.Params.model_validate(request.params)
    results.save_arrays(_compute(spec, used, data, params, piece, silent), spec.folder)
    return Outcome()


def _with_tree(
    spec: Spec, tree: Tree, method_id: str, result: dict[str, Any], warnings: list[str]
) -> Outcome:
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
    source = of_role(spec.sources, "tree")
    if results.MODEL not in source.files:
        raise UsageError(
            "This tree has no model, so it cannot place new rows; methods that predict say so in "
            "the catalogue.",
            code="cannot-predict",
        )
    report(Advance(stage="reading"))
    tree = tree_of(source)
    kept = results.load_model(source.files[results.MODEL])
    stages = kept.stages
    many = many_of(stages[0].method)
    data = Data(apply_to(kept.prepared, values_of(spec.sources, but="tree", many=many)))
    report(Advance(fraction=0.1, stage="predicting"))
    for stage in stages[:-1]:
        data = Data({"logits": method(stage.method).logits(stage.model, data)})
    predictions = method(stages[-1].method).predict(stages[-1].model, tree, data)
    report(Advance(fraction=0.9, stage="writing"))
    results.save_predictions(predictions, spec.folder)
    result = {
        "tree": spec.request.options["tree"],
        "predictions": {"n_rows": int(predictions.leaf.shape[0])},
    }
    return Outcome(result=result)


def _evaluate(spec: Spec, report: Report) -> Outcome:
    from models.metrics.catalogue import evaluate

    report(Advance(stage="reading"))
    options = spec.request.options
    given: dict[str, Any] = values_of(spec.sources, but="tree")
    tree = tree_of(of_role(spec.sources, "tree"))
    report(Advance(fraction=0.1, stage="measuring"))
    per_node = options.get("per_node", False)
    told = _told(report)
    done = evaluate(
        tree,
        **given,
        metrics=options.get("metrics"),
        cut=options.get("cut"),
        kernel=options.get("kernel", "cosine"),
        sample=options.get("sample"),
        seed=options.get("seed", 0),
        measured=options.get("measured"),
        progress=Share(told, 0, 2) if per_node else told,
    )
    notes = list(done.warnings)
    result: dict[str, Any] = {"tree": options["tree"]}
    if per_node:
        from models.metrics.nodes import report_on_nodes
        from workers.artifacts.results import save_nodes

        found = report_on_nodes(
            tree,
            labels=given.get("labels"),
            features=given.get("features"),
            n_exemplars=options.get("n_exemplars", 3),
            progress=Share(told, 1, 2),
        )
        notes += found.warnings
        save_nodes(found, spec.folder)
        result["nodes"] = {"n_nodes": tree.n_nodes}
    evaluation = {
        "metrics": dict(done.metrics),
        "standard_errors": dict(done.standard_errors),
        "cut": done.cut,
        "warnings": notes,
    }
    return Outcome(result={**result, "evaluation": evaluation}, warnings=tuple(notes))


def _compare(spec: Spec, report: Report, board: Board | None) -> Outcome:
    asked = comparison.Asked.model_validate(spec.request.options)
    report(Advance(stage="reading"))
    bench = comparison.Bench(asked, values_of(spec.sources), spec.threads)
    if spec.piece is not None:
        results.save_arrays(bench.compute(spec.piece, silent), spec.folder)
        return Outcome()
    crew = Crew(bench.compute, Share(_told(report), 0, 1).within, board=board)
    return Outcome(result={"comparison": comparison.compare(asked, crew)})


def _import(spec: Spec, report: Report) -> Outcome:
    from workers.formats.trees import read_tree

    report(Advance(stage="reading"))
    source = of_role(spec.sources, "content")
    tree = read_tree(spec.request.options["format"], source.file)
    twice = doubled(tree.name[tree.leaves].tolist())
    return _with_tree(spec, tree, "import", {"model": None, "metrics": {}}, list(twice))


def _inspect(spec: Spec, report: Report) -> Outcome:
    from workers.child.remote_rows import facts_of
    from workers.formats.catalogue import inspect

    source = of_role(spec.sources, "dataset")
    if source.link is None:
        facts = inspect(source.format or "", source.file, source.member)
    else:
        facts = facts_of(source.link, source.format or "", source.member, source.role)
    return Outcome(result={"dataset": {"shape": list(facts.shape), "dtype": facts.dtype}})
