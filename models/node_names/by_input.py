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
import scipy.sparse as sp
from pydantic import Field, model_validator

from models.arrays import Matrix
from models.errors import UsageError
from models.inputs.data import require_finite
from models.inputs.label_sets import LabelSets
from models.method import Input
from models.parameters import Exact
from models.tree.cut import finest_cut, rows_at
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

MOST_CLUSTERS = 256
"""The clusters of the cut into this many, and all nodes above them, are named by terms."""

N_TERMS = 3
N_NAMED = 3
"""The points after which a leaf of several is named."""

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

    It gets the columns `label` and `label_share` (None and NaN for nodes without points).

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
    for node, (own, share) in enumerate(zip(label.tolist(), report.purity.tolist(), strict=True)):
        if own is None or node in noise or (keep_leaves and not tree.n_children[node]):
            continue
        # Rounded down: 100% is all.
        name[node] = own if share == 1.0 else f"{own} ({int(100 * share)}%)"
    return replace(
        tree, name=name, extra={**tree.extra, "label": label, "label_share": report.purity}
    )


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


def distinctive_terms(
    tree: Tree, features: Matrix, terms: Sequence[str], n_clusters: int = MOST_CLUSTERS
) -> dict[int, list[tuple[str, float]]]:
    """The terms, with their weights, that tell nodes from the whole, best first.

    The weight of a term in a node is its share of the node's counts times the logarithm of the
    ratio of that share to its share of all counts: its contribution to the divergence of the node
    from the whole. Nodes below the cut into `n_clusters` clusters, nodes of one point and the root,
    which is the whole, have none.

    features : (n_points, n_terms), not negative.

    Raises UsageError for another number of terms or points, or a negative feature.
    O(nnz + clusters D).
    """
    if features.shape[1] != len(terms):
        raise UsageError(
            f"Input 'feature_names' has {len(terms)} names; the features have "
            f"{features.shape[1]} columns.",
            code="wrong-shape",
            role="feature_names",
        )
    require_points(tree, features)
    values = np.asarray(features.data) if isinstance(features, sp.csr_array) else features
    if values.size and values.min() < 0:
        raise UsageError(
            "Naming nodes by terms needs features that are counts or weights, none negative.",
            code="wrong-input",
            role="features",
        )
    by_node = node_sums(tree, features, n_clusters)
    whole = by_node[0]
    share = whole / max(whole.sum(), 1e-300)
    found: dict[int, list[tuple[str, float]]] = {}
    for node, counts in by_node.items():
        if not node or tree.size[node] < 2 or not counts.sum() > 0:
            continue
        own = counts / counts.sum()
        ratio = np.divide(own, share, out=np.ones_like(own), where=share > 0)
        weight = own * np.log(np.maximum(ratio, 1e-300))
        best = np.argsort(-weight, kind="stable")[:N_TERMS].tolist()
        if best := [place for place in best if weight[place] > 0]:
            found[node] = [(terms[place], float(weight[place])) for place in best]
    return found


def require_points(tree: Tree, features: Matrix) -> None:
    """Raises UsageError unless there is a row of finite features for each point of the tree."""
    if features.shape[0] != tree.n_points:
        raise UsageError(
            f"Input 'features' has {features.shape[0]} rows, the tree {tree.n_points} points: "
            "naming nodes needs the features of all points, so it is not possible in a job that "
            "continues an earlier one.",
            code="wrong-length",
            role="features",
        )
    require_finite(features, "features")


def node_sums(tree: Tree, features: Matrix, n_clusters: int) -> dict[int, npt.NDArray[np.float64]]:
    """The sum of the features over the points of each node of the cut into `n_clusters` clusters,
    and of all nodes above them. O(nnz + clusters D)."""
    parts = finest_cut(tree, n_clusters).cover
    n = tree.n_points
    member = sp.csr_array((np.ones(n), (rows_at(tree, parts), np.arange(n))), shape=(parts.size, n))
    sums = member @ features
    by_node: dict[int, npt.NDArray[np.float64]] = {}
    for place, node in enumerate(parts.tolist()):
        row = sums[[place]].toarray()[0] if sp.issparse(sums) else sums[place]
        by_node[node] = np.asarray(row, dtype=np.float64)
    above: set[int] = set()
    for node in by_node:
        at = int(tree.parent[node])
        while at >= 0 and at not in above:
            above.add(at)
            at = int(tree.parent[at])
    by_node.update((node, np.zeros(features.shape[1])) for node in above)
    # Children come after their parents.
    for node in sorted(by_node, reverse=True):
        if node:
            by_node[int(tree.parent[node])] += by_node[node]
    return by_node


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
        description="`labels`: the largest class of the rows. `terms`: the words or counted "
        "features that a node has more of than the whole. `items`: the names of the rows nearest "
        "to the mean. `features`: the features in which a node differs most from its siblings. "
        "`model`: a language model phrases names from the `evidence`, where the operator has set "
        "one; the evidence is sent to it.",
    )
    evidence: By | None = Field(
        None, description="For `model`: what it receives about each node; `terms` by default."
    )
    n_clusters: int = Field(
        256,
        ge=2,
        le=4096,
        description="The clusters of the cut into this many are named, and all nodes above them.",
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
