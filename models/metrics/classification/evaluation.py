"""A classifier measured on rows whose labels are known, alone or against a rival.

Standard errors and intervals of metrics come from resampled rows (`resampled`).

Whether the difference of two classifiers on the same rows is beyond chance is tested: a sign test
goes with micro F1, in which all decisions count alike, and Wilcoxon's signed-rank test over the
classes' F1 with macro F1, in which all classes do. The sources' sign test takes each decision on a
row and a class as a trial. Decisions on one row hang together (a wrong label of a row with one
label makes two of them wrong), so that such a p-value is too small; rows are the trials here. Where
each row has one label, this is McNemar's exact test.

Source: Gopal, "Large-scale Structured Learning" (2014), chapters 2 and 3, tables 2.2 and 3.2; Yang
and Liu, "A re-examination of text categorization methods" (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np

from models.arrays import Arrays, Float, Int
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions
from models.metrics.classification.outcomes import (
    Answers,
    Outcomes,
    Predict,
    Spread,
    one_by_one,
    true_labels,
)
from models.metrics.classification.scores import (
    DEFAULT_TABLES,
    METRIC_IDS,
    METRICS,
    OF_TOP_K,
    RANKED,
    MetricId,
    Statistics,
    TableId,
    TableRows,
    f1,
    inverse_propensities,
    labels_of,
    statistics,
    table,
)
from models.running.progress import SHARED, Alone, Crew, Piece, Progress, silent, subprogress
from models.tree.tree import Tree

EXACT = 12
"""The largest number of classes for which every choice of signs is gone through."""
OF_THE_TREE: tuple[MetricId, ...] = ("hierarchical_f1", "hierarchical_loss")
"""Metrics that two trees of different form make different things of."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A test of no difference, two-sided.

    n_better, n_worse : the rows, or classes, where this classifier does better and worse than the
        other one; those that are even do not count.
    """

    n_better: int
    n_worse: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Difference:
    """This classifier's metric minus the other one's, with its interval of 95 %, None without."""

    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Versus:
    """This classifier beside another one.

    metrics : of the other one, None where undefined. differences : where both are defined.
    rows : the sign test over rows, by the number of wrong decisions on each. classes : Wilcoxon's
    test over classes, by their F1.
    """

    metrics: Mapping[MetricId, float | None]
    differences: Mapping[MetricId, Difference]
    rows: Tested
    classes: Tested
    warnings: tuple[str, ...]


def sign_test(own: Outcomes, other: Outcomes) -> Tested:
    """By rows: fewer wrong decisions are better. O(pairs of a row and a label)."""
    gain = n_wrong(other) - n_wrong(own)
    return tested_signs(int((gain > 0).sum()), int((gain < 0).sum()))


def tested_signs(n_better: int, n_worse: int) -> Tested:
    from scipy.stats import binomtest

    n = n_better + n_worse
    return Tested(n_better, n_worse, float(binomtest(n_better, n).pvalue) if n else 1.0)


def n_wrong(outcome: Outcomes) -> Float:
    """(n_rows,) labels that were missed or wrongly given."""
    true, given = outcome.truth.sets, outcome.given
    both = given.has(true.row, true.node)
    n_both = np.bincount(true.row[both], minlength=outcome.n_rows)
    return np.asarray(true.n_each + given.n_each - 2 * n_both, dtype=np.float64)


def wilcoxon_test(own: Outcomes, other: Outcomes) -> Tested:
    """Over the classes that are a label, true or given; one that a classifier does not know has an
    F1 of 0 there. O(n_labels log n_labels), up to `EXACT` classes with a difference 2^n."""
    one, two = class_f1(own), class_f1(other)
    names = sorted(one.keys() | two.keys())
    return tested_ranks(np.array([one.get(name, 0.0) - two.get(name, 0.0) for name in names]))


def tested_ranks(difference: Float) -> Tested:
    """Wilcoxon's signed-rank test, differences of 0 being left out."""
    from scipy.stats import PermutationMethod, wilcoxon

    difference = difference[difference != 0.0]
    n = difference.size
    p_value = 1.0
    if n > 1:
        method = PermutationMethod(n_resamples=1 << n) if n <= EXACT else "auto"
        p_value = float(wilcoxon(difference, method=method).pvalue)
    return Tested(int((difference > 0.0).sum()), int((difference < 0.0).sum()), p_value)


