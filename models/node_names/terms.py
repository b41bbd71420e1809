"""Terms that tell a node from its siblings and from all other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int, Mask, Matrix
from models.errors import UsageError
from models.inputs.data import require_finite
from models.node_names.joint_terms import MOST_SIBLINGS, N_TERMS, joint_terms
from models.tree.cut import finest_cut, rows_at
from models.tree.tree import Tree
from models.tree.walk import ranks

N_CANDIDATES = 30
"""The terms of the largest weights, of which a node is named by `joint_terms.N_TERMS`."""
MOST_COVERED = 2_000
"""The most rows of a node by which these are chosen, an even share from left to right."""
MOST_CLUSTERS = 256
"""The clusters of the cut into this many, and all nodes above them, are named by terms."""


def distinctive_terms(
    tree: Tree, features: Matrix, terms: Sequence[str], n_clusters: int = MOST_CLUSTERS
) -> dict[int, list[tuple[str, float]]]:
    """The terms, with their weights, that tell nodes from their siblings and all else, best first.

    As `distinctive_columns`. features : (n_points, n_terms), not negative.

    Raises UsageError as `require_terms`. O(nnz + clusters D).
    """
    require_terms(tree, features, terms)
    found = distinctive_columns(tree, presence(features), n_clusters)
    return {
        node: [(terms[column], weight) for column, weight in own] for node, own in found.items()
    }


def require_terms(tree: Tree, features: Matrix, terms: Sequence[str]) -> None:
    """Raises UsageError for another number of terms or points, or a negative feature."""
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


def presence(features: Matrix) -> Matrix:
    """1 where a row has a term. Where more than half of the values are not 0, presence says
    nothing: then the values, in units of their column's mean."""
    if isinstance(features, sp.csr_array):
        n_values = features.shape[0] * features.shape[1]
        if 2 * features.count_nonzero() <= n_values:
            return sp.csr_array(
                ((features.data > 0).astype(np.float64), features.indices, features.indptr),
                shape=features.shape,
            )
        features = features.toarray()
    values = np.asarray(features, dtype=np.float64)
    if 2 * np.count_nonzero(values) <= values.size:
        return (values > 0).astype(np.float64)
    mean = values.mean(axis=0)
    return np.divide(values, mean, out=np.zeros_like(values), where=mean > 0)


def distinctive_columns(
    tree: Tree, present: Matrix, n_clusters: int, rows: Int | None = None
) -> dict[int, list[tuple[int, float]]]:
    """The columns, with their weights, that tell nodes apart, best first.

    With p the share of a node's n rows that have the term, q the mean of this share over its
    siblings, and o the share among all rows outside the node, the weight is

        p log(p / (max(q, o) + 1 / (2 n)))

    so that a term which a sibling has too, or all rows have, counts little (class-based TF-IDF,
    Grootendorst 2022, with shares of rows for counts: a long row counts no more than a short one).
    From the `N_CANDIDATES` with the largest weights the first is taken; then those that, with its
    siblings' names, send most rows to the right sibling (`joint_terms`). Where there is no sibling
    beside it, or there are too many, one by one, as in greedy covering, the one with the
    largest weight where p is the share of rows that have it and none taken before; among equals,
    as where no row is left, the one with the larger weight. So terms that stand in the same rows do
    not say one thing five times. Where values count, each row has each term, and the largest
    weights are taken.
    Nodes below the cut into `n_clusters` clusters, nodes of one point and the root have none.

    present : (n_points, D) as `presence` gives it. rows : that count; None: all.
    O(nnz + clusters (D + values of `MOST_COVERED` rows)).
    """
    weight = np.ones(tree.n_points)
    if rows is not None:
        weight[:] = 0.0
        weight[rows] = 1.0
    sums = node_sums(tree, present, n_clusters, weight)
    size = {node: float(own[0]) for node, own in _sizes(tree, n_clusters, weight).items()}
    below: dict[int, list[int]] = {}
    for node in sums:
        if node and size[node] > 0:
            below.setdefault(int(tree.parent[node]), []).append(node)
    found: dict[int, list[tuple[int, float]]] = {}
    rows_of = _Under.of(tree, np.arange(tree.n_points) if rows is None else rows)
    is_presence = of_presence(present)
    rarity = np.log((1.0 + size[0]) / (1.0 + sums[0])) if is_presence else np.zeros(0)
    for siblings in below.values():
        shares = np.array([sums[node] / size[node] for node in siblings])
        total = shares.sum(axis=0)
        candidates: list[Int] = []
        weight_of: list[Float] = []
        ratio: list[Float] = []
        for place, node in enumerate(siblings):
            p = shares[place]
            beside = (total - p) / max(len(siblings) - 1, 1)
            outside = (sums[0] - sums[node]) / max(size[0] - size[node], 1.0)
            least = np.maximum(np.maximum(beside, outside), 0.0) + 0.5 / size[node]
            own = np.log(np.where(p > 0, p, 1.0) / np.where(p > 0, least, 1.0))
            # Rounding shall not order terms that are equal.
            weights = np.round(p * own, 12)
            best = np.argsort(-weights, kind="stable")[:N_CANDIDATES]
            best = best[(weights[best] > 0) & (tree.size[node] > 1)]
            candidates.append(best)
            weight_of.append(weights[best])
            ratio.append(own[best])
        n_named = sum(own.size > 0 for own in candidates)
        if not is_presence:
            chosen = [own[:N_TERMS].tolist() for own in candidates]
        elif n_named >= 2 and len(siblings) <= MOST_SIBLINGS:
            some = [rows_of(node) for node in siblings]
            sizes = np.array([size[node] for node in siblings])
            chosen = joint_terms(present, some, sizes, candidates, rarity)
        else:
            chosen = [
                _covering(present[rows_of(node)][:, own], own, each) if own.size else []
                for node, own, each in zip(siblings, candidates, ratio, strict=True)
            ]
        for node, columns, own, weights in zip(
            siblings, chosen, candidates, weight_of, strict=True
        ):
            if columns:
                known = dict(zip(own.tolist(), weights.tolist(), strict=True))
                found[node] = [(column, known[column]) for column in columns]
    return found


