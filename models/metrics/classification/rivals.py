"""Two classifiers on the same rows: whether their difference is beyond chance.

A sign test goes with micro F1, in which all decisions count alike, and Wilcoxon's signed-rank test
over the classes' F1 with macro F1, in which all classes do. The sources' sign test takes each
decision on a row and a class as a trial. Decisions on one row hang together (a wrong label of a row
with one label makes two of them wrong), so that such a p-value is too small; rows are the trials
here. Where each row has one label, this is McNemar's exact test.

Source: Gopal, "Large-scale Structured Learning" (2014), chapters 2 and 3, tables 2.2 and 3.2; Yang
and Liu, "A re-examination of text categorization methods" (1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Float
from models.metrics.classification.outcomes import Outcomes
from models.metrics.classification.scores import METRICS, MetricId, Statistics, f1
from models.metrics.classification.tables import labels_of

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
