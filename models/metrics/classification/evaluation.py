"""A classifier measured on rows whose labels are known.

Standard errors and intervals of metrics come from resampled rows (`resampled`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions
from models.metrics.classification.outcomes import Outcomes, Predict, outcomes
from models.metrics.classification.rivals import Versus, versus
from models.metrics.classification.scores import (
    METRIC_IDS,
    METRICS,
    MetricId,
    Statistics,
    statistics,
)
from models.metrics.classification.tables import DEFAULT_TABLES, TableId, TableRows, table
from models.metrics.classification.true_labels import true_labels
from models.running.progress import Progress, silent, subprogress
from models.tree.tree import Tree

VALUES = 1 << 22
"""Weights of rows that are held at a time (32 MiB)."""
INTERVAL = (2.5, 97.5)
"""Percentiles of the resampled values at the ends of a 95 % interval."""


def resampled(
    statistics: Statistics,
    metrics: Sequence[MetricId],
    times: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> dict[MetricId, Float]:
    """(times,) values of each metric on as many rows drawn with replacement.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13.
    O(times (n_rows + n_classes)).
    """
    values: dict[MetricId, list[Float]] = {metric: [] for metric in metrics}
    n_rows = statistics.matrix.shape[1]
    done = 0
    for weights in _weights(n_rows, times, rng):
        progress(done / times, "resampling")
        done += weights.shape[1]
        sums = statistics.sums(weights)
        for metric in metrics:
            values[metric].append(METRICS[metric].compute(sums))
    return {metric: np.concatenate(parts) for metric, parts in values.items()}


def _weights(n_rows: int, times: int, rng: np.random.Generator) -> Iterator[Float]:
    """(n_rows, n) how often each row is drawn, for n resamples at a time."""
    at_once = max(1, VALUES // n_rows)
    for start in range(0, times, at_once):
        width = min(at_once, times - start)
        cell = rng.integers(n_rows, size=(n_rows, width), dtype=np.int64)
        cell *= width
        cell += np.arange(width)
        counts = np.bincount(cell.ravel(), minlength=n_rows * width)
        yield counts.reshape(n_rows, width).astype(np.float64)


@dataclass
class ClassifierEvaluation:
    """What a classifier does on rows.

    metrics : by id; None if a metric is undefined, which a warning explains.
    standard_errors, intervals : by bootstrap over rows; the intervals hold 95 %.
    tables : by id, see `models.metrics.classification.tables`.
    n_rows : number of rows, those without known labels left out.
    versus : beside another classifier; None without one.
    warnings : one sentence each.
    """

    n_rows: int
    metrics: dict[str, float | None] = field(default_factory=dict)
    standard_errors: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    tables: dict[str, TableRows] = field(default_factory=dict)
    versus: Versus | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """Another classifier of the same rows. tree, predict : as of `evaluate_classifier`."""

    tree: Tree
    predict: Predict


def evaluate_classifier(
    tree: Tree,
    labels: LabelSets,
    predict: Predict,
    *,
    metrics: Sequence[MetricId] | None = None,
    by: Sequence[TableId] = DEFAULT_TABLES,
    top_k: int = 5,
    threshold: float | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    rival: Rival | None = None,
    progress: Progress = silent,
) -> ClassifierEvaluation:
    """Measure a classifier.

    tree : its tree with the training rows at the leaves; the column `rows`, where there is one,
        tells how many training rows have a label under each node.
    labels : of all rows; rows whose labels are unknown are left out. A label means a node of the
        tree by its name or path of names. One that the classifier cannot predict counts as missed
        wherever it occurs.
    metrics : ids in `METRICS`; None: all, without `top_k_accuracy` where `top_k` is 0 or not below
        the number of classes.
    by : the tables to make.
    top_k : how many of the best classes `top_k_accuracy` looks at.
    threshold : as in `PredictionOptions`.
    bootstrap : number of resamples for standard errors and intervals; 0: none.
    rival : another classifier to compare with on the same rows and resamples.

    Raises UsageError as `true_labels`, and `wrong-input` for `top_k_accuracy` without `top_k`.
    The time and memory of the predictions, then O(n (log n + bootstrap)) for n pairs of a row and
    a label.
    """
    class_node = _classes(predict)
    chosen = _chosen(metrics, top_k, class_node.size)
    share = 0.6 if rival is None else 0.3

    def answers(tree: Tree, class_node: Int, predict: Predict, within: Progress) -> Outcomes:
        return outcomes(
            true_labels(labels, tree, class_node),
            class_node.size,
            predict,
            top_k=top_k if "top_k_accuracy" in chosen else 0,
            threshold=threshold,
            with_loss="log_loss" in chosen,
            progress=within,
        )

    outcome = answers(tree, class_node, predict, subprogress(progress, 0.0, share))
    evaluation = ClassifierEvaluation(outcome.n_rows, warnings=list(outcome.truth.warnings))
    totals = statistics(outcome)
    within = subprogress(progress, 0.6, 0.9 if rival is None else 0.75)
    drawn = _measure(evaluation, outcome, totals, chosen, bootstrap, seed, within)
    if rival is not None:
        within = subprogress(progress, share, 0.6)
        other = answers(rival.tree, _classes(rival.predict), rival.predict, within)
        its_totals = statistics(other)
        rng, within = np.random.default_rng(seed), subprogress(progress, 0.75, 0.9)
        its_drawn = resampled(its_totals, chosen, bootstrap, rng, within) if bootstrap else {}
        evaluation.versus = versus(
            (outcome, other), (totals, its_totals), chosen, (drawn, its_drawn), INTERVAL
        )
        evaluation.warnings += evaluation.versus.warnings
        evaluation.warnings += of_rival(other.truth.warnings, evaluation.warnings)
    progress(0.9, "tables")
    training = np.asarray(tree.extra.get("rows", tree.size))
    for name in dict.fromkeys(by):
        evaluation.tables[name] = table(name, outcome, training, class_node)
    return evaluation


def of_rival(warnings: Iterable[str], known: Collection[str]) -> list[str]:
    """What holds of the other classifier alone, saying so."""
    return [f"The other model: {text}" for text in warnings if text not in known]


def _classes(predict: Predict) -> Int:
    """(n_classes,) the nodes that a classifier can give."""
    classes = predict(np.zeros(0, dtype=np.int64), PredictionOptions()).classes
    assert classes is not None, "the method classifies"
    return classes.node


def _chosen(metrics: Sequence[MetricId] | None, top_k: int, n_classes: int) -> list[MetricId]:
    if metrics is None:
        telling = 0 < top_k < n_classes
        return [metric for metric in METRIC_IDS if metric != "top_k_accuracy" or telling]
    if "top_k_accuracy" in metrics and not top_k:
        raise UsageError(
            "The metric 'top_k_accuracy' needs 'top_k' of at least 1.",
            code="wrong-input",
            parameter="top_k",
        )
    return list(dict.fromkeys(metrics))


def _measure(
    evaluation: ClassifierEvaluation,
    outcome: Outcomes,
    totals: Statistics,
    metrics: list[MetricId],
    bootstrap: int,
    seed: int,
    progress: Progress,
) -> dict[MetricId, Float]:
    """Fill in the metrics with their standard errors and intervals; the resampled values."""
    if not metrics:
        return {}
    sums = totals.sums(np.ones((outcome.n_rows, 1)))
    for metric in metrics:
        value = float(METRICS[metric].compute(sums)[0])
        evaluation.metrics[metric] = None if np.isnan(value) else value
    undefined = [metric for metric, value in evaluation.metrics.items() if value is None]
    if undefined:
        evaluation.warnings.append(
            f"Undefined, since there is nothing to divide by: {', '.join(undefined)}."
        )
    left_out = 0 if outcome.loss is None else int(np.isnan(outcome.loss).sum())
    if left_out:
        evaluation.warnings.append(
            f"{left_out} row(s) have not exactly one label, as rows of this model do, and were "
            "left out of log_loss."
        )
    if not bootstrap:
        return {}
    rng = np.random.default_rng(seed)
    drawn = resampled(totals, metrics, bootstrap, rng, progress)
    for name, values in drawn.items():
        # A resample may lack the rows that a metric is defined on.
        defined = values[~np.isnan(values)]
        if evaluation.metrics[name] is not None and defined.size > 1:
            low, high = np.percentile(defined, INTERVAL).tolist()
            evaluation.standard_errors[name] = float(defined.std(ddof=1))
            evaluation.intervals[name] = (low, high)
    return drawn
