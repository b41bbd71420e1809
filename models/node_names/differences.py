"""Features in which a node differs most from its siblings, and clusters described by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Matrix
from models.inputs.rows import Rows
from models.node_names.terms import MOST_CLUSTERS, above
from models.tree.cluster_names import DISTINCTIVE, is_number
from models.tree.cut import finest_cut, rows_at
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

N_FEATURES = 3
LEAST_EFFECT = 0.5
"""Standard deviations by which a feature must differ to be named."""
_BLOCK = 1 << 21
"""Values that are read at a time."""
_MOST_SUMS = 1 << 23
"""Features times clusters that are summed unasked, after a fit: of wide rows fewer clusters."""


def distinctive_features(
    tree: Tree, features: Matrix | Rows, n_clusters: int = MOST_CLUSTERS
) -> dict[int, list[tuple[int, float]]]:
    """The columns, at most `N_FEATURES`, in which each node differs most from its siblings, and by
    how much: the difference of the means, in standard deviations within both.

    To their variance a quarter of that of all rows is added: a feature that hardly varies near a
    node would otherwise be named for a difference of no size (Tusher, Tibshirani and Chu,
    "Significance analysis of microarrays", 2001).

    features : (n_points, D), a row for each point. The nodes of the cut into `n_clusters` clusters
    and all above them; those that differ in nothing are left out. O(n_points D + clusters D), read
    by blocks of rows.
    """
    sums, squares = _moments(tree, features, n_clusters)
    whole = np.maximum(squares[0] / tree.n_points - (sums[0] / tree.n_points) ** 2, 0.0)
    found: dict[int, list[tuple[int, float]]] = {}
    for node in sums:
        parent = int(tree.parent[node])
        n_own = int(tree.size[node])
        n_rest = int(tree.size[parent]) - n_own if node else 0
        if not n_own or not n_rest:
            continue
        rest = sums[parent] - sums[node]
        apart = sums[node] / n_own - rest / n_rest
        within = (squares[parent] - sums[node] ** 2 / n_own - rest**2 / n_rest) / tree.size[parent]
        deviation = np.sqrt(np.maximum(within, 0.0) + whole / 4)
        effect = np.divide(apart, deviation, out=np.zeros(apart.size), where=deviation > 0)
        best = np.argsort(-np.abs(effect), kind="stable")[:N_FEATURES].tolist()
        if best := [column for column in best if abs(effect[column]) >= LEAST_EFFECT]:
            found[node] = [(column, float(effect[column])) for column in best]
    return found


def side_of(effect: float) -> str:
    """In words, how a node differs from its siblings in a feature."""
    return "high" if effect > 0 else "low"


def described(tree: Tree, features: Matrix | Rows | None, names: Sequence[str] | None) -> Tree:
    """The tree with the column `distinctive`, which says that its leaves are clusters without names
    of rows, and what its nodes are called by; unchanged if a leaf has a name.

    features, names : of the rows of the tree and of their columns; None: nodes have no features.
    Only the cut into so many clusters has some that `_MOST_SUMS` numbers suffice. O(n_points D).
    """
    leaves = np.setdiff1d(tree.leaves, noise_leaves(tree))
    if tree.n_leaves >= tree.n_points or not all(map(is_number, tree.name[leaves].tolist())):
        return tree
    column = np.full(tree.n_nodes, None, dtype=object)
    if features is not None and names is not None and len(names) == features.shape[1]:
        n_clusters = max(1, min(MOST_CLUSTERS, _MOST_SUMS // max(len(names), 1)))
        for node, found in distinctive_features(tree, features, n_clusters).items():
            column[node] = [
                {"feature": names[at], "side": side_of(effect), "difference": effect}
                for at, effect in found
            ]
    return replace(tree, extra={**tree.extra, DISTINCTIVE: column})


def _moments(
    tree: Tree, features: Matrix | Rows, n_clusters: int
) -> tuple[dict[int, Float], dict[int, Float]]:
    """The sums of the features and of their squares by node, about the mean of the first rows, so
    that squares lose no digits."""
    parts = finest_cut(tree, n_clusters).cover
    n_features = features.shape[1]
    part, size = rows_at(tree, parts), (parts.size, n_features)
    sums, squares = np.zeros(size), np.zeros(size)
    centre: Float | float | None = None
    for start, block in _blocks(features, max(1, _BLOCK // max(n_features, 1))):
        rows = block.shape[0]
        own = (part[start : start + rows], np.arange(rows))
        member = sp.csr_array((np.ones(rows), own), shape=(parts.size, rows))
        if isinstance(block, np.ndarray):
            centre = block.mean(axis=0) if centre is None else centre
            block = block - centre
        for total, values in ((sums, block), (squares, block * block)):
            added = member @ values
            total += added.toarray() if sp.issparse(added) else added
    return above(tree, parts, sums), above(tree, parts, squares)


def _blocks(features: Matrix | Rows, step: int) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, features.shape[0], step):
        if isinstance(features, Rows):
            yield start, features.values(start, start + step).astype(np.float64)
        elif isinstance(features, np.ndarray):
            yield start, features[start : start + step].astype(np.float64)
        else:
            yield start, features[start : start + step]
