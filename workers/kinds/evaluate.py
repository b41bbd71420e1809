"""`evaluate`: a tree measured, or a classifier on rows whose labels are known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal

from models.arrays import Arrays, Int
from models.clusters.likelihoods import JudgesLabels, Likelihoods
from models.errors import UsageError
from models.inputs.data import Data, Value, as_matrix, require_finite
from models.inputs.label_sets import label_sets
from models.inputs.reading import noting
from models.method import PredictionOptions, Predictions
from models.metrics.classification.evaluation import (
    RESAMPLES,
    RIVAL,
    ClassifierEvaluation,
    Helped,
    Rival,
    Versus,
    answers,
    evaluate_classifier,
    of_rival,
    resampled_piece,
)
from models.metrics.classification.outcomes import Span, Spread, one_by_one
from models.metrics.classification.scores import TableId
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.progress import SHARED, Piece, Progress, never_back, silent, subprogress
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.results import FittedModel
from workers.kinds.kind import Find, Kind, OfTree, Size
from workers.model import sibling
from workers.work.crew import Crew
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import NewRows, fitted_of, new_rows, placing_data
from workers.work.plan import StepProgress
from workers.work.row_shares import SHARES, Division, Share, in_shares, piece_of_shares
from workers.work.sources import Source, of_role, reading_warnings, tree_of, values_of

_RIVAL = "rival"
"""The role of the tree of the model that another one is compared with."""
_TREES = ("tree", _RIVAL)


class EvaluationOptions(OfTree):
    """What is measured.

    inputs : roles of new rows, which the tree's model places. measured : metrics that the fit has
    measured. model : the id of the classifier that is evaluated in place of the tree, `by`,
    `top_k`, `threshold`, `bootstrap` and `against`, the id of another one, being of it.
    """

    model: str | None = None
    against: str | None = None
    metrics: tuple[str, ...] | None = None
    cut: dict[str, Any] | None = None
    kernel: Literal["cosine", "gaussian"] = "cosine"
    sample: int | None = None
    seed: int = 0
    measured: dict[str, float] | None = None
    per_node: bool = False
    n_exemplars: int = 3
    inputs: tuple[str, ...] = ()
    by: tuple[TableId, ...] | None = None
    top_k: int | None = None
    threshold: float | None = None
    bootstrap: int | None = None


class _Evaluate(Kind[EvaluationOptions]):
    name = "evaluate"
    noun = "evaluation"
    Options = EvaluationOptions

    def sources(self, find: Find, options: EvaluationOptions) -> list[Source]:
        placed = options.model is not None or bool(options.inputs)
        found = [find.tree("tree", options.tree, model=placed)]
        if options.against is not None:
            found.append(find.tree(_RIVAL, sibling(options.against, "tr"), model=True))
        return found

    def seconds(
        self, options: EvaluationOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """New rows are placed first; distances are measured for a sample."""
        placed = options.model is not None or bool(options.inputs)
        return 2 * (size.placing_s if placed else size.linear_s)

    def run(self, job: Job, options: EvaluationOptions) -> Outcome:
        job.reading()
        if options.model is not None:
            if job.spec.piece is not None:
                results.save_arrays(_classifier_piece(job, options, job.spec.piece), job.folder)
                return Outcome()
            return _evaluated_classifier(job, options)
        if job.spec.piece is not None:
            found = NewRows.piece(job.sources, options.inputs, job.spec.piece)
            results.save_arrays(found, job.folder)
            return Outcome()
        result, warnings = _evaluated(options, job)
        return Outcome(result=result, warnings=warnings)

    def with_warnings(self, result: dict[str, Any], warnings: Sequence[str]) -> dict[str, Any]:
        evaluation = {**result["evaluation"], "warnings": list(warnings)}
        return {**result, "evaluation": evaluation}

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        files = [name for name in ("nodes", "tables") if name in result]
        return {**result, **{name: f"/v1/jobs/{job_id}/{name}" for name in files}}


KIND = _Evaluate()


def _evaluated(options: EvaluationOptions, job: Job) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The result of an evaluation of a tree, and its warnings; a report on nodes is written.

    Raises UsageError as `models.metrics.catalogue.evaluate`.
    """
    from models.metrics.catalogue import LIKELIHOODS, evaluate

    sources, progress, rows = job.sources, job.progress, None
    if options.inputs:
        placing = subprogress(progress, 0.0, 0.1)
        rows = NewRows.of(sources, options.inputs, placing, job.coordinator)
    values = _of_tree(sources) if rows is None else rows.others
    given: dict[str, Any] = {role: as_matrix(value) for role, value in values.items()}
    fitted = tree_of(of_role(sources, "tree")) if rows is None else rows.fitted
    tree = fitted if rows is None else rows.tree
    progress(0.1, "measuring")
    judged = None if rows is None else _judged(options, sources, rows, given.get("labels"))
    of_labels = {} if judged is None else dict(zip(LIKELIHOODS, judged.values, strict=True))
    measured = evaluate(
        tree,
        **given,
        fitted=fitted,
        metrics=options.metrics,
        cut=options.cut,
        kernel=options.kernel,
        sample=options.sample,
        seed=options.seed,
        measured={**(options.measured or {}), **of_labels},
        progress=StepProgress(progress, 0, 2) if options.per_node else progress,
    )
    warnings = [
        *reading_warnings(values),
        *(() if rows is None else rows.warnings),
        *measured.warnings,
        *(() if judged is None else judged.warnings),
    ]
    result: dict[str, Any] = {"tree": options.tree}
    if options.per_node:
        from models.metrics.nodes import report_on_nodes

        node_report = report_on_nodes(
            tree,
            labels=given.get("labels"),
            features=given.get("features"),
            n_exemplars=options.n_exemplars,
            progress=StepProgress(progress, 1, 2),
        )
        warnings += node_report.warnings
        ids = _ids_of_tree(sources) if rows is None else ids_of(sources)
        results.save_nodes(node_report, job.folder, ids)
        result["nodes"] = {"n_nodes": tree.n_nodes}
    evaluation = {
        "metrics": dict(measured.metrics),
        "standard_errors": dict(measured.standard_errors),
        "cut": measured.cut,
        "placed": None if rows is None else rows.facts,
    }
    return {**result, "evaluation": evaluation}, tuple(warnings)


