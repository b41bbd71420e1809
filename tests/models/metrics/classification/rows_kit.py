"""Rows with true labels and a classifier's answers for them, and the paths to labels by
definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import strategies as st

from models.arrays import Float, Int
from models.inputs.label_sets import LabelSets
from models.method import ClassAnswers, PredictionOptions, Predictions
from models.metrics.classification.evaluation import ClassifierEvaluation, evaluate_classifier
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import random_tree


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A tree whose nodes are named n0, n1, ..., with some leaves as classes.

    labels : of each row; None where they are unknown. A label may be no node at all.
    probability : (n_rows, n_classes). given : (n_rows, n_classes) whether a row gets the class.
    """

    tree: Tree
    class_node: Int
    labels: list[set[str] | None]
    probability: Float
    given: np.ndarray
    one_each: bool

    @cached_property
    def label_sets(self) -> LabelSets:
        return sets_of(self.labels)

    def predict(self, rows: Int, options: PredictionOptions) -> Predictions:
        """The answers for rows, as a classifier gives them."""
        probability = self.probability[rows]
        order = np.argsort(-probability, axis=1, kind="stable")
        codes = [
            [code for code in ranked.tolist() if self.given[row, code]]
            for row, ranked in zip(rows.tolist(), order, strict=True)
        ]
        top = order[:, : min(options.top_k, self.class_node.size)]
        best = np.take_along_axis(probability, top, axis=1)
        classes = ClassAnswers(
            name=self.tree.name[self.class_node].tolist(),
            node=self.class_node,
            start=np.cumsum([0, *map(len, codes)]),
            code=np.array([code for row in codes for code in row], dtype=np.int64),
            top=top,
            score=best,
            probability=best,
            one_each=self.one_each,
            every=probability if options.every else None,
        )
        nothing = np.zeros(0, dtype=np.int64)
        return Predictions(self.class_node[order[:, 0]], nothing, nothing, best, classes=classes)

    def evaluate(self, **options: Any) -> ClassifierEvaluation:
        options = {"bootstrap": 0, **options}
        return evaluate_classifier(self.tree, self.label_sets, self.predict, **options)

    def rows(self, numbers: Int) -> LabelledRows:
        """Some rows, maybe several times."""
        return replace(
            self,
            labels=[self.labels[number] for number in numbers.tolist()],
            probability=self.probability[numbers],
            given=self.given[numbers],
        )

    @cached_property
    def labelled(self) -> list[int]:
        return [row for row, labels in enumerate(self.labels) if labels is not None]

    def path(self, label: str) -> set[str]:
        """The nodes from a label up to below the root."""
        if label.startswith("u"):
            return {label}
        node, nodes = int(label[1:]), set()
        while node > 0:
            nodes.add(f"n{node}")
            node = int(self.tree.parent[node])
        return nodes

    def paths(self, labels: set[str]) -> set[str]:
        return set().union(*map(self.path, labels))

    def true(self, row: int) -> set[str]:
        """The labels of a row without those above another one of it."""
        labels = self.labels[row] or set()
        implied = {"n0"} if len(labels) > 1 else set()
        for label in labels:
            implied |= self.path(label) - {label}
        return labels - implied

    def predicted(self, row: int) -> set[str]:
        return {f"n{node}" for node in self.class_node[self.given[row]].tolist()}


def sets_of(labels: list[set[str] | None]) -> LabelSets:
    names = sorted(set().union(*(row for row in labels if row)))
    number = {name: place for place, name in enumerate(names)}
    codes = [sorted(number[name] for name in row or ()) for row in labels]
    return LabelSets(
        np.cumsum([0, *map(len, codes)]),
        np.array([code for row in codes for code in row], dtype=np.int64),
        names,
        np.array([row is None for row in labels]),
    )


@st.composite
def labelled_rows(draw: st.DrawFn, *, one_each: bool | None = None) -> LabelledRows:
    """Any tree and rows, at least one of them labelled; ties among probabilities.

    one_each : whether every labelled row has exactly one label and gets one; None draws it.
    """
    tree = draw(random_tree(min_leaves=2, max_leaves=8))
    tree = replace(tree, name=np.array([f"n{v}" for v in range(tree.n_nodes)], dtype=object))
    n_classes = draw(st.integers(2, tree.n_leaves))
    class_node = np.sort(draw(st.permutations(tree.leaves.tolist()))[:n_classes])
    n_rows = draw(st.integers(1, 8))
    single = draw(st.booleans()) if one_each is None else one_each
    label = st.sampled_from([*tree.name.tolist(), "u1", "u2"])
    row = st.sets(label, min_size=1, max_size=1) if single else st.sets(label, max_size=4)
    labels: list[set[str] | None] = draw(
        st.lists(st.one_of(st.none(), row, row), min_size=n_rows, max_size=n_rows).filter(any_known)
    )
    weights = draw(
        st.lists(
            st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
    values = np.array(weights, dtype=np.float64)
    if single:
        probability = values / values.sum(axis=1, keepdims=True)
        given = np.arange(n_classes) == probability.argmax(axis=1)[:, None]
    else:
        probability = values / 6.0
        given = probability >= 0.6
    return LabelledRows(tree, class_node.astype(np.int64), labels, probability, given, single)


def any_known(labels: list[set[str] | None]) -> bool:
    return any(row is not None for row in labels)
