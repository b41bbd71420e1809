"""One job, inside its own process: read the input files, do the work, write the result files.

Knows neither Redis nor the object store nor HTTP: it is given local paths and a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.contract import Fitted, Progress
from models.data import Data, Value, doubled
from models.errors import UsageError
from models.registry import method
from models.tree.tree import Tree
from workers import results
from workers.errors import Problem, problem_of
from workers.jobs import Advance, Request, sibling


class Source(BaseModel):
    """Where one input lies.

    kind : "dataset" (`path` in one of `workers.formats`), "inline" (`path` holds JSON, or the
        content of an import) or "tree" (`files` by name, as in `workers.results`).
    """

    model_config = ConfigDict(frozen=True)

    role: str
    kind: str
    path: Path
    format: str | None = None
    member: str | None = None
    files: dict[str, Path] = {}


class Spec(BaseModel):
    """All that the child needs; travels as JSON.

    folder : empty folder for the result files; everything in it is published.
    """

    model_config = ConfigDict(frozen=True)

    request: Request
    sources: tuple[Source, ...]
    folder: Path
    threads: int = 1

    def source(self, role: str) -> Source:
        return next(source for source in self.sources if source.role == role)


class Outcome(BaseModel):
    """What came of it: `error` None is a success. Fields as in `workers.jobs.End`."""

    model_config = ConfigDict(frozen=True)

    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None


Report = Callable[[Advance], None]


def run(spec: Spec, report: Report) -> Outcome:
    """Do the job. The user's errors and a lack of memory come back as `Outcome.error`."""
    work = {
        "fit": _fit,
        "predict": _predict,
        "evaluate": _evaluate,
        "import": _import,
        "inspect": _inspect,
    }[spec.request.kind]
    try:
        return work(spec, report)
    except (UsageError, MemoryError) as error:
        return Outcome(error=problem_of(error))


def _fit(spec: Spec, report: Report) -> Outcome:
    request = spec.request
    steps = [(request.method, request.params)]
    if request.then is not None:
        steps.append((request.then.method, request.then.params))
    report(Advance(stage="reading"))
    values = _values(spec, but="")

    stages: list[results.Stage] = []
    metrics: dict[str, float] = {}
    warnings: list[str] = []
    fitted: Fitted | None = None
    for number, (method_id, params) in enumerate(steps):
        used = method(method_id)
        if fitted is not None:
            if fitted.logits is None:
                raise UsageError(
                    f"Method {request.method!r} gives no logits, so nothing can be run on them.",
                    code="wrong-input",
                    parameter="then",
                )
            values = {
                "logits": fitted.logits,
                **{role: value for role, value in values.items() if role == "names"},
            }
        last = number == len(steps) - 1
        taken = values if last else {r: v for r, v in values.items() if r != "names"}
        fitted = used.fit(
            Data(taken),
            used.Params.model_validate(params),
            _share(report, number, len(steps)),
            threads=spec.threads,
        )
        metrics.update(fitted.metrics)
        warnings.extend(fitted.warnings)
        if fitted.model is not None:
            stages.append(results.Stage(method_id, params, fitted.model))
    assert fitted is not None

    report(Advance(fraction=0.99, stage="writing"))
    predicts = len(stages) == len(steps)
    if predicts:
        first = method(request.method)
        needed = [role for role, wanted in first.inputs.items() if wanted.required]
        results.save_model(stages, needed, spec.folder)
    result = {"model": sibling(request.id, "md") if predicts else None, "metrics": metrics}
    return _with_tree(spec, fitted.tree, request.method, result, warnings)


def _share(report: Report, number: int, steps: int) -> Progress:
    """Progress of one step as its share of the whole job's."""

    def progress(fraction: float, stage: str, message: str = "") -> None:
        whole = (number + min(max(fraction, 0.0), 1.0)) / steps
        report(Advance(fraction=0.99 * whole, stage=stage, message=message))

    return progress


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
    source = spec.source("tree")
    if results.MODEL not in source.files:
        raise UsageError(
            "This tree has no model, so it cannot place new rows; methods that predict say so in "
            "the catalogue.",
            code="cannot-predict",
        )
    report(Advance(stage="reading"))
    tree = _tree(source)
    stages, _ = results.load_model(source.files[results.MODEL])
    data = Data(_values(spec, but="tree"))
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
    given: dict[str, Any] = _values(spec, but="tree")
    tree = _tree(spec.source("tree"))
    report(Advance(fraction=0.1, stage="measuring"))
    done = evaluate(
        tree,
        **given,
        metrics=options.get("metrics"),
        cut=options.get("cut"),
        seed=options.get("seed", 0),
        progress=_share(report, 0, 1),
    )
    evaluation = {
        "metrics": dict(done.metrics),
        "standard_errors": dict(done.standard_errors),
        "cut": done.cut,
        "warnings": list(done.warnings),
    }
    return Outcome(
        result={"tree": options["tree"], "evaluation": evaluation}, warnings=tuple(done.warnings)
    )


def _import(spec: Spec, report: Report) -> Outcome:
    from workers.formats.trees import read_tree

    report(Advance(stage="reading"))
    source = spec.source("content")
    tree = read_tree(spec.request.options["format"], source.path)
    twice = doubled(tree.name[tree.leaves].tolist())
    return _with_tree(spec, tree, "import", {"model": None, "metrics": {}}, list(twice))


def _inspect(spec: Spec, report: Report) -> Outcome:
    from workers.formats.catalogue import inspect

    source = spec.source("dataset")
    facts = inspect(source.format or "", source.path, source.member)
    return Outcome(result={"dataset": {"shape": list(facts.shape), "dtype": facts.dtype}})


def _values(spec: Spec, but: str) -> dict[str, Value]:
    """The inputs by role, without the one called `but`."""
    values: dict[str, Value] = {}
    for source in spec.sources:
        if source.role in values:
            raise UsageError(
                f"Input {source.role!r} is given more than once; it takes one.",
                code="wrong-input",
                role=source.role,
            )
        if source.role != but:
            values[source.role] = _value(source)
    return values


def _value(source: Source) -> Value:
    from workers.formats import json as json_format
    from workers.formats.catalogue import load

    if source.kind == "tree":
        return _tree(source)
    if source.kind == "inline":
        return json_format.parse(source.path.read_bytes(), source.role)
    return load(source.format or "", source.path, source.member, source.role)


def _tree(source: Source) -> Tree:
    return results.load_tree(source.files[results.TREE], source.files[results.LEAF_OF_POINT])