def class_f1(outcome: Outcomes) -> dict[str, float]:
    """F1 of each class that is a label, true or given, by its name or path of names."""
    true, given = outcome.truth.sets, outcome.given
    n_nodes = outcome.truth.tree.n_nodes
    hits = true.node[given.has(true.row, true.node)]
    counts = [np.bincount(node, minlength=n_nodes) for node in (hits, given.node, true.node)]
    node = np.flatnonzero(counts[1] + counts[2])
    names = labels_of(outcome.truth.tree, node)
    return dict(zip(names, f1(*(count[node] for count in counts)).tolist(), strict=True))


def versus(
    outcomes: tuple[Outcomes, Outcomes],
    totals: tuple[Statistics, Statistics],
    metrics: Sequence[MetricId],
    resamples: tuple[Mapping[MetricId, Float], Mapping[MetricId, Float]],
    percentiles: tuple[float, float],
) -> Versus:
    """All of it, of this classifier and the other one.

    totals : the statistics of each. resamples : (times,) each metric of each on the same resampled
    rows; empty without. percentiles : the ends of intervals.
    """
    own, other = outcomes
    ones = np.ones((own.n_rows, 1))
    sums = [each.sums(ones) for each in totals]
    kept = [name for name in metrics if comparable(own, other, name)]
    found: dict[MetricId, float | None] = {}
    differences: dict[MetricId, Difference] = {}
    for name in kept:
        mine, its = (float(METRICS[name].compute(each)[0]) for each in sums)
        found[name] = None if np.isnan(its) else its
        if not np.isnan(mine - its):
            drawn = [each[name] for each in resamples if name in each]
            interval = None if len(drawn) < 2 else _interval(drawn[0] - drawn[1], percentiles)
            differences[name] = Difference(mine - its, interval)
    warnings = []
    if left_out := [name for name in metrics if name not in kept]:
        warnings.append(
            f"Not compared, since the two models' trees or numbers of labels a row differ: "
            f"{', '.join(left_out)}."
        )
    return Versus(
        found, differences, sign_test(own, other), wilcoxon_test(own, other), tuple(warnings)
    )


def comparable(own: Outcomes, other: Outcomes, metric: MetricId) -> bool:
    """Whether the metric means the same of both."""
    one, two = own.truth.tree, other.truth.tree
    if metric in OF_THE_TREE:
        same = np.array_equal(one.parent, two.parent) and np.array_equal(one.name, two.name)
        return bool(same)
    return metric != "log_loss" or own.one_each == other.one_each


def _interval(values: Float, percentiles: tuple[float, float]) -> tuple[float, float] | None:
    defined = values[~np.isnan(values)]
    if defined.size < 2:
        return None
    low, high = np.percentile(defined, percentiles).tolist()
    return low, high


VALUES = 1 << 22
"""Weights of rows that are held at a time (32 MiB)."""
PIECE_DRAWS = 25_000_000
"""Rows drawn in a piece: about a second of a processor."""
MOST_PIECES = 64
RESAMPLES = "resamples"
"""The member of a piece with its resamples: from which to which, those that are made at once."""
RIVAL = "rival"
INTERVAL = (2.5, 97.5)
"""Percentiles of the resampled values at the ends of a 95 % interval."""


