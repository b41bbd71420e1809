"""The terms on which nodes are named, and names by an input.

A job names nodes after their points: by their names, their largest class, or their distinctive
terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from models.arrays import Matrix
from models.inputs.label_sets import LabelSets
from models.method import Input
from models.node_names.terms import distinctive_terms
from models.parameters import Exact
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

N_NAMED = 3
"""The points after which a leaf of several is named."""
MOST = 0.5
"""The share of a class that is most of a node."""

POINT_NAMES = Input(
    required=False,
    fit_only=True,
    one_per="row",
    description="One name per point. A leaf of several points is named after the first three of "
    "them.",
)
"""The input `names` of methods whose leaves hold several points."""


def by_points(tree: Tree, names: Sequence[str] | None) -> Tree:
    """The tree with each leaf named after its points: by the name of its only point, or by the
    names of the first few, by row, and the number of the others.

    names : (n_points,); None leaves the tree unchanged. Leaves without points, and leaves of noise,
        keep their names. O(n_points log n_points).
    """
    if names is None:
        return tree
    order = np.argsort(tree.leaf_of_point, kind="stable")
    leaves, first = np.unique(tree.leaf_of_point[order], return_index=True)
    name, noise = tree.name.copy(), set(noise_leaves(tree).tolist())
    ends = [*first[1:].tolist(), order.size]
    for leaf, start, end in zip(leaves.tolist(), first.tolist(), ends, strict=True):
        if leaf in noise:
            continue
        shown = ", ".join(names[row] for row in order[start : min(end, start + N_NAMED)].tolist())
        more = end - start - N_NAMED
        name[leaf] = f"{shown} and {more} more" if more > 0 else shown
    return replace(tree, name=name)


def by_labels(
    tree: Tree, labels: npt.NDArray[Any] | Sequence[Any] | LabelSets, keep_leaves: bool = False
) -> Tree:
    """The tree with each node named by the largest class of its points, and its share in percent if
    not all points are of it.

    It gets the columns `label` and `label_share` (None and NaN for nodes without points). Nodes
    that `says_little` finds keep their names: one of many classes says nothing of them.

    labels : (n_points,) as for an evaluation. keep_leaves : leaves keep their names; leaves of
        noise always do.

    Raises UsageError for labels that do not fit. O(N log N).
    """
    from models.metrics.nodes import report_on_nodes

    report = report_on_nodes(tree, labels=labels)
    assert report.class_name is not None
    assert report.majority is not None
    assert report.purity is not None
    classes = np.array([*map(str, report.class_name), None], dtype=object)
    label = classes[report.majority]
    name, noise = tree.name.copy(), set(noise_leaves(tree).tolist())
    kept = says_little(tree, label, report.purity)
    for node, (own, share) in enumerate(zip(label.tolist(), report.purity.tolist(), strict=True)):
        if own is None or node in noise or (keep_leaves and not tree.n_children[node]):
            continue
        if kept[node]:
            continue
        # Rounded down: 100% is all.
        name[node] = own if share == 1.0 else f"{own} ({int(100 * share)}%)"
    return replace(
        tree, name=name, extra={**tree.extra, "label": label, "label_share": report.purity}
    )


def says_little(
    tree: Tree, label: npt.NDArray[np.object_], share: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """The inner nodes of which no class has half of the points, in a tree most of whose leaves have
    the name of their largest class.

    label, share : (n_nodes,) the largest class of each node, and its share. O(n_nodes).
    """
    is_leaf = tree.n_children == 0
    is_of_classes = np.mean(label[is_leaf] == tree.name[is_leaf]) > MOST
    return ~is_leaf & (share < MOST) if is_of_classes else np.zeros(tree.n_nodes, dtype=np.bool_)


def by_terms(tree: Tree, features: Matrix, terms: Sequence[str], keep_leaves: bool = False) -> Tree:
    """The tree with nodes named by their `distinctive_terms`, and the column `terms`; leaves of
    noise keep their names.

    Raises UsageError as `distinctive_terms`. O(nnz + clusters D).
    """
    name, node_terms = tree.name.copy(), np.full(tree.n_nodes, None, dtype=object)
    noise = set(noise_leaves(tree).tolist())
    for node, weighted in distinctive_terms(tree, features, terms).items():
        node_terms[node] = [term for term, _ in weighted]
        if node not in noise and not (keep_leaves and not tree.n_children[node]):
            name[node] = ", ".join(node_terms[node])
    return replace(tree, name=name, extra={**tree.extra, "terms": node_terms})


By = Literal["labels", "terms", "items", "features"]
"""What names are made of."""

NEEDED: dict[By, tuple[str, ...]] = {
    "labels": ("labels",),
    "terms": ("features", "feature_names"),
    "items": ("features", "names"),
    "features": ("features",),
}
"""The inputs that each needs; of terms, `documents` in place of both."""


class NamingTerms(Exact):
    """What nodes are named by, and how many."""

    by: By | Literal["model"] = Field(
        description="`labels`: the largest class. `terms`: words or counted features that others "
        "lack. `items`: rows nearest to the mean. `features`: those in which siblings differ. "
        "`model`: the operator's language model phrases the `evidence`, which is sent to it.",
    )
    evidence: By | None = Field(
        None, description="For `model`: what it receives about each node; `terms` by default."
    )
    n_clusters: int = Field(
        256,
        ge=2,
        le=4096,
        description="The clusters of the cut into so many are named, and all nodes above.",
    )

    @model_validator(mode="after")
    def _evidence_of_a_model(self) -> NamingTerms:
        if self.by != "model" and self.evidence is not None:
            raise ValueError("evidence is that of a model: give `by` model too")
        return self

    @property
    def found_by(self) -> By:
        """What the evidence is made of."""
        if self.by == "model":
            return self.evidence or "terms"
        return self.by