def _judged(
    options: EvaluationOptions, sources: Sequence[Source], rows: NewRows, labels: Any
) -> Likelihoods | None:
    """The likelihood of the labels beside that of the clusters; None where it is not wanted, or
    the method judges none."""
    from models.metrics.catalogue import LIKELIHOODS
    from models.metrics.inputs import classes_of

    wanted = options.metrics is None or not set(LIKELIHOODS).isdisjoint(options.metrics)
    if labels is None or not wanted:
        return None
    _, model = fitted_of(sources)
    last = model.stages[-1]
    used = method(last.method)
    if not isinstance(used, JudgesLabels):
        return None
    values = new_rows(sources, model)
    placed = {role: value for role, value in values.items() if role in options.inputs}
    code = classes_of(labels, rows.tree.n_points).code
    return used.likelihoods(last.model, placing_data(model, placed), code)


def _of_tree(sources: Sequence[Source]) -> dict[str, Value]:
    """The inputs about the points of the tree, in the order of their ids."""
    return values_of(sources, but=("tree",), ids=_ids_of_tree(sources))


def _ids_of_tree(sources: Sequence[Source]) -> list[str] | None:
    """The ids of the tree's points, where they have any."""
    path = of_role(sources, "tree").files.get(results.IDS)
    return None if path is None else results.load_ids(path).to_pylist()


def _evaluated_classifier(job: Job, options: EvaluationOptions) -> Outcome:
    began_s = time.process_time()
    own = _read(job, options, _TREES[0])
    rival = None if options.against is None else _read(job, options, _RIVAL)
    helped = Helped(
        partial(_spread, job, time.process_time() - began_s),
        lambda within: Crew(
            resampled_piece, within, coordinator=job.coordinator, folder=job.folder.parent
        ),
    )
    measured = classifier_evaluation(own, options, job.progress, rival, helped)
    job.at(0.99, "writing")
    results.save_tables(measured.tables, job.folder)
    evaluation = {
        "metrics": measured.metrics,
        "standard_errors": measured.standard_errors,
        "intervals": measured.intervals,
        "n_rows": measured.n_rows,
        "versus": None if measured.versus is None else _shown(measured.versus, options.against),
    }
    result = {
        "tree": options.tree,
        "model": options.model,
        "evaluation": evaluation,
        "tables": {name: len(rows) for name, rows in measured.tables.items()},
    }
    return Outcome(result=result, warnings=tuple(measured.warnings))


def _read(job: Job, options: EvaluationOptions, role: str) -> _Classifier:
    """The model of the tree of this role, with the rows."""
    with _of_the_other(options.against) if role == _RIVAL else nullcontext():
        tree, model = fitted_of(job.sources, role)
        return _Classifier(model, tree, new_rows(job.sources, model, _TREES))