def of_presence(present: Matrix) -> bool:
    """Whether all values are 0 and 1, not values that count."""
    data = present if isinstance(present, np.ndarray) else present.data
    return bool(((data == 0) | (data == 1)).all())


def _covering(own: Any, columns: Int, ratio: Float) -> list[int]:
    """The columns, at most `N_TERMS`, in the order in which they are taken: from the second on the
    one with the largest gain among rows that have none so far.

    own : (n_rows, n_columns) values, the columns by falling weight. ratio : (n_columns,) above 0.
    """
    has: Mask = (own if isinstance(own, np.ndarray) else own.toarray()) > 0
    free = np.ones(len(has), dtype=bool)
    taken: list[int] = []
    while len(taken) < min(N_TERMS, ratio.size):
        gain = np.round(has[free].sum(axis=0) * ratio, 9)
        gain[taken] = -1.0
        # The first of all is the one with the largest weight, also where not all rows are seen.
        column = int(np.argmax(gain)) if taken else 0
        taken.append(column)
        free &= ~has[:, column]
    chosen: list[int] = columns[taken].tolist()
    return chosen


@dataclass(frozen=True, slots=True)
class _Under:
    """rows : from left to right in the tree. rank : (n_rows,) of their leaves, in preorder.
    first, weight : (n_nodes,) the rank of each node and how many nodes are at or under it."""

    rows: Int
    rank: Int
    first: Int
    weight: Int

    @classmethod
    def of(cls, tree: Tree, rows: Int) -> _Under:
        first, weight = ranks(tree.parent)
        rank = first[tree.leaf_of_point[rows]]
        order = np.argsort(rank, kind="stable")
        return cls(rows[order], rank[order], first, weight)

    def __call__(self, node: int) -> Int:
        """At most `MOST_COVERED` rows under a node."""
        ends = np.array([self.first[node], self.first[node] + self.weight[node]])
        start, stop = np.searchsorted(self.rank, ends).tolist()
        n = min(stop - start, MOST_COVERED)
        return self.rows[np.linspace(start, stop, n, endpoint=False).astype(np.int64)]


def _sizes(tree: Tree, n_clusters: int, weight: Float) -> dict[int, npt.NDArray[np.float64]]:
    return node_sums(tree, np.ones((tree.n_points, 1)), n_clusters, weight)


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


def node_sums(
    tree: Tree, features: Matrix, n_clusters: int, weight: Float | None = None
) -> dict[int, npt.NDArray[np.float64]]:
    """The sum of the features over the points of each node of the cut into `n_clusters` clusters,
    and of all nodes above them.

    weight : (n_points,) how much each point counts; None: 1. O(nnz + clusters D).
    """
    parts = finest_cut(tree, n_clusters).cover
    n = tree.n_points
    counted = np.ones(n) if weight is None else weight
    member = sp.csr_array((counted, (rows_at(tree, parts), np.arange(n))), shape=(parts.size, n))
    sums = member @ features
    return above(tree, parts, sums)


def above(tree: Tree, parts: Int, sums: Matrix) -> dict[int, npt.NDArray[np.float64]]:
    """The sums of disjoint nodes that cover a tree, and of all nodes above them.

    parts : (P,) these nodes. sums : (P, D). O(nodes D).
    """
    by_node: dict[int, npt.NDArray[np.float64]] = {}
    for place, node in enumerate(parts.tolist()):
        row = sums[place] if isinstance(sums, np.ndarray) else sums[[place]].toarray()[0]
        by_node[node] = np.asarray(row, dtype=np.float64)
    higher: set[int] = set()
    for node in by_node:
        at = int(tree.parent[node])
        while at >= 0 and at not in higher:
            higher.add(at)
            at = int(tree.parent[at])
    by_node.update((node, np.zeros(sums.shape[1])) for node in higher)
    # Children come after their parents.
    for node in sorted(by_node, reverse=True):
        if node:
            by_node[int(tree.parent[node])] += by_node[node]
    return by_node
