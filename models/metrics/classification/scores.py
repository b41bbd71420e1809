"""The metrics of a classifier, each a function of sums over rows, and its tables.

So a metric on resampled rows is the same function of weighted sums, and all sums for many
resamples are one product of a sparse matrix with their weights.

A table is F1 by level of the tree, by size of class, by class or by node, or the confusions, as
rows of plain values, None where a value is undefined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float, Int
from models.metrics.classification.outcomes import Outcomes
from models.tree.tree import Tree

MetricId: TypeAlias = Literal[
    "accuracy",
    "micro_f1",
    "macro_f1",
    "hierarchical_f1",
    "hierarchical_loss",
    "top_k_accuracy",
    "log_loss",
    "expected_calibration_error",
    "precision_at_k",
    "r_precision",
    "propensity_precision_at_k",
]
METRIC_IDS: tuple[MetricId, ...] = get_args(MetricId)
OF_TOP_K: frozenset[MetricId] = frozenset(
    {"top_k_accuracy", "precision_at_k", "propensity_precision_at_k"}
)
"""Metrics that look at the `top_k` best classes."""
RANKED: frozenset[MetricId] = frozenset(
    {"precision_at_k", "r_precision", "propensity_precision_at_k"}
)
"""Metrics for rows of several labels, made on request only."""

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

    @property
    def arrays(self) -> dict[str, Array]:
        """All of it, as `of` reads it."""
        matrix = self.matrix
        own = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        ends = {f"part.{name}": np.array([x.start, x.stop]) for name, x in self.parts.items()}
        shape = np.array(matrix.shape)
        return {**own, "shape": shape, "class_node": self.class_node, **ends}

    @classmethod
    def of(cls, arrays: Arrays) -> Statistics:
        matrix = sp.csr_array(
            (arrays["data"], arrays["indices"], arrays["indptr"]),
            shape=tuple(arrays["shape"].tolist()),
        )
        ends = {
            name.removeprefix("part."): slice(*array.tolist())
            for name, array in arrays.items()
            if name.startswith("part.")
        }
        return cls(matrix, ends, arrays["class_node"])

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
    if outcome.ranked is not None:
        ranked = outcome.ranked
        stacked |= {
            "ranked_rows": _one(labelled),
            "hits": _one(np.where(labelled, ranked.hits, 0.0)),
            "r_hits": _one(np.where(labelled, ranked.r_hits, 0.0)),
            "gain": _one(ranked.gain),
            "ideal": _one(ranked.ideal),
        }
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


def inverse_propensities(n_training: Array, n_rows: float) -> Float:
    """1 / p of labels by their numbers of training rows, of n_rows; Jain et al. (2016), (2), with
    A = .55 and B = 1.5."""
    a, b = 0.55, 1.5
    c = max(np.log(max(n_rows, 1.0)) - 1.0, 0.0) * (b + 1.0) ** a
    return np.asarray(1.0 + c * (n_training + b) ** -a)


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
    "precision_at_k": ClassificationMetric(
        "Precision at k",
        "higher",
        "Mean share of the `top_k` best classes (of all classes, where there are fewer) that are "
        "true labels, over the rows with a label (P@k). On request.",
        lambda sums: _ratio(sums["hits"][0], sums["ranked_rows"][0]),
    ),
    "r_precision": ClassificationMetric(
        "R-precision",
        "higher",
        "Mean share of the R best classes of a row with R labels that are among these, over the "
        "rows with a label. On request.",
        lambda sums: _ratio(sums["r_hits"][0], sums["ranked_rows"][0]),
    ),
    "propensity_precision_at_k": ClassificationMetric(
        "Propensity-scored precision at k",
        "higher",
        "Precision at k with rare labels weighing more: the sum of 1 / p over the true labels "
        "among the `top_k` best, by the largest sum that is possible. p = 1 / (1 + C (n + 1.5)"
        "^-0.55), with C = (log N - 1) 2.5^0.55, for a label with n of N training rows (PSP@k; "
        "Jain et al., 2016, with its standard constants; C is at least 0). On request.",
        lambda sums: _ratio(sums["gain"][0], sums["ideal"][0]),
    ),
}
"""All metrics by id, in the order of display."""


TableId: TypeAlias = Literal["level", "class_size", "class", "confusions", "node"]
TABLE_IDS: tuple[TableId, ...] = get_args(TableId)
DEFAULT_TABLES: tuple[TableId, ...] = ("level", "class_size", "class", "confusions")
TableRows: TypeAlias = "list[dict[str, Any]]"

SIZES = (1, 6, 11, 21, 51, 101)
"""The smallest number of training examples in each bin of classes (thesis, table 3.7)."""
MOST_CONFUSIONS = 100
MOST_PARTS = 32
"""Names in a path that stands for a node."""


def table(name: TableId, outcome: Outcomes, training: Int, class_node: Int) -> TableRows:
    """One of the tables below.

    training : (n_nodes,) training examples of each node of the classifier's tree.
    class_node : (n_classes,) its classes.
    """
    if name == "level":
        return by_level(outcome)
    if name == "confusions":
        return confusions(outcome)
    if name == "node":
        return by_node(outcome)
    counts = ClassCounts(outcome, training, class_node)
    return counts.by_size() if name == "class_size" else counts.by_class()


def by_level(outcome: Outcomes) -> TableRows:
    """For each level, F1 over its nodes; the level is the number of edges to the root.

    A row counts for every node on the paths to its labels, true or given (table 3.6 of the
    thesis, whose level 1 is level 0 here). `n_nodes` counts the nodes of the tree, `n_occurring`
    the nodes that the means are over. `support` is the number of pairs of a row and a node on a
    true path.
    """
    both, given, true = _through(outcome)
    truth = outcome.truth
    depth = truth.tree.depth
    n_levels = int(depth.max()) + 1
    columns = {
        "level": list(range(n_levels)),
        "n_nodes": np.bincount(depth[: truth.n_known], minlength=n_levels).tolist(),
        **_grouped(depth, n_levels, both, given, true),
    }
    return _rows(columns)


def by_node(outcome: Outcomes) -> TableRows:
    """For each node of the classifier's tree precision, recall and F1 of the paths through it.

    `support` is the number of rows with a true label at or below the node, `n_given` of those that
    were given one there; so 1 - recall is the share of its rows that went wrong at its level or
    above. The means of F1 over the nodes of a level equal `by_level`.
    """
    known = slice(outcome.truth.n_known)
    both, given, true = (counts[known] for counts in _through(outcome))
    columns = {
        "node": list(range(both.size)),
        "level": outcome.truth.tree.depth[known].tolist(),
        **_rates(both, given, true),
    }
    return _rows(columns)


def _through(outcome: Outcomes) -> tuple[Int, Int, Int]:
    """(n_nodes,) rows whose true and given paths lead through a node: both, given, true."""
    truth = outcome.truth
    true, given = truth.sets.n_through, outcome.given.n_through
    both = true + given - truth.sets.union(outcome.given).n_through
    return both, given, true


class ClassCounts:
    """How often each class was right, given and true.

    The classes are the classifier's, then all other true labels, which have no training examples.
    """

    def __init__(self, outcome: Outcomes, training: Int, class_node: Int) -> None:
        true, given = outcome.truth.sets, outcome.given
        n_nodes = outcome.truth.tree.n_nodes
        self._tree = outcome.truth.tree
        self._n_known = outcome.truth.n_known
        others = np.setdiff1d(true.node, class_node)
        self.node = np.concatenate([class_node, others])
        self.training = np.zeros(self.node.size, dtype=np.int64)
        self.training[: class_node.size] = training[class_node]
        hits = true.node[given.has(true.row, true.node)]
        self.both, self.given, self.true = (
            np.bincount(node, minlength=n_nodes)[self.node]
            for node in (hits, given.node, true.node)
        )

    def by_class(self) -> TableRows:
        """For each class precision, recall and F1.

        `support` is the number of rows with this true label, `n_given` of those that were given
        it. `node` is null for a label that is no node of the tree.
        """
        known = self.node < self._n_known
        columns = {
            "label": labels_of(self._tree, self.node),
            "node": _or_none(self.node, known),
            "training_examples": self.training.tolist(),
            **_rates(self.both, self.given, self.true),
        }
        return _rows(columns)

    def by_size(self) -> TableRows:
        """F1 over classes of about as many training examples (table 3.7 of the thesis).

        A bin `0` is there where a true label has none. `n_classes` are all classes of the bin,
        `n_occurring` those that the means are over.
        """
        size = np.searchsorted(SIZES, self.training, side="right")
        n_bins = len(SIZES) + 1
        ends = [f"{first}-{stop - 1}" for first, stop in pairwise(SIZES)]
        columns = {
            "training_examples": ["0", *ends, f">{SIZES[-1] - 1}"],
            "n_classes": np.bincount(size, minlength=n_bins).tolist(),
            **_grouped(size, n_bins, self.both, self.given, self.true),
        }
        rows = _rows(columns)
        return rows if rows[0]["n_classes"] else rows[1:]


def confusions(outcome: Outcomes, most: int = MOST_CONFUSIONS) -> TableRows:
    """The most frequent pairs of a true label that was missed and the label given instead.

    That is the most probable one of the row's wrong labels; None where none is wrong. Each missed
    label of a row counts. `true_node` is None for a label that is no node of the tree.
    """
    truth, given = outcome.truth, outcome.given
    n_nodes = truth.tree.n_nodes
    missed = ~given.has(truth.sets.row, truth.sets.node)
    wrong = ~truth.sets.has(outcome.row, outcome.node)
    first_row, first = np.unique(outcome.row[wrong], return_index=True)
    instead = np.full(outcome.n_rows, n_nodes)
    instead[first_row] = outcome.node[wrong][first]
    row, node = truth.sets.row[missed], truth.sets.node[missed]
    pair, count = np.unique(node * (n_nodes + 1) + instead[row], return_counts=True)
    order = np.argsort(-count, kind="stable")[:most]
    true, predicted = np.divmod(pair[order], n_nodes + 1)
    named = predicted < n_nodes
    shown = np.full(predicted.size, None, dtype=object)
    shown[named] = labels_of(truth.tree, predicted[named])
    columns = {
        "true": labels_of(truth.tree, true),
        "true_node": _or_none(true, true < truth.n_known),
        "predicted": shown.tolist(),
        "predicted_node": _or_none(predicted, named),
        "count": count[order].tolist(),
    }
    return _rows(columns)


def labels_of(tree: Tree, node: Int) -> list[str]:
    """The names of nodes; the path of names, without the root's, where a name occurs twice.

    Only the end of a path longer than `MOST_PARTS` is given. O(n_nodes + n MOST_PARTS).
    """
    names = [name or "" for name in tree.name.tolist()]
    times = Counter(names)
    text = [names[at] for at in node.tolist()]
    open_ends = [place for place, name in enumerate(text) if times[name] > 1]
    at = node.copy()
    for _ in range(MOST_PARTS - 1):
        at[open_ends] = tree.parent[at[open_ends]]
        open_ends = [place for place in open_ends if at[place] > 0]
        for place in open_ends:
            text[place] = f"{names[at[place]]}/{text[place]}"
    return text


def _grouped(
    group: Int, n_groups: int, both: Int, given: Int, true: Int
) -> dict[str, list[float | None]]:
    """F1 over the nodes of each group, with what it is over."""
    whole = given + true

    def sums(values: Array) -> Array:
        return np.bincount(group, values, minlength=n_groups)

    n_occurring = sums(whole > 0)
    each = np.where(whole > 0, f1(both, given, true), 0.0)
    return {
        "n_occurring": n_occurring.astype(np.int64).tolist(),
        "support": sums(true).astype(np.int64).tolist(),
        "macro_f1": _numbers(_share(sums(each), n_occurring)),
        "micro_f1": _numbers(f1(sums(both), sums(given), sums(true))),
    }


def _rates(both: Int, given: Int, true: Int) -> dict[str, list[float | None]]:
    return {
        "support": true.tolist(),
        "n_given": given.tolist(),
        "precision": _numbers(_share(both, given)),
        "recall": _numbers(_share(both, true)),
        "f1": _numbers(f1(both, given, true)),
    }


def _share(part: Array, whole: Array) -> Float:
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


def _numbers(values: Float) -> list[float | None]:
    return _or_none(values, ~np.isnan(values))


def _or_none(values: Array, present: Array) -> list[Any]:
    shown = values.astype(object)
    shown[~present] = None
    items: list[Any] = shown.tolist()
    return items


def _rows(columns: Mapping[str, list[Any]]) -> TableRows:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