def _classifier_piece(job: Job, options: EvaluationOptions, piece: Piece) -> Arrays:
    """One piece of the evaluation of a classifier, for an attempt on another worker."""
    if RESAMPLES in piece:
        assert job.spec.shared is not None, "resamples share their sums"
        return resampled_piece({**piece, SHARED: results.mapped_arrays(job.spec.shared)})
    terms = {name: value for name, value in piece.items() if name != SHARES}
    used = _read(job, options, _RIVAL if terms.pop(RIVAL) else _TREES[0])
    wanted = answers(used.tree, used.labels, used.predict, **terms)
    return piece_of_shares(partial(_without_notes, wanted.block), piece, silent)


def _spread(job: Job, reading_s: float, given: Mapping[str, Any], progress: Progress) -> Spread:
    """Predictions in shares, which workers compute (`_classifier_piece`); where one has an error,
    or a note, which counts its rows from its first, all are made by this process."""
    _, within = never_back(progress)

    def spread(cut: Sequence[Span], of_span: Callable[[Span], Arrays]) -> Any:
        if len(cut) > 1:
            division = Division(within, job.coordinator, reading_s, given)
            with suppress(UsageError):
                return list(in_shares(cut, partial(_without_notes, of_span), division))
        return one_by_one(within)(cut, of_span)

    return spread


def _without_notes(of_span: Callable[[Span], Arrays], share: Share) -> Arrays:
    with noting() as notes:
        found = of_span(share)
    if notes:
        raise UsageError("There are warnings of these rows.", code="unusable-input")
    return found


@contextmanager
def _of_the_other(model: str | None) -> Iterator[None]:
    """Errors within are of the model that is compared with, and name it."""
    try:
        yield
    except UsageError as error:
        detail = f"The other model, {model!r}: {error.detail}"
        raise UsageError(detail, code=error.code, **error.where) from error


def _shown(found: Versus, model: str | None) -> dict[str, Any]:
    return {
        "model": model,
        "metrics": dict(found.metrics),
        "differences": {name: asdict(each) for name, each in found.differences.items()},
        "rows": asdict(found.rows),
        "classes": asdict(found.classes),
    }


_OPTIONS = ("metrics", "by", "top_k", "threshold", "bootstrap", "seed")


def classifier_evaluation(
    own: _Classifier,
    options: EvaluationOptions,
    progress: Progress,
    its: _Classifier | None,
    helped: Helped,
) -> ClassifierEvaluation:
    """What a model does on rows.

    its : another model with the same rows, to compare with. options : what is not null goes to
    `evaluate_classifier`.

    Raises UsageError as `Method.predict` and `evaluate_classifier`.
    """
    other = None
    if its is not None:
        other = Rival(its.tree, _of_the_other(options.against)(its.predict))
    chosen = options.model_dump(include=set(_OPTIONS), exclude_unset=True)
    given = {name: value for name, value in chosen.items() if value is not None}
    measured = evaluate_classifier(
        own.tree, own.labels, own.predict, rival=other, helped=helped, progress=progress, **given
    )
    filled = [*own.filled, *([] if its is None else of_rival(its.filled, own.filled))]
    return replace(measured, warnings=[*filled, *measured.warnings])


class _Classifier:
    """A model with the rows that it answers for. labels : theirs. filled : warnings of empty values
    that were filled.

    values : the inputs that a prediction needs, `labels`, and maybe `names`: what numbers among the
    labels mean, as in the fit. Raises UsageError as `Preparation.apply`, `label_sets`, and for
    features that are missing or not finite.
    """

    def __init__(self, model: FittedModel, tree: Tree, values: Mapping[str, Value]) -> None:
        self.tree = tree
        self._stage = model.stages[-1]
        self._method = method(self._stage.method)
        rest = {role: value for role, value in values.items() if role != "labels"}
        preparation = Preparation(model.prepared)
        self._data = Data(preparation.apply(rest))
        if "features" not in self._data:
            raise UsageError(
                f"Method {self._method.id!r} needs the input 'features'.",
                code="wrong-input",
                role="features",
            )
        self._features = self._data.matrix("features")
        # The blocks that are predicted do not know the numbers of their rows.
        require_finite(self._features, "features")
        n_rows = self._features.shape[0]
        self.labels = label_sets(values["labels"], n_rows, self._data.names())
        self.filled = preparation.filled(rest)

    def predict(self, rows: Int, settings: PredictionOptions) -> Predictions:
        whole = rows.size > 0 and int(rows[-1]) - int(rows[0]) + 1 == rows.size
        features = self._features
        some = features[rows[0] : rows[-1] + 1] if whole else features[rows]
        used = Data({**self._data.values, "features": some})
        return self._method.predict(self._stage.model, self.tree, used, settings)
