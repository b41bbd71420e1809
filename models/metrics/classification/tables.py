"""A classifier's F1 by level of the tree, by size of class, by class and by node; its confusions.

Every function gives a table as rows of plain values, None where a value is undefined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from models.arrays import Array, Float, Int
from models.metrics.classification.outcomes import Outcomes
from models.metrics.classification.scores import f1
from models.tree.tree import Tree

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
