"""The metrics of a classifier, each a function of sums over rows.

So a metric on resampled rows is the same function of weighted sums, and all sums for many
resamples are one product of a sparse matrix with their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int
from models.metrics.classification.outcomes import Outcomes

MetricId: TypeAlias = Literal[
    "accuracy",
    "micro_f1",
    "macro_f1",
    "hierarchical_f1",
    "hierarchical_loss",
    "top_k_accuracy",
    "log_loss",
    "expected_calibration_error",
]
METRIC_IDS: tuple[MetricId, ...] = get_args(MetricId)

N_BINS = 15
"""Bins of confidence for the calibration error."""

Sums: TypeAlias = "dict[str, Float]"
"""Statistics summed over rows, (width, n_weightings) each."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """What is summed over rows.

    matrix : (n_statistics, n_rows). parts : the rows of the matrix that hold each statistic.
    class_node : (n_occurring,) the nodes that are a label, true or given, ascending; `both`,
        `given` and `true` have a row for each.
    """

    matrix: sp.csr_array
    parts: dict[str, slice]
    class_node: Int

    def sums(self, weights: Float) -> Sums:
        """weights : (n_rows, n_weightings), in C order. O(n_stored n_weightings)."""
        total = self.matrix @ weights
        return {name: total[part] for name, part in self.parts.items()}


def statistics(outcome: Outcomes) -> Statistics:
    """The statistics of rows that the metrics need; a class's are sparse."""
    true, given = outcome.truth.sets, outcome.given
    n_rows = outcome.n_rows
    class_node = np.union1d(true.node, given.node)
    both = np.flatnonzero(given.has(true.row, true.node))
    true_paths, given_paths = true.path_sizes, given.path_sizes
    all_paths = true.union(given).path_sizes
    n_both = np.bincount(true.row[both], minlength=n_rows)
    exact = (n_both == true.n_each) & (n_both == given.n_each)
    stacked: dict[str, sp.csr_array] = {
        "rows": _one(np.ones(n_rows)),
        "exact": _one(exact),
        "both": _indicator(true.node[both], true.row[both], class_node, n_rows),
        "given": _indicator(given.node, given.row, class_node, n_rows),
        "true": _indicator(true.node, true.row, class_node, n_rows),
        "path_both": _one(true_paths + given_paths - all_paths),
        "path_edges": _one(2 * all_paths - true_paths - given_paths),
        "path_sizes": _one(true_paths + given_paths),
    }
    labelled = true.n_each > 0
    if outcome.in_top is not None:
        stacked |= {"in_top": _one(outcome.in_top), "in_top_rows": _one(labelled)}
    if outcome.loss is not None:
        defined = ~np.isnan(outcome.loss)
        stacked |= {
            "loss": _one(np.where(defined, outcome.loss, 0.0)),
            "loss_rows": _one(defined),
        }
    bins = np.clip(np.ceil(outcome.confidence * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)
    gap = outcome.right - outcome.confidence
    stacked["gap"] = sp.csr_array(
        (gap, (bins, np.arange(n_rows))), shape=(N_BINS, n_rows), dtype=np.float64
    )
    ends = np.cumsum([0, *(part.shape[0] for part in stacked.values())]).tolist()
    parts = {name: slice(ends[at], ends[at + 1]) for at, name in enumerate(stacked)}
    return Statistics(sp.csr_array(sp.vstack(list(stacked.values()))), parts, class_node)


def _one(values: Array) -> sp.csr_array:
    return sp.csr_array(values.astype(np.float64)[None])


def _indicator(node: Int, row: Int, class_node: Int, n_rows: int) -> sp.csr_array:
    number = np.searchsorted(class_node, node)
    shape = (class_node.size, n_rows)
    return sp.csr_array((np.ones(row.size), (number, row)), shape=shape)


@dataclass(frozen=True, slots=True)
class ClassificationMetric:
    """One metric: its definition, and its values from sums, NaN where it is undefined."""

    title: str
    better: Literal["higher", "lower"]
    definition: str
    compute: Callable[[Sums], Float]


def f1(both: Array, given: Array, true: Array) -> Float:
    """2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall; NaN for 0 / 0."""
    return _ratio(2.0 * both, given + true)


def macro(both: Float, given: Float, true: Float) -> Float:
    """Mean F1 over the classes (first axis) that are a true or a given label; NaN for none."""
    occurring = (given + true) > 0
    each = 2.0 * both / np.where(occurring, given + true, 1.0)
    return _ratio(each.sum(axis=0), occurring.sum(axis=0).astype(np.float64))


def _ratio(part: Array, whole: Array) -> Float:
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0))


def _micro_f1(sums: Sums) -> Float:
    return f1(*(sums[name].sum(axis=0) for name in ("both", "given", "true")))


METRICS: dict[MetricId, ClassificationMetric] = {
    "accuracy": ClassificationMetric(
        "Accuracy",
        "higher",
        "Share of rows whose given labels are exactly the true ones.",
        lambda sums: _ratio(sums["exact"][0], sums["rows"][0]),
    ),
    "micro_f1": ClassificationMetric(
        "Micro F1",
        "higher",
        "F1 of all decisions on a row and a class together (thesis, appendix B).",
        _micro_f1,
    ),
    "macro_f1": ClassificationMetric(
        "Macro F1",
        "higher",
        "Mean over classes of their F1 (thesis, appendix B). Only classes that are a true or a "
        "given label of a row count, since F1 is 0 / 0 for others; scikit-learn does the same.",
        lambda sums: macro(sums["both"], sums["given"], sums["true"]),
    ),
    "hierarchical_f1": ClassificationMetric(
        "Hierarchical F1",
        "higher",
        "F1 of all decisions on a row and a node, where a label also gives the row the nodes above "
        "it, without the root (Kiritchenko et al., 2006).",
        lambda sums: _ratio(2.0 * sums["path_both"][0], sums["path_sizes"][0]),
    ),
    "hierarchical_loss": ClassificationMetric(
        "Hierarchical loss",
        "lower",
        "Mean number of edges between the given label and the true one. For several labels the "
        "number of nodes that are on the path to a given or to a true label, but not both.",
        lambda sums: _ratio(sums["path_edges"][0], sums["rows"][0]),
    ),
    "top_k_accuracy": ClassificationMetric(
        "Top-k accuracy",
        "higher",
        "Share of the rows with a label for which a true one is among the `top_k` best classes.",
        lambda sums: _ratio(sums["in_top"][0], sums["in_top_rows"][0]),
    ),
    "log_loss": ClassificationMetric(
        "Log loss",
        "lower",
        "Mean negative log-likelihood of a row's labels, in nats: of its class where each row has "
        "one, else summed over all classes. Probabilities are at least 2.2e-16 from 0 and 1.",
        lambda sums: _ratio(sums["loss"][0], sums["loss_rows"][0]),
    ),
    "expected_calibration_error": ClassificationMetric(
        "Expected calibration error",
        "lower",
        f"Mean gap between the probability of the best class and the share of rows for which it is "
        f"right, over {N_BINS} bins of equal width, each weighted by its rows (Guo et al., 2017).",
        lambda sums: _ratio(np.abs(sums["gap"]).sum(axis=0), sums["rows"][0]),
    ),
}
"""All metrics by id, in the order of display."""