def resampled(
    statistics: Statistics,
    metrics: Sequence[MetricId],
    times: int,
    seed: int,
    crew: Crew | None = None,
    progress: Progress = silent,
) -> dict[MetricId, Float]:
    """(times,) values of each metric on as many rows drawn with replacement.

    crew : computes the pieces, by `resampled_piece`; None: this process alone.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13.
    O(times (n_rows + n_classes)).
    """
    n_rows = statistics.matrix.shape[1]
    cut = list(pairwise([*range(0, times, max(1, VALUES // n_rows)), times]))
    n_pieces = max(1, min(MOST_PIECES, len(cut), n_rows * times // PIECE_DRAWS))
    edges = [len(cut) * number // n_pieces for number in range(n_pieces + 1)]
    pieces: list[Piece] = [
        {RESAMPLES: cut[a:b], "metrics": list(metrics), "n_rows": n_rows, "seed": seed}
        for a, b in pairwise(edges)
    ]
    found: list[Arrays] = [{} for _ in pieces]
    used = Alone(resampled_piece, progress=progress) if crew is None else crew
    for number, arrays in used.compute(pieces, statistics.arrays):
        found[number] = arrays
    return {metric: np.concatenate([each[metric] for each in found]) for metric in metrics}


def resampled_piece(piece: Piece, progress: Progress = silent) -> Arrays:
    """The values of some resamples; those that are made at once have their own draws."""
    totals = Statistics.of(piece[SHARED])
    values: dict[str, list[Float]] = {metric: [] for metric in piece["metrics"]}
    n_rows = int(piece["n_rows"])
    for place, (start, stop) in enumerate(piece[RESAMPLES]):
        progress(place / len(piece[RESAMPLES]), "resampling")
        rng = np.random.default_rng([piece["seed"], start])
        sums = totals.sums(_weights(n_rows, stop - start, rng))
        for metric, own in values.items():
            own.append(METRICS[cast(MetricId, metric)].compute(sums))
    return {metric: np.concatenate(own) for metric, own in values.items()}


def _weights(n_rows: int, width: int, rng: np.random.Generator) -> Float:
    """(n_rows, width) how often each row is drawn."""
    cell = rng.integers(n_rows, size=(n_rows, width), dtype=np.int64)
    cell *= width
    cell += np.arange(width)
    counts = np.bincount(cell.ravel(), minlength=n_rows * width)
    return counts.reshape(n_rows, width).astype(np.float64)


@dataclass
class ClassifierEvaluation:
    """What a classifier does on rows.

    metrics : by id; None if a metric is undefined, which a warning explains.
    standard_errors, intervals : by bootstrap over rows; the intervals hold 95 %.
    tables : by id, see `models.metrics.classification.scores`.
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


@dataclass(frozen=True, slots=True, eq=False)
class Helped:
    """Who computes what.

    spread : of the rows, by what `answers` needs beside them, whose member `RIVAL` says whether
        they are the rival's; with the progress of their predictions.
    crew_of : computes pieces of resamples.
    """

    spread: Callable[[Mapping[str, Any], Progress], Spread]
    crew_of: Callable[[Progress], Crew]


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
    helped: Helped | None = None,
    progress: Progress = silent,
) -> ClassifierEvaluation:
    """Measure a classifier.

    tree : its tree with the training rows at the leaves; the column `rows`, where there is one,
        tells how many training rows have a label under each node.
    labels : of all rows; rows whose labels are unknown are left out. A label means a node of the
        tree by its name or path of names. One that the classifier cannot predict counts as missed
        wherever it occurs.
    metrics : ids in `METRICS`; None: all but `RANKED`, and without `top_k_accuracy` where `top_k`
        is 0 or not below the number of classes.
    by : the tables to make.
    top_k : how many of the best classes the metrics `OF_TOP_K` look at.
    threshold : as in `PredictionOptions`.
    bootstrap : number of resamples for standard errors and intervals; 0: none.
    rival : another classifier to compare with on the same rows and resamples.
    helped : who computes what; None: this process alone.

    Raises UsageError as `true_labels`, and `wrong-input` for metrics `OF_TOP_K` without `top_k`.
    The time and memory of the predictions, then O(n (log n + bootstrap)) for n pairs of a row and
    a label.
    """
    class_node = _classes(predict)
    chosen = _chosen(metrics, top_k, class_node.size)
    share = 0.6 if rival is None else 0.3

    terms: dict[str, Any] = {"metrics": chosen, "top_k": top_k, "threshold": threshold}

    def found(tree: Tree, predict: Predict, of_rival: bool, within: Progress) -> Outcomes:
        wanted = answers(tree, labels, predict, **terms)
        if helped is None:
            return wanted.outcomes(one_by_one(within))
        return wanted.outcomes(helped.spread({RIVAL: of_rival, **terms}, within))

    crew_of = None if helped is None else helped.crew_of
    outcome = found(tree, predict, False, subprogress(progress, 0.0, share))
    evaluation = ClassifierEvaluation(outcome.n_rows, warnings=list(outcome.truth.warnings))
    totals = statistics(outcome)
    within = subprogress(progress, share, 0.9 if rival is None else 0.45)
    drawn = _measure(evaluation, outcome, totals, chosen, bootstrap, seed, within, crew_of)
    if rival is not None:
        within = subprogress(progress, 0.45, 0.75)
        other = found(rival.tree, rival.predict, True, within)
        its_totals = statistics(other)
        its_drawn: Mapping[MetricId, Float] = {}
        if bootstrap:
            within = subprogress(progress, 0.75, 0.9)
            crew = None if crew_of is None else crew_of(within)
            its_drawn = resampled(its_totals, chosen, bootstrap, seed, crew, within)
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


def answers(
    tree: Tree,
    labels: LabelSets,
    predict: Predict,
    metrics: Sequence[MetricId],
    top_k: int,
    threshold: float | None,
) -> Answers:
    """What is predicted of the labelled rows for these metrics. Raises UsageError as
    `true_labels`."""
    class_node = _classes(predict)
    truth = true_labels(labels, tree, class_node)
    return Answers(
        truth,
        class_node.size,
        predict,
        top_k=0 if OF_TOP_K.isdisjoint(metrics) else top_k,
        threshold=threshold,
        with_loss="log_loss" in metrics,
        gain=None if RANKED.isdisjoint(metrics) else gains_of(tree, truth.tree.n_nodes),
    )


def of_rival(warnings: Iterable[str], known: Collection[str]) -> list[str]:
    """What holds of the other classifier alone, saying so."""
    return [f"The other model: {text}" for text in warnings if text not in known]


def gains_of(tree: Tree, n_nodes: int) -> Float:
    """(n_nodes,) what each label counts by its training rows; labels that are none of the tree's
    nodes come behind these and have no training row."""
    training = np.zeros(n_nodes)
    training[: tree.n_nodes] = np.asarray(tree.extra.get("rows", tree.size))
    return inverse_propensities(training, float(training[0]))


def _classes(predict: Predict) -> Int:
    """(n_classes,) the nodes that a classifier can give."""
    classes = predict(np.zeros(0, dtype=np.int64), PredictionOptions()).classes
    assert classes is not None, "the method classifies"
    return classes.node


def _chosen(metrics: Sequence[MetricId] | None, top_k: int, n_classes: int) -> list[MetricId]:
    if metrics is None:
        telling = 0 < top_k < n_classes
        by_default = [metric for metric in METRIC_IDS if metric not in RANKED]
        return [metric for metric in by_default if metric != "top_k_accuracy" or telling]
    needing = [metric for metric in metrics if metric in OF_TOP_K]
    if needing and not top_k:
        raise UsageError(
            f"The metric {needing[0]!r} needs 'top_k' of at least 1.",
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
    crew_of: Callable[[Progress], Crew] | None,
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
    crew = None if crew_of is None else crew_of(progress)
    drawn = resampled(totals, metrics, bootstrap, seed, crew, progress)
    for name, values in drawn.items():
        # A resample may lack the rows that a metric is defined on.
        defined = values[~np.isnan(values)]
        if evaluation.metrics[name] is not None and defined.size > 1:
            low, high = np.percentile(defined, INTERVAL).tolist()
            evaluation.standard_errors[name] = float(defined.std(ddof=1))
            evaluation.intervals[name] = (low, high)
    return drawn
