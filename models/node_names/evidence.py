"""What there is to say of the nodes of a tree, and the names that it makes.

The nodes are the clusters of a cut into `n_clusters`, and all above them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models.arrays import Matrix
from models.errors import UsageError
from models.inputs.data import Data, Value, as_matrix
from models.inputs.rows import Rows
from models.metrics.nodes import report_on_nodes
from models.node_names.by_input import NEEDED, By, by_labels, says_little
from models.node_names.differences import distinctive_features, side_of
from models.node_names.questions import Question, of_features, of_terms, questions
from models.node_names.routing import Routed, TermsOf, by_terms, routed, terms_of
from models.node_names.terms import presence, require_points, require_terms
from models.node_names.word_forms import word_forms
from models.preprocess.inputs import fit_inputs
from models.tree.cut import finest_cut
from models.tree.tree import Tree

N_ITEMS = 3
_WORDS = ({"step": "words"},)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found for nodes.

    name : the name that it makes, by node. detail : the same with its numbers, for readers.
    warnings : one sentence each. routed : how well names by terms tell siblings apart; None for
    other names. questions : by node, whether a row of its parent lies under it; of terms and
    features.
    """

    name: Mapping[int, str]
    detail: Mapping[int, str]
    warnings: tuple[str, ...] = ()
    routed: Routed | None = None
    questions: Mapping[int, Question] = field(default_factory=dict)


def evidence(tree: Tree, by: By, values: Mapping[str, Value], n_clusters: int) -> Evidence:
    """What the rows under nodes have in common, or tells them apart.

    values : the inputs that `NEEDED` names, a value for each point of the tree.

    Raises UsageError for an input that is missing, or does not fit the tree.
    """
    values = dict(values)
    warnings: tuple[str, ...] = ()
    if by == "terms" and "documents" in values:
        preparation, prepared, notes = fit_inputs(_WORDS, {"documents": values["documents"]}, 0)
        values |= preparation.with_words({}, prepared)
        warnings = tuple(notes)
    missing = [role for role in NEEDED[by] if role not in values]
    if missing:
        raise UsageError(
            f"Naming by {by} needs the input {missing[0]!r}, one for each row of the tree"
            + (", or 'documents' in place of features and their names." if by == "terms" else "."),
            code="wrong-input",
            role=missing[0],
        )
    found = _FINDERS[by](tree, values, n_clusters)
    return replace(found, warnings=(*warnings, *found.warnings))


def _labels(tree: Tree, values: Mapping[str, Value], n_clusters: int) -> Evidence:
    labels: Any = values["labels"]
    named = by_labels(tree, labels)
    label, share = named.extra["label"], named.extra["label_share"]
    labelled = [node for node in _nodes(tree, n_clusters) if label[node] is not None]
    little = says_little(tree, label, share)
    nodes = [node for node in labelled if not little[node]]
    kept = len(labelled) - len(nodes)
    return Evidence(
        {node: named.name[node] for node in nodes},
        {node: f"{100 * share[node]:.3g}% {label[node]}" for node in nodes},
        (
            f"The labels are the names of the leaves: {kept} of {len(labelled)} nodes, in which no "
            "class has half of the rows, keep their names. Labels of groups of classes name more.",
        )
        if kept
        else (),
    )


def _terms(tree: Tree, values: Mapping[str, Value], n_clusters: int) -> Evidence:
    terms = [str(term) for term in _texts(values["feature_names"])]
    features = _matrix(values["features"])
    require_terms(tree, features, terms)
    best = _Named.by(tree, features, n_clusters)
    shown = terms
    forms = word_forms(features, terms) if "documents" in values else None
    if forms is not None:
        together = _Named.by(tree, forms.features, n_clusters)
        if together.share > best.share:
            best, terms, shown = together, forms.words, forms.shown
    found = best.names_by(np.arange(tree.n_points))
    name = {node: ", ".join(terms[column] for column, _ in own) for node, own in found.items()}
    detail = {
        node: ", ".join(f"{shown[column]} ({weight:.3g})" for column, weight in own)
        for node, own in found.items()
    }
    verb = "mentions" if "documents" in values else "has"
    return Evidence(
        name,
        detail,
        routed=best.routed,
        questions=questions(tree, n_clusters, of_terms(best.present, terms, best.names_by, verb)),
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """Names by terms, and how many rows they lead to the right child."""

    present: Matrix
    names_by: TermsOf
    routed: Routed | None

    @classmethod
    def by(cls, tree: Tree, features: Matrix, n_clusters: int) -> _Named:
        present = presence(features)
        names_by = terms_of(tree, present, n_clusters)
        return cls(present, names_by, routed(tree, n_clusters, by_terms(present, names_by)))

    @property
    def share(self) -> float:
        return self.routed.share if self.routed is not None else 0.0


def _items(tree: Tree, values: Mapping[str, Value], n_clusters: int) -> Evidence:
    items, features = _texts(values["names"]), _matrix(values["features"])
    require_points(tree, features)
    if len(items) != tree.n_points:
        raise UsageError(
            f"Input 'names' has {len(items)} names, the tree {tree.n_points} points; each needs "
            "one.",
            code="wrong-length",
            role="names",
        )
    report = report_on_nodes(tree, features=features, n_exemplars=N_ITEMS)
    if report.exemplars is None:
        return Evidence({}, {}, report.warnings)
    name, detail = {}, {}
    for node in _nodes(tree, n_clusters):
        rows = [row for row in report.exemplars[node].tolist() if row >= 0]
        if rows:
            name[node] = ", ".join(dict.fromkeys(items[row] for row in rows))
            detail[node] = f"{name[node]} (of {tree.size[node]})"
    return Evidence(name, detail, report.warnings)


def _features(tree: Tree, values: Mapping[str, Value], n_clusters: int) -> Evidence:
    features = _matrix(values["features"])
    require_points(tree, features)
    given = values.get("feature_names")
    names = (
        [f"feature {number}" for number in range(features.shape[1])]
        if given is None
        else _texts(given)
    )
    if len(names) != features.shape[1]:
        raise UsageError(
            f"Input 'feature_names' has {len(names)} names; the features have "
            f"{features.shape[1]} columns.",
            code="wrong-shape",
            role="feature_names",
        )
    name, detail = {}, {}
    differ = distinctive_features(tree, features, n_clusters)
    for node, found in differ.items():
        name[node] = ", ".join(f"{side_of(effect)} {names[column]}" for column, effect in found)
        detail[node] = ", ".join(
            f"{names[column]} {effect:+.2g} standard deviations from its siblings"
            for column, effect in found
        )
    made = questions(tree, n_clusters, of_features(features, names, differ))
    return Evidence(name, detail, questions=made)


_FINDERS: dict[By, Callable[[Tree, Mapping[str, Value], int], Evidence]] = {
    "labels": _labels,
    "terms": _terms,
    "items": _items,
    "features": _features,
}


def _nodes(tree: Tree, n_clusters: int) -> list[int]:
    """The nodes of the cut and all above them, without noise."""
    wanted = np.zeros(tree.n_nodes, dtype=bool)
    for node in finest_cut(tree, n_clusters).nodes.tolist():
        while node >= 0 and not wanted[node]:
            wanted[node] = True
            node = int(tree.parent[node])
    return np.flatnonzero(wanted).tolist()


def _matrix(value: Any) -> Matrix:
    if isinstance(value, tuple):
        value = value[0]
    if isinstance(value, Rows):
        value = value.values(0, value.shape[0])
    return Data({"features": as_matrix(value)}).matrix("features")


def _texts(value: Any) -> Sequence[str]:
    return [str(each) for each in value]
